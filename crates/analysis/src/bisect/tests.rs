//! Bisections of a thousand commits, simulated. The scatter of a log ratio from block to block of
//! `zc run --ab` was 3 to 8 % on the machine that zc was made on (docs/performance.md, "Two
//! states"), and each commit here has one of its own in that range. A tenth of the blocks scatter
//! three times as much.

use super::*;
use crate::random::Random;
use zc_run::HostState;
use zc_testkit::synthetic::{Synthetic, TrueCell};

const COMMITS: u64 = 1000;
const WORSE: f64 = 0.05;
const TOTAL: f64 = 0.05;
/// Blocks that ten minutes hold, about.
const BLOCKS: usize = 500;

/// The answer about a commit by at most so many log ratios, and how many it took.
fn answered(
    question: Question,
    most: usize,
    mut log_ratio: impl FnMut() -> f64,
) -> (Option<Answer>, usize) {
    let mut values = Sequential::default();
    for count in 1..=most {
        values.push(log_ratio());
        if let Some(answer) = question.answer_by(&values) {
            return (Some(answer), count);
        }
    }
    (None, most)
}

/// One in ten values is so many times as far off as the others.
fn far(random: &mut Random) -> f64 {
    if random.uniform() < 0.1 { 3.0 } else { 1.0 }
}

/// The answer about a commit whose true log ratio is `centre`, and the blocks that it took.
fn measured(
    question: Question,
    centre: f64,
    blocks: usize,
    random: &mut Random,
) -> (Option<Answer>, usize) {
    let scatter = 0.03 + 0.05 * random.uniform();
    answered(question, blocks, || centre + scatter * far(random) * random.normal())
}

/// By how much boots of one kernel differ, in all paths alike and in each by itself
/// (docs/kernels.md).
const ALIKE: f64 = 0.03;
const APART: f64 = 0.02;
/// Rounds of two boots that an hour has room for, at 20 s a boot.
const ROUNDS: usize = 90;

/// The same by rounds of boots, and the rounds that it took.
fn booted(
    question: Question,
    centre: f64,
    rounds: usize,
    random: &mut Random,
) -> (Option<Answer>, usize) {
    let mut boot = || far(random) * (ALIKE * random.normal() + APART * random.normal());
    answered(question, rounds, || centre + boot() - boot())
}

/// How a commit is measured: the question, its true log ratio, and the most values.
type Measure = fn(Question, f64, usize, &mut Random) -> (Option<Answer>, usize);

/// What came of a bisection.
#[derive(Debug, Default)]
struct Bisected {
    found: u64,
    answers: usize,
    wrong: usize,
    skipped: usize,
    blocks: usize,
    /// Error that was spent.
    spent: f64,
}

/// Bisects commits 1 to [`COMMITS`], of which the last is known to be bad, as `git bisect` does:
/// the middle of those that may be the first bad one, or the nearest to it that was not skipped.
/// `change` is the first commit that costs more.
fn bisected(
    measure: Measure,
    change: u64,
    by: f64,
    blocks: usize,
    random: &mut Random,
) -> Bisected {
    let mut seen = Bisected::default();
    let (mut good, mut bad) = (0, COMMITS);
    let mut skipped = std::collections::HashSet::new();
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let left = (good + 1..bad).filter(|commit| !skipped.contains(commit));
        let Some(commit) = left.min_by_key(|commit| commit.abs_diff(middle)) else { break };
        let error = error_share(TOTAL, seen.spent, steps_left(bad - good));
        let is_bad = commit >= change;
        let centre = if is_bad { by.ln_1p() } else { 0.0 };
        let (answer, took) = measure(Question { worse: WORSE, error }, centre, blocks, random);
        seen.blocks += took;
        let Some(answer) = answer else {
            skipped.insert(commit);
            seen.skipped += 1;
            continue;
        };
        seen.answers += 1;
        seen.spent += error;
        seen.wrong += usize::from((answer == Answer::Bad) != is_bad);
        match answer {
            Answer::Good => good = commit,
            Answer::Bad => bad = commit,
        }
    }
    seen.found = bad;
    seen
}

/// 200 bisections: how many end at the right commit, and all that was seen.
fn two_hundred(measure: Measure, by: f64, blocks: usize) -> (usize, Bisected) {
    let mut all = Bisected::default();
    let mut right = 0;
    for seed in 0..200 {
        let mut random = Random(seed);
        let change = 1 + (random.uniform() * COMMITS as f64) as u64;
        let one = bisected(measure, change, by, blocks, &mut random);
        assert!(one.spent <= TOTAL, "{one:?}");
        right += usize::from(one.found == change);
        all.answers += one.answers;
        all.wrong += one.wrong;
        all.skipped += one.skipped;
        all.blocks += one.blocks;
    }
    (right, all)
}

#[test]
fn of_two_hundred_bisections_over_a_thousand_commits_nine_of_ten_end_at_the_right_one() {
    let (right, seen) = two_hundred(measured, 0.05, BLOCKS);
    eprintln!("{right} of 200 are right; {seen:?}");
    assert!(right >= 190, "{right}: {seen:?}");
    // Each answer may be wrong in one of 220 cases.
    assert!(seen.wrong * 100 <= seen.answers, "{seen:?}");
    assert_eq!(seen.skipped, 0);
    assert!(seen.blocks < 60 * seen.answers, "{seen:?}");
}

#[test]
fn by_boots_of_kernels_nine_of_ten_bisections_end_at_the_right_commit() {
    let (right, seen) = two_hundred(booted, 0.05, ROUNDS);
    eprintln!("{right} of 200 are right; {seen:?}");
    assert!(right >= 180, "{right}: {seen:?}");
    assert!(seen.wrong * 100 <= seen.answers, "{seen:?}");
    // Few commits take longer than an hour.
    assert!(seen.skipped * 20 <= seen.answers, "{seen:?}");
}

#[test]
fn a_larger_change_is_found_sooner_and_a_short_budget_skips_instead_of_guessing() {
    let (right, large) = two_hundred(measured, 0.3, BLOCKS);
    assert!(right >= 190, "{right}: {large:?}");
    let (_, small) = two_hundred(measured, 0.05, BLOCKS);
    assert!(large.blocks < small.blocks, "{large:?} {small:?}");
    let (_, short) = two_hundred(measured, 0.05, 20);
    assert!(short.skipped > short.answers / 4, "{short:?}");
    assert!(short.wrong * 100 <= short.answers, "{short:?}");
}

#[test]
fn where_nothing_changed_few_commits_are_called_bad() {
    // The last commit is the bad one by the user's word alone.
    let (mut wrong, mut answers) = (0, 0);
    for seed in 0..200 {
        let one = bisected(measured, COMMITS, 0.0, BLOCKS, &mut Random(1000 + seed));
        answers += one.answers;
        wrong += one.wrong;
    }
    assert!(wrong * 100 <= answers, "{wrong} of {answers}");
}

#[test]
fn half_of_the_asked_change_may_be_called_either() {
    let question = Question { worse: WORSE, error: 0.005 };
    let mut bad = 0;
    for seed in 0..200 {
        let (answer, _) = measured(question, 0.025_f64.ln_1p(), 5000, &mut Random(seed));
        bad += usize::from(answer.unwrap() == Answer::Bad);
    }
    assert!((50..=150).contains(&bad), "{bad}");
}

/// A run of two states in which `sendfile B` costs `factor` times as much as `sendfile A`.
fn two_states(factor: f64, blocks: usize) -> Run {
    let cell = |state: HostState, factor: f64| {
        let mut cell = TrueCell::new(zc_run::SendPath::Sendfile, 180.0 * factor, 200.0 * factor);
        cell.cell.label = format!("sendfile {state}");
        cell.cell.levels.state = Some(state);
        cell
    };
    let reference = TrueCell::new(zc_run::SendPath::ReadSend, 500.0, 400.0);
    let control = reference.control();
    let mut other = cell(HostState::b(), factor);
    other.cell.by = Some("sendfile A".to_owned());
    let cells = vec![reference, cell(HostState::a(), 1.0), other, control];
    Synthetic { cells, blocks, noise: 0.03, ..Synthetic::default() }.run()
}

#[test]
fn a_state_of_one_run_is_good_or_bad_with_its_ratio() {
    let question = Question { worse: WORSE, error: 0.005 };
    for (factor, expected) in [(1.0, Answer::Good), (1.1, Answer::Bad), (0.8, Answer::Good)] {
        let run = two_states(factor, 80);
        let (judged, compared) = question.within_run(&run, "sendfile B");
        assert_eq!(judged.answer, Some(expected), "{factor}: {judged:?}");
        assert_eq!(judged.values, 80);
        let (low, high) = (judged.low.unwrap(), judged.high.unwrap());
        assert!(low < factor && factor < high && high - low < 0.1, "{judged:?}");
        assert_eq!(compared.old.name, "this run");
    }
    let (judged, _) = question.within_run(&two_states(1.1, 3), "sendfile B");
    assert_eq!((judged.answer, judged.low), (None, None));
    assert_eq!(log_ratios(&two_states(1.1, 3), "none"), [] as [f64; 0]);
}

#[test]
fn a_run_without_a_block_that_counts_has_no_answer() {
    let mut run = two_states(2.0, 40);
    for block in &mut run.blocks {
        block.dropped = Some(zc_run::Dropped::Foreign { share: 0.9 });
    }
    let question = Question { worse: WORSE, error: 0.005 };
    let (judged, compared) = question.within_run(&run, "sendfile B");
    assert_eq!((judged.answer, judged.values), (None, 0));
    assert!(!compared.impossible.is_empty() || !compared.withheld.is_empty());
}

#[test]
fn a_saved_run_tells_large_changes_and_no_small_ones() {
    let world = |factor: f64, seed: u64| {
        let sendfile = TrueCell::new(zc_run::SendPath::Sendfile, 180.0 * factor, 390.0 * factor);
        let reference = TrueCell::new(zc_run::SendPath::ReadSend, 500.0, 400.0);
        let splice = TrueCell::new(zc_run::SendPath::Splice, 170.0, 380.0);
        let control = reference.control();
        let cells = vec![reference, sendfile, splice, control];
        let world = Synthetic {
            cells,
            seed,
            blocks: 80,
            noise: 0.05,
            block_drift: 0.01,
            ..Synthetic::default()
        };
        let mut run = world.run();
        run.header.started_at = format!("2026-11-21T12:00:{seed:02}Z");
        run
    };
    let good = world(1.0, 1);
    let answer = |factor: f64, worse: f64, error: f64| {
        let question = Question { worse, error: 0.005 };
        question.between_runs(&good, &world(factor, 2), "sendfile", error).0
    };
    assert_eq!(answer(1.6, 0.4, 0.005).answer, Some(Answer::Bad));
    assert_eq!(answer(1.0, 0.4, 0.005).answer, Some(Answer::Good));
    let close = answer(1.002, 0.002, 0.005);
    assert_eq!(close.answer, None, "{close:?}");
    assert!(close.low.unwrap() < 1.0 && close.high.unwrap() > 1.002, "{close:?}");
    // A look has only a part of the error.
    assert_eq!(answer(1.6, 0.4, 1e-300).answer, None);
    let question = Question { worse: 0.4, error: 0.005 };
    let (judged, compared) = question.between_runs(&good, &world(1.0, 2), "none", 0.005);
    assert_eq!(judged.answer, None);
    assert!(!compared.impossible.is_empty());
}
