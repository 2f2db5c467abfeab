//! How often does `zc compare` see a difference where there is none, and where there is one of 5
//! per cent?
//!
//! Pairs of runs are made out of a recorded one: stretches of its blocks are drawn with replacement
//! (ten in a row, so that what neighbouring blocks have in common stays), every run gets a factor
//! of its own on all costs and one on each path (what differs from one session to the next), and a
//! path is made dearer by receiving fewer bytes for the same CPU time.
//!
//! `ZC_RUN=run.json cargo bench --bench compare`, without it with made-up runs. Environment:
//! `ZC_PAIRS` (default 200), `ZC_BLOCKS` (default as many as the run has), `ZC_COST_SD` (0.11) and
//! `ZC_PATH_SD` (0.010): standard deviations between sessions, those that runs in a virtual machine
//! had (docs/method.md); `ZC_DEARER` (0.05). `ZC_PAIRS_OF="a.json b.json ..."` compares real runs,
//! each with the one that is `ZC_APART` (1) places later, `ZC_HALVES_OF` the two halves of each, and
//! counts what is called.

mod common;

use common::{only_asked_to_start, setting};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use zc_analysis::compare::{ChangeVerdict, Compared, Selection, compare};
use zc_run::{Block, Run, Slot, parse};
use zc_testkit::synthetic::Synthetic;

/// Blocks that are drawn together.
const STRETCH: usize = 10;

/// What a pair is made with.
#[derive(Clone, Copy)]
struct Luck {
    /// Standard deviation of the logarithm of what a session does to all costs.
    cost: f64,
    /// And to each path by itself.
    path: f64,
}

fn main() {
    if only_asked_to_start() {
        return;
    }
    if let Ok(names) = std::env::var("ZC_PAIRS_OF") {
        let runs: Vec<(String, Run)> =
            names.split_whitespace().map(|name| (short(name), read(name))).collect();
        let later = runs.iter().skip(setting("ZC_APART", 1_usize));
        let pairs = runs.iter().zip(later).map(|(old, new)| [old.clone(), new.clone()]);
        return real(&pairs.collect::<Vec<_>>());
    }
    if let Ok(names) = std::env::var("ZC_HALVES_OF") {
        return real(
            &names
                .split_whitespace()
                .map(|name| halves(&short(name), read(name)))
                .collect::<Vec<_>>(),
        );
    }
    let source = match std::env::var("ZC_RUN") {
        Ok(path) => read(&path),
        Err(_) => {
            Synthetic { blocks: 100, noise: 0.09, block_drift: 0.06, ..Synthetic::default() }.run()
        }
    };
    let pairs = setting("ZC_PAIRS", 200_usize);
    let luck = Luck { cost: setting("ZC_COST_SD", 0.11), path: setting("ZC_PATH_SD", 0.010) };
    let dearer = 1.0 + setting("ZC_DEARER", 0.05);
    let plan = &source.header.plan;
    let cells: Vec<String> = plan
        .cells
        .iter()
        .filter(|cell| !cell.control && cell.label != plan.reference)
        .map(|cell| cell.label.clone())
        .collect();
    println!("{} cells compared with {}, {pairs} pairs", cells.len(), plan.reference);
    println!("| truth | what is compared | called |\n|---|---|---|");

    let mut random = Pcg64::seed_from_u64(setting("ZC_SEED", 1));
    let mut count = |truth: &dyn Fn(usize, &str) -> f64,
                     alone: bool,
                     counts: &dyn Fn(usize, &Compared) -> bool| {
        (0..pairs)
            .filter(|&pair| {
                let old = play(&source, luck, &mut random, &|_| 1.0);
                let new = play(&source, luck, &mut random, &|cell| truth(pair, cell));
                let cell = alone.then(|| cells[pair % cells.len()].clone());
                counts(pair, &held(&old, &new, cell))
            })
            .count() as f64
            / pairs as f64
    };
    let own = |pair: usize| cells[pair % cells.len()].as_str();
    let none = |_: usize, _: &str| 1.0;
    let one = |pair: usize, cell: &str| if cell == own(pair) { dearer } else { 1.0 };
    let all = |_: usize, _: &str| dearer;
    let any =
        |_: usize, compared: &Compared| compared.cells.iter().any(|cell| differs(cell.verdict));
    let right = |pair: usize, compared: &Compared| {
        compared.cells.iter().any(|cell| {
            cell.label == own(pair) && matches!(cell.verdict, ChangeVerdict::Worse { .. })
        })
    };
    let others = |pair: usize, compared: &Compared| {
        compared.cells.iter().any(|cell| cell.label != own(pair) && differs(cell.verdict))
    };
    let reference = |_: usize, compared: &Compared| {
        compared.cells.iter().any(|cell| cell.reference && differs(cell.verdict))
    };
    let rows: [(&str, &str, f64); 7] = [
        ("nothing changed", "all cells: any called", count(&none, false, &any)),
        ("nothing changed", "one cell", count(&none, true, &any)),
        ("one cell dearer", "all cells: that one called worse", count(&one, false, &right)),
        ("one cell dearer", "all cells: another one called", count(&one, false, &others)),
        ("one cell dearer", "that cell alone: called worse", count(&one, true, &right)),
        ("all dearer alike", "all cells: the reference called", count(&all, false, &reference)),
        ("all dearer alike", "all cells: any called", count(&all, false, &any)),
    ];
    for (truth, compared, share) in rows {
        println!("| {truth} | {compared} | {:.1} % |", share * 100.0);
    }
}

fn differs(verdict: ChangeVerdict) -> bool {
    matches!(verdict, ChangeVerdict::Better { .. } | ChangeVerdict::Worse { .. })
}

fn short(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

/// The first half of a run's blocks, and the second, as if they were two sessions.
fn halves(name: &str, run: Run) -> [(String, Run); 2] {
    let mut late = run.clone();
    let mut early = run;
    late.blocks.drain(..early.blocks.len() / 2);
    early.blocks.truncate(early.blocks.len() / 2);
    late.header.plan.seed ^= 1; // two sessions have two
    [(format!("{name}, first half"), early), ("second half".to_owned(), late)]
}

/// Pairs of real runs of one state.
fn real(pairs: &[[(String, Run); 2]]) {
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

fn read(path: &str) -> Run {
    let text = std::fs::read_to_string(path).expect("a saved run");
    parse(&text).expect("a saved run").0
}

/// A run out of stretches of another's blocks that count, with a session's own luck and the truth
/// about each cell.
fn play(source: &Run, luck: Luck, random: &mut Pcg64, truth: &dyn Fn(&str) -> f64) -> Run {
    let kept: Vec<&Block> = source.blocks.iter().filter(|block| block.dropped.is_none()).collect();
    let length = setting("ZC_BLOCKS", kept.len());
    let stretch = STRETCH.min(kept.len());
    let mut blocks: Vec<Block> = Vec::with_capacity(length + stretch);
    while blocks.len() < length {
        let from = random.random_range(0..=kept.len() - stretch);
        blocks.extend(kept[from..from + stretch].iter().map(|block| (*block).clone()));
    }
    blocks.truncate(length);
    let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let session = (luck.cost * normal()).exp();
    let factors: Vec<(String, f64)> = source
        .header
        .plan
        .cells
        .iter()
        .filter(|cell| !cell.control)
        .map(|cell| {
            (cell.label.clone(), session * (luck.path * normal()).exp() * truth(&cell.label))
        })
        .collect();
    for slot in blocks.iter_mut().flat_map(|block| &mut block.slots) {
        let Slot::Trial(trial) = slot else { continue };
        // The control is the reference under another name.
        let own =
            |label: &str| trial.cell == label || trial.cell.strip_suffix(" (A/A)") == Some(label);
        let factor =
            factors.iter().find(|(label, _)| own(label)).map_or(1.0, |(_, factor)| *factor);
        let opened = trial.opened.received.bytes;
        let bytes = trial.closed.received.bytes.saturating_sub(opened) as f64 / factor;
        trial.closed.received.bytes = opened + bytes as u64;
    }
    let mut run = Run { header: source.header.clone(), blocks, end: source.end.clone() };
    run.header.plan.seed = random.random();
    run
}
