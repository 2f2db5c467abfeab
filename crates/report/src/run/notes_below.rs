//! The notes below the tables: whose costs they are, controls, drop counts, failed trials and
//! warnings.

use std::collections::HashSet;

use super::rows::beyond_noise;
use super::verdict;
use super::{account, pivot_tables, rows};
use crate::digits::{
    bound, percent, rate, ratio, signed_percent, significant, us_per_mb, with_half_width,
};
use crate::terminal::note::{Note, note};
use crate::text::shown;
use zc_analysis::{CellEstimate, Control, Estimates, Figure, PositiveControl, RatioFigure};
use zc_run::escape;
use zc_run::{LinkKind, PeerKind, Run, ServerPlan, Severity, SupportRow, Traffic, Warning};

/// The paths that are not available, by name, each with its reason and remedy.
pub(crate) fn unavailable(run: &Run) -> Vec<(String, String)> {
    let rows = run.header.unavailable.iter();
    rows.filter_map(reason)
        .map(|(name, reason, remedy)| (name, format!("{reason}{remedy}")))
        .collect()
}

/// Name, reason and remedy of something not available.
pub(crate) fn reason(row: &SupportRow) -> Option<(String, String, String)> {
    let zc_run::Support::No(no) = &row.support else { return None };
    let what = if matches!(row.what.as_str(), "send path" | "cell") {
        String::new()
    } else {
        format!(" ({})", shown(&row.what))
    };
    let remedy = no
        .remedy
        .as_deref()
        .map_or_else(String::new, |remedy| format!("; remedy: {}", escape(remedy, 400)));
    let reason = format!("{}: {}", no.kind.name(), escape(&no.reason, 400));
    Some((format!("{}{what}", shown(&row.name)), reason, remedy))
}

/// Meanings of the marks in the table.
pub(crate) fn footnotes(run: &Run, estimates: &Estimates) -> Vec<String> {
    let mut footnotes: Vec<String> = rows::marks_in_use(estimates)
        .iter()
        .map(|mark| format!("{} {}", mark.sign, mark.meaning))
        .collect();
    if run.header.plan.factors.len() > 1 {
        footnotes.extend(pivot_tables::footnote(estimates));
    }
    footnotes
}

/// All notes below the tables.
pub(crate) fn below(run: &Run, estimates: &Estimates) -> Vec<Note> {
    let mut notes = vec![control(estimates)];
    notes.extend(positive_control(estimates));
    notes.extend(little_traffic(run, estimates));
    notes.extend(sides(run, estimates));
    if !estimates.sender_alone
        && run.header.plan.cells.iter().any(|cell| cell.transfer.receiver().drops_bytes())
    {
        notes.push(note(
            "receiver",
            "recv-trunc drops the bytes uncopied: no real receiver costs so little",
        ));
    }
    notes.extend(two_states(estimates));
    notes.extend(wander(estimates, 1.0));
    notes.extend(harness(estimates));
    notes.extend(idle_host(estimates));
    notes.extend(perturbation(estimates));
    notes.extend(means(estimates));
    notes.extend(other_methods(estimates));
    notes.extend(far_process(run, estimates));
    notes.extend(other_cpus(estimates));
    notes.extend(memcpy(estimates));
    notes.push(account::account(estimates));
    notes.extend(account::unattributed(estimates));
    notes.push(blocks(run, estimates));
    notes.extend(failed(run));
    notes.extend(warnings(run).into_iter().map(|warning| {
        let remedy = warning
            .remedy
            .as_deref()
            .map_or_else(String::new, |remedy| format!("; remedy: {}", escape(remedy, 400)));
        let label = match warning.severity {
            Severity::Note => "note",
            Severity::Doubt => "doubt",
            Severity::Withhold => "WITHHELD",
        };
        note(label, format!("{}{remedy}", escape(&warning.text, 600)))
    }));
    notes
}

/// Names the side whose cost the figures are, where the sides are not separate.
fn sides(run: &Run, estimates: &Estimates) -> Option<Note> {
    let (fixed, server) = (&run.header.plan.fixed, run.header.plan.traffic.server());
    let nfs = run.header.plan.traffic.nfs();
    let far_client =
        nfs.filter(|nfs| nfs.is_of_the_server()).and_then(|nfs| nfs.client_at.as_ref());
    let text = if fixed.link == LinkKind::Null {
        format!(
            "the null link has no receiver: packets end at an ideal network card, so every figure \
             is the sender's alone; the ACK generator runs on CPU {} and is not counted",
            fixed.receiver_cpu
        )
    } else if let Some(from) = server.and_then(|server| server.load_from.as_ref()) {
        format!(
            "every figure is what all CPUs of the server's machine lost; the load comes from {} \
             and is not counted",
            escape(from, 80)
        )
    } else if let Some(client_at) = far_client {
        format!(
            "every figure is the server's: the loss of all CPUs of this machine; the client is at \
             {} and is not counted",
            escape(client_at, 80)
        )
    } else if server.is_some_and(ServerPlan::ran_already) {
        format!(
            "every figure is what all CPUs lost, less the CPU time of the load's thread on CPU {}: \
             the server's, and the softirqs of both sides",
            fixed.receiver_cpu
        )
    } else if run.header.plan.is_of_a_server() {
        format!(
            "every figure is the server's alone; the load runs on CPU {} and is not counted",
            fixed.receiver_cpu
        )
    } else if estimates.sender_alone {
        format!(
            "over {} the receiver was not measured, so every figure is the sender's alone",
            fixed.link
        )
    } else if estimates.client_alone {
        "every figure is the client's: the loss of all CPUs of this machine, and the server is on \
         another"
            .to_owned()
    } else if (run.header.remote.is_some() || nfs.is_some_and(|nfs| nfs.shares_machine))
        && !estimates.sides_apart
    {
        "both ends are on one machine: its soakers lose time to both, so only the cost of both is \
         given"
            .to_owned()
    } else if !estimates.sides_apart {
        format!(
            "over {} the two ends share their CPUs, so only the cost of both is given",
            fixed.link
        )
    } else if estimates
        .cells
        .iter()
        .any(|cell| cell.cost_ns_per_kib.both.is_some() && cell.cost_ns_per_kib.sender.is_none())
    {
        "where the two ends share a CPU, only the cost of both is given".to_owned()
    } else {
        return None;
    };
    Some(note("sides", text))
}

/// The warnings of header and end without duplicates, the gravest first.
pub(crate) fn warnings(run: &Run) -> Vec<&Warning> {
    let mut seen = HashSet::new();
    let all = run.header.warnings.iter().chain(run.end.iter().flat_map(|end| &end.warnings));
    let mut warnings: Vec<&Warning> = all.filter(|warning| seen.insert(*warning)).collect();
    warnings.sort_by_key(|warning| std::cmp::Reverse(warning.severity));
    warnings
}

pub(crate) fn control(estimates: &Estimates) -> Note {
    let text = match &estimates.control {
        None => "none in this plan".to_owned(),
        Some(control) => match (control.ratio.both, control.fits) {
            (Some(figure), Some(fits)) => format!(
                "{} against itself {}: {}",
                shown(&estimates.reference),
                with_bounds(&figure),
                match fits {
                    false => format!("A DIFFERENCE WHERE THERE IS NONE{}", unjudged(estimates)),
                    true if control.is_too_wide() => too_wide(control.resolution),
                    true => "no difference, as expected".to_owned(),
                }
            ),
            (Some(figure), None) => format!(
                "{} against itself {}: too few blocks for an interval",
                shown(&estimates.reference),
                ratio(figure.value, None)
            ),
            (None, _) => without_ratio(estimates, &control.label),
        },
    };
    note("A/A control", text)
}

/// The reason for which a control was compared with nothing.
fn without_ratio(estimates: &Estimates, label: &str) -> String {
    let cell = estimates.cells.iter().find(|cell| cell.label == label);
    match cell
        .is_some_and(|cell| cell.cost_ns_per_kib.both.or(cell.cost_ns_per_kib.sender).is_some())
    {
        true => "its cost is not above the noise, or that of the reference is not".to_owned(),
        false => "not measured".to_owned(),
    }
}

/// Differences left undecided by a control that agrees with the truth only because it is wide.
fn too_wide(resolution: Option<f64>) -> String {
    match resolution {
        Some(share) => {
            format!("TOO WIDE to see differences of up to {}, which are not judged", percent(share))
        }
        None => "TOO WIDE to see any difference".to_owned(),
    }
}

/// A ratio with its half-width, or the ends of its interval where that has no upper one.
fn with_bounds(figure: &RatioFigure) -> String {
    let text = ratio(figure.value, figure.half_width);
    match figure.interval {
        Some(ends) if figure.half_width.is_none() => format!(
            "{text} ({:.2} to {})",
            ends.low,
            ends.high.map_or_else(no_bound, |high| format!("{high:.2}"))
        ),
        _ => text,
    }
}

fn no_bound() -> String {
    "no bound".to_owned()
}

/// Differences left undecided by the error that the controls show.
fn unjudged(estimates: &Estimates) -> String {
    estimates.verdict.control_error.map_or_else(String::new, verdict::unjudged)
}

/// Whether a known cost was found.
pub(crate) fn positive_control(estimates: &Estimates) -> Option<Note> {
    let positive = estimates.positive_control.as_ref()?;
    let text = match (positive.expected, positive.found) {
        (Some(expected), Some(found)) => {
            format!(
                "a known cost of {} was added to {}{} and found as {}{}{}",
                percent(expected - 1.0),
                shown(&estimates.reference),
                positive.in_softirqs.map_or_else(String::new, |share| format!(
                    " ({} of it in softirqs)",
                    percent(share)
                )),
                percent(found.value - 1.0),
                found.interval.map_or_else(String::new, |ends| format!(
                    " ({} to {})",
                    percent(ends.low - 1.0),
                    ends.high.map_or_else(no_bound, |high| percent(high - 1.0))
                )),
                match positive.fits {
                    Some(true) if positive.seen == Some(false) => {
                        format!(": TOO WIDE to see it{}", unjudged(estimates))
                    }
                    Some(true) if positive.is_too_wide() => {
                        format!(": {}", too_wide(positive.resolution))
                    }
                    Some(true) => String::new(),
                    Some(false) => format!(": NOT WHAT WAS ADDED{}", unjudged(estimates)),
                    None => ": too few blocks for an interval".to_owned(),
                }
            )
        }
        _ => without_ratio(estimates, &positive.label),
    };
    Some(note("positive", text))
}

/// Advice if the controls are too wide because the traffic takes hardly more of the CPUs than idle
/// windows scatter by: over a slow link, or at a low rate.
pub(crate) fn little_traffic(run: &Run, estimates: &Estimates) -> Option<Note> {
    /// Scatter of windows whatever the traffic is, in CPUs: two CPUs whose idle windows scatter by
    /// some 0.5 %.
    const SCATTER_CPUS: f64 = 0.01;
    let is_wide = estimates.control.as_ref().is_some_and(Control::is_too_wide)
        || estimates.positive_control.as_ref().is_some_and(PositiveControl::is_too_wide);
    let plan = &run.header.plan;
    let reference = estimates.cells.iter().find(|cell| cell.label == estimates.reference)?;
    let cost = reference.cost_ns_per_kib;
    let cost_ns_per_kib = cost.both.or(cost.sender)?.value;
    let rate_bytes_per_s = plan.fixed.rate_bytes_per_s;
    let cpus = cost_ns_per_kib * rate_bytes_per_s / 1024.0 / 1e9;
    let is_little = cpus < 5.0 * SCATTER_CPUS;
    (is_wide && is_little && !matches!(plan.traffic, Traffic::Server(_) | Traffic::Nfs(_))).then(
        || {
            note(
                "traffic",
                format!(
                    "at {} it takes some {} of a CPU, and idle windows scatter by as much as {}: a \
                     higher --rate, over a faster link, tells more than a longer run",
                    rate(rate_bytes_per_s),
                    percent(cpus.max(0.0)),
                    percent(SCATTER_CPUS)
                ),
            )
        },
    )
}

fn perturbation(estimates: &Estimates) -> Option<Note> {
    let shares = extremes(estimates, |cell| {
        cell.perturbation.soaked_by_unsoaked_control.map(|share| share - 1.0)
    });
    let reached = extremes(estimates, |cell| cell.perturbation.soaked_by_nominal);
    let mut parts = Vec::new();
    if let Some(((least, low), (most, high))) = shares {
        parts.push(format!(
            "soakers changed the throughput by {} ({least}) to {} ({most})",
            signed_percent(low),
            signed_percent(high)
        ));
    }
    if let Some(((least, low), (_, high))) = reached {
        let beside = match estimates.cells.iter().any(|cell| cell.perturbation.is_held_back()) {
            true => " beside other programs",
            false => "",
        };
        parts.push(format!(
            "{} ({least}) to {} of the rate was reached{beside}",
            percent(low),
            percent(high)
        ));
    }
    parts.extend(soaked_cost(estimates).map(|text| format!("{text}, by getrusage")));
    (!parts.is_empty()).then(|| note("perturbation", parts.join("; ")))
}

/// Cost of a byte with soakers running, relative to the same traffic without them.
fn soaked_cost(estimates: &Estimates) -> Option<String> {
    let times = estimates.cost_ratio_with_soakers?;
    let half = times
        .half_width
        .map_or_else(String::new, |half| format!(" (±{})", percent(half / times.value)));
    let times = bound(times.value, times.half_width.unwrap_or(0.01));
    Some(format!("a byte costs {times} times as much with soakers running{half}"))
}

/// The cells whose ratio lies between two states.
pub(crate) fn two_states(estimates: &Estimates) -> Option<Note> {
    let each = estimates.cells.iter().filter(|cell| !cell.control).filter_map(|cell| {
        let states = cell.two_states?;
        let by = cell.by.as_deref().unwrap_or(&estimates.reference);
        Some(format!(
            "{} costs {:.2} times as much as {} in {} blocks and {:.2} times in {}",
            shown(&cell.label),
            states.low,
            shown(by),
            states.low_blocks,
            states.high,
            states.high_blocks
        ))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| note("two states", each.join("; ")))
}

/// Wander of ratios and costs, where an interval is more than `least` times as wide for it.
pub(crate) fn wander(estimates: &Estimates, least: f64) -> Option<Note> {
    let (ratios, costs) = (estimates.wander.ratios?, estimates.wander.costs?);
    let cells = estimates.cells.iter().filter_map(|cell| cell.ratio.both);
    let widest = cells.map(|ratio| ratio.wander_inflation).fold(1.0, f64::max);
    (widest > least).then(|| {
        note(
            "wander",
            format!(
                "slow drift during the run, of {} in ratios and {} in costs, makes intervals up to \
                 {widest:.1} times as wide",
                percent(ratios),
                percent(costs)
            ),
        )
    })
}

/// The cost of zc itself that was subtracted from the costs, where the run measured it.
pub(crate) fn harness(estimates: &Estimates) -> Option<Note> {
    let ((_, least), (_, most)) = extremes(estimates, |cell| Some(cell.harness_ns_per_kib?.value))?;
    let (low, high) = (significant(us_per_mb(least)), significant(us_per_mb(most)));
    let text = if low == high { low } else { format!("{low} to {high}") };
    Some(note(
        "harness",
        format!("the cost of zc itself (pacing, metering), {text} us/MB, is taken off all costs"),
    ))
}

/// Cost of the reference on a busy host and on an idle one.
pub(crate) fn idle_host(estimates: &Estimates) -> Option<Note> {
    let reference = estimates.cells.iter().find(|cell| cell.reference)?;
    let (busy, idle) =
        (reference.cost_ns_per_kib.both?, beyond_noise(reference.idle_host_ns_per_kib)?);
    let cost =
        |figure: Figure| with_half_width(us_per_mb(figure.value), figure.half_width.map(us_per_mb));
    Some(note(
        "idle host",
        format!(
            "{} costs {} us/MB on a busy host and {} on one that is idle otherwise",
            shown(&reference.label),
            cost(busy),
            cost(idle)
        ),
    ))
}

/// Means by medians, where one of them is not within the interval of its median.
fn means(estimates: &Estimates) -> Option<Note> {
    let both =
        |cell: &CellEstimate| Some((cell.cost_ns_per_kib.both?, cell.mean_cost_ns_per_kib.both?));
    let differs = |cell: &CellEstimate| {
        let (median, mean) = both(cell)?;
        let interval = median.interval?;
        Some(mean < interval.low || interval.high.is_some_and(|high| mean > high))
    };
    if !estimates.cells.iter().any(|cell| differs(cell) == Some(true)) {
        return None;
    }
    let ((least, low), (most, high)) = extremes(estimates, |cell| {
        let (median, mean) = both(cell)?;
        (median.value > 0.0).then(|| mean / median.value - 1.0)
    })?;
    Some(note(
        "means",
        format!(
            "costs are medians; their means, with the bursts of everything else in them, differ by \
             {} ({least}) to {} ({most})",
            signed_percent(low),
            signed_percent(high)
        ),
    ))
}

fn other_methods(estimates: &Estimates) -> Option<Note> {
    let off = |by: fn(&CellEstimate) -> Option<f64>| {
        extremes(estimates, by).map(|((least, low), (most, high))| {
            format!(
                "off by {} ({least}) to {} ({most})",
                signed_percent(low - 1.0),
                signed_percent(high - 1.0)
            )
        })
    };
    let mut parts = Vec::new();
    if let Some(text) = off(|cell| cell.others.getrusage_soaked.by_soaked.both) {
        let whose = match (estimates.requests.is_empty(), estimates.sender_alone) {
            (false, _) => "the CPU clocks of the server's processes".to_owned(),
            (true, true) => "getrusage of the sender".to_owned(),
            (true, false) => format!("getrusage of {}", pivot_tables::measured_side(estimates)),
        };
        parts.push(format!("{whose} in the same windows {text}"));
    }
    // /proc/stat has the load of a server in it.
    if estimates.requests.is_empty()
        && let Some(text) = off(|cell| cell.others.proc_stat.by_soaked.both)
    {
        parts.push(format!("/proc/stat, soakers left out, {text}"));
    }
    (!parts.is_empty()).then(|| note("others", parts.join("; ")))
}

/// Report of a far end other than zc about itself.
fn far_process(run: &Run, estimates: &Estimates) -> Option<Note> {
    let name = run
        .header
        .remote
        .as_ref()
        .filter(|remote| remote.kind == PeerKind::Iperf3)
        .map(|_| "the iperf3 server")?;
    let cost = |cell: &CellEstimate| cell.others.far_process_ns_per_kib.map(us_per_mb);
    extremes(estimates, cost).map(|((least, low), (most, high))| {
        note(
            "receiver",
            format!(
                "{name} reports {low:.0} ({least}) to {high:.0} ({most}) us/MB for its process, by \
                 getrusage over each whole trial; kernel work charged to other tasks is not \
                 included"
            ),
        )
    })
}

/// CPU time lost on CPUs of neither end, which is in no column of the table.
fn other_cpus(estimates: &Estimates) -> Option<Note> {
    let cost =
        |cell: &CellEstimate| cell.other_cpus_ns_per_kib.map(|figure| us_per_mb(figure.value));
    extremes(estimates, cost).map(|((least, low), (most, high))| {
        note(
            "other CPUs",
            format!(
                "{low:.1} ({least}) to {high:.1} ({most}) us/MB were used on CPUs of neither \
                end; no column includes them"
            ),
        )
    })
}

fn memcpy(estimates: &Estimates) -> Option<Note> {
    let conditions = &estimates.conditions;
    let median = conditions.memcpy_bytes_per_s?;
    let range = match (conditions.memcpy_slowest_bytes_per_s, conditions.memcpy_fastest_bytes_per_s)
    {
        (Some(slowest), Some(fastest)) => {
            format!(" ({} to {} between blocks)", rate(slowest), rate(fastest))
        }
        _ => String::new(),
    };
    let what = if estimates.requests.is_empty() { "paths" } else { "states" };
    Some(note(
        "memcpy",
        format!("{}{range}: the cost of {what} that copy moves with it", rate(median)),
    ))
}

fn blocks(run: &Run, estimates: &Estimates) -> Note {
    let dropped = &estimates.blocks.dropped;
    let by_rule: Vec<String> = [
        (dropped.steal, "for steal above 1 %"),
        (dropped.idle_drift, "for idle drift"),
        (dropped.foreign, "for other work above 2 %"),
        (dropped.trial_failed, "for a trial that failed"),
        (dropped.unfinished, "cut short"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, why)| format!("{count} {why}"))
    .collect();
    account::blocks(run, estimates, &by_rule)
}

/// Failed trials per cell: how many, and the reason of the last one.
fn failed(run: &Run) -> Option<Note> {
    let mut cells: Vec<(&str, usize, &str)> = Vec::new();
    for failed in run.blocks.iter().flat_map(|block| &block.failed) {
        match cells.iter_mut().find(|(cell, _, _)| *cell == failed.cell) {
            Some((_, count, reason)) => (*count, *reason) = (*count + 1, &failed.reason),
            None => cells.push((&failed.cell, 1, &failed.reason)),
        }
    }
    let each = cells.into_iter().map(|(cell, count, reason)| {
        let trials =
            if count == 1 { "1 trial".to_owned() } else { format!("{count} trials, the last one") };
        format!("{} in {trials}: {}", shown(cell), escape(reason, 400))
    });
    let text = each.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| note("failed", text))
}

/// The extremes of a figure over the rows, each with its path.
pub(crate) fn extremes(
    estimates: &Estimates,
    of: impl Fn(&CellEstimate) -> Option<f64>,
) -> Option<((String, f64), (String, f64))> {
    let mut found: Vec<(String, f64)> = rows::sorted(estimates)
        .iter()
        .filter_map(|cell| Some((shown(&cell.label), of(cell)?)))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    Some((found.first()?.clone(), found.last()?.clone()))
}
