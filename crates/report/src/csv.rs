//! The report as CSV: one line per cell of the plan, including the control, and one per path that
//! was not available. Full precision, no units in the cells, empty where a value is missing. New
//! columns are only added at the end.

use super::digits::us_per_mb;
use super::pivot::level;
use super::prose;
use zc_analysis::machine::is_emulated;
use zc_analysis::{
    Bounds, CellEstimate, Comparison, Estimates, Figure, LatencyQuantiles, RatioFigure, RequestCost,
};
use zc_run::{Factor, Level, Run, Support, Value, escape};

/// The heading. Costs are microseconds of soaked CPU time per MB (10^6 bytes).
const HEAD: &[&str] = &[
    "path",
    "recv",
    "status",
    "blocks",
    "sender_us_per_mb",
    "sender_half_width_us_per_mb",
    "receiver_us_per_mb",
    "receiver_half_width_us_per_mb",
    "both_us_per_mb",
    "both_half_width_us_per_mb",
    "ratio",
    "ratio_low",
    "ratio_high",
    "ratio_half_width",
    "converged",
    "comparison",
    "gbit_per_s_per_core",
    "top_speed_bytes_per_s",
    "top_speed_by_memcpy",
    "copied_share",
    "failed_zero_copy",
    "getrusage_sender_us_per_mb",
    "getrusage_receiver_us_per_mb",
    "getrusage_both_us_per_mb",
    "proc_stat_both_us_per_mb",
    "gross_both_us_per_mb",
    "idle_host_us_per_mb",
    "mean_both_us_per_mb",
    "send_calls_per_mb",
    "recv_calls_per_mb",
    "packets_per_s",
    "packet_bytes",
    "fragments_per_packet",
    "interrupts_per_s",
    "switches_per_mb",
    "retransmits",
    "enobufs",
    "soaked_by_unsoaked_control",
    "soaked_by_nominal",
    "reason",
];

/// The columns that the run of a server has at the end.
const REQUESTS: [&str; 14] = [
    "body_bytes",
    "us_per_request",
    "us_per_request_low",
    "us_per_request_high",
    "process_us_per_request",
    "saved_us_per_request",
    "saved_us_per_request_low",
    "saved_us_per_request_high",
    "requests_per_s",
    "top_requests_per_s",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "latency_requests",
];

/// The whole file, with its heading.
pub fn csv(run: &Run, estimates: &Estimates) -> String {
    text(lines(run, estimates))
}

/// The lines, the heading first, all with the same number of cells.
pub(super) fn lines(run: &Run, estimates: &Estimates) -> Vec<Vec<String>> {
    let header = &run.header;
    // The factors other than paths, in bytes, bytes per second and names: one column per factor at
    // the end.
    let factors: &[Factor] = if header.plan.factors.len() > 1 { &header.plan.factors } else { &[] };
    let mut head: Vec<String> = HEAD.iter().map(|name| (*name).to_owned()).collect();
    if !factors.is_empty() {
        head.extend(factors.iter().map(ToString::to_string));
        head.extend(["compared_with", "at_bytes_per_s"].map(str::to_owned));
    }
    let requests = !estimates.requests.is_empty();
    if requests {
        head.extend(REQUESTS.map(str::to_owned));
    }
    let columns = head.len();
    let mut lines = vec![head];
    for (place, figures) in estimates.cells.iter().enumerate() {
        let mut line = line(estimates, figures);
        if is_emulated(header) {
            without_costs(&mut line, run, estimates);
        }
        if let (Some(cell), false) = (header.plan.cells.get(place), factors.is_empty()) {
            line.extend(factors.iter().map(|factor| raw(&level(header, cell, *factor))));
            let other = figures.by.as_deref().unwrap_or_default();
            line.push(other.to_owned());
            line.push(header.plan.fixed.at(&cell.levels).rate_bytes_per_s.to_string());
        }
        let of_requests = estimates.requests.iter().find(|cost| cost.label == figures.label);
        line.resize(if requests { columns - REQUESTS.len() } else { columns }, String::new());
        line.extend(of_requests.map(self::requests).into_iter().flatten());
        line.resize(columns, String::new());
        lines.push(line);
    }
    for row in &run.header.unavailable {
        if let Support::No(no) = &row.support {
            let mut cells = vec![String::new(); columns];
            cells[0].clone_from(&row.name);
            cells[2] = no.kind.name().to_owned();
            cells[HEAD.len() - 1] = no.reason.clone();
            lines.push(cells);
        }
    }
    lines
}

/// Fills the line of a cell whose costs are not shown: that they are withheld, and why.
fn without_costs(line: &mut [String], run: &Run, estimates: &Estimates) {
    let mut set = |column: &str, text: String| {
        if let Some(place) = HEAD.iter().position(|name| *name == column) {
            line[place] = text;
        }
    };
    set("status", "withheld".to_owned());
    set("comparison", "withheld".to_owned());
    set("reason", prose::why_withheld(run, estimates).join("; "));
}

/// Lines of equal length as CSV. Control characters are escaped, because CSV is printed on
/// terminals too.
pub(super) fn text(lines: Vec<Vec<String>>) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    for cells in lines {
        let cells = cells.iter().map(|cell| without_formula(escape(cell, usize::MAX)));
        out.write_record(cells)
            .expect("a Vec takes every byte, and every line is as long as the heading");
    }
    let bytes = out.into_inner().expect("a Vec takes every byte");
    String::from_utf8(bytes).expect("strings and commas are UTF-8")
}

/// A cell that no spreadsheet takes for a formula,
/// <https://owasp.org/www-community/attacks/CSV_Injection>: with an apostrophe before what would
/// begin one, unless it is a number. An apostrophe gets another, so that one can be taken off
/// again. Tabs and line breaks are escaped already.
fn without_formula(mut cell: String) -> String {
    const BEGIN: [char; 9] =
        ['=', '+', '-', '@', '\'', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    if cell.starts_with(BEGIN) && cell.parse::<f64>().is_err() {
        cell.insert(0, '\'');
    }
    cell
}

/// A level, as a number if it is one.
pub(super) fn raw(level: &Level) -> String {
    match &level.value {
        Value::Bytes(bytes) => bytes.to_string(),
        Value::Rate(rate) => rate.to_string(),
        other => other.to_string(),
    }
}

fn line(estimates: &Estimates, cell: &CellEstimate) -> Vec<String> {
    let cost = &cell.cost_ns_per_kib;
    let ratio = cell.ratio.both;
    let bounds = ratio.and_then(|ratio| ratio.interval);
    let others = &cell.others;
    let traffic = &cell.traffic;
    let status = match (cell.reference, cell.control, cell.blocks) {
        (_, _, 0) => "unmeasured",
        (true, _, _) => "reference",
        (_, true, _) if cell.positive_control => "positive-control",
        (_, true, _) => "control",
        _ => "measured",
    };
    let mut cells = vec![
        cell.label.clone(),
        cell.transfer.receiver().to_string(),
        status.to_owned(),
        cell.blocks.to_string(),
    ];
    for figure in [cost.sender, cost.receiver, cost.both] {
        cells.push(number(figure.map(|figure: Figure| us_per_mb(figure.value))));
        cells.push(number(figure.and_then(|figure| figure.half_width).map(us_per_mb)));
    }
    cells.extend([
        number(ratio.map(|ratio: RatioFigure| ratio.value)),
        number(bounds.map(|bounds: Bounds| bounds.low)),
        number(bounds.and_then(|bounds| bounds.high)),
        number(ratio.and_then(|ratio| ratio.half_width)),
        ratio.map_or_else(String::new, |ratio| ratio.converged.to_string()),
        comparison(estimates, cell).to_owned(),
        number(cell.gbit_per_core.both.map(|figure| figure.value)),
        number(cell.top_speed_bytes_per_s.map(|figure| figure.value)),
        number(cell.top_speed_by_memcpy.map(|figure| figure.value)),
        number(cell.copied_share),
        cell.failed_zero_copy.to_string(),
        number(others.getrusage_soaked.cost_ns_per_kib.sender.map(us_per_mb)),
        number(others.getrusage_soaked.cost_ns_per_kib.receiver.map(us_per_mb)),
        number(others.getrusage_soaked.cost_ns_per_kib.both.map(us_per_mb)),
        number(others.proc_stat.cost_ns_per_kib.both.map(us_per_mb)),
        number(cell.gross_cost_ns_per_kib.both.map(|figure| us_per_mb(figure.value))),
        number(cell.idle_host_ns_per_kib.map(|figure| us_per_mb(figure.value))),
        number(cell.mean_cost_ns_per_kib.both.map(us_per_mb)),
        number(traffic.send_calls_per_mb),
        number(traffic.recv_calls_per_mb),
        number(traffic.packets_per_s),
        number(traffic.packet_bytes),
        number(traffic.fragments_per_packet),
        number(traffic.interrupts_per_s),
        number(traffic.switches_per_mb),
        traffic.retransmits.map_or_else(String::new, |count| count.to_string()),
        traffic.enobufs.to_string(),
        number(cell.perturbation.soaked_by_unsoaked_control),
        number(cell.perturbation.soaked_by_nominal),
        String::new(),
    ]);
    cells
}

/// The cells under [`REQUESTS`].
fn requests(cost: &RequestCost) -> [String; REQUESTS.len()] {
    let ends = |figure: Option<Figure>| {
        let interval = figure.and_then(|figure| figure.interval);
        [
            figure.map(|figure| figure.value),
            interval.map(|interval| interval.low),
            interval.and_then(|interval| interval.high),
        ]
        .map(number)
    };
    let [us, us_low, us_high] = ends(cost.us_per_request);
    let [saved, saved_low, saved_high] = ends(cost.saved_us_per_request);
    let latency = |of: fn(&LatencyQuantiles) -> u64| {
        cost.latency.as_ref().map_or_else(String::new, |latency| of(latency).to_string())
    };
    [
        cost.body_bytes.to_string(),
        us,
        us_low,
        us_high,
        number(cost.process_us_per_request),
        saved,
        saved_low,
        saved_high,
        number(cost.requests_per_s),
        number(cost.top_requests_per_s),
        latency(|latency| latency.p50_ns),
        latency(|latency| latency.p99_ns),
        latency(|latency| latency.max_ns),
        latency(|latency| latency.requests),
    ]
}

/// The verdict in a word; `withheld` where verdicts are withheld.
pub(super) fn comparison(estimates: &Estimates, cell: &CellEstimate) -> &'static str {
    let Some(found) = estimates.verdict.for_cell(&cell.label) else {
        return "";
    };
    if !estimates.verdict.stands() {
        return "withheld";
    }
    match found.comparison {
        Comparison::Cheaper { .. } => "cheaper",
        Comparison::Dearer { .. } => "dearer",
        Comparison::Same { .. } => "same",
        Comparison::Undecided => "undecided",
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay_numbers() {
        let cells = [
            "=HYPERLINK(\"http://x/\"&A1)",
            "+1+1",
            "-2+3|cmd",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\u{ff1d}1",
            "-",
            "-0.25",
            "-1e-9",
            "+5",
            "a=b",
            "read+send",
            "'=1",
        ];
        let line = text(vec![cells.map(str::to_owned).to_vec()]);
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        let read: Vec<String> =
            reader.records().next().unwrap().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(
            read,
            [
                "'=HYPERLINK(\"http://x/\"&A1)",
                "'+1+1",
                "'-2+3|cmd",
                "'@SUM(A1)",
                "\\t=1",
                "\\r=1",
                "'\u{ff1d}1",
                "'-",
                "-0.25",
                "-1e-9",
                "+5",
                "a=b",
                "read+send",
                "''=1",
            ]
        );
    }
}
