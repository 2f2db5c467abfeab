//! Two kernels whose truth is known: boots of synthetic runs, and boots whose values are drawn from
//! a recorded run.

use super::rounds::{Round, differing_controls, judge, ratio};
use super::*;
use crate::compare::model::{JudgedBy, Outcome};
use crate::random::Random;
use zc_run::SendPath;
use zc_testkit::synthetic::{TrueCell, boot as boot_run, sendfile, two_machines};

/// A run whose sendfile costs so many times what it usually does.
fn run(seed: u64, factor: f64) -> Run {
    run_of(seed, sendfile(factor))
}

fn run_of(seed: u64, sendfile: TrueCell) -> Run {
    boot_run(seed, 12, vec![sendfile, TrueCell::new(SendPath::Splice, 200.0, 390.0)])
}

fn runs(rounds: usize, factor: f64) -> Vec<(usize, Arm, Run)> {
    let arms = [(Arm::Old, 1.0), (Arm::New, factor), (Arm::OldAgain, 1.0)];
    let of_round = |round: usize| {
        arms.into_iter().enumerate().map(move |(place, (arm, factor))| {
            (round, arm, run((round * 3 + place) as u64, factor))
        })
    };
    (1..=rounds).flat_map(of_round).collect()
}

fn compared(runs: &[(usize, Arm, Run)]) -> Kernels {
    let boots: Vec<Boot<'_>> =
        runs.iter().map(|(round, arm, run)| Boot { round: *round, arm: *arm, run }).collect();
    kernels(&boots)
}

fn cell<'a>(compared: &'a Kernels, label: &str) -> &'a KernelCell {
    compared.cells.iter().find(|cell| cell.label == label).unwrap()
}

#[test]
fn a_dearer_path_is_found_and_the_others_are_the_same() {
    let compared = compared(&runs(8, 1.2));
    assert_eq!((compared.rounds, compared.control_rounds), (8, 8));
    assert_eq!(compared.cells.len(), 3, "controls are no cells");
    let sendfile = cell(&compared, "sendfile");
    let ChangeVerdict::Worse { by } = sendfile.verdict else { panic!("{sendfile:?}") };
    assert!((0.17..0.23).contains(&by), "{sendfile:?}");
    assert_eq!(sendfile.judged_by, Some(JudgedBy::Cost));
    assert!(sendfile.old_cost.unwrap().boots == 16 && sendfile.new_cost.unwrap().boots == 8);
    for label in ["read+send", "splice"] {
        let same = cell(&compared, label);
        assert!(matches!(same.verdict, ChangeVerdict::Same { .. }), "{same:?}");
    }
    assert!(compared.control_differs.is_empty());
}

#[test]
fn of_two_cells_the_second_is_relative_to_the_first() {
    let mut runs = runs(8, 1.2);
    for (_, _, run) in &mut runs {
        run.header.plan.cells.retain(|cell| cell.label != "splice");
    }
    let compared = compared(&runs);
    assert_eq!(compared.cells.len(), 2);
    assert!(cell(&compared, "read+send").relative.is_none());
    let relative = cell(&compared, "sendfile").relative.unwrap();
    assert!((1.17..1.23).contains(&relative.ratio), "{relative:?}");
    runs.iter_mut().for_each(|(_, _, run)| run.header.plan.cells.retain(|cell| cell.control));
    assert!(self::compared(&runs).cells.is_empty());
}

#[test]
fn on_a_wire_a_change_is_the_near_guest_s_and_the_far_one_s_cost_is_told_beside() {
    // Only the sender's cost of sendfile changes, by half.
    let of = |(round, arm, mut run): (usize, Arm, Run)| {
        if arm == Arm::New {
            let sendfile = TrueCell::new(SendPath::Sendfile, 180.0 * 1.5, 390.0);
            run = run_of(round as u64, sendfile);
        }
        (round, arm, two_machines(run))
    };
    let compared = compared(&runs(8, 1.0).into_iter().map(of).collect::<Vec<_>>());
    assert!(compared.wire && compared.rounds == 8, "{:?}", compared.left_out);
    let sendfile = cell(&compared, "sendfile");
    let ChangeVerdict::Worse { by } = sendfile.verdict else { panic!("{sendfile:?}") };
    assert!((0.45..0.55).contains(&by), "{sendfile:?}");
    let far = sendfile.far.unwrap();
    assert!((0.95..1.05).contains(&far.cost.ratio), "{far:?}");
    assert!(far.old_cost.unwrap().boots == 16 && far.new_cost.unwrap().boots == 8);
    let alone = self::compared(&runs(1, 1.0));
    assert!(!alone.wire && alone.cells.iter().all(|cell| cell.far.is_none()));
}

#[test]
fn a_boot_that_is_missing_costs_its_round_and_nothing_else() {
    let mut runs = runs(6, 1.0);
    runs.retain(|(round, arm, _)| {
        (*round, *arm) != (2, Arm::New) && (*round, *arm) != (3, Arm::Old)
    });
    let compared = compared(&runs);
    assert_eq!((compared.rounds, compared.control_rounds), (5, 5));
}

#[test]
fn an_emulated_machine_has_bytes_and_no_costs() {
    let mut runs = runs(2, 1.0);
    for (_, _, run) in &mut runs {
        run.header.host.hypervisor = Some("qemu-tcg".to_owned());
    }
    let compared = compared(&runs);
    assert!(compared.emulated && compared.left_out.is_empty());
    for cell in &compared.cells {
        assert!(cell.cost.is_none() && cell.old_cost.is_none() && cell.judged_by.is_none());
        assert_eq!(cell.verdict, ChangeVerdict::Withheld);
        assert!(cell.old_bytes.unwrap() > cell.new_bytes.unwrap() && cell.new_bytes.unwrap() > 0);
    }
}

#[test]
fn a_boot_with_hardly_a_block_or_over_another_link_is_left_out() {
    let mut runs = runs(4, 1.0);
    runs[1].2.blocks.truncate(1);
    runs[5].2.header.link.kind = zc_run::LinkKind::Loopback;
    let compared = compared(&runs);
    let why: Vec<&WhyLeftOut> = compared.left_out.iter().map(|boot| &boot.why).collect();
    assert!(matches!(why[0], WhyLeftOut::TooFewBlocks { kept: 1, .. }), "{why:?}");
    assert!(matches!(why[1], WhyLeftOut::Differs { .. }), "{why:?}");
    assert_eq!(why.len(), 2);
}

#[test]
fn nothing_that_was_measured_is_nothing_compared() {
    let compared = compared(&[]);
    assert!(compared.cells.is_empty() && compared.rounds == 0 && !compared.emulated);
}

#[test]
fn a_margin_is_judged_by_costs_and_a_cell_that_is_lost_is_worse() {
    let judged = |runs: &[(usize, Arm, Run)], margin: f64| judgement(&compared(runs), margin);
    let dearer = runs(8, 1.2);
    let worse = judged(&dearer, 0.1);
    assert_eq!(
        (worse.outcome, worse.worse.as_slice()),
        (Outcome::Worse, &["sendfile".to_owned()][..])
    );
    assert!(worse.undecided.is_empty(), "{worse:?}");
    assert_eq!(judged(&dearer, 0.3).outcome, Outcome::NoneWorse);
    let close = judged(&dearer, compared(&dearer).cells[1].cost.unwrap().ratio - 1.0);
    assert_eq!((close.outcome, close.undecided.len()), (Outcome::Undecided, 1), "{close:?}");
    assert_eq!(judged(&[], 0.1).outcome, Outcome::NothingKept);

    let mut lost = runs(2, 1.0);
    for (_, arm, run) in &mut lost {
        run.header.host.hypervisor = Some("qemu-tcg".to_owned());
        if *arm == Arm::New {
            run.header.plan.cells.retain(|cell| cell.label != "splice");
        }
    }
    let emulated = judged(&lost, 0.1);
    assert_eq!((emulated.outcome, emulated.worse), (Outcome::Worse, vec!["splice".to_owned()]));
    lost.retain(|(_, arm, _)| *arm != Arm::New);
    lost.extend(runs(2, 1.0).into_iter().filter(|(_, arm, _)| *arm == Arm::New));
    assert_eq!(judged(&lost, 0.1).outcome, Outcome::Withheld);
}

#[test]
fn without_a_boot_of_the_second_kernel_no_cell_is_lost() {
    let mut runs = runs(1, 1.0);
    runs.retain(|(_, arm, _)| *arm != Arm::New);
    let judged = judgement(&compared(&runs), 0.1);
    assert_eq!((judged.outcome, judged.undecided.len()), (Outcome::Undecided, 3), "{judged:?}");
    assert!(judged.worse.is_empty(), "{judged:?}");
}

#[test]
fn the_p_values_of_a_bound_are_those_of_its_interval() {
    let found = compared(&runs(6, 1.2)).cells[1].cost.unwrap();
    let at = |bound: f64| found.one_sided_p_values(bound).unwrap();
    assert!((at(1.0).0 - found.p_value.unwrap() / 2.0).abs() < 1e-9, "{found:?}");
    assert!((at(found.low.unwrap()).0 - 0.025).abs() < 1e-9, "{found:?}");
    assert!((at(found.high.unwrap()).1 - 0.025).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_round_of_one_boot_each_is_a_log_ratio() {
    let mut runs = runs(5, 1.2);
    runs.retain(|(round, arm, _)| *arm != Arm::OldAgain && (*round, *arm) != (3, Arm::Old));
    runs[0].2.blocks.truncate(1);
    let boots: Vec<Boot<'_>> =
        runs.iter().map(|(round, arm, run)| Boot { round: *round, arm: *arm, run }).collect();
    let (logs, left_out) = log_ratios(&boots, "sendfile");
    assert_eq!((logs.len(), left_out.len()), (3, 1));
    assert!(logs.iter().all(|log| (log - 1.2_f64.ln()).abs() < 0.05), "{logs:?}");
    assert_eq!(log_ratios(&boots, "none").0, [] as [f64; 0]);
}

/// Costs of sender and receiver by block and cell of a run in which the machine changes between two
/// states: see [`crate::fleet`].
const RECORDED: &str = include_str!("../../fleet/testdata/veth.csv");

/// By how much boots of one kernel differ (docs/kernels.md): all cells alike, and each by itself.
const ALIKE: f64 = 0.03;
const APART: f64 = 0.02;
/// Of the recorded run, blocks of a boot, and what a boot adds to that.
const BLOCKS: usize = 30;
const OF_A_BOOT: f64 = 0.01;
/// Rounds that 20 minutes have room for, at 15 s for the run of a boot and 5 s for the rest.
const ROUNDS: usize = 20;

/// Logarithms of costs by block and cell.
fn recorded() -> Vec<Vec<f64>> {
    let line = |line: &str| -> Vec<f64> {
        let costs: Vec<f64> = line.split(',').map(|cost| cost.parse().unwrap()).collect();
        costs.chunks(2).map(|ends| (ends[0] + ends[1]).ln()).collect()
    };
    RECORDED.lines().map(line).collect()
}

/// The values of a boot by cell: a stretch of the recorded blocks if there are some, else normal.
fn boot(blocks: Option<&[Vec<f64>]>, changed: &[f64], random: &mut Random) -> Vec<[f64; 2]> {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let Some(blocks) = blocks else {
        let alike = ALIKE * random.normal();
        let own: Vec<f64> = changed.iter().map(|by| by + APART * random.normal()).collect();
        return own.iter().map(|log| [alike + log, log - mean(&own)]).collect();
    };
    let begin = random.below(blocks.len() - BLOCKS);
    let stretch = &blocks[begin..begin + BLOCKS];
    let own: Vec<f64> = changed.iter().map(|by| by + OF_A_BOOT * random.normal()).collect();
    let of = |cell: usize, less: f64| {
        let logs: Vec<f64> = stretch.iter().map(|block| block[cell] - less * mean(block)).collect();
        hodges_lehmann(&logs).unwrap() + own[cell] - less * mean(&own)
    };
    (0..changed.len()).map(|cell| [of(cell, 0.0), of(cell, 1.0)]).collect()
}

/// A comparison in which the cells of the second kernel cost more by these logarithms.
fn simulated(blocks: Option<&[Vec<f64>]>, changed: &[f64], random: &mut Random) -> Vec<KernelCell> {
    let same = vec![0.0; changed.len()];
    let boots: Vec<[Vec<[f64; 2]>; 3]> = (0..ROUNDS)
        .map(|_| [&same[..], &same[..], changed].map(|changed| boot(blocks, changed, random)))
        .collect();
    let rounds = |cell: usize, kind: usize| -> Vec<Round> {
        let value = |boot: &Vec<[f64; 2]>| Some(boot[cell][kind]);
        let round = |[old, again, new]: &[Vec<[f64; 2]>; 3]| Round {
            old: value(old),
            old_again: value(again),
            new: value(new),
        };
        boots.iter().map(round).collect()
    };
    let mut cells: Vec<KernelCell> = (0..changed.len())
        .map(|cell| KernelCell {
            cost: ratio(&rounds(cell, 0)),
            same: control(&rounds(cell, 0)),
            ..without_figures(&cell.to_string())
        })
        .collect();
    let own: Vec<Vec<Round>> = (0..changed.len()).map(|cell| rounds(cell, 1)).collect();
    judge(&mut cells, &relative(&own));
    cells
}

/// How often a cell that is dearer by this is found, one that is not is called, and verdicts are
/// withheld, of so many times.
fn outcomes(blocks: Option<&[Vec<f64>]>, dearer: f64, times: usize, seed: u64) -> [usize; 3] {
    let mut random = Random(seed);
    let changed = [0.0, (1.0 + dearer).ln(), 0.0, 0.0];
    let mut outcomes = [0; 3];
    for _ in 0..times {
        let cells = simulated(blocks, &changed, &mut random);
        let is_called = |cell: &KernelCell| {
            matches!(cell.verdict, ChangeVerdict::Better { .. } | ChangeVerdict::Worse { .. })
        };
        let is_wrong = |at: usize| is_called(&cells[at]) && (at != 1 || dearer == 0.0);
        let stands = differing_controls(&cells).is_empty();
        let found = dearer > 0.0 && matches!(cells[1].verdict, ChangeVerdict::Worse { .. });
        outcomes[0] += usize::from(stands && found);
        outcomes[1] += usize::from(stands && (0..cells.len()).any(is_wrong));
        outcomes[2] += usize::from(!stands);
    }
    outcomes
}

/// 1 in 20 of so many times, and twice its standard error.
fn one_in_twenty(times: usize) -> usize {
    let times = times as f64;
    (times * 0.05 + 2.0 * (times * 0.05 * 0.95).sqrt()) as usize
}

#[test]
fn a_change_of_three_per_cent_is_found_in_four_of_five_cases_within_twenty_minutes() {
    // 4,979 of 6,000 are found, 0.83. Of 300, chance leaves fewer than 240 one time in fourteen.
    const TIMES: usize = 1_500;
    let [found, wrong, withheld] = outcomes(None, 0.03, TIMES, 1);
    assert!(found >= TIMES * 4 / 5, "{found} of {TIMES}");
    let most = one_in_twenty(TIMES);
    assert!(wrong <= most && withheld <= most, "{wrong}, {withheld} of {TIMES}");
}

#[test]
fn what_does_not_differ_is_called_in_one_of_twenty_cases_at_most() {
    let recorded = recorded();
    let recorded = Some(recorded.as_slice());
    for (blocks, dearer, times) in [(None, 0.0, 300), (recorded, 0.0, 100), (recorded, 0.03, 100)] {
        let [_, wrong, withheld] = outcomes(blocks, dearer, times, 2);
        let most = one_in_twenty(times);
        assert!(wrong <= most && withheld <= most, "{wrong}, {withheld} of {times}");
    }
}
