//! `server`: what a request costs, and how long it took, in each state.

use super::section::Section;
use crate::digits::{percent, significant};
use crate::run::rows;
use crate::terminal::note::{Note, note};
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::{list, shown};
use zc_analysis::{CellEstimate, Comparison, Estimates, RequestCost};
use zc_run::{ServerPlan, ServerState, escape};

/// A p99 above this multiple of the first state's is reported with the saving. From run to run
/// it moves by half on a machine with neighbours.
const SLOWER: f64 = 2.0;

/// The column of what the server's processes used, which are not known of one that ran already.
const PROCESSES: usize = 2;

pub(super) fn section(estimates: &Estimates, server: &ServerPlan) -> Section {
    Section {
        parts: table(estimates, server).into_iter().chain([responses(server)]).collect(),
        conclusion: conclusion(estimates),
    }
}

/// The table of states; `None` where no state has a figure.
pub(crate) fn table(estimates: &Estimates, server: &ServerPlan) -> Option<Part> {
    let mut rows: Vec<Vec<String>> = states(estimates)
        .filter(|(cost, _)| cost.us_per_request.is_some())
        .map(|(cost, cell)| row(cost, cell, estimates))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = vec![
        Column::left("state", ""),
        Column::right("CPU,", "us/request"),
        Column::right("of it in", "processes"),
        Column::right("by the", "first"),
        Column::left("verdict", ""),
        Column::right("rate", "reached"),
        Column::right("p50", "ms"),
        Column::right("p99", "ms"),
        Column::right("longest", "ms"),
        Column::right("top", "/s"),
    ];
    if !server.has_clocks() {
        columns.remove(PROCESSES);
        rows.iter_mut().for_each(|row| drop(row.remove(PROCESSES)));
    }
    let caption = caption(estimates, server);
    Some(Part::Table { caption, keys: 1, grid: Grid::new(columns, rows) })
}

/// Table of the response in each state before the first block. Every later response had this
/// length.
pub(crate) fn responses(server: &ServerPlan) -> Part {
    let row = |each: &ServerState| {
        vec![
            shown(each.state.name()),
            escape(&each.url, 200),
            each.response.status.to_string(),
            each.response.body_bytes.to_string(),
            format!("{:08x}", each.response.crc32),
        ]
    };
    let columns = vec![
        Column::left("state", ""),
        Column::left("URL", ""),
        Column::right("status", ""),
        Column::right("body,", "bytes"),
        Column::right("CRC-32", ""),
    ];
    let bytes = |each: &ServerState| (each.response.body_bytes, each.response.crc32);
    let states = &server.states;
    let first_of = |length: u64| states.iter().find(|each| bytes(each).0 == length).map(bytes);
    let same = states.iter().all(|each| first_of(bytes(each).0) == Some(bytes(each)));
    let several = states.windows(2).any(|two| bytes(&two[0]).0 != bytes(&two[1]).0);
    let caption = match (same, several) {
        (true, false) => "Responses: every state sends the same bytes",
        (true, true) => "Responses: states of the same length send the same bytes",
        (false, _) => "Responses: the states send different bytes",
    };
    let grid = Grid::new(columns, server.states.iter().map(row).collect());
    Part::Table { caption: caption.to_owned(), keys: 1, grid }
}

/// Notes above the table: states, server and load.
pub(crate) fn about(server: &ServerPlan) -> Vec<Note> {
    let state = |each: &ServerState| {
        format!(
            "{}: {}, {} bytes",
            shown(each.state.name()),
            escape(&each.url, 200),
            each.response.body_bytes
        )
    };
    let started = match &server.serve {
        Some(command) => format!("started by \"{}\"", escape(command, 300)),
        None => "was running, on CPUs of its owner's choice".to_owned(),
    };
    let asked = server.states.iter().map(state).collect::<Vec<_>>().join("; ");
    let load = server.load_in_words();
    let load = load.map_or_else(String::new, |load| format!("; {}", escape(&load, 300)));
    vec![note("server", started), note("asked", format!("{asked}{load}"))]
}

/// The states that are compared, each with its cell.
pub(crate) fn states(estimates: &Estimates) -> impl Iterator<Item = (&RequestCost, &CellEstimate)> {
    let each = std::iter::zip(&estimates.requests, &estimates.cells);
    each.filter(|(_, cell)| !cell.control)
}

/// Whether responses have several lengths, each of which is compared by itself.
pub(crate) fn several_lengths(estimates: &Estimates) -> bool {
    estimates.requests.windows(2).any(|two| two[0].body_bytes != two[1].body_bytes)
}

/// The rates of the run in words, requests per second.
pub(crate) fn rates(estimates: &Estimates, server: &ServerPlan) -> String {
    let rate = |(_, cell): (&RequestCost, &CellEstimate)| {
        let levels = &cell.levels;
        let own = levels.rate_bytes_per_s.zip(levels.message_bytes);
        own.map_or(server.requests_per_s, |(rate, bytes)| rate / bytes.max(1) as f64)
    };
    let least = states(estimates).map(rate).fold(server.requests_per_s, f64::min);
    let most = states(estimates).map(rate).fold(server.requests_per_s, f64::max);
    match most > least * 1.001 {
        true => format!("{} to {}", significant(least), significant(most)),
        false => significant(most),
    }
}

fn caption(estimates: &Estimates, server: &ServerPlan) -> String {
    let rates = rates(estimates, server);
    let each = match several_lengths(estimates) {
        true => ". Each length is compared with the first configuration's",
        false => "",
    };
    if !server.generator.is_empty() {
        return format!(
            "{rates} requests per second by {}. {}{each}:",
            escape(program(&server.generator), 60),
            measured_processes(server)
        );
    }
    let connections = match (server.connections, server.keepalive) {
        (1, true) => "one connection".to_owned(),
        (some, true) => format!("{some} connections"),
        (_, false) => "a connection for each".to_owned(),
    };
    format!("{rates} requests per second over {connections}. {}{each}:", measured_processes(server))
}

/// The name of a command's program, without its folder.
fn program(words: &[String]) -> &str {
    words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default()
}

/// The processes and softirqs whose CPU time the cost is, in words.
pub(crate) fn measured_processes(server: &ServerPlan) -> &'static str {
    match (server.ran_already(), &server.load_from) {
        (false, _) => "CPU of the server's side, softirqs included",
        (true, None) => {
            "CPU of the server and the softirqs of both sides, without the load's thread"
        }
        (true, Some(_)) => "CPU of the server's machine, softirqs included",
    }
}

fn row(cost: &RequestCost, cell: &CellEstimate, estimates: &Estimates) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, significant);
    let ms = |ns: Option<u64>| number(ns.map(|ns| ns as f64 / 1e6));
    let latency = cost.latency.as_ref();
    vec![
        rows::name(cell),
        rows::plain(cost.us_per_request),
        number(cost.process_us_per_request),
        rows::ratio_of(cell),
        word(estimates.verdict.of_state(cell)).to_owned(),
        cell.perturbation.soaked_by_nominal.map_or_else(String::new, percent),
        ms(latency.map(|latency| latency.p50_ns)),
        ms(latency.map(|latency| latency.p99_ns)),
        ms(latency.map(|latency| latency.max_ns)),
        number(cost.top_requests_per_s),
    ]
}

fn word(comparison: Option<Comparison>) -> &'static str {
    match comparison {
        None => "",
        Some(Comparison::Cheaper { .. }) => "less",
        Some(Comparison::Dearer { .. }) => "more",
        Some(Comparison::Same { .. }) => "same",
        Some(Comparison::Undecided) => "undecided",
    }
}

/// Effect of each state on the server's CPU, and on latency.
fn conclusion(estimates: &Estimates) -> Option<String> {
    let each: Vec<String> = states(estimates)
        .filter_map(|(_, cell)| match estimates.verdict.of_state(cell) {
            Some(comparison) => clause(cell, comparison, &shown(cell.by.as_deref()?)),
            None if cell.perturbation.saturated => Some(format!(
                "State {} did not reach the rate, and is not compared",
                shown(&cell.label)
            )),
            None => None,
        })
        .collect();
    if each.is_empty() {
        return None;
    }
    let slower = slower(estimates);
    let slower = slower.map_or_else(String::new, |slower| format!(" But {slower}."));
    Some(format!("{}.{slower}", each.join(". ")))
}

/// `state on needs 21 % less CPU per request than state off (95 %: 18 to 24 %)`.
fn clause(cell: &CellEstimate, comparison: Comparison, against: &str) -> Option<String> {
    let label = shown(&cell.label);
    let bounds = cell.ratio.both?.interval?;
    let (low, high) = (bounds.low - 1.0, bounds.high? - 1.0);
    // With a decimal if the ends would be equal without one.
    let places = usize::from(high - low < 0.02);
    let within = |low: f64, high: f64| {
        let (low, high) = (low * 100.0, high * 100.0);
        format!("(95 %: {low:.places$} to {high:.places$} %)")
    };
    Some(match comparison {
        Comparison::Cheaper { by } => {
            let (by, within) = (percent(by), within(-high, -low));
            format!("State {label} needs {by} less CPU per request than {against} {within}")
        }
        Comparison::Dearer { by } => {
            let (by, within) = (percent(by), within(low, high));
            format!("State {label} needs {by} more CPU per request than {against} {within}")
        }
        Comparison::Same { within } => {
            let within = percent(within);
            format!("State {label} needs the same CPU per request as {against}, within {within}")
        }
        // An interval that excludes 0 is not enough: a control, or the other comparisons.
        Comparison::Undecided if low > 0.0 || high < 0.0 => {
            let within = within(low, high);
            format!("Between the states {label} and {against} a difference is not judged {within}")
        }
        Comparison::Undecided => {
            let within = within(low, high);
            format!("Between the states {label} and {against} no difference was shown {within}")
        }
    })
}

/// The states whose slow requests take much longer than those of the state that they are compared
/// with: a saving that costs latency is reported.
fn slower(estimates: &Estimates) -> Option<String> {
    let p99 = |cost: &RequestCost| cost.latency.map(|latency| latency.p99_ns as f64 / 1e6);
    let p99_of_label =
        |label: &str| p99(estimates.requests.iter().find(|cost| cost.label == label)?);
    let each: Vec<String> = states(estimates)
        .filter_map(|(cost, cell)| {
            Some((p99(cost)?, p99_of_label(cell.by.as_deref()?)?, &cell.label))
        })
        .filter(|(own, first, _)| *own > SLOWER * first)
        .map(|(own, first, label)| {
            let (own, first) = (significant(own), significant(first));
            format!("p99 is {own} ms in {} instead of {first} ms", shown(label))
        })
        .collect();
    (!each.is_empty()).then(|| list(&each))
}
