//! Calibrations of synthetic runs whose deviations between runs are known.

use super::tests::{part, world};
use super::*;
use zc_run::{LinkKind, Run};
use zc_testkit::synthetic::Synthetic;

/// Standard normal deviates, as quantiles in a shuffled order: their standard deviation is 0.98.
const DEVIATES: [f64; 12] =
    [0.32, -1.73, 0.55, 1.15, -0.10, -0.81, 1.73, -0.55, 0.10, -1.15, 0.81, -0.32];

/// Runs of one state: their costs differ by `all`, and those of each path by `path` on top, both
/// as standard deviations of logarithms.
fn runs(count: usize, all: f64, path: f64) -> Vec<Run> {
    (0..count)
        .map(|run| {
            let deviate = |at: usize| DEVIATES[at % DEVIATES.len()];
            let world = world(100 + run as u64, 1.0, (all * deviate(run)).exp());
            let mut cells = world.cells.clone();
            for (place, cell) in cells.iter_mut().enumerate() {
                // Other steps through the deviates for each path.
                let own = (path * deviate(run * [1, 5, 7, 11][place % 4] + 3 * place)).exp();
                cell.sender_ns_per_kib *= own;
                cell.receiver_ns_per_kib *= own;
            }
            let mut run = Synthetic { cells, ..world }.run();
            run.header.started_at = format!("2026-11-21T13:{:02}:00Z", run.header.plan.seed - 100);
            run
        })
        .collect()
}

fn parts(runs: &[Run]) -> Vec<Selection<'_>> {
    runs.iter().enumerate().map(|(at, run)| part(&format!("{at}.json"), run)).collect()
}

#[test]
fn the_deviations_between_runs_are_found() {
    let runs = runs(12, 0.06, 0.03);
    let found = calibrate(&parts(&runs), &[]).unwrap();
    assert_eq!((found.runs.len(), found.left_out.len()), (12, 0));
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    let path = found.path.unwrap();
    assert!((0.02..0.04).contains(&path.between_runs), "{path:?}");
    assert!(path.low < 0.03 && 0.03 < path.high, "{path:?}");
    assert!(path.degrees_of_freedom > 11.0, "{path:?}");
    // A cost has both.
    assert!((0.045..0.09).contains(&found.cost.between_runs), "{:?}", found.cost);
    let labels: Vec<&str> = found.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(labels, ["read+send", "sendfile", "splice", "mmap+write"]);
    for cell in &found.cells {
        let relative = cell.relative.unwrap();
        assert!(relative.explained < relative.seen && relative.seen < cell.cost.seen * 1.5);
        assert!((0.05..0.3).contains(&relative.finds) && relative.finds < cell.cost.finds);
    }
}

#[test]
fn runs_that_differ_in_nothing_but_noise_have_little_between_them() {
    let runs = runs(10, 0.0, 0.0);
    let found = calibrate(&parts(&runs), &[]).unwrap();
    let path = found.path.unwrap();
    assert!(path.between_runs < 0.005 && path.high < 0.02, "{path:?}");
}

#[test]
fn a_comparison_uses_what_was_calibrated_in_place_of_what_its_runs_wander() {
    let calibrated = runs(10, 0.06, 0.03);
    let found = calibrate(&parts(&calibrated), &[]).unwrap();
    // 6 % in one path: more than these runs wander, and not more than this machine's 3 %.
    let (old, new) = (world(1, 1.0, 1.0).run(), world(2, 1.06, 1.0).run());
    let verdict = |calibration| {
        let compared =
            compare(&part("old", &old), &[part("new", &new)], None, calibration).0.remove(0);
        let cell = compared.cells.iter().find(|cell| cell.label == "sendfile").unwrap();
        assert_eq!(compared.calibration.map(|basis| basis.runs), calibration.map(|_| 10));
        let Method::Independent { between_runs, .. } = cell.relative.both.unwrap().method else {
            panic!("{cell:?}");
        };
        (cell.verdict, between_runs.unwrap())
    };
    let (by_wander, small) = verdict(None);
    let (measured, large) = verdict(Some(&found));
    assert!(matches!(by_wander, ChangeVerdict::Worse { .. }), "{by_wander:?}");
    assert_eq!(measured, ChangeVerdict::Undecided);
    assert!(large > 2.0 * small, "{small} {large}");
    // A compared run is not part of its own calibration.
    let mut with_new = parts(&calibrated);
    with_new.push(part("again.json", &new));
    let found = calibrate(&with_new, &[part("new", &new)]).unwrap();
    let left_out = LeftOut { name: "again.json".to_owned(), why: Unusable::Compared };
    assert_eq!((found.runs.len(), found.left_out), (10, vec![left_out]));
}

#[test]
fn runs_that_say_nothing_are_left_out_and_too_few_are_no_calibration() {
    let mut all = runs(4, 0.0, 0.0);
    all[1].blocks.truncate(5);
    all[2] = all[0].clone();
    let Err(Uncalibrated::TooFewRuns { usable, needed, left_out }) = calibrate(&parts(&all), &[])
    else {
        panic!("two runs are enough");
    };
    assert_eq!((usable, needed), (2, 3));
    assert_eq!(left_out[0].why, Unusable::TooFewBlocks { kept: 5, needed: 6 });
    assert_eq!(left_out[1].why, Unusable::SameAs { name: "0.json".to_owned() });
    assert!(matches!(calibrate(&[], &[]), Err(Uncalibrated::TooFewRuns { usable: 0, .. })));
}

#[test]
fn runs_of_another_link_are_no_calibration_and_do_not_fit() {
    let mut all = runs(4, 0.0, 0.0);
    let found = calibrate(&parts(&all[..3]), &[]).unwrap();
    assert!(found.unlike(&part("3.json", &all[3])).is_empty());
    all[3].header.link.kind = LinkKind::Loopback;
    assert!(found.unlike(&part("3.json", &all[3])).iter().any(|each| each.what == Aspect::Link));
    let Err(Uncalibrated::Differ { names, differences }) = calibrate(&parts(&all), &[]) else {
        panic!("two links are one");
    };
    assert_eq!(names, ("0.json".to_owned(), "3.json".to_owned()));
    assert_eq!(differences[0].what, Aspect::Link);
    // Another kernel is a difference to report. It does not forbid the comparison.
    let mut kernels = all[..3].to_vec();
    kernels[2].header.host.kernel_release = "7.0.0".to_owned();
    let found = calibrate(&parts(&kernels), &[]).unwrap();
    assert_eq!(found.differences.len(), 1, "{:?}", found.differences);
}
