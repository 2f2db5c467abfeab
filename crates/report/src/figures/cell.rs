//! The figures of a cell, in the order of its columns in tables: what it is, its costs, and how far
//! it was what was asked for.

use super::entry::{
    Column, Entry, Group, Needs, Part, Side, Value, Widths, bare, csv, each_side, from_ratio,
    metric, metric_with_interval,
};
use super::unit::{BYTES_PER_S, COST, GBIT_PER_S, NONE, RATIO};
use crate::digits::percent;
use crate::run::rows::{
    beyond_noise, comparison_word, gbit, in_us_per_mb as cost, name, ratio_of, rounded, verdict,
};
use zc_analysis::CellEstimate;

/// The figures of a cell without those of its traffic.
pub(super) const CELL: &[Entry<CellEstimate>] = &[
    Entry {
        name: "path",
        what: "The cell's name: its path, or its levels of the plan's factors.",
        unit: NONE,
        value: Value::Word(|_, cell| cell.label.clone()),
        json: "label",
        columns: &[Column::cell(Group::Name, ["path", ""], |_, cell| name(cell)).left()],
        csv: &[csv("path")],
        metric: None,
    },
    Entry {
        name: "receive path",
        what: "The receive path.",
        unit: NONE,
        value: Value::Word(|_, cell| cell.transfer.receiver().to_string()),
        json: "recv",
        columns: &[],
        csv: &[csv("recv")],
        metric: None,
    },
    Entry {
        name: "status",
        what: "The cell's place in the plan: reference, control, measured; or why it has no cost.",
        unit: NONE,
        value: Value::Word(|_, cell| status(cell).to_owned()),
        json: "",
        columns: &[],
        csv: &[csv("status")],
        metric: None,
    },
    Entry {
        name: "blocks",
        what: "Kept blocks in which its soaked trial has a cost.",
        unit: NONE,
        value: Value::One(|cell| Some(bare(cell.blocks as f64))),
        json: "blocks",
        columns: &[],
        csv: &[csv("blocks")],
        metric: None,
    },
    Entry {
        name: "cost",
        what: "CPU time that a byte of payload takes from the machine, by what the soakers lost: \
            median over blocks.",
        unit: COST,
        value: Value::Sides(|cell| cell.cost_ns_per_kib),
        json: "cost_us_per_mb",
        columns: &[
            Column::number(Group::Side, ["sender", "us/MB"], cost)
                .side(Side::Sender)
                .widths(Widths::Until(5)),
            Column::number(Group::Side, ["receiver", "us/MB"], cost)
                .side(Side::Receiver)
                .widths(Widths::Until(5))
                .needs(&[Needs::Receiver]),
            Column::number(Group::Main, ["both", "us/MB"], cost),
        ],
        csv: &[
            csv("sender_us_per_mb").side(Side::Sender),
            csv("sender_half_width_us_per_mb").side(Side::Sender).part(Part::HalfWidth),
            csv("receiver_us_per_mb").side(Side::Receiver),
            csv("receiver_half_width_us_per_mb").side(Side::Receiver).part(Part::HalfWidth),
            csv("both_us_per_mb"),
            csv("both_half_width_us_per_mb").part(Part::HalfWidth),
        ],
        metric: metric_with_interval("zc_cost"),
    },
    Entry {
        name: "ratio",
        what: "Cost by the cost of the cell that it is compared with.",
        unit: RATIO,
        value: Value::Sides(|cell| each_side(&cell.ratio, from_ratio)),
        json: "ratio",
        columns: &[Column::cell(Group::Main, ["ratio to", "reference"], |_, cell| ratio_of(cell))],
        csv: &[
            csv("ratio"),
            csv("ratio_low").part(Part::Low),
            csv("ratio_high").part(Part::High),
            csv("ratio_half_width").part(Part::HalfWidth),
        ],
        metric: metric_with_interval("zc_cost_to_compared"),
    },
    Entry {
        name: "converged",
        what: "Whether the interval of the ratio is within the plan's target.",
        unit: NONE,
        value: Value::Word(|_, cell| {
            cell.ratio.both.map_or_else(String::new, |ratio| ratio.converged.to_string())
        }),
        json: "ratio/both/converged",
        columns: &[],
        csv: &[csv("converged")],
        metric: None,
    },
    Entry {
        name: "comparison",
        what: "The verdict on its cost: cheaper, dearer, same, undecided, or withheld.",
        unit: NONE,
        value: Value::Word(|estimates, cell| comparison_word(estimates, cell).to_owned()),
        json: "",
        columns: &[Column::cell(Group::Main, ["verdict", ""], verdict)
            .left()
            .sorted_by(|cell| Some(cell.ratio.both.map_or(1.0, |ratio| ratio.value)))],
        csv: &[csv("comparison")],
        metric: None,
    },
    Entry {
        name: "speed per core",
        what: "Payload that a CPU which does nothing else could pay for.",
        unit: GBIT_PER_S,
        value: Value::One(|cell| cell.gbit_per_core.both),
        json: "gbit_per_core/both",
        columns: &[Column::number(Group::Main, ["Gbit/s", "/core"], |speed| gbit(speed.value))
            .widths(Widths::Until(7))],
        csv: &[csv("gbit_per_s_per_core")],
        metric: None,
    },
    Entry {
        name: "top speed",
        what: "Payload, unpaced and without soakers: median over trials.",
        unit: BYTES_PER_S,
        value: Value::One(|cell| cell.top_speed_bytes_per_s),
        json: "top_speed_bytes_per_s",
        columns: &[Column::number(Group::Main, ["top", "Gbit/s"], |speed| {
            gbit(speed.value * 8.0 / 1e9)
        })
        .widths(Widths::Until(6))],
        csv: &[csv("top_speed_bytes_per_s")],
        metric: metric_with_interval("zc_top_speed"),
    },
    Entry {
        name: "top speed by memcpy",
        what: "Top speed by the speed of a copy of memory that is in no cache.",
        unit: RATIO,
        value: Value::One(|cell| cell.top_speed_by_memcpy),
        json: "top_speed_by_memcpy",
        columns: &[],
        csv: &[csv("top_speed_by_memcpy")],
        metric: None,
    },
    Entry {
        name: "copied share",
        what: "Zero-copy completions that the kernel flagged as copied, by all of them.",
        unit: RATIO,
        value: Value::One(|cell| cell.copied_share.map(bare)),
        json: "copied_share",
        columns: &[Column::number(Group::Share, ["copied", "share"], |share| percent(share.value))
            .widths(Widths::Until(3))],
        csv: &[csv("copied_share")],
        metric: metric("zc_copied"),
    },
    Entry {
        name: "failed zero-copy",
        what: "Whether more than half of a zero-copy path was copied.",
        unit: NONE,
        value: Value::Word(|_, cell| cell.failed_zero_copy.to_string()),
        json: "failed_zero_copy",
        columns: &[],
        csv: &[csv("failed_zero_copy")],
        metric: None,
    },
    Entry {
        name: "cost on an idle host",
        what: "CPU time on a host that is idle otherwise: mean over unsoaked trials.",
        unit: COST,
        value: Value::One(|cell| cell.idle_host_ns_per_kib),
        json: "idle_host_us_per_mb",
        columns: &[Column::number(Group::Side, ["on an", "idle host"], cost)
            .widths(Widths::Until(4))
            .shown(|cell| beyond_noise(cell.idle_host_ns_per_kib).is_some())
            .needs(&[Needs::Shown])
            .not_in_html()],
        csv: &[csv("idle_host_us_per_mb")],
        metric: metric_with_interval("zc_idle_host_cost"),
    },
    Entry {
        name: "gross cost",
        what: "Soaked CPU time with zc's own harness in it: median over blocks.",
        unit: COST,
        value: Value::Sides(|cell| cell.gross_cost_ns_per_kib),
        json: "gross_cost_us_per_mb",
        // Without a measured harness the cost is gross.
        columns: &[Column::number(Group::Side, ["gross", "us/MB"], rounded)
            .widths(Widths::Until(2))
            .shown(|cell| cell.harness_ns_per_kib.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("gross_both_us_per_mb")],
        metric: metric_with_interval("zc_gross_cost"),
    },
    Entry {
        name: "cost by getrusage",
        what: "What getrusage says of the threads at both ends in the same windows.",
        unit: COST,
        value: Value::Sides(|cell| each_side(&cell.others.getrusage_soaked.cost_ns_per_kib, bare)),
        json: "others/getrusage_soaked/cost_us_per_mb",
        columns: &[
            Column::number(Group::Side, ["get-", "rusage"], rounded).widths(Widths::Until(1))
        ],
        csv: &[
            csv("getrusage_sender_us_per_mb").side(Side::Sender),
            csv("getrusage_receiver_us_per_mb").side(Side::Receiver),
            csv("getrusage_both_us_per_mb"),
        ],
        metric: metric("zc_getrusage_cost"),
    },
    Entry {
        name: "cost by /proc/stat",
        what: "What /proc/stat says in the same windows, soakers left out.",
        unit: COST,
        value: Value::One(|cell| cell.others.proc_stat.cost_ns_per_kib.both.map(bare)),
        json: "others/proc_stat/cost_us_per_mb/both",
        columns: &[Column::number(Group::Side, ["/proc/", "stat"], rounded).widths(Widths::Full)],
        csv: &[csv("proc_stat_both_us_per_mb")],
        metric: metric("zc_proc_stat_cost"),
    },
    Entry {
        name: "mean cost",
        what: "All CPU time by all bytes: the mean in place of the median.",
        unit: COST,
        value: Value::One(|cell| cell.mean_cost_ns_per_kib.both.map(bare)),
        json: "mean_cost_us_per_mb/both",
        columns: &[],
        csv: &[csv("mean_both_us_per_mb")],
        metric: None,
    },
    Entry {
        name: "rate reached",
        what: "Rate under soakers by the nominal one; below 0.98 the cost was taken at saturation.",
        unit: RATIO,
        value: Value::One(|cell| cell.perturbation.soaked_by_nominal.map(bare)),
        json: "perturbation/soaked_by_nominal",
        columns: &[],
        csv: &[csv("soaked_by_nominal")],
        metric: metric("zc_rate_reached"),
    },
    Entry {
        name: "perturbation",
        what: "Throughput with soakers by throughput without.",
        unit: RATIO,
        value: Value::One(|cell| cell.perturbation.soaked_by_unsoaked_control.map(bare)),
        json: "perturbation/soaked_by_unsoaked_control",
        columns: &[],
        csv: &[csv("soaked_by_unsoaked_control")],
        metric: metric("zc_perturbation"),
    },
    Entry {
        name: "reason",
        what: "Why a line has no cost: the path is not available, or costs are withheld.",
        unit: NONE,
        // Only lines without a cell, and runs without costs, have one.
        value: Value::Word(|_, _| String::new()),
        json: "",
        columns: &[],
        csv: &[csv("reason")],
        metric: None,
    },
];

fn status(cell: &CellEstimate) -> &'static str {
    match (cell.reference, cell.control, cell.blocks) {
        (_, _, 0) => "unmeasured",
        (true, _, _) => "reference",
        (_, true, _) if cell.positive_control => "positive-control",
        (_, true, _) => "control",
        _ => "measured",
    }
}
