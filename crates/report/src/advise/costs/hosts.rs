//! Several hosts: a row for each, and their sum.

use super::part::share;
use super::units::{Unit, figure};
use crate::advise::rates::{bits, per_second};
use crate::terminal::table::{Column, Grid};
use zc_analysis::advise::{CostAdvice, PathAdvice, PathVerdict, Rates};
use zc_run::escape;

/// The path that saves most for the hosts together; if none is shown to, the one that seems to.
fn best(advice: &CostAdvice) -> Option<&PathAdvice> {
    let saves = |path: &PathAdvice| matches!(path.verdict, Some(PathVerdict::Saves { .. }));
    let saved = |path: &PathAdvice| path.cores.saved.map_or(0.0, |saved| saved.value);
    let key = |path: &PathAdvice| (saves(path), saved(path));
    let others = advice.paths.iter().filter(|path| !path.today);
    others.max_by(|one, other| {
        let (one, other) = (key(one), key(other));
        one.0.cmp(&other.0).then(f64::total_cmp(&one.1, &other.1))
    })
}

fn today(paths: &[PathAdvice]) -> Option<&PathAdvice> {
    paths.iter().find(|path| path.today)
}

/// The table of the hosts, the sum last; `None` unless hosts were named.
pub(crate) fn grid(advice: &CostAdvice) -> Option<Grid> {
    if advice.hosts.is_empty() {
        return None;
    }
    let best = best(advice).map(|path| path.path.as_str());
    let in_all = today(&advice.paths).map_or(0.0, |path| path.cores.value.value);
    let unit = Unit::for_cores(in_all);
    let busiest = today(&advice.paths).and_then(|path| path.busiest_cores);
    let busiest_unit = Unit::for_cores(busiest.map_or(in_all, |cores| cores.value.value));
    let has_tls = advice.tls.is_some();
    let row =
        |name: String, rates: &Rates, tls: Option<f64>, paths: &[PathAdvice]| {
            let today = today(paths);
            let mut row =
                vec![name, per_second(rates.log.requests_per_s), bits(rates.log.bytes_per_s)];
            if has_tls {
                row.push(tls.map_or_else(String::new, |of| {
                    if of > 0.0 { share(of) } else { "0".to_owned() }
                }));
            }
            let cores = today.map(|path| figure(path.cores.value, unit));
            row.push(cores.unwrap_or_default());
            if let Some(best) = best {
                let path = paths.iter().find(|path| path.path == best);
                let saved = path.and_then(|path| path.cores.saved);
                row.push(saved.map_or_else(String::new, |saved| figure(saved, unit)));
            }
            let busiest = today.and_then(|path| path.busiest_cores);
            row.push(busiest.map_or_else(String::new, |cores| figure(cores.value, busiest_unit)));
            row
        };
    let hosts = advice.hosts.iter();
    let mut rows: Vec<Vec<String>> = hosts
        .map(|host| row(escape(&host.host, 40), &host.rates, host.tls_bytes_share, &host.paths))
        .collect();
    let of_all = advice.tls.as_ref().map(|tls| tls.bytes_share);
    rows.push(row("together".to_owned(), &advice.rates, of_all, &advice.paths));
    let mut columns =
        vec![Column::left("host", ""), Column::right("requests", ""), Column::right("bits", "")];
    if has_tls {
        columns.push(Column::right("over TLS", "bytes"));
    }
    columns.push(Column::right(escape(&advice.today, 24), unit.name));
    columns.extend(best.map(|best| Column::right("saved by", escape(best, 24))));
    columns.push(Column::right("busiest", busiest_unit.name));
    Some(Grid::new(columns, rows))
}
