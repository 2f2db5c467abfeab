//! Measures how often `zc compare` finds a difference where there is none, and where there is one
//! of 5 per cent.
//!
//! `ZC_PAIRS_OF="a.json b.json ..." cargo bench --bench compare` compares real runs of one state,
//! each with the one that is `ZC_APART` (1) places later, and counts what is called. With
//! `ZC_DEARER=0.05` each cell in turn is made dearer by that share in the later run of each pair:
//! it receives fewer bytes for the same CPU time. `ZC_JOINED=4` first makes one run of four
//! consecutive ones, as if the budget had been four times as long. Without runs, with made-up ones.

mod common;

use common::{named_runs, only_asked_to_start, setting};
use zc_analysis::compare::{ChangeVerdict, Compared, Selection, compare};
use zc_run::{Run, Slot};
use zc_testkit::synthetic::Synthetic;

fn main() {
    if only_asked_to_start() {
        return;
    }
    let runs = named_runs("ZC_PAIRS_OF")
        .unwrap_or_else(|| (0..8).map(|seed| (format!("made up {seed}"), made_up(seed))).collect());
    let runs: Vec<(String, Run)> =
        runs.chunks_exact(setting("ZC_JOINED", 1)).filter_map(joined).collect();
    let later = runs.iter().skip(setting("ZC_APART", 1));
    let pairs: Vec<[&(String, Run); 2]> =
        runs.iter().zip(later).map(|(old, new)| [old, new]).collect();
    match setting("ZC_DEARER", 0.0) {
        0.0 => as_they_are(&pairs),
        by => one_dearer(&pairs, 1.0 + by),
    }
}

fn made_up(seed: u64) -> Run {
    Synthetic { seed, blocks: 100, noise: 0.09, block_drift: 0.01, ..Synthetic::default() }.run()
}

/// Joins the blocks of all runs in one.
fn joined(runs: &[(String, Run)]) -> Option<(String, Run)> {
    let ((name, first), others) = runs.split_first()?;
    let mut all = first.clone();
    all.blocks.extend(others.iter().flat_map(|(_, run)| run.blocks.iter().cloned()));
    Some((name.clone(), all))
}

/// Counts how often a cell that became dearer is found.
fn one_dearer(pairs: &[[&(String, Run); 2]], factor: f64) {
    let (mut all, mut alone, mut among, mut others) = (0, 0, 0, 0);
    for [(_, old), (_, new)] in pairs {
        let plan = &new.header.plan;
        for cell in &plan.cells {
            if cell.control || cell.label == plan.reference {
                continue;
            }
            let new = dearer(new, &cell.label, factor);
            let worse = |compared: &Compared| {
                let is_worse = |verdict| matches!(verdict, ChangeVerdict::Worse { .. });
                compared.cells.iter().any(|own| own.label == cell.label && is_worse(own.verdict))
            };
            let together = held(old, &new, None);
            all += 1;
            alone += usize::from(worse(&held(old, &new, Some(cell.label.clone()))));
            among += usize::from(worse(&together));
            let mut of_others = together.cells.iter().filter(|own| own.label != cell.label);
            others += usize::from(of_others.any(|own| differs(own.verdict)));
        }
    }
    let share = |count: usize| 100.0 * count as f64 / all as f64;
    println!(
        "one cell dearer by {:.1} %, {all} cells of {} pairs",
        100.0 * (factor - 1.0),
        pairs.len()
    );
    println!("compared alone: called worse {:.0} %", share(alone));
    println!("all cells compared: called worse {:.0} %", share(among));
    println!("all cells compared: another one called {:.0} %", share(others));
}

fn differs(verdict: ChangeVerdict) -> bool {
    matches!(verdict, ChangeVerdict::Better { .. } | ChangeVerdict::Worse { .. })
}

/// Pairs of real runs of one state.
fn as_they_are(pairs: &[[&(String, Run); 2]]) {
    println!(
        "| old | new | cells | called | reference, new / old | memcpy GB/s \
         |\n|---|---|---|---|---|---|"
    );
    let mut called = 0;
    for [(old_name, old), (new_name, new)] in pairs {
        let compared = held(old, new, None);
        let words: Vec<String> = compared
            .cells
            .iter()
            .filter(|cell| differs(cell.verdict))
            .map(|cell| {
                format!(
                    "{} {:.3}",
                    cell.label,
                    cell.judged().map_or(f64::NAN, |change| change.ratio)
                )
            })
            .collect();
        called += usize::from(!words.is_empty());
        let reference =
            compared.cells.iter().find(|cell| cell.reference).and_then(|cell| cell.cost.both);
        let reference = reference.map_or("none".to_owned(), |cost| {
            format!(
                "{:.3} ({:.3} to {:.3})",
                cost.ratio,
                cost.low.unwrap_or(f64::NAN),
                cost.high.unwrap_or(f64::NAN)
            )
        });
        let memcpy = [&compared.old, &compared.new]
            .map(|part| part.memcpy_bytes_per_s.unwrap_or(f64::NAN) / 1e9);
        let words = match (&compared.impossible[..], &compared.withheld[..]) {
            ([], []) => words.join(", "),
            ([], withheld) => format!("withheld: {withheld:?}"),
            (impossible, _) => format!("{impossible:?}"),
        };
        let cells = compared.cells.len();
        println!(
            "| {old_name} | {new_name} | {cells} | {words} | {reference} | {:.1}, {:.1} |",
            memcpy[0], memcpy[1]
        );
    }
    println!("{called} of {} pairs called", pairs.len());
}

fn held(old: &Run, new: &Run, cell: Option<String>) -> Compared {
    let old = Selection { name: "old".to_owned(), run: old, cell: cell.clone(), state: None };
    let new = Selection { name: "new".to_owned(), run: new, cell, state: None };
    compare(&old, &[new], None, None).0.remove(0)
}

/// The run, if a cell had cost `factor` times as much.
fn dearer(run: &Run, label: &str, factor: f64) -> Run {
    let mut run = run.clone();
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        let Slot::Trial(trial) = slot else { continue };
        if trial.cell == label {
            let opened = trial.opened.received.bytes;
            let bytes = trial.closed.received.bytes.saturating_sub(opened) as f64 / factor;
            trial.closed.received.bytes = opened + bytes as u64;
        }
    }
    run
}
