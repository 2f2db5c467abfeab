//! The notes and sentences around the table of a comparison.

use super::aspects;
use super::rows::{compares_servers, name};
use crate::digits::{percent, rate};
use crate::run::rows::FAILED_ZERO_COPY;
use crate::run::verdict::{self, below_zero, missed, unseen};
use crate::terminal::note::{Note, note};
use crate::text::{list, was};
use zc_analysis::compare::{
    Aspect, Basis, CalibrationBasis, ChangeVerdict, Compared, Difference, Impossible, JudgedBy,
    Judgement, Method, Outcome, Reason, RelativeTo, SelectionFacts, Weight,
};
use zc_analysis::{AccountKind, WhyWallTime, Withheld};
use zc_run::{Experiment, escape};

/// At most this many differences of a kind are listed; further ones are counted.
const MOST: usize = 40;

/// Notes on the runs compared, and on their other differences.
pub(crate) fn above(compared: &Compared) -> Vec<Note> {
    let mut notes = vec![note("old", part(&compared.old)), note("new", part(&compared.new))];
    for (weight, label) in [(Weight::Disqualifies, "disqualifies"), (Weight::Explains, "differs")] {
        notes.extend(listed(
            label,
            compared.differences.iter().filter(|each| each.weight == weight),
        ));
    }
    if compared.differences.is_empty()
        && compared.incomparable.is_empty()
        && compared.basis == Basis::TwoRuns
    {
        notes.push(note(
            "differs",
            "nothing that zc records: kernel, command line, CPU, mitigations, sysctls, conditions, \
             link and plan are the same",
        ));
    }
    notes.extend(left_out(compared));
    for (label, cells) in [("old alone", &compared.only_old), ("new alone", &compared.only_new)] {
        if !cells.is_empty() {
            let names: Vec<String> = cells.iter().take(MOST).map(|cell| escape(cell, 60)).collect();
            let more = cells.len().saturating_sub(MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            notes.push(note(label, format!("{}{more}", names.join(", "))));
        }
    }
    notes
}

/// A note for each difference; those beyond a number are counted.
pub(super) fn listed<'a>(
    label: &'static str,
    differences: impl Iterator<Item = &'a Difference>,
) -> Vec<Note> {
    let mut notes: Vec<Note> = differences.map(|each| note(label, aspects::text(each))).collect();
    if notes.len() > MOST {
        let more = format!("in {} more", notes.len() - MOST);
        notes.truncate(MOST);
        notes.push(note(label, more));
    }
    notes
}

/// Cells that cannot be compared, grouped by reason.
fn left_out(compared: &Compared) -> Vec<Note> {
    let mut sentences: Vec<(String, Vec<String>)> = Vec::new();
    for cell in &compared.incomparable {
        let why: Vec<String> = cell
            .differences
            .iter()
            .filter(|each| each.weight == Weight::Disqualifies)
            .map(aspects::text)
            .collect();
        let (why, label) = (list(&why), escape(&cell.label, 60));
        match sentences.iter_mut().find(|(known, _)| *known == why) {
            Some((_, labels)) => labels.push(label),
            None => sentences.push((why, vec![label])),
        }
    }
    let all = compared.cells.is_empty() && sentences.len() == 1;
    let each = sentences.into_iter().take(MOST).map(|(why, labels)| {
        if all {
            note("disqualifies", why)
        } else {
            note("left out", format!("{}: {why}", labels.join(", ")))
        }
    });
    each.collect()
}

fn part(part: &SelectionFacts) -> String {
    format!(
        "{}: {}, begun {}, {} of {} blocks kept",
        escape(&part.name, 200),
        escape(&part.experiment, 60),
        escape(&part.started_at, 40),
        part.blocks_kept,
        part.blocks
    )
}

/// The method, and doubts about the figures.
pub(crate) fn below(compared: &Compared) -> Vec<Note> {
    let mut notes = Vec::new();
    if compared.cells.is_empty() {
        return notes;
    }
    if compared.cells.iter().any(|cell| cell.failed_zero_copy) {
        notes.push(note(FAILED_ZERO_COPY.sign, FAILED_ZERO_COPY.meaning));
    }
    notes.push(note("ratios", basis(compared)));
    // zc's own pacing is on the load's CPU, which is in no cost of a server.
    let servers = compares_servers(compared);
    if !compared.net && !servers {
        notes.push(gross());
    }
    if let AccountKind::WallTime { because: WhyWallTime::ComparedRun } = compared.account {
        notes.push(note(
            "account",
            "one run has costs by wall time alone, so those of the other are by wall time too: \
             what other programs took is in them, and blocks in which that was much do not count",
        ));
    }
    let (old, new) = (compared.old.memcpy_bytes_per_s, compared.new.memcpy_bytes_per_s);
    if let (Basis::TwoRuns, Some(old), Some(new)) = (compared.basis, old, new) {
        notes.push(note(
            "memcpy",
            format!(
                "{} then, {} now: {} that copy move with it",
                rate(old),
                rate(new),
                cell_noun(compared)
            ),
        ));
    }
    for doubt in &compared.doubts {
        notes.push(note("doubt", reason(doubt) + &unjudged(compared, doubt)));
    }
    notes
}

/// The noun for cells.
fn cell_noun(compared: &Compared) -> &'static str {
    if compares_servers(compared) { "states" } else { "paths" }
}

pub(crate) fn gross() -> Note {
    note(
        "harness",
        "costs are gross, because not every run measured what zc's own pacing and metering cost",
    )
}

/// Says which differences within one run a failed control leaves undecided.
fn unjudged(compared: &Compared, doubt: &Reason) -> String {
    match (compared.basis, doubt.why.error().filter(|error| *error > 1.0 && error.is_finite())) {
        (Basis::OneRun, Some(error)) => verdict::unjudged(error - 1.0),
        _ => String::new(),
    }
}

fn basis(compared: &Compared) -> String {
    let methods = || compared.cells.iter().filter_map(|cell| cell.judged());
    match compared.basis {
        Basis::OneRun => {
            "both cells stand in the same blocks of one run: Hodges-Lehmann and Wilcoxon over \
                              the \
                              logarithms of their ratios within blocks"
                .to_owned()
        }
        Basis::TwoRuns => {
            let inflation = methods()
                .filter_map(|change| match change.method {
                    Method::Independent { correlation_inflation, .. } => {
                        Some(correlation_inflation)
                    }
                    Method::Paired { .. } => None,
                })
                .fold(1.0, f64::max);
            let between = |by: JudgedBy| {
                compared.cells.iter().find_map(|cell| {
                    let change = match by {
                        JudgedBy::Cost => cell.cost.both,
                        JudgedBy::Relative => cell.relative.both,
                    };
                    match change?.method {
                        Method::Independent { between_runs, .. } => between_runs,
                        Method::Paired { .. } => None,
                    }
                })
            };
            let mut each = Vec::new();
            if let Some(between) = between(JudgedBy::Cost) {
                each.push(format!("{} for a cost", percent(between)));
            }
            if let Some(between) = between(JudgedBy::Relative) {
                each.push(format!("{} for a relative one", percent(between)));
            }
            let between = if each.is_empty() {
                String::new() // the runs are too short to tell
            } else {
                let each = list(&each);
                format!(", and a standard deviation between runs of {each}, {}", origin(compared))
            };
            format!(
                "two runs, independent samples: Hodges-Lehmann and Mann-Whitney over the \
                 logarithms of blocks, with up to \
                 {inflation:.1} times the variance because neighbouring blocks are \
                 alike{between}; Welch's figures are in --json",
            )
        }
    }
}

/// Origin of the standard deviation between runs.
fn origin(compared: &Compared) -> String {
    let relative = compared.cells.iter().any(|cell| cell.relative.both.is_some());
    let origin = match compared.calibration {
        None => "which is by how much parts of these runs differ".to_owned(),
        Some(CalibrationBasis { runs, path: None, .. }) if relative => {
            format!("the first from {runs} runs (--calibration), the second by these runs' parts")
        }
        Some(CalibrationBasis { runs, .. }) => format!("from {runs} runs (--calibration)"),
    };
    match compared.calibration {
        Some(calibration) if calibration.net != compared.net => {
            let (those, these) = if compared.net { ("gross", "net") } else { ("net", "gross") };
            format!("{origin}, whose costs are {those} where these are {these}")
        }
        _ => origin,
    }
}

pub(super) fn reason(reason: &Reason) -> String {
    let name = escape(&reason.name, 200);
    match &reason.why {
        Withheld::ControlDiffers { ratio, .. } => {
            format!(
                "{name}: its reference differs from itself by {} (A/A control)",
                percent((ratio - 1.0).abs())
            )
        }
        Withheld::PositiveControlMissed { expected, found, .. } => {
            format!("{name}: {} (positive control)", missed(*expected, *found))
        }
        Withheld::ControlTooWide { resolution: Some(share) } => format!(
            "{name}: its controls could not have seen differences of up to {}",
            percent(*share)
        ),
        Withheld::ControlTooWide { resolution: None } => {
            format!("{name}: its controls could not have seen any difference")
        }
        Withheld::PositiveControlUnseen { expected, low, high } => {
            format!("{name}: {}", unseen(*expected, *low, *high))
        }
        Withheld::BelowZero { of, us_per_mb, low, high } => {
            format!("{name}: {}", below_zero(&escape(of, 80), [*us_per_mb, *low, *high]))
        }
        Withheld::NoControl => format!("{name} lacks a control"),
        Withheld::NoReference => format!("{name}: its reference has no cost"),
        Withheld::TooFewBlocks { kept, needed } => {
            format!("{name}: {} kept, and its own intervals need {needed}", was(*kept, "block"))
        }
        Withheld::ReferenceSaturated { reached } => {
            format!("{name}: its reference reached {} of the rate", percent(*reached))
        }
        Withheld::BusyMachine { dropped, measured } => {
            format!(
                "{name}: {dropped} of {measured} blocks were dropped by rule, something else used \
                 the machine"
            )
        }
        Withheld::Warning { name: warning, .. } => {
            format!("{name}: the warning \"{}\"", escape(warning, 60))
        }
    }
}

/// The verdicts, or why there are none.
pub(crate) fn verdict(compared: &Compared) -> Vec<String> {
    if !compared.impossible.is_empty() {
        let why = format!("Cannot be compared: {}.", impossible(compared));
        return [why].into_iter().chain(repeat_instructions(compared)).collect();
    }
    if !compared.withheld.is_empty() {
        return vec![format!("Verdicts withheld: {}.", withheld(compared))];
    }
    let mut sentences: Vec<String> = repeat_instructions(compared).into_iter().collect();
    let names_with = |wanted: fn(&ChangeVerdict) -> bool| -> Vec<String> {
        compared.cells.iter().filter(|cell| wanted(&cell.verdict)).map(name).collect()
    };
    let groups = [
        ("worse", names_with(|verdict| matches!(verdict, ChangeVerdict::Worse { .. }))),
        ("better", names_with(|verdict| matches!(verdict, ChangeVerdict::Better { .. }))),
        ("the same", names_with(|verdict| matches!(verdict, ChangeVerdict::Same { .. }))),
        ("undecided", names_with(|verdict| matches!(verdict, ChangeVerdict::Undecided))),
    ];
    let all = compared.cells.len();
    for (word, names) in groups.iter().filter(|(_, names)| !names.is_empty()) {
        let count = if all == 1 { String::new() } else { format!("{} of {all} ", names.len()) };
        sentences.push(format!("{count}{word}: {}.", names.join(", ")));
    }
    if compared.basis == Basis::TwoRuns {
        sentences.extend(about_reference(compared));
    }
    if compared.none_worse_by == Some(0.0) {
        sentences.push("No cell is dearer (95 %, all cells together).".to_owned());
    } else if let Some(by) = compared.none_worse_by {
        sentences.push(format!(
            "No cell is dearer by more than {} (95 %, all cells together).",
            percent(by)
        ));
    }
    sentences
}

/// The basis of the relative ratios.
fn about_reference(compared: &Compared) -> Option<String> {
    let Some(reference) = compared.reference.as_deref() else {
        return Some(
            "The two runs share no reference, so absolute costs are compared, including whatever \
             changed on the machine in between."
                .to_owned(),
        );
    };
    let reference = escape(reference, 60);
    if compared.reference_moved {
        return Some(format!(
            "The cost of {reference} itself has changed, so all cells are judged by their absolute \
             costs and not relative to it: the machine, or something that all {} share, has \
             changed.",
            cell_noun(compared)
        ));
    }
    let judged: Vec<f64> = compared
        .cells
        .iter()
        .filter(|cell| cell.judged_by == Some(JudgedBy::Relative))
        .filter_map(|cell| cell.judged().map(|change| change.ratio))
        .collect();
    if judged.is_empty() {
        return None;
    }
    if compared.relative_to == Some(RelativeTo::Others) {
        return Some(format!(
            "Cells are judged by their cost relative to that of the others in the same blocks; \
             what moves all {} alike is only in the \
             cost of {reference}.",
            cell_noun(compared)
        ));
    }
    let alike = judged.iter().all(|ratio| *ratio > 1.0) || judged.iter().all(|ratio| *ratio < 1.0);
    let differ = |verdict: &ChangeVerdict| {
        matches!(verdict, ChangeVerdict::Better { .. } | ChangeVerdict::Worse { .. })
    };
    let differing = compared.cells.iter().filter(|cell| differ(&cell.verdict)).count();
    let alone = if judged.len() > 2 && differing * 2 > judged.len() && alike {
        format!(
            " All cells moved the same way against {reference}: it may be {reference} that \
             changed; zc run --ab tells."
        )
    } else {
        String::new()
    };
    Some(format!(
        "Cells are judged by their cost relative to {reference} in the same blocks; what moves all \
         {} alike is only in the cost of \
         {reference} itself.{alone}",
        cell_noun(compared)
    ))
}

/// Instructions to measure the new run again so that it can be compared, if only rate, link or
/// soaker are in the way.
fn repeat_instructions(compared: &Compared) -> Option<String> {
    let between = compared.incomparable.iter().flat_map(|cell| &cell.differences);
    let mut disqualifying = compared
        .differences
        .iter()
        .chain(between)
        .filter(|each| each.weight == Weight::Disqualifies)
        .peekable();
    let first = *disqualifying.peek().filter(|_| compared.basis == Basis::TwoRuns)?;
    let is_repeated = |what| match what {
        Aspect::Link | Aspect::Soaker | Aspect::Receiver => true,
        Aspect::Factor(parameter) => parameter.disqualifies,
        _ => false,
    };
    // The file, without the cell or the state of it.
    let old = &compared.old;
    let file = match old.name.rsplit_once(':') {
        Some((file, _)) if file.contains(".json") => file,
        _ => &old.name,
    };
    let rate = || escape(first.old.as_deref().unwrap_or_default(), 40);
    let command = match first.what {
        Aspect::RequestRate => format!("zc run server --requests {}", rate()),
        _ if !disqualifying.all(|each| is_repeated(each.what)) => return None,
        Aspect::Factor(_) if has_no_plan(&old.experiment) => {
            format!("zc run {} --rate {}", old.experiment, rate())
        }
        _ => format!("zc run --like {}", escape(file, 200)),
    };
    Some(format!(
        "Measured again with \"{command}\", the new one can be compared with the old one."
    ))
}

/// Whether a run of this experiment is repeated by its options, as there is no plan to repeat.
fn has_no_plan(experiment: &str) -> bool {
    experiment.parse::<Experiment>().is_ok_and(|experiment| experiment.definition().plan.is_err())
}

/// Why verdicts are withheld.
pub(super) fn withheld(compared: &Compared) -> String {
    compared.withheld.iter().map(reason).collect::<Vec<_>>().join("; ")
}

/// Why the two cannot be compared.
pub(super) fn impossible(compared: &Compared) -> String {
    let reasons = compared.impossible.iter().map(|why| match why {
        Impossible::NoCommonCell => "no cell is in both".to_owned(),
        Impossible::NoKeptBlocks { name } => {
            format!("\"{}\" has no block that counts", escape(name, 200))
        }
        Impossible::Disqualified => "the costs are those of different things".to_owned(),
        Impossible::NoCosts => "no cell has a cost in both".to_owned(),
        Impossible::SameRun => {
            "the two are one and the same run; name two of its cells, as in run.json:sendfile"
                .to_owned()
        }
    });
    reasons.collect::<Vec<_>>().join("; ")
}

/// The result of `--fail-if-worse`.
pub(crate) fn judgement(judgement: &Judgement) -> String {
    let margin = percent(judgement.margin);
    let names = |names: &[String]| {
        names.iter().map(|name| escape(name, 200)).collect::<Vec<_>>().join(", ")
    };
    match judgement.outcome {
        Outcome::NoneWorse => format!("No cell is worse by more than {margin}."),
        Outcome::Worse => format!("Worse by more than {margin}: {}.", names(&judgement.worse)),
        Outcome::Undecided => {
            format!(
                "Undecided whether any is worse by more than {margin}: {}.",
                names(&judgement.undecided)
            )
        }
        Outcome::Withheld => {
            format!(
                "Withheld whether any is worse by more than {margin}: {}.",
                names(&judgement.undecided)
            )
        }
        Outcome::Incomparable | Outcome::NothingKept => "Cannot be compared.".to_owned(),
    }
}
