//! Runs as metrics, for collecting figures over months: OpenMetrics text 1.0
//! (prometheus.io/docs/specs/om/open_metrics_spec) that is Prometheus text 0.0.4 at the same time,
//! which is the only one that node_exporter's textfile collector reads. All are gauges in base
//! units: costs in seconds of CPU time per byte, or per request of a server. Intervals have a
//! family for each end, with `_low` and `_high` in its name. Unknown values are absent.
//!
//! Labels do not change from one run to the next of the same plan, so that each figure remains one
//! series. Facts that change (when the run began, how it ended) are values, or labels of
//! `zc_run_info`.

use std::collections::HashMap;

use jiff::Timestamp;

use super::csv::raw;
use super::pivot::level;
use super::rows::comparison_word;
use crate::figures::entry::{Entry, Metric, Side, Value};
use crate::figures::registry::{cell_metrics, condition_metrics, request_metrics};
use crate::openmetrics::{Exposition, Interval, Labels, plan, with};
use zc_analysis::{CellEstimate, Estimates, RequestCost, Withheld};
use zc_run::{EndReason, Run, Support};

/// The whole exposition. With several runs, every sample has the number of its run as a label, from
/// 1; `zc_run_info` describes each run.
pub fn openmetrics(runs: &[(&Run, &Estimates)]) -> String {
    let mut out = Exposition::default();
    let several = runs.len() > 1;
    let runs: Vec<LabelledRun> = runs
        .iter()
        .enumerate()
        .map(|(number, &(run, estimates))| LabelledRun {
            labels: labels(run, several.then_some(number + 1)),
            run,
            estimates,
        })
        .collect();
    info(&mut out, &runs);
    times(&mut out, &runs);
    for figure in cell_metrics() {
        family(&mut out, figure, &mut runs.iter().flat_map(LabelledRun::cells));
    }
    for figure in condition_metrics() {
        let each = runs.iter().map(|run| (run.labels.clone(), run.estimates));
        family(&mut out, figure, &mut { each });
    }
    for figure in request_metrics() {
        family(&mut out, figure, &mut runs.iter().flat_map(LabelledRun::states));
    }
    blocks(&mut out, &runs);
    comparisons(&mut out, &runs);
    withheld(&mut out, &runs);
    unavailable(&mut out, &runs);
    out.end()
}

/// A run with the labels of all its samples.
struct LabelledRun<'a> {
    labels: Labels,
    run: &'a Run,
    estimates: &'a Estimates,
}

/// The labels of all samples of a run. Plan and link keep apart what several files of one host say.
fn labels(run: &Run, number: Option<usize>) -> Labels {
    let of_plan = &run.header.plan;
    let number = number.map(|number| ("run".to_owned(), number.to_string()));
    let plan = plan(&of_plan.experiment, &of_plan.fixed.link.to_string());
    number.into_iter().chain(plan).collect()
}

fn info(out: &mut Exposition, runs: &[LabelledRun]) {
    const NAME: &str = "zc_run_info";
    out.family(NAME, "", "A saved run of zc.");
    for labelled in runs {
        let header = &labelled.run.header;
        let own = [
            ("zc_version", header.zc_version.clone()),
            ("host", header.host.hostname.clone()),
            ("kernel", header.host.kernel_release.clone()),
            ("machine", header.host.machine.clone()),
            ("cpu", header.host.cpu.model.clone()),
            ("reference", labelled.estimates.reference.clone()),
            ("end", end(labelled.run).to_owned()),
        ];
        out.sample(NAME, &labelled.with(own), "1");
    }
}

/// Reason for the end of the run.
fn end(run: &Run) -> &'static str {
    match run.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::TargetReached) => "target-reached",
        Some(EndReason::Decided) => "decided",
        Some(EndReason::BudgetSpent) => "budget-spent",
        Some(EndReason::Interrupted) => "interrupted",
        Some(EndReason::Failed { .. }) => "failed",
        None => "cut-off",
    }
}

/// Writes when each run began, and how long it took.
fn times(out: &mut Exposition, runs: &[LabelledRun]) {
    const STARTED: &str = "zc_run_started_timestamp_seconds";
    out.family(STARTED, "seconds", "When the run began, since 1970: the age of all its figures.");
    for labelled in runs {
        let began = labelled.run.header.started_at.parse::<Timestamp>().ok();
        let value = began.map(|began| began.as_duration().as_secs_f64());
        out.gauge(STARTED, &labelled.labels, value);
    }
    const DURATION: &str = "zc_run_duration_seconds";
    out.family(DURATION, "seconds", "How long the run took; absent if it was cut off.");
    for labelled in runs {
        let value = labelled.run.end.as_ref().map(|end| end.elapsed_ns as f64 / 1e9);
        out.gauge(DURATION, &labelled.labels, value);
    }
}

/// Writes the family of a figure, and those of the ends of its interval if it has them.
fn family<S>(
    out: &mut Exposition,
    (entry, metric): (&Entry<S>, &Metric),
    samples: &mut dyn Iterator<Item = (Labels, &S)>,
) {
    let unit = entry.unit;
    let each = |of: &S, side| {
        let figure = entry.number(of, side);
        let interval = figure.and_then(|figure| figure.interval);
        [
            figure.map(|figure| figure.value),
            interval.map(|interval| interval.low),
            interval.and_then(|interval| interval.high),
        ]
        .map(|number| number.map(unit.in_base))
    };
    let mut found: Vec<Interval> = Vec::new();
    for (labels, of) in samples {
        match entry.value {
            Value::Sides(_) => {
                for (name, side) in SIDES {
                    found.push((with(&labels, [("side", name)]), each(of, side)));
                }
            }
            Value::One(_) | Value::Word(_) => found.push((labels, each(of, Side::Both))),
        }
    }
    if metric.interval {
        out.intervals((metric.name, unit.base, entry.what), 1.0, &found);
    } else {
        let name = format!("{}_{}", metric.name, unit.base);
        out.family(&name, unit.base, entry.what);
        for (labels, [value, ..]) in &found {
            out.gauge(&name, labels, *value);
        }
    }
}

/// The sides by their labels.
const SIDES: [(&str, Side); 3] =
    [("sender", Side::Sender), ("receiver", Side::Receiver), ("both", Side::Both)];

impl LabelledRun<'_> {
    /// The labels of the run and further ones.
    fn with<const N: usize>(&self, own: [(&str, String); N]) -> Labels {
        let own = own.map(|(name, value)| (name.to_owned(), value));
        [self.labels.as_slice(), &own].concat()
    }

    /// Each state of a server with the labels of its cell.
    fn states(&self) -> impl Iterator<Item = (Labels, &RequestCost)> {
        let states = self.estimates.requests.iter();
        let states: HashMap<&str, &RequestCost> =
            states.rev().map(|state| (state.label.as_str(), state)).collect();
        let cells = if states.is_empty() { None } else { Some(self.cells()) };
        cells
            .into_iter()
            .flatten()
            .filter_map(move |(labels, cell)| Some((labels, *states.get(cell.label.as_str())?)))
    }

    /// Each cell with its labels: name, role, paths, and levels of the plan's other factors.
    fn cells(&self) -> impl Iterator<Item = (Labels, &CellEstimate)> {
        let header = &self.run.header;
        let factors =
            if header.plan.factors.len() > 1 { header.plan.factors.as_slice() } else { &[] };
        self.estimates.cells.iter().enumerate().map(move |(place, figures)| {
            let mut labels = self.with([
                ("cell", figures.label.clone()),
                ("role", role(figures).to_owned()),
                ("send", figures.transfer.sender()),
                ("recv", figures.transfer.receiver().to_string()),
            ]);
            for factor in factors {
                let name = factor.name().replace('-', "_");
                if let (Some(cell), false) =
                    (header.plan.cells.get(place), labels.iter().any(|(known, _)| *known == name))
                {
                    labels.push((name, raw(&level(header, cell, *factor))));
                }
            }
            (labels, figures)
        })
    }
}

/// Role of a cell in its plan. Controls have the paths of the reference, and must not be mistaken
/// for it.
fn role(cell: &CellEstimate) -> &'static str {
    match cell {
        CellEstimate { positive_control: true, .. } => "positive-control",
        CellEstimate { control: true, .. } => "control",
        CellEstimate { reference: true, .. } => "reference",
        _ => "compared",
    }
}

fn blocks(out: &mut Exposition, runs: &[LabelledRun]) {
    const NAME: &str = "zc_blocks";
    out.family(NAME, "", "Blocks of measurements, by what became of them.");
    for labelled in runs {
        let account = &labelled.estimates.blocks;
        let dropped = &account.dropped;
        for (fate, count) in [
            ("kept", account.kept),
            ("steal", dropped.steal),
            ("idle-drift", dropped.idle_drift),
            ("foreign", dropped.foreign),
            ("trial-failed", dropped.trial_failed),
            ("unfinished", dropped.unfinished),
        ] {
            out.sample(NAME, &labelled.with([("fate", fate.to_owned())]), &count.to_string());
        }
    }
}

/// The verdicts, one of which is 1 for each cell with a baseline.
fn comparisons(out: &mut Exposition, runs: &[LabelledRun]) {
    const NAME: &str = "zc_comparison";
    out.family(
        NAME,
        "",
        "What may be said of a cell's cost against that of the cell it is compared with: 1 for \
            what holds, 0 for all else.",
    );
    for labelled in runs {
        for (labels, cell) in labelled.cells() {
            let found = comparison_word(labelled.estimates, cell);
            if found.is_empty() {
                continue;
            }
            for verdict in ["cheaper", "dearer", "same", "undecided", "withheld"] {
                let own = [("verdict".to_owned(), verdict.to_owned())];
                let value = if verdict == found { "1" } else { "0" };
                out.sample(NAME, &[labels.as_slice(), &own].concat(), value);
            }
        }
    }
}

/// Each reason for which verdicts can be withheld, so that an alert finds a 0 where all is well.
fn withheld(out: &mut Exposition, runs: &[LabelledRun]) {
    const NAME: &str = "zc_verdicts_withheld";
    out.family(NAME, "", "Whether the run's verdicts are withheld for this reason.");
    for labelled in runs {
        let found: Vec<&str> =
            labelled.estimates.verdict.withheld.iter().map(Withheld::name).collect();
        for reason in REASONS {
            let value = if found.contains(reason) { "1" } else { "0" };
            out.sample(NAME, &labelled.with([("reason", (*reason).to_owned())]), value);
        }
    }
}

/// The reasons, as [`Withheld::name`] has them.
const REASONS: &[&str] = &[
    "control-differs",
    "positive-control-missed",
    "control-too-wide",
    "positive-control-unseen",
    "below-zero",
    "no-control",
    "no-reference",
    "too-few-blocks",
    "reference-saturated",
    "busy-machine",
    "warning",
];

/// Paths and settings that were requested and are not available there: a path that a new kernel
/// refuses must not be mistaken for one that nobody measured.
fn unavailable(out: &mut Exposition, runs: &[LabelledRun]) {
    const NAME: &str = "zc_unavailable";
    out.family(NAME, "", "A cell that could not be measured, and the kind of reason.");
    for labelled in runs {
        for row in &labelled.run.header.unavailable {
            if let Support::No(no) = &row.support {
                let own = [("cell", row.name.clone()), ("kind", no.kind.name().to_owned())];
                out.sample(NAME, &labelled.with(own), "1");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_all_that_there_are_and_have_their_names_in_json() {
        let schema = schemars::schema_for!(Withheld).to_value();
        let variants = schema["oneOf"].as_array().unwrap();
        let names = variants.iter().map(|each| each["properties"]["why"]["const"].as_str());
        assert_eq!(names.map(Option::unwrap).collect::<Vec<&str>>(), REASONS);
    }
}
