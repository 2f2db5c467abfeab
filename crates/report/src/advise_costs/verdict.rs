//! The answer in a sentence: what saves, what costs more, and of what neither can be told.

use super::figure;
use super::units::Unit;
use crate::digits::{percent, size};
use zc_analysis::advise::{CostAdvice, PathAdvice, PathVerdict, Untold};
use zc_run::escape;

pub(super) fn sentence(advice: &CostAdvice, withheld_because: &[String]) -> String {
    let today = escape(&advice.today, 40);
    let others: Vec<(&PathAdvice, PathVerdict)> =
        advice.paths.iter().filter_map(|path| Some((path, path.verdict?))).collect();
    if others.is_empty() {
        return format!("The run has no other path than {today}, so nothing can be compared.");
    }
    if !advice.withheld.is_empty() {
        return format!(
            "What other paths than {today} save cannot be told, as the run's own verdicts are \
             withheld: {}.",
            withheld_because.join("; ")
        );
    }
    let cores = advice.paths.iter().find(|path| path.today).map(|path| path.cores.value);
    let unit = Unit::of(cores.map_or(0.0, |cores| cores.value));
    let of = cores.map_or_else(String::new, |cores| {
        format!("{} {}", crate::digits::significant(cores.value * unit.by), unit.of)
    });
    // What saves most comes first, then what costs more, then what is open.
    let mut others = others;
    let saved = |path: &PathAdvice| path.cores.saved.map_or(0.0, |saved| saved.value);
    others.sort_by(|(one, of_one), (other, of_other)| {
        rank(of_one).cmp(&rank(of_other)).then(f64::total_cmp(&saved(other), &saved(one)))
    });
    let mut parts = Vec::new();
    for (path, verdict) in &others {
        let name = escape(&path.path, 40);
        let first = parts.is_empty();
        let instead = if first { format!("{name} instead of {today}") } else { name };
        parts.push(match verdict {
            PathVerdict::Saves { share } | PathVerdict::CostsMore { share } => {
                let is_saved = matches!(verdict, PathVerdict::Saves { .. });
                let by = path.cores.saved.map(|saved| match is_saved {
                    true => saved,
                    false => zc_analysis::Figure { value: -saved.value, ..saved },
                });
                let by = by.map_or_else(String::new, |by| figure(by, unit));
                let share = percent(*share);
                match (is_saved, first) {
                    (true, true) => format!("{instead} saves {by} of {of} ({share})"),
                    (true, false) => format!("{instead} {by} ({share})"),
                    (false, true) => format!("{instead} costs {by} more than {of} ({share})"),
                    (false, false) => format!("{instead} costs {by} more ({share})"),
                }
            }
            PathVerdict::Untold { why } => {
                format!("what {instead} saves cannot be told: {}", reason(*why, advice))
            }
        });
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    match (&others[0].1, letters.next()) {
        // Not the name of a path.
        (PathVerdict::Untold { .. }, Some(first)) => {
            format!("{}{}.", first.to_uppercase(), letters.as_str())
        }
        _ => format!("{text}."),
    }
}

fn rank(verdict: &PathVerdict) -> u8 {
    match verdict {
        PathVerdict::Saves { .. } => 0,
        PathVerdict::CostsMore { .. } => 1,
        PathVerdict::Untold { .. } => 2,
    }
}

fn reason(why: Untold, advice: &CostAdvice) -> String {
    match why {
        Untold::Withheld => "the run's own verdicts are withheld".to_owned(),
        Untold::TooFewBlocks => {
            format!("the run has {} blocks, too few for an interval", advice.blocks)
        }
        Untold::ReachesZero => "its interval reaches 0".to_owned(),
        Untold::ControlError => {
            "the error that the run's controls show could explain it".to_owned()
        }
        Untold::Beyond => format!(
            "{} of the bytes are in responses longer than the longest measured, {}, and without \
             them it is not the same",
            percent(advice.beyond.bytes_share),
            size(advice.beyond.bytes)
        ),
    }
}
