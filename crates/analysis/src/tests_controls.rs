//! Verdicts of runs whose controls see too little, and of runs with costs below 0.

use super::*;
use crate::compare::{ChangeVerdict, Selection, compare};
use zc_run::{Run, SendPath};
use zc_testkit::synthetic::{Synthetic, TrueCell};

/// A reference of 900 ns per KiB with both controls, a path that costs as much and one that costs
/// `times` as much.
fn world(times: f64, burned_ns_per_kib: f64) -> Synthetic {
    let reference = TrueCell::new(SendPath::ReadSend, 500.0, 400.0);
    let path = |send, times: f64| TrueCell::new(send, 500.0 * times, 400.0 * times);
    let cells = vec![
        reference.clone(),
        path(SendPath::ReadWrite, 1.0),
        path(SendPath::Sendfile, times),
        reference.control(),
        reference.positive_control(burned_ns_per_kib),
    ];
    let rate_bytes_per_s = 2e8;
    Synthetic { cells, unsoaked: false, rate_bytes_per_s, idle_noise: 1e-4, ..Synthetic::default() }
}

fn has_verdict(estimates: &Estimates, label: &str) -> bool {
    let verdict = estimates.verdict.cells.iter().find(|cell| cell.label == label).unwrap();
    estimates.verdict.stands()
        && matches!(verdict.comparison, Comparison::Cheaper { .. } | Comparison::Dearer { .. })
}

/// Runs of a world, each with a seed of its own.
fn runs(world: &Synthetic, count: u64) -> impl Iterator<Item = Run> + '_ {
    (0..count).map(|seed| Synthetic { seed, ..world.clone() }.run())
}

#[test]
fn no_difference_is_called_that_both_controls_could_not_have_seen() {
    let noisy = Synthetic { blocks: 12, noise: 0.35, block_drift: 0.0, ..world(1.3, 90.0) };
    let (mut open, mut resolved) = (0, 0);
    for estimates in runs(&noisy, 400).map(|run| estimate(&run)) {
        let controls = (estimates.control.unwrap(), estimates.positive_control.unwrap());
        let own = [controls.0.resolution.unwrap(), controls.1.resolution.unwrap()];
        let resolution = own[0].max(own[1]);
        assert_eq!(estimates.verdict.resolution, Some(resolution));
        assert!(controls.0.is_too_wide() && controls.1.is_too_wide());
        for cell in &estimates.verdict.cells {
            let ratio = estimates.cells.iter().find(|each| each.label == cell.label).unwrap();
            let ratio = ratio.ratio.both.unwrap();
            let seen = ratio.value.ln().abs() > resolution.ln_1p();
            match cell.comparison {
                Comparison::Cheaper { .. } | Comparison::Dearer { .. } => {
                    assert!(seen, "{ratio:?} {resolution}");
                    resolved += 1;
                }
                Comparison::Same { .. } => panic!("{ratio:?} {resolution}"),
                Comparison::Undecided => open += usize::from(cell.interval_excludes_one && !seen),
            }
        }
    }
    // Some differences were beyond the resolution, and some intervals within it exclude 1.
    assert!(resolved > 10 && open > 10, "{resolved} {open}");
}

#[test]
fn the_resolution_costs_next_to_no_verdicts_where_the_controls_are_narrow() {
    let quiet = Synthetic { blocks: 30, noise: 0.05, ..world(0.9, 90.0) };
    let all: Vec<Estimates> = runs(&quiet, 100).map(|run| estimate(&run)).collect();
    let count = |label| all.iter().filter(|estimates| has_verdict(estimates, label)).count();
    assert!(count("sendfile") >= 95, "{}", count("sendfile"));
    assert!(count("read+write") <= 10, "{}", count("read+write"));
}

#[test]
fn a_positive_control_that_may_have_seen_nothing_leaves_what_is_farther_from_1_than_it_may_miss() {
    let run = Synthetic { blocks: 10, noise: 0.15, ..world(0.2, 9.0) }.run();
    let estimates = estimate(&run);
    let positive = estimates.positive_control.as_ref().unwrap();
    assert_eq!((positive.fits, positive.seen), (Some(true), Some(false)));
    assert!(positive.is_too_wide());
    let ends = positive.found.unwrap().interval.unwrap();
    let by_expected = |end: f64| end / positive.expected.unwrap();
    let error = by_expected(ends.high.unwrap()).max(1.0 / by_expected(ends.low));
    assert_eq!(estimates.verdict.control_error, Some(error - 1.0));
    assert!(has_verdict(&estimates, "sendfile"), "{:?}", estimates.verdict);
    // A smaller difference is explained by what the control may have missed.
    let with_effect = |times: f64| Synthetic { blocks: 10, noise: 0.15, ..world(times, 9.0) };
    for estimates in runs(&with_effect(1.0 / error.sqrt()), 20).map(|run| estimate(&run)) {
        let error = estimates.verdict.control_error.map_or(1.0, |error| 1.0 + error);
        for verdict in
            estimates.verdict.cells.iter().filter(|it| has_verdict(&estimates, &it.label))
        {
            let cell = estimates.cells.iter().find(|cell| cell.label == verdict.label).unwrap();
            let Bounds { low, high, .. } = cell.ratio.both.unwrap().interval.unwrap();
            assert!(low > error || high.unwrap() < 1.0 / error, "{cell:?}");
        }
    }
    let quiet = Synthetic { noise: 0.01, ..world(0.2, 90.0) };
    let seen = estimate(&quiet.run());
    let positive = seen.positive_control.unwrap();
    assert_eq!((positive.fits, positive.seen), (Some(true), Some(true)));
    assert!(!positive.is_too_wide() && !seen.control.as_ref().unwrap().is_too_wide());
    assert!(has_verdict(&estimate(&quiet.run()), "sendfile"));
}

#[test]
fn only_a_positive_control_that_is_shown_to_be_blind_withholds_all_verdicts() {
    let missed = |found, low, high| {
        let high = Some(high);
        Withheld::PositiveControlMissed { expected: 1.1, found, low, high }.error()
    };
    assert_eq!(missed(1.02, 0.99, 1.04), None, "less than half of it");
    assert_eq!(missed(1.18, 1.16, 1.2), None, "more than one and a half times it");
    let near = |found: Option<f64>, error: f64| (found.unwrap() - error).abs() < 1e-9;
    assert!(near(missed(1.03, 0.99, 1.08), 1.1 / 0.99));
    assert!(near(missed(1.16, 1.11, 1.21), 1.21 / 1.1));
}

#[test]
fn controls_without_a_bound_withhold_all_verdicts() {
    // Noise takes the cost of the reference below 0 in some blocks.
    let noisy = Synthetic { blocks: 10, ..world(0.2, 90.0) };
    let noisy = Synthetic { idle_noise: 0.08, ..noisy };
    let mut unbounded = 0;
    for estimates in runs(&noisy, 40).map(|run| estimate(&run)) {
        let control = estimates.control.as_ref().unwrap();
        let too_wide = Withheld::ControlTooWide { resolution: None };
        if control.fits.is_some() && control.resolution.is_none() {
            unbounded += 1;
            assert_eq!(estimates.verdict.resolution, None);
            assert!(estimates.verdict.withheld.contains(&too_wide), "{:?}", estimates.verdict);
        }
    }
    assert!(unbounded > 3, "{unbounded}");
}

#[test]
fn a_plan_s_positive_control_that_was_never_measured_withholds_verdicts() {
    let mut run = world(0.5, 90.0).run();
    assert!(estimate(&run).verdict.stands());
    for block in &mut run.blocks {
        block.slots.retain(|slot| match slot {
            zc_run::Slot::Trial(trial) => !trial.cell.ends_with("(+burn)"),
            zc_run::Slot::Idle(_) => true,
        });
    }
    assert_eq!(estimate(&run).verdict.withheld, [Withheld::NoControl]);
}

#[test]
fn a_harness_below_0_is_no_correction_but_a_fault() {
    let run = Synthetic { harness_share: -0.02, noise: 0.01, ..world(0.5, 90.0) }.run();
    let estimates = estimate(&run);
    for cell in &estimates.cells {
        assert_eq!(cell.harness_ns_per_kib.unwrap().value, 0.0);
        let both = |cost: &Sides<Figure>| cost.both.unwrap().value;
        assert_eq!(both(&cell.cost_ns_per_kib), both(&cell.gross_cost_ns_per_kib));
    }
    let withheld = &estimates.verdict.withheld[..];
    let [Withheld::BelowZero { of, us_per_mb, high, .. }] = withheld else {
        panic!("{withheld:?}");
    };
    assert_eq!(of, "the harness of read+send");
    // At 200 MB/s, a fiftieth of a CPU is 100 us/MB.
    assert!((us_per_mb + 100.0).abs() < 5.0 && *high < 0.0, "{withheld:?}");
}

#[test]
fn a_harness_that_is_only_noise_adds_to_no_cost() {
    let run = Synthetic { harness_share: 1e-9, idle_noise: 0.003, ..world(0.5, 90.0) }.run();
    let kept = crate::kept::KeptBlocks::from_run(&run);
    let costs: Vec<_> = kept.costs.iter().flatten().flatten().collect();
    assert!(!costs.is_empty());
    for cost in costs {
        let side = crate::costs::Side::Both;
        assert!(cost.harness_ns_per_kib(side).unwrap() >= 0.0, "{cost:?}");
        assert!(cost.ns_per_kib(side) <= cost.gross_ns_per_kib(side), "{cost:?}");
    }
}

#[test]
fn a_cost_below_0_beyond_its_noise_is_a_fault_of_the_instrument() {
    let mut world = Synthetic { noise: 0.02, ..world(0.5, 90.0) };
    world.cells[2].sender_ns_per_kib = -600.0;
    let estimates = estimate(&world.run());
    let below: Vec<&str> = estimates
        .cells
        .iter()
        .filter(|cell| cell.below_zero)
        .map(|cell| cell.label.as_str())
        .collect();
    assert_eq!(below, ["sendfile"]);
    let withheld = &estimates.verdict.withheld[..];
    let named = |why: &Withheld| matches!(why, Withheld::BelowZero { of, .. } if of == "sendfile");
    assert!(withheld.iter().any(named), "{withheld:?}");
    // A cost of 0 with noise to either side is none.
    world.cells[2].sender_ns_per_kib = -200.0;
    world.cells[2].receiver_ns_per_kib = 200.0;
    world.idle_noise = 0.01;
    assert!(estimate(&world.run()).cells.iter().all(|cell| !cell.below_zero));
}

#[test]
fn two_cells_of_one_run_are_compared_within_what_its_controls_resolve() {
    let noisy = Synthetic { blocks: 12, noise: 0.35, block_drift: 0.0, ..world(1.3, 90.0) };
    let mut unresolved = 0;
    for run in runs(&noisy, 60) {
        let resolution = estimate(&run).verdict.resolution.unwrap();
        let selection = |cell: &str| Selection {
            name: cell.to_owned(),
            run: &run,
            cell: Some(cell.to_owned()),
            state: None,
        };
        let (compared, judgement) =
            compare(&selection("read+send"), &[selection("sendfile")], Some(0.05), None);
        let cell = &compared[0].cells[0];
        let change = cell.cost.both.unwrap();
        let seen = change.ratio.ln().abs() > resolution.ln_1p();
        let worse = matches!(cell.verdict, ChangeVerdict::Worse { .. });
        let open = [ChangeVerdict::Undecided, ChangeVerdict::Withheld].contains(&cell.verdict);
        assert!(seen || open, "{change:?} {resolution}");
        assert!(compared[0].none_worse_by.is_none_or(|by| by >= resolution * 0.999));
        let judged_worse = judgement.unwrap().outcome == compare::Outcome::Worse;
        assert!(seen || !judged_worse, "{change:?}");
        unresolved += usize::from(!worse && change.low.is_some_and(|low| low > 1.0));
        let reasons = compared[0].doubts.iter().chain(&compared[0].withheld);
        let too_wide = Withheld::ControlTooWide { resolution: Some(resolution) };
        assert!(reasons.map(|reason| &reason.why).any(|why| *why == too_wide));
    }
    assert!(unresolved > 3, "{unresolved}");
}
