//! `sockbuf`: netperf's columns and time(1)'s line for each cell, as in the report of 20 September
//! 2006, and how far the two accounts of the same windows disagree.

use super::section::Section;
use crate::digits::{bound, ratio, significant};
use crate::run::pivot::{Pivot, Placed};
use crate::run::pivot_tables::NONE;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use zc_analysis::{AccountRatio, AccountRow, Accounts, Estimates, Figure, RUN_S, RatioFigure};
use zc_run::{Run, escape};

/// Andre Oppermann, 20 September 2006 (his runs 9a and 10b, sockets of 64 KiB, messages of 1 MiB):
/// from the old sendfile without TSO to the new one with it, CPU time by time(1) and the sender's
/// service demand, us/KB.
const HISTORICAL_TIME_PERCENT: [f64; 2] = [11.4, 2.0];
const HISTORICAL_DEMAND: [f64; 2] = [2.054, 1.020];

/// The heading of netperf 2.4 with -c -C, indented by five for the numbers.
const HEAD: &str =
    "     Recv   Send   Send                          Utilization       Service Demand
     Socket Socket Message  Elapsed              Send     Recv     Send    Recv
     Size   Size   Size     Time     Throughput  local    remote   local   remote
     bytes  bytes  bytes    secs.    10^6bits/s  % L      % L      us/KB   us/KB
";

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let Some(accounts) = &estimates.accounts else { return Section::default() };
    let mut lines: Vec<String> = HEAD.lines().map(str::to_owned).collect();
    lines.push(String::new());
    let mut marked = false;
    let mut number = 0;
    for placed in pivot.cells() {
        let Some(row) = accounts.rows.iter().find(|row| row.cell == placed.cell.label) else {
            continue;
        };
        number += 1;
        marked |= missed(row);
        lines.extend(netperf(run, placed, row, number));
    }
    if number == 0 || accounts.rows.iter().all(|row| row.throughput_mbit_per_s.is_none()) {
        return Section::default();
    }
    let together = accounts.rows.iter().any(|row| row.demand_us_per_kb.sender.is_none());
    let whose = if together {
        "; where the two ends are not separated, both are in the sender's columns"
    } else {
        ""
    };
    let mark = if marked { "; ! confidence target not reached" } else { "" };
    let caption = format!(
        "As in 2006 (Andre Oppermann, 20 September): netperf's columns by soakers (% L, as by its \
         looper), time(1)'s line of the sender for {RUN_S:.0} s \
         at that rate{whose}{mark}"
    );
    let mut parts = vec![Part::Lines { caption, lines }];
    parts.extend(side_by_side(accounts));
    Section { parts, conclusion: conclusion(accounts) }
}

/// The two lines of a cell.
fn netperf(run: &Run, placed: Placed, row: &AccountRow, number: usize) -> [String; 2] {
    let at = run.header.plan.fixed.at(&placed.cell.levels);
    let socket =
        |bytes: Option<usize>| bytes.map_or_else(|| "auto".to_owned(), |bytes| bytes.to_string());
    let text = |figure: Option<Figure>, places: usize, reached: Option<bool>| {
        let mark = if reached == Some(false) { "!" } else { "" };
        figure.map_or_else(|| NONE.to_owned(), |figure| format!("{:.places$}{mark}", figure.value))
    };
    let (used, demand, within) =
        (&row.utilisation_percent, &row.demand_us_per_kb, &row.demand_within_target);
    let first = format!(
        "{number:>3}) {:<6} {:<6} {:<8} {:<9.2} {:>9}  {:<8} {:<8} {:<7} {}",
        socket(at.rcvbuf_bytes),
        socket(at.sndbuf_bytes),
        at.buffer_bytes,
        RUN_S,
        text(row.throughput_mbit_per_s, 2, row.throughput_within_target),
        text(used.sender.or(used.both), 2, None),
        text(used.receiver, 2, None),
        text(demand.sender.or(demand.both), 3, within.sender.or(within.both)),
        text(demand.receiver, 3, within.receiver),
    );
    let label = escape(&placed.cell.label, 60);
    let second = row.time.map_or_else(
        || format!("     {NONE}     {label}"),
        |time| {
            let seconds = |seconds: Option<f64>| {
                seconds.map_or_else(|| NONE.to_owned(), |s| format!("{s:.3}"))
            };
            let times = match (time.user_s, time.system_s) {
                (None, None) => format!("{:.3}u+s", time.cpu_s.value),
                (user, system) => format!("{}u {}s", seconds(user), seconds(system)),
            };
            let elapsed =
                format!("{}:{:05.2}", (time.elapsed_s / 60.0) as u64, time.elapsed_s % 60.0);
            format!("     {times} {elapsed} {:.1}%     {label}", time.cpu_percent.value)
        },
    );
    [first.trim_end().to_owned(), second]
}

fn missed(row: &AccountRow) -> bool {
    let within = &row.demand_within_target;
    [within.sender, within.receiver, within.both, row.throughput_within_target]
        .contains(&Some(false))
}

/// The service demand that the ratio is taken of.
fn demand(ratio: &AccountRatio) -> Option<RatioFigure> {
    ratio.demand.sender.or(ratio.demand.both)
}

fn side_by_side(accounts: &Accounts) -> Option<Part> {
    let columns = vec![
        Column::left("CPU of", ""),
        Column::left("by that of", ""),
        Column::right("by service", "demand"),
        Column::right("by", "time(1)"),
        Column::left("", ""),
    ];
    let text = |figure: Option<RatioFigure>| {
        figure.map_or_else(|| NONE.to_owned(), |figure| ratio(figure.value, figure.half_width))
    };
    let mut rows: Vec<Vec<String>> = accounts
        .ratios
        .iter()
        .map(|pair| {
            let agreement = match pair.disagree {
                Some(true) => "disagree",
                Some(false) => "agree",
                None => "",
            };
            let [above, below] = [&pair.above, &pair.below].map(|label| escape(label, 60));
            vec![above, below, text(demand(pair)), text(pair.time), agreement.to_owned()]
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let [time, demand] = [HISTORICAL_TIME_PERCENT, HISTORICAL_DEMAND]
        .map(|[above, below]| format!("{:.1}", above / below));
    let then = [
        "2006: old sendfile, non-TSO",
        "new sendfile, TSO",
        demand.as_str(),
        time.as_str(),
        "disagree",
    ];
    rows.push(then.map(str::to_owned).to_vec());
    let caption =
        "How many times less CPU the second takes by either account of the same windows".to_owned();
    Some(Part::Table { caption, keys: 2, grid: Grid::new(columns, rows) })
}

/// The pair in which the two accounts disagree most.
fn conclusion(accounts: &Accounts) -> Option<String> {
    let decided: Vec<&AccountRatio> =
        accounts.ratios.iter().filter(|pair| pair.disagree.is_some()).collect();
    let apart = decided.iter().filter(|pair| pair.disagree == Some(true));
    let off = |pair: &AccountRatio| Some((pair.time?.value / demand(pair)?.value).ln().abs());
    let farthest = apart
        .clone()
        .filter_map(|pair| Some((off(pair)?, *pair)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let [time, by_demand] = [HISTORICAL_TIME_PERCENT, HISTORICAL_DEMAND]
        .map(|[above, below]| format!("{:.1}", above / below));
    let then =
        format!("in 2006 it was {time} times by time(1) and {by_demand} times by service demand");
    let text = |figure: RatioFigure| {
        bound(figure.value, figure.half_width.map_or(0.01, |half| figure.value * half))
    };
    match farthest {
        _ if decided.is_empty() => None,
        Some((off, pair)) => Some(format!(
            "The two accounts disagree in {} of {} pairs, and most for {}: by time(1) {} takes {} \
             times as much CPU, by service \
             demand {} times, {} times apart; {then}.",
            apart.count(),
            decided.len(),
            escape(&pair.below, 60),
            escape(&pair.above, 60),
            pair.time.map_or_else(String::new, text),
            demand(pair).map_or_else(String::new, text),
            significant(off.exp()),
        )),
        None => Some(format!(
            "The two accounts agree within their intervals in all of {} pairs; {then}.",
            decided.len()
        )),
    }
}
