//! The answer in a sentence: what saves, what costs more, and of what neither can be told.

use super::priced::Priced;
use super::units::{Unit, figure};
use crate::digits::{percent, size};
use crate::text::list;
use zc_analysis::Figure;
use zc_analysis::advise::{CostAdvice, PathAdvice, PathVerdict, Untold};
use zc_run::escape;

pub(super) fn sentence(advice: &CostAdvice, priced: Priced, withheld_because: &[String]) -> String {
    let today = escape(&advice.today, 40);
    let others: Vec<(&PathAdvice, PathVerdict)> =
        advice.paths.iter().filter_map(|path| Some((path, path.verdict?))).collect();
    if others.is_empty() {
        let one = priced.one;
        let has = match advice.without_cost.is_empty() {
            true => format!("no other {one} than"),
            false => format!("a cost of no other {one} than of"),
        };
        return format!("The run has {has} {today}, so nothing can be compared.");
    }
    if !advice.withheld.is_empty() {
        return format!(
            "What other {} than {today} save cannot be told, as the run's own verdicts are \
             withheld: {}.",
            priced.several,
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
    let told = others.iter().filter(|(_, verdict)| rank(verdict) < 2).enumerate();
    let mut parts: Vec<String> = told
        .map(|(place, (path, verdict))| {
            let name = escape(&path.path, 40);
            difference(&name, path, verdict, unit, (place == 0).then_some((&today, &of)))
        })
        .collect();
    // Paths of which it cannot be told for the same reason are named together.
    let mut open: Vec<(Untold, Vec<String>)> = Vec::new();
    for (path, verdict) in &others {
        let PathVerdict::Untold { why } = verdict else { continue };
        let name = escape(&path.path, 40);
        match open.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => open.push((*why, vec![name])),
        }
    }
    for (why, names) in open {
        let (what, instead) = match parts.is_empty() {
            true => ("What", format!(" instead of {today}")),
            false => ("what", String::new()),
        };
        let saves = if names.len() == 1 { "saves" } else { "save" };
        let names = list(&names);
        parts.push(format!(
            "{what} {names}{instead} {saves} cannot be told: {}",
            reason(why, advice)
        ));
    }
    parts.join("; ") + "."
}

/// What a path saves or costs more. The first of the sentence says instead of what, and of how much.
fn difference(
    name: &str,
    path: &PathAdvice,
    verdict: &PathVerdict,
    unit: Unit,
    first: Option<(&String, &String)>,
) -> String {
    let saved = path.cores.saved;
    let by = |saved: Figure| figure(saved, unit);
    match (*verdict, first) {
        (PathVerdict::Saves { share }, Some((today, of))) => {
            let by = saved.map(by).unwrap_or_default();
            format!("{name} instead of {today} saves {by} of {of} ({})", percent(share))
        }
        (PathVerdict::Saves { share }, None) => {
            format!("{name} saves {} ({})", saved.map(by).unwrap_or_default(), percent(share))
        }
        (PathVerdict::CostsMore { share }, first) => {
            let more = saved.map(|saved| Figure { value: -saved.value, ..saved });
            let by = more.map(by).unwrap_or_default();
            let share = percent(share);
            match first {
                Some((today, of)) => {
                    format!("{name} instead of {today} costs {by} more than {of} ({share})")
                }
                None => format!("{name} costs {by} more ({share})"),
            }
        }
        (PathVerdict::Untold { .. }, _) => String::new(),
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
        Untold::ReachesZero => "the interval reaches 0".to_owned(),
        Untold::ControlError => {
            "the error that the run's controls show could explain it".to_owned()
        }
        Untold::ControlTooWide => match advice.resolution {
            Some(share) => format!(
                "the run's controls could not have seen a difference below {}",
                percent(share)
            ),
            None => "the run's controls could not have seen any difference".to_owned(),
        },
        Untold::Beyond => format!(
            "{} of the bytes are in responses longer than the longest measured, {}, and without \
             them it is not the same",
            percent(advice.beyond.bytes_share),
            size(advice.beyond.bytes)
        ),
    }
}
