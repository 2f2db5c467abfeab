//! The verdict in sentences, or the reasons for which it is withheld.

use super::notes_above;
use super::pivot::Pivot;
use super::pivot_tables::measured_side;
use super::rates::{each, rates};
use super::verdict_by_level;
use crate::digits::{bound, percent, significant};
use crate::text::{list, was};
use zc_analysis::{Comparison, Estimates, RatioFigure, Withheld};
use zc_run::{Run, Traffic, escape};

/// The verdict in two or three sentences.
pub(crate) fn verdict(run: &Run, estimates: &Estimates) -> Vec<String> {
    let mut sentences = if estimates.verdict.stands() {
        comparisons(run, estimates)
    } else {
        withheld(run, estimates)
    };
    sentences.extend(failed_zero_copy(run, estimates));
    sentences
}

/// The sentence that verdicts are withheld, with its reasons.
pub(crate) fn withheld(run: &Run, estimates: &Estimates) -> Vec<String> {
    vec![format!("Verdict withheld: {}.", why_withheld(run, estimates).join("; "))]
}

/// The reasons for which verdicts are withheld, each as a part of a sentence.
pub(crate) fn why_withheld(run: &Run, estimates: &Estimates) -> Vec<String> {
    let reasons = estimates.verdict.withheld.iter().map(|why| match why {
        Withheld::ControlDiffers { ratio, low, high } => format!(
            "{} differs from itself, {ratio:.3} ({low:.3} to {}): this machine could not measure \
             differences of that size",
            shown(&estimates.reference),
            high.map_or_else(|| "no bound".to_owned(), |high| format!("{high:.3}"))
        ),
        Withheld::PositiveControlMissed { expected, found, .. } => {
            format!("{}: differences are not found as they are", missed(*expected, *found))
        }
        Withheld::ControlTooWide { .. } => {
            "the controls are too wide to see any difference".to_owned()
        }
        Withheld::PositiveControlUnseen { expected, low, high } => unseen(*expected, *low, *high),
        Withheld::BelowZero { of, us_per_mb, low, high } => {
            below_zero(&shown(of), [*us_per_mb, *low, *high])
        }
        Withheld::NoControl => match estimates.control.as_ref().map(|control| control.fits) {
            None => "there is no A/A control".to_owned(),
            Some(None) => "the A/A control has no interval".to_owned(),
            Some(Some(_)) => "the positive control has no interval".to_owned(),
        },
        Withheld::NoReference => {
            format!("the reference {} has no cost", shown(&estimates.reference))
        }
        Withheld::TooFewBlocks { kept, needed } => {
            format!("{} kept, and an interval needs {needed}", was(*kept, "block"))
        }
        Withheld::ReferenceSaturated { reached } => format!(
            "{} reached {} of the rate, so the others would be compared with it at different \
             rates; {}",
            shown(&estimates.reference),
            percent(*reached),
            lower_rate(run)
        ),
        Withheld::BusyMachine { dropped, measured } => {
            format!(
                "{dropped} of {measured} blocks were dropped by rule: something else used the \
                machine"
            )
        }
        Withheld::Warning { name, .. } => {
            let warnings =
                run.header.warnings.iter().chain(run.end.iter().flat_map(|end| &end.warnings));
            match warnings.into_iter().find(|warning| warning.name == *name) {
                Some(warning) => escape(&warning.text, 400),
                None => format!("the warning \"{}\" forbids it", shown(name)),
            }
        }
    });
    reasons.collect()
}

/// What to do about a rate that was too high: it is of another option in each kind of run, and in
/// some zc always chooses it.
fn lower_rate(run: &Run) -> &'static str {
    const CHOSEN: &str =
        "zc chose the rate by the top speed that it measured first, so measure again";
    match &run.header.plan.traffic {
        Traffic::Server(server) if server.mix.is_some() => CHOSEN,
        Traffic::Server(server) if !server.generator.is_empty() => {
            "give the load generator a lower one"
        }
        Traffic::Server(_) => "choose a lower one with --requests",
        Traffic::Responses(responses) if responses.replay.is_some() => {
            "choose a lower one with --speedup"
        }
        Traffic::Responses(_) => CHOSEN,
        Traffic::Stream if each(run).any(|at| at.clients().is_some()) => {
            "choose a lower one with --client-rate"
        }
        Traffic::Stream | Traffic::Nfs(_) => "choose a lower one with --rate",
    }
}

/// Differences left undecided by an error of the controls, as a share.
pub(crate) fn unjudged(error: f64) -> String {
    format!("; differences of up to {} are not judged", percent(error))
}

/// The result of a positive control that is too wide to see what was added.
pub(crate) fn unseen(expected: f64, low: f64, high: Option<f64>) -> String {
    format!(
        "{} was added to the reference and found as {} to {}: too wide to see it, more blocks make \
         it narrower",
        percent(expected - 1.0),
        percent(low - 1.0),
        high.map_or_else(|| "no bound".to_owned(), |high| percent(high - 1.0))
    )
}

/// A cost below 0: its value and the ends of its interval, us/MB.
pub(crate) fn below_zero(of: &str, us_per_mb: [f64; 3]) -> String {
    let [cost, low, high] = us_per_mb.map(significant);
    format!("{of} costs {cost} us/MB ({low} to {high}): below 0 is a fault of the instrument")
}

/// The result of a positive control that did not find what was added.
pub(crate) fn missed(expected: f64, found: f64) -> String {
    format!(
        "{} was added to the reference and found as {}",
        percent(expected - 1.0),
        percent(found - 1.0)
    )
}

/// The sentences about the comparisons of paths.
fn comparisons(run: &Run, estimates: &Estimates) -> Vec<String> {
    let place = place(run, estimates);
    if let Some(pivot) = Pivot::build(run, estimates) {
        return verdict_by_level::summary(estimates, &pivot, &place).into_iter().collect();
    }
    let reference = shown(&estimates.reference);
    // A copied zero-copy send never counts as the cheapest.
    let mut rows: Vec<(&str, RatioFigure, Comparison)> = estimates
        .cells
        .iter()
        .filter(|cell| !cell.control && !cell.failed_zero_copy)
        .filter_map(|cell| {
            let verdict = estimates.verdict.for_cell(&cell.label)?;
            Some((cell.label.as_str(), cell.ratio.both?, verdict.comparison))
        })
        .collect();
    rows.sort_by(|(_, a, _), (_, b, _)| a.value.total_cmp(&b.value));
    let names = |wanted: fn(&Comparison) -> bool| -> Vec<String> {
        rows.iter().filter(|(_, _, is)| wanted(is)).map(|(label, _, _)| shown(label)).collect()
    };

    let mut sentences = Vec::new();
    let mut cheaper = rows.iter().filter(|(_, _, is)| matches!(is, Comparison::Cheaper { .. }));
    match cheaper.next() {
        Some((label, best, _)) => {
            let others: Vec<String> = cheaper
                .map(|(label, ratio, _)| {
                    format!("{} {}", shown(label), bound(ratio.value, width(ratio)))
                })
                .collect();
            let others =
                if others.is_empty() { String::new() } else { format!("; {}", list(&others)) };
            sentences.push(format!(
                "{place} {} costs {} times as much as {reference}{}{others}.",
                shown(label),
                bound(best.value, width(best)),
                interval(estimates, best)
            ));
        }
        None => sentences.push(format!("{place} no path was shown to cost less than {reference}.")),
    }

    let tied: Vec<String> = estimates
        .verdict
        .cheapest
        .iter()
        .filter(|label| {
            !estimates
                .cells
                .iter()
                .any(|cell| cell.label == **label && (cell.failed_zero_copy || cell.control))
        })
        .map(|label| shown(label))
        .collect();
    let mut clauses = Vec::new();
    if tied.len() > 1 {
        clauses.push(format!("{} are the cheapest, without a measurable difference", list(&tied)));
    }
    let dearer = names(|is| matches!(is, Comparison::Dearer { .. }));
    if !dearer.is_empty() {
        clauses.push(format!(
            "{} {} more than {reference}",
            list(&dearer),
            if dearer.len() == 1 { "costs" } else { "cost" }
        ));
    }
    let same: Vec<String> = rows
        .iter()
        .filter_map(|(label, _, is)| match is {
            Comparison::Same { within } => {
                Some(format!("{} (within {})", shown(label), percent(*within)))
            }
            _ => None,
        })
        .collect();
    if !same.is_empty() {
        clauses.push(format!("the same as {reference}: {}", list(&same)));
    }
    let undecided = names(|is| matches!(is, Comparison::Undecided));
    if !undecided.is_empty() {
        clauses.push(format!(
            "undecided against {reference} after {} blocks: {}",
            estimates.blocks.kept,
            list(&undecided)
        ));
    }
    if !clauses.is_empty() {
        sentences.push(format!("{}.", capital(&clauses.join("; "))));
    }
    sentences
}

/// `On this machine, over veth at 400 MB/s, for both ends together,`.
pub(crate) fn place(run: &Run, estimates: &Estimates) -> String {
    let whose = if estimates.sender_alone {
        format!("{} alone", notes_above::sender(run))
    } else if estimates.client_alone {
        measured_side(estimates).to_owned()
    } else {
        "both ends together".to_owned()
    };
    format!("{} at {}, for {whose},", route(run), rates(run))
}

/// The machines and the link, in words.
fn route(run: &Run) -> String {
    let header = &run.header;
    match &header.remote {
        None => format!("On this machine, over {}", header.plan.fixed.link),
        Some(remote) => match &remote.machine {
            Some(machine) if machine.same_machine => {
                format!("On this machine, to {}", shown(&remote.address))
            }
            Some(machine) => format!(
                "From {} to {}",
                shown(&header.host.hostname),
                shown(&machine.host.hostname)
            ),
            None => format!("From {} to {}", shown(&header.host.hostname), shown(&remote.address)),
        },
    }
}

/// The zero-copy sends that the kernel copied, as it does on links inside one machine. In a plan of
/// several factors each path is named once, with its smallest copied share.
fn failed_zero_copy(run: &Run, estimates: &Estimates) -> Option<String> {
    let several = run.header.plan.factors.len() > 1;
    let mut copied: Vec<(String, Option<f64>)> = Vec::new();
    for cell in estimates.cells.iter().filter(|cell| cell.failed_zero_copy && !cell.control) {
        let name = if several { cell.transfer.sender() } else { shown(&cell.label) };
        match copied.iter_mut().find(|(known, _)| several && *known == name) {
            Some((_, least)) => *least = least.zip(cell.copied_share).map(|(a, b)| a.min(b)),
            None => copied.push((name, cell.copied_share)),
        }
    }
    if copied.is_empty() {
        return None;
    }
    let failed: Vec<String> = copied
        .into_iter()
        .map(|(name, share)| {
            let share =
                share.map_or_else(String::new, |share| format!(" ({} copied)", percent(share)));
            format!("{name}{share}")
        })
        .collect();
    Some(format!(
        "{} {} the price of a failed zero-copy: over {} the kernel copies on delivery, so {} \
         nothing about zero-copy on a link where it works.",
        list(&failed),
        if failed.len() == 1 { "is" } else { "are" },
        run.header.plan.fixed.link,
        if failed.len() == 1 { "this says" } else { "these say" },
    ))
}

/// ` (95 %: 0.61 to 0.63)`.
fn interval(estimates: &Estimates, ratio: &RatioFigure) -> String {
    let Some(bounds) = ratio.interval else { return String::new() };
    let width = width(ratio);
    let high = bounds.high.map_or_else(|| "no bound".to_owned(), |high| bound(high, width));
    format!(" ({:.0} %: {} to {high})", estimates.confidence * 100.0, bound(bounds.low, width))
}

fn width(ratio: &RatioFigure) -> f64 {
    ratio.half_width.map_or(0.01, |half| ratio.value * half)
}

fn shown(label: &str) -> String {
    escape(label, 40)
}

fn capital(text: &str) -> String {
    // Path names keep their spelling at the beginning of a sentence.
    match text.strip_prefix("the same") {
        Some(rest) => format!("The same{rest}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_analysis::estimate;
    use zc_run::{ServerMix, ServerPlan};
    use zc_testkit::{server::server, synthetic::Synthetic};

    #[test]
    fn a_rate_that_was_too_high_is_lowered_as_the_kind_of_run_has_it() {
        let streams = Synthetic::default().run();
        let of_server = |change: fn(&mut ServerPlan)| {
            let mut run = server(1.0);
            change(run.header.plan.traffic.server_mut().unwrap());
            run
        };
        let mix = of_server(|plan| plan.mix = Some(ServerMix { requests: 1, body_bytes: 1 }));
        let generated = of_server(|plan| plan.generator = vec!["wrk2".to_owned()]);
        for (run, remedy) in [
            (&streams, "; choose a lower one with --rate"),
            (&of_server(|_| ()), "; choose a lower one with --requests"),
            (&generated, "; give the load generator a lower one"),
            (&mix, "; zc chose the rate by the top speed that it measured first, so measure again"),
        ] {
            let mut estimates = estimate(run);
            estimates.verdict.withheld = vec![Withheld::ReferenceSaturated { reached: 0.6 }];
            let text = why_withheld(run, &estimates).concat();
            assert!(
                text.contains(" reached 60 % of the rate, so ") && text.ends_with(remedy),
                "{text}"
            );
        }
    }
}
