//! Lines and crossovers of synthetic runs with known costs.

use super::*;
use crate::{CrossoverMethod, Outcome, Undecided};
use zc_run::{Factor, Run, SendPath};
use zc_testkit::synthetic::{Synthetic, TrueCell, size_sweep};

/// 256 to 64k.
const SIZES: [usize; 9] = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
const STREAM: (SendPath, f64, f64) = (SendPath::ReadSend, 300.0, 400.0);

fn world(cells: Vec<TrueCell>, seed: u64) -> Synthetic {
    let factors = vec![Factor::Message, Factor::Send];
    Synthetic {
        cells,
        factors,
        seed,
        blocks: 25,
        unsoaked: false,
        end: None,
        ..Synthetic::default()
    }
}

/// Estimates of both sides, with few resamples, so that many runs can be simulated.
fn sizes_of(run: &Run) -> Sizes {
    let kept = KeptBlocks::from_run(run);
    sizes_of_side(&kept, Side::Both, &series::series(&run.header), &[], 400)
}

/// The crossover of the second path with the first, whose costs are lines.
fn crossover_of(paths: [(SendPath, f64, f64); 2], seed: u64) -> Crossover {
    let sizes = sizes_of(&world(size_sweep(&paths, &SIZES), seed).run());
    assert_eq!(
        (sizes.crossovers[0].of, sizes.crossovers[0].against, sizes.crossovers.len()),
        (1, 0, 1)
    );
    sizes.crossovers[0].clone()
}

#[test]
fn a_crossover_lies_in_its_interval_about_as_often_as_stated() {
    // (path, true crossover): one in the middle, one in the other direction, one near the last
    // size.
    let worlds = [
        ((SendPath::MsgZerocopy, 2000.0, 150.0), 6963.2),
        ((SendPath::Sendfile, 150.0, 450.0), 3072.0),
        ((SendPath::Splice, 12_000.0, 180.0), 54_458.2),
    ];
    for (path, truth) in worlds {
        let (mut inside, mut by_lines) = (0, 0);
        for seed in 0..100 {
            let found = crossover_of([STREAM, path], seed);
            by_lines += u32::from(found.method == Some(CrossoverMethod::Lines));
            inside += u32::from(match found.outcome {
                Outcome::From { size, low, high } => {
                    assert!(path.1 > STREAM.1 && low.is_none_or(|low| low <= size) && size <= high);
                    low.is_some_and(|low| low <= truth) && truth <= high
                }
                Outcome::UpTo { size, low, high } => {
                    assert!(
                        path.1 < STREAM.1 && low <= size && high.is_none_or(|high| size <= high)
                    );
                    low <= truth && high.is_some_and(|high| truth <= high)
                }
                _ => false,
            });
        }
        println!("{}: {inside} of 100 for 95 %, {by_lines} by lines", path.0);
        // 95 +-3 standard errors of 2.2.
        assert!((88..=100).contains(&inside), "{}: {inside}", path.0);
        assert!(by_lines >= 75, "{}: {by_lines}", path.0);
    }
}

#[test]
fn where_no_line_fits_the_measured_ratio_is_interpolated() {
    // The ratio is 1.35 up to 4k and 0.6 from 8k on, which no two lines have. Interpolated linearly
    // between logarithms, it passes 1 at 5,312 bytes.
    let ratios = [0.3, 0.3, 0.3, 0.3, 0.3, -0.5, -0.5, -0.5, -0.5].map(f64::exp);
    let truth = 4096.0 * 2f64.powf(0.3 / 0.8);
    let (mut inside, mut by_curve) = (0, 0);
    for seed in 0..100 {
        let mut cells = size_sweep(&[STREAM, (SendPath::MsgZerocopy, 300.0, 400.0)], &SIZES);
        for (cell, ratio) in cells.iter_mut().skip(1).step_by(2).zip(ratios) {
            cell.sender_ns_per_kib *= ratio;
        }
        let found = sizes_of(&world(cells, seed).run()).crossovers[0].clone();
        by_curve += u32::from(found.method == Some(CrossoverMethod::Interpolation));
        let Outcome::From { low: Some(low), high, .. } = found.outcome else { panic!("{found:?}") };
        assert!(
            low >= 4096.0 && high <= 8192.0,
            "never in contradiction to the measured cells: {found:?}"
        );
        inside += u32::from(low <= truth && truth <= high);
    }
    println!("curve: {inside} of 100 for 95 %, {by_curve} by interpolation");
    assert!(inside >= 88 && by_curve == 100, "{inside} {by_curve}");
}

#[test]
fn a_path_that_is_cheaper_or_dearer_everywhere_has_no_crossover() {
    for seed in 0..30 {
        let always = crossover_of([STREAM, (SendPath::Sendfile, 200.0, 300.0)], seed);
        assert_eq!((always.outcome, always.method), (Outcome::Always, None));
        let never = crossover_of([STREAM, (SendPath::MsgZerocopy, 450.0, 500.0)], seed);
        assert_eq!((never.outcome, never.method), (Outcome::Never, None));
    }
}

#[test]
fn a_difference_hidden_by_noise_is_undecided() {
    let (mut undecided, mut same) = (0, 0);
    for seed in 0..100 {
        let found = crossover_of([STREAM, (SendPath::ReadWrite, 300.0, 400.0)], seed);
        undecided += u32::from(matches!(found.outcome, Outcome::Undecided { .. }));
        let quiet = Synthetic {
            noise: 0.005,
            idle_noise: 0.0003,
            ..world(size_sweep(&[STREAM, (SendPath::ReadWrite, 300.0, 400.0)], &SIZES), seed)
        };
        let found = sizes_of(&quiet.run()).crossovers[0].clone();
        let Outcome::Undecided { why } = found.outcome else { continue };
        same += u32::from(matches!(why, Undecided::Same { within } if within < 0.05));
    }
    println!("{undecided} of 100 undecided, {same} the same");
    // Either end alone excludes 1 in 5 of 100 worlds: both together leave 90 of them, +-3.
    assert!(undecided >= 81, "{undecided}");
    assert!(same >= 81, "{same}");
}

#[test]
fn a_crossover_below_every_size_is_not_bounded_below() {
    // Equal costs at 256 bytes; above, sendfile is cheaper.
    let path = (SendPath::Sendfile, 300.0 + 0.25 * 300.0, 100.0);
    let outcomes: Vec<Outcome> =
        (0..40).map(|seed| crossover_of([STREAM, path], seed).outcome).collect();
    let open = outcomes.iter().filter(
        |outcome| matches!(outcome, Outcome::From { low: None, high, .. } if *high <= 512.0),
    );
    assert!(open.count() >= 36, "{outcomes:?}");
}

#[test]
fn two_crossovers_are_undecided() {
    let mut cells = size_sweep(&[STREAM, (SendPath::MsgZerocopy, 300.0, 400.0)], &SIZES);
    for (cell, ratio) in
        cells.iter_mut().skip(1).step_by(2).zip([1.3, 1.3, 1.3, 0.7, 0.7, 0.7, 1.3, 1.3, 1.3])
    {
        cell.sender_ns_per_kib *= ratio;
    }
    let run = world(cells.clone(), 1).run();
    assert_eq!(
        sizes_of(&run).crossovers[0].outcome,
        Outcome::Undecided { why: Undecided::SeveralCrossings }
    );
    for (cell, ratio) in
        cells.iter_mut().skip(1).step_by(2).zip([0.7, 0.7, 0.7, 1.02, 1.02, 1.02, 0.7, 0.7, 0.7])
    {
        cell.sender_ns_per_kib =
            ratio * (300.0 * 1024.0 / cell.cell.levels.message_bytes.unwrap() as f64 + 400.0);
    }
    let run = Synthetic { noise: 0.08, ..world(cells, 3) }.run();
    assert_eq!(
        sizes_of(&run).crossovers[0].outcome,
        Outcome::Undecided { why: Undecided::InBetween }
    );
}

#[test]
fn the_lines_come_back_with_their_intervals() {
    let truths = [STREAM, (SendPath::Sendfile, 700.0, 120.0)];
    let (mut calls, mut bytes) = (0, 0);
    for seed in 0..60 {
        // No drift of the level of all costs, which cannot be distinguished from a cost.
        let run = Synthetic { block_drift: 0.0, ..world(size_sweep(&truths, &SIZES), seed) }.run();
        for (series, truth) in sizes_of(&run).series.iter().zip(truths) {
            let line = series.line.unwrap();
            assert!((line.call_ns.value / truth.1 - 1.0).abs() < 0.1, "{line:?}");
            assert!((line.ns_per_kib.value / truth.2 - 1.0).abs() < 0.1, "{line:?}");
            assert!(line.largest_residual.share.abs() < 0.08, "{line:?}");
            calls += u32::from(line.call_ns.interval.unwrap().contains(truth.1));
            bytes += u32::from(line.ns_per_kib.interval.unwrap().contains(truth.2));
        }
    }
    println!("a: {calls} of 120, b: {bytes} of 120 for 95 %");
    assert!(calls >= 110 && bytes >= 110, "{calls} {bytes}");
}

#[test]
fn a_factor_common_to_a_block_moves_no_crossover() {
    let paths = [STREAM, (SendPath::MsgZerocopy, 2000.0, 150.0)];
    let calm = Synthetic { block_drift: 0.0, ..world(size_sweep(&paths, &SIZES), 5) };
    let size = |world: &Synthetic| match sizes_of(&world.run()).crossovers[0].outcome {
        Outcome::From { size, .. } => size,
        other => panic!("{other:?}"),
    };
    let (calm, wild) = (size(&calm), size(&Synthetic { block_drift: 0.3, ..calm.clone() }));
    assert!((calm / wild - 1.0).abs() < 0.02, "{calm} {wild}");
}

#[test]
fn the_point_farthest_off_its_line_is_named() {
    let mut cells = size_sweep(&[STREAM], &SIZES);
    cells[4].sender_ns_per_kib *= 1.4;
    let sizes = sizes_of(&world(cells, 1).run());
    let residual = sizes.series[0].line.unwrap().largest_residual;
    assert!(residual.size_bytes == 4096 && residual.share > 0.25, "{residual:?}");
    assert!(sizes.crossovers.is_empty());
}

#[test]
fn series_are_compared_with_the_reference_first_and_only_at_equal_levels() {
    let sizes = [1024, 8192];
    let paths = [(SendPath::Sendfile, 700.0, 120.0), STREAM, (SendPath::Splice, 500.0, 200.0)];
    let mut cells = Vec::new();
    for sockbuf in [32_768, 65_536] {
        let mut own = size_sweep(&paths, &sizes);
        own.pop(); // the control
        for cell in &mut own {
            cell.cell.label = format!("{sockbuf} {}", cell.cell.label);
            cell.cell.by =
                Some(format!("{sockbuf} read+send {}", cell.cell.levels.message_bytes.unwrap()));
            cell.cell.levels.sockbuf_bytes = Some(sockbuf);
        }
        cells.extend(own);
    }
    let mut run = Synthetic { blocks: 12, ..world(cells, 1) }.run();
    run.header.plan.factors = vec![Factor::Sockbuf, Factor::Message, Factor::Send];
    run.header.plan.reference = "32768 read+send 1024".to_owned();
    let sizes = sizes_of(&run);
    let names: Vec<_> =
        sizes.series.iter().map(|series| (&series.name[..], series.reference)).collect();
    assert_eq!(
        names,
        [
            ("32k sendfile", false),
            ("32k read+send", true),
            ("32k splice", false),
            ("64k sendfile", false),
            ("64k read+send", true),
            ("64k splice", false)
        ]
    );
    let pairs: Vec<_> =
        sizes.crossovers.iter().map(|crossover| (crossover.of, crossover.against)).collect();
    assert_eq!(pairs, [(0, 1), (2, 1), (3, 4), (5, 4), (2, 0), (5, 3)]);
    assert_eq!(sizes.series[0].points[1].cell, "32768 sendfile 8192");
}

#[test]
fn plans_without_sizes_and_runs_without_blocks_have_no_lines() {
    let estimates = |run: &Run| crate::estimate(run).sizes;
    assert_eq!(estimates(&Synthetic::default().run()), Sides::default());
    let paths = [STREAM, (SendPath::MsgZerocopy, 2000.0, 150.0)];
    let empty = estimates(&Synthetic { blocks: 0, ..world(size_sweep(&paths, &SIZES), 1) }.run())
        .both
        .unwrap();
    assert!(
        empty
            .series
            .iter()
            .all(|series| series.line.is_none() && series.points.len() == SIZES.len())
    );
    assert_eq!(empty.crossovers[0].outcome, Outcome::Undecided { why: Undecided::TooFewSizes });
    let few = estimates(&Synthetic { blocks: 4, ..world(size_sweep(&paths, &SIZES), 1) }.run())
        .both
        .unwrap();
    assert_eq!(few.crossovers[0].outcome, Outcome::Undecided { why: Undecided::TooFewBlocks });
    assert!(few.series[0].line.is_some());
    let one = estimates(&world(size_sweep(&paths, &[4096]), 1).run()).both.unwrap();
    assert_eq!(one.crossovers[0].outcome, Outcome::Undecided { why: Undecided::TooFewSizes });
    assert_eq!(one.series[0].line, None);
}

#[test]
fn the_sender_has_sizes_of_its_own_where_its_cost_is_separate() {
    let paths = [STREAM, (SendPath::MsgZerocopy, 2000.0, 150.0)];
    let mut world = world(size_sweep(&paths, &[1024, 8192, 65_536]), 1);
    assert!(crate::estimate(&world.run()).sizes.sender.is_some());
    world.sides_apart = false;
    let sizes = crate::estimate(&world.run()).sizes;
    assert!(sizes.sender.is_none() && sizes.both.is_some() && sizes.receiver.is_none());
}
