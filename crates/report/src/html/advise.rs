//! The page of `zc advise`: what the logs have, and what it costs by each path. The texts and
//! tables are those of the terminal; a field takes another rate.

use super::bars::{self, Group};
use super::dots::{self, Axis, Lane, Row};
use super::page::Page;
use super::plot::Caption;
use super::skeleton::{begin, end, navigation};
use super::table::{self, CellValues};
use super::units;
use crate::advise::costs::{Priced, Unit, hosts};
use crate::advise::{Advice, Costs, by_size, conclusion, heading, kinds, size_classes, size_range};
use crate::digits::{percent, significant, trimmed, with_half_width};
use crate::terminal::table::{Column, Grid};
use zc_analysis::Figure;
use zc_analysis::advise::{Compared, PathAdvice, Rate};
use zc_run::escape;

/// The whole page, self-contained.
pub fn advise(advice: &Advice) -> String {
    let mut page = Page::new(units::units(&[]));
    let title = match &advice.logs[..] {
        [one] => format!("What the requests of {} cost", escape(&one.log, 80)),
        logs => format!("What the requests of {} logs cost", logs.len()),
    };
    begin(&mut page, &title, &[]);
    let section = |id: &str, name: &str| (id.to_owned(), name.to_owned());
    let mut sections = vec![section("logs", "Logs")];
    if advice.costs.is_some() {
        sections.insert(0, section("by-path", "Costs"));
    }
    navigation(&mut page, &sections);
    page.out.raw("<main id=\"main\">\n");
    answer(&mut page, advice);
    if let Some(costs) = &advice.costs {
        self::costs(&mut page, costs);
    }
    logs(&mut page, advice);
    method(&mut page, advice.costs.as_ref());
    page.out.raw("</main>\n");
    end(&mut page, "Advised", env!("CARGO_PKG_VERSION"));
    page.out.finish()
}

fn answer(page: &mut Page, advice: &Advice) {
    page.out.raw(
        "<section id=\"answer\" aria-labelledby=\"answer-h\">\n<h2 id=\"answer-h\">Answer</h2>\n",
    );
    let about_bytes = conclusion(&advice.mix.sizes.whole);
    if let Some(costs) = &advice.costs {
        let class = if costs.withheld_because.is_empty() { "answer" } else { "answer withheld" };
        page.out.element("p", &[("class", class)], &costs.verdict).raw("\n");
    }
    page.out.element("p", &[], &about_bytes).raw("\n");
    shares(page, advice);
    page.out.raw("</section>\n");
}

/// The chart that decides: most requests are small, and most bytes are in large responses.
fn shares(page: &mut Page, advice: &Advice) {
    let whole = &advice.mix.sizes.whole;
    let all = whole.total();
    let share_percent =
        |part: u64, all: u64| if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 };
    let groups: Vec<Group> = size_classes(whole)
        .into_iter()
        .map(|class| Group {
            label: size_range(class.from_bytes),
            values: vec![
                share_percent(class.tally.requests, all.requests),
                share_percent(class.tally.bytes, all.bytes),
            ],
        })
        .collect();
    let caption = Caption {
        title: "Requests and bytes by the size of the response, % of all".to_owned(),
        note: "Whole responses (GET, 200). Each size class is four times the one above.".to_owned(),
        description: String::new(),
    };
    let legend = ["requests", "bytes"];
    bars::bars(page, caption, &legend, &groups, "% of all", |share| percent(share / 100.0));
}

fn costs(page: &mut Page, costs: &Costs) {
    page.out.raw(
        "<section id=\"by-path\" aria-labelledby=\"by-path-h\">\n<h2 id=\"by-path-h\">Costs by ",
    );
    let by = if costs.run.server.is_some() { "configuration of the server" } else { "send path" };
    page.out.raw(by).raw("</h2>\n");
    page.notes(&costs.notes());
    cores(page, costs);
    let caption = "CPU time of a request, and cores, each with the half-width of its 95 % \
                   interval; saved below 0 costs more";
    table::table(page, caption, 1, &costs.grid(), |_, _| CellValues::default());
    if let Some(grid) = costs.tls_grid() {
        page.out.raw("<h3>TLS</h3>\n");
        let caption = "What encrypting adds to a KiB, and the cores that it takes, each with the \
                       half-width of its 95 % interval";
        table::table(page, caption, 2, &grid, |_, _| CellValues::default());
    }
    if let Some(grid) = hosts::grid(&costs.advice) {
        page.out.raw("<h3>Hosts</h3>\n");
        let caption = "Each host by its own log, and their sum, whose interval has the error of \
                       the run in it as often as there are hosts";
        table::table(page, caption, 1, &grid, |_, _| CellValues::default());
    }
    own_rate(page, costs);
    page.out.raw("<h3>What is assumed, and what it would change</h3>\n<dl>\n");
    for assumption in &costs.assumptions {
        page.out.element("dt", &[], &assumption.assumed);
        page.out.element("dd", &[], &assumption.would_change).raw("\n");
    }
    page.out.raw("</dl>\n</section>\n");
}

/// Cores at the rate of the log, a dot for each path.
fn cores(page: &mut Page, costs: &Costs) {
    let paths = &costs.advice.paths;
    let today = paths.iter().find(|path| path.today).map(|path| path.cores.value.value);
    let unit = Unit::for_cores(today.unwrap_or(0.0));
    let row = |path: &PathAdvice| {
        let figure = scaled(path.cores.value, unit.by);
        let text = with_half_width(figure.value, figure.half_width);
        let name = format!("{}: {text} {}", escape(&path.path, 60), unit.name);
        let lanes = vec![Lane { series: 0, figure, hollow: false, name }];
        Row { label: escape(&path.path, 40), lanes }
    };
    let rows: Vec<Row> = paths.iter().map(row).collect();
    let caption = Caption {
        title: format!("CPU that the log's requests keep busy, {}", unit.name),
        note: format!(
            "Line: 95 % interval. Broken line: {}, the {} of today. The intervals of what is saved \
             are narrower than these, as {} are compared in the same blocks and slices of time.",
            escape(&costs.advice.today, 40),
            costs.priced().one,
            costs.priced().several
        ),
        description: String::new(),
    };
    let reference = today.map(|cores| cores * unit.by);
    dots::dots(page, caption, &[], &rows, Axis::Fixed { unit: unit.name, reference });
}

/// Fields for a rate of one's own: requests per second, and Gbit/s.
fn own_rate(page: &mut Page, costs: &Costs) {
    let rates = &costs.advice.rates;
    let (log, busiest) = (rates.log, rates.busiest.unwrap_or(rates.log));
    // A rate at which cores are not all 0.
    let own = |of: fn(Rate) -> f64, least: f64, usual: f64| match rates.asked {
        Some(asked) => of(asked),
        None if of(busiest) >= least => of(busiest),
        None => usual,
    };
    let requests = own(|rate| rate.requests_per_s, 100.0, 1000.0);
    let per_request = |path: &PathAdvice| Some(path.us_per_request);
    let title = "At your requests per second";
    rate_table(page, costs, title, "requests per second", requests, (per_request, 1.0));
    let gbit = |rate: Rate| rate.bytes_per_s * 8.0 / 1e9;
    if log.bytes_per_s > 0.0 {
        let own = own(gbit, 1.0, 10.0);
        let mb_per_gbit = 125.0;
        let per_mb = |path: &PathAdvice| path.us_per_mb;
        rate_table(page, costs, "At your Gbit/s", "Gbit/s", own, (per_mb, mb_per_gbit));
    }
}

/// CPU time in us of something that requests are counted by.
type UsPer = fn(&PathAdvice) -> Option<Compared>;

/// Cores at a rate, as a table whose script multiplies: `us_per` times so many is that of the
/// rate's unit.
fn rate_table(
    page: &mut Page,
    costs: &Costs,
    title: &'static str,
    unit: &'static str,
    rate: f64,
    (us_per, times): (UsPer, f64),
) {
    let own = trimmed(&significant(rate)).to_owned();
    let rate: f64 = own.parse().unwrap_or(rate);
    page.out
        .raw("<h3>")
        .raw(title)
        .raw("</h3>\n<div class=\"cores\">\n<p><label class=\"rate\">At ");
    let attributes = [("data-own", own.as_str()), ("data-least", "0.001"), ("data-what", unit)];
    page.out.element("span", &attributes, &own).raw(" ").raw(unit).raw("</label>, of requests ");
    let keeps = match costs.run.server.is_some() {
        false => "like those of the log, a path keeps so many cores busy.</p>\n",
        true => "like those of the log, a configuration keeps so many cores busy.</p>\n",
    };
    page.out.raw(keeps);
    let per_unit = |path: &PathAdvice| {
        let compared = us_per(path);
        let times = |figure: Figure| scaled(figure, times);
        [compared.map(|it| times(it.value)), compared.and_then(|it| it.saved).map(times)]
    };
    let rows: Vec<[Option<Figure>; 2]> = costs.advice.paths.iter().map(per_unit).collect();
    let text = |figure: &Option<Figure>| {
        figure.map_or_else(String::new, |us| {
            let cores = scaled(us, rate / 1e6);
            with_half_width(cores.value, cores.half_width)
        })
    };
    let texts = std::iter::zip(&costs.advice.paths, &rows)
        .map(|(path, [cores, saved])| vec![escape(&path.path, 40), text(cores), text(saved)]);
    let columns = vec![
        Column::left(costs.priced().one, ""),
        Column::right("cores", ""),
        Column::right("saved against", escape(&costs.advice.today, 24)),
    ];
    let grid = Grid::new(columns, texts.collect());
    let caption = "Cores, each with the half-width of its 95 % interval";
    table::table(page, caption, 1, &grid, |row, column| CellValues {
        per_request: column.checked_sub(1).and_then(|column| *rows.get(row)?.get(column)?),
        ..CellValues::default()
    });
    page.out.raw("</div>\n");
}

fn scaled(figure: Figure, by: f64) -> Figure {
    let interval = figure.interval.map(|bounds| zc_analysis::Bounds {
        low: bounds.low * by,
        high: bounds.high.map(|high| high * by),
        ..bounds
    });
    let half_width = figure.half_width.map(|half| half * by);
    Figure { value: figure.value * by, interval, half_width, ..figure }
}

fn logs(page: &mut Page, advice: &Advice) {
    page.out
        .raw("<section id=\"logs\" aria-labelledby=\"logs-h\">\n<h2 id=\"logs-h\">The logs</h2>\n");
    page.notes(&heading(advice));
    table::table(page, "Responses by kind", 1, &kinds(&advice.mix), |_, _| CellValues::default());
    let whole = &advice.mix.sizes.whole;
    if whole.total().requests > 0 {
        let caption = "Whole responses (GET, 200) by size";
        table::table(page, caption, 1, &by_size(whole), |_, _| CellValues::default());
    }
    page.out.raw("</section>\n");
}

fn method(page: &mut Page, costs: Option<&Costs>) {
    page.out.raw(
        "<section id=\"method\" aria-labelledby=\"method-h\">\n<h2 id=\"method-h\">Method</h2>\n\
         <p>Of each line of the logs its time, method, status, bytes and duration are counted. \
         Addresses, paths and agents are not kept.</p>\n",
    );
    if let Some(costs) = costs {
        let Priced { one, several, .. } = costs.priced();
        page.out.raw(
            "<p>The cost of a response of any length comes from those that were measured, by a \
             monotone curve on logarithmic axes. Cores are the sum of what all responses cost, \
             divided by the time. ",
        );
        page.out.text(&format!(
            "Intervals resample the blocks of the run, the same ones for all {several} and \
             lengths, and slices of time of the log, and are widened by what costs wander during \
             the run. Whether a {one} saves is decided by intervals that are corrected for the \
             number of {several}."
        ));
        page.out.raw("</p>\n");
        if costs.run.server.is_some() {
            page.out.raw(
                "<p>The costs are those of a server that zc run server measured. States of it that \
                 ask one address are one configuration, at several lengths of responses.</p>\n",
            );
        }
    }
    page.out.raw("</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::costs::tests::{a_log, a_run, advice_of};

    #[test]
    fn the_page_has_the_verdict_both_charts_and_a_field_for_each_rate() {
        let advice = advice_of(&a_log(20), &a_run(30), None);
        let page = advise(&advice);
        let verdict = &advice.costs.as_ref().unwrap().verdict;
        let escaped = verdict.replace('<', "&lt;").replace('\'', "&#39;");
        assert!(page.contains(&escaped), "{verdict}");
        assert_eq!(page.matches("<figure").count(), 2);
        assert_eq!(page.matches("data-own=").count(), 2);
        assert!(page.contains("data-r="), "the script has what it multiplies");
        assert!(!page.contains("secret"));
    }

    /// The script looks its data up by an id that a section had too.
    #[test]
    fn no_id_is_there_twice() {
        let page = advise(&advice_of(&a_log(2), &a_run(8), None));
        let ids = page
            .match_indices(" id=\"")
            .map(|(at, start)| page[at + start.len()..].split('"').next().unwrap_or_default());
        let mut ids: Vec<&str> = ids.collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }

    #[test]
    fn a_name_of_a_log_or_a_run_is_no_markup() {
        let mut advice = advice_of(&a_log(2), &a_run(8), None);
        let evil = "<script>alert(1)</script>\" onload=\"x";
        advice.logs[0].log = evil.to_owned();
        if let Some(costs) = &mut advice.costs {
            costs.run.file = evil.to_owned();
            costs.run.host = evil.to_owned();
            costs.advice.paths[1].path = evil.to_owned();
            costs.verdict = evil.to_owned();
        }
        let page = advise(&advice);
        assert!(!page.contains("<script>alert") && !page.contains("\" onload="), "escaped");
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }

    #[test]
    fn without_costs_it_is_about_the_logs() {
        let mut advice = advice_of(&a_log(2), &a_run(8), None);
        advice.costs = None;
        let page = advise(&advice);
        assert!(!page.contains("id=\"by-path\" aria") && page.contains("id=\"logs\""));
        assert!(!page.contains("class=\"cores\""));
    }
}
