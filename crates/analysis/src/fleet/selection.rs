//! Selection of the runs that are in a fleet's figures, with the reasons why others are not.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::model::{LeftOut, RunFigures};

/// Fewest blocks of a run that is used. Fewer do not show how its blocks scatter.
const LEAST_BLOCKS: usize = 4;

/// Reasons for which a run's own verdicts are withheld although its costs stand.
const COSTS_STAND: [&str; 4] =
    ["too-few-blocks", "no-control", "control-differs", "positive-control-unseen"];

/// At most this many runs are named for a reason.
const NAMED: usize = 3;

/// Beginning of the reason why a run is left out although it has costs.
pub const WITHHELD: &str = "its own verdicts are withheld";

/// Why runs make no fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFleet {
    /// No run can be used.
    NoRun {
        /// Why, for each.
        left_out: Vec<LeftOut>,
    },
    /// Runs are of several experiments or links; the caller must choose one.
    Several {
        /// Experiment and link, and how many runs have them, the most common first.
        kinds: Vec<(String, String, usize)>,
    },
}

impl fmt::Display for NoFleet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRun { left_out } if left_out.is_empty() => write!(out, "there is no run"),
            Self::NoRun { left_out } => {
                let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
                for left in left_out {
                    reasons.entry(&left.why).or_default().push(&left.name);
                }
                let all = left_out.len();
                let runs = if all == 1 { "run" } else { "runs" };
                write!(out, "none of {all} {runs} can be used")?;
                for (place, (why, names)) in reasons.iter().enumerate() {
                    let named = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                    write!(out, "{} {why} ({named}", if place == 0 { ":" } else { ";" })?;
                    match names.len().saturating_sub(NAMED) {
                        0 => write!(out, ")")?,
                        more => write!(out, " and {more} more)")?,
                    }
                }
                Ok(())
            }
            Self::Several { kinds } => {
                write!(out, "the runs are of several experiments or links: ")?;
                for (place, (experiment, link, runs)) in kinds.iter().enumerate() {
                    let comma = if place > 0 { ", " } else { "" };
                    write!(out, "{comma}\"{experiment}\" over \"{link}\" ({runs})")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for NoFleet {}

/// The runs that are used, in the order of their beginnings, and those that are not.
pub(super) fn select(runs: &[RunFigures]) -> Result<(Vec<&RunFigures>, Vec<LeftOut>), NoFleet> {
    let mut left_out = Vec::new();
    let mut used: Vec<&RunFigures> = Vec::new();
    for run in runs {
        match unusable(run) {
            Some(why) => left_out.push(LeftOut { name: run.name.clone(), why }),
            None => used.push(run),
        }
    }
    let mut kinds: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for run in &used {
        *kinds.entry((&run.experiment, &run.link)).or_default() += 1;
    }
    if kinds.len() > 1 {
        let mut kinds: Vec<_> = kinds
            .into_iter()
            .map(|((experiment, link), runs)| (experiment.to_owned(), link.to_owned(), runs))
            .collect();
        kinds.sort_by_key(|(_, _, runs)| std::cmp::Reverse(*runs));
        return Err(NoFleet::Several { kinds });
    }
    used = without_duplicates(used, &mut left_out);
    used = with_one_reference(used, &mut left_out);
    if used.is_empty() {
        return Err(NoFleet::NoRun { left_out });
    }
    used.sort_by(|a, b| (&a.started_at, &a.name).cmp(&(&b.started_at, &b.name)));
    left_out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((used, left_out))
}

/// Why a run is not in the figures of a fleet, whatever other runs there are; `None` if it may be.
pub fn unusable(run: &RunFigures) -> Option<String> {
    if run.blocks_kept < LEAST_BLOCKS {
        return Some(format!(
            "it has too few blocks that count ({} of {})",
            run.blocks_kept, run.blocks
        ));
    }
    let why = run.withheld.iter().find(|why| !COSTS_STAND.contains(&why.as_str()))?;
    Some(format!("{WITHHELD}: {why}"))
}

impl RunFigures {
    /// Lets a run be used whose own verdicts are withheld, and returns that it is one, and why.
    pub fn include(&mut self) -> Option<LeftOut> {
        let why = unusable(self).filter(|why| why.starts_with(WITHHELD))?;
        self.withheld.retain(|why| COSTS_STAND.contains(&why.as_str()));
        Some(LeftOut { name: self.name.clone(), why })
    }
}

/// Keeps, of several copies of one run, the one with the most blocks: a part of a run may lie
/// beside the whole.
fn without_duplicates<'a>(
    mut runs: Vec<&'a RunFigures>,
    left_out: &mut Vec<LeftOut>,
) -> Vec<&'a RunFigures> {
    runs.sort_by(|a, b| b.blocks.cmp(&a.blocks).then_with(|| a.name.cmp(&b.name)));
    let mut known: HashMap<(&str, Option<&str>, &str), &str> = HashMap::new();
    runs.retain(|run| {
        let far = run.far.as_ref().map(|far| far.host.as_str());
        let key = (run.near.host.as_str(), far, run.started_at.as_str());
        match known.get(&key) {
            Some(first) => {
                let why = format!("it is the same run as \"{first}\"");
                left_out.push(LeftOut { name: run.name.clone(), why });
                false
            }
            None => {
                known.insert(key, &run.name);
                true
            }
        }
    });
    runs
}

/// The runs whose ratios are to the most common reference.
fn with_one_reference<'a>(
    runs: Vec<&'a RunFigures>,
    left_out: &mut Vec<LeftOut>,
) -> Vec<&'a RunFigures> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &runs {
        *counts.entry(&run.reference).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, runs)| *runs);
    let Some((reference, _)) = most else { return runs };
    let (used, others): (Vec<_>, Vec<_>) =
        runs.into_iter().partition(|run| run.reference == reference);
    left_out.extend(others.into_iter().map(|run| LeftOut {
        name: run.name.clone(),
        why: format!("its ratios are to \"{}\", not to \"{reference}\"", run.reference),
    }));
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::simulated::Simulated;

    fn runs() -> Vec<RunFigures> {
        Simulated { hosts: 4, ..Simulated::default() }.runs()
    }

    #[test]
    fn runs_that_cannot_be_used_are_listed_with_the_reason() {
        let mut runs = runs();
        let all = runs.len();
        runs[0].blocks_kept = 3;
        runs[1].withheld = vec!["no-control".to_owned(), "busy-machine".to_owned()];
        runs[2].reference = "splice".to_owned();
        runs[3].is_whole = false;
        let mut part = runs[4].clone();
        (part.name, part.blocks) = ("part.json".to_owned(), part.blocks - 1);
        runs.push(part);
        let (used, left_out) = select(&runs).unwrap();
        assert_eq!(used.len(), all - 3);
        let why = |name: &str| {
            let found = left_out.iter().find(|each| each.name == name);
            found.map(|each| each.why.clone()).unwrap()
        };
        assert_eq!(why(&runs[0].name), "it has too few blocks that count (3 of 40)");
        assert_eq!(why(&runs[1].name), "its own verdicts are withheld: busy-machine");
        assert!(why(&runs[2].name).contains("\"splice\""));
        assert!(why("part.json").contains(&runs[4].name));
        assert!(used.iter().any(|run| run.name == runs[3].name), "a part of a run is used");
    }

    #[test]
    fn a_run_whose_verdicts_are_withheld_can_be_included_and_one_without_blocks_cannot() {
        let mut run = runs().swap_remove(0);
        assert_eq!(run.include(), None, "it is used as it is");
        run.withheld = vec!["no-control".to_owned(), "busy-machine".to_owned()];
        let why = run.include().unwrap().why;
        assert_eq!(why, "its own verdicts are withheld: busy-machine");
        assert_eq!((unusable(&run), run.withheld.len()), (None, 1));
        run.blocks_kept = 3;
        assert_eq!(run.include(), None);
        assert!(unusable(&run).is_some());
    }

    #[test]
    fn runs_of_several_links_are_not_mixed() {
        let mut runs = runs();
        runs[0].link = "veth".to_owned();
        let found = select(&runs).unwrap_err();
        let NoFleet::Several { kinds } = &found else { panic!("{found:?}") };
        assert_eq!(kinds.last(), Some(&("paths".to_owned(), "veth".to_owned(), 1)));
        assert!(found.to_string().ends_with("\"paths\" over \"veth\" (1)"), "{found}");
    }

    #[test]
    fn no_run_is_no_fleet() {
        assert_eq!(select(&[]).unwrap_err().to_string(), "there is no run");
        let mut runs = runs();
        runs.iter_mut().for_each(|run| run.blocks_kept = 0);
        let found = select(&runs).unwrap_err().to_string();
        let all = runs.len();
        assert!(
            found.starts_with(&format!("none of {all} runs can be used: it has too few blocks"))
        );
        let more = format!(" and {} more)", all - NAMED);
        assert!(found.contains(&runs[0].name) && found.ends_with(&more), "{found}");
    }
}
