//! Sentences against the verdicts of their tables, over synthetic runs of every experiment: a
//! difference that a sentence claims has a verdict, and where a sentence says that none was shown,
//! no cell has one.

use proptest::prelude::*;

use super::fixture_plans::plan;
use crate::run::pivot::Pivot;
use crate::run::{answer, rows};
use crate::{digits, experiments};
use zc_analysis::{Bounds, CellEstimate, Comparison, Estimates, estimate};
use zc_run::{Factor, Run};
use zc_testkit::synthetic::{Synthetic, TrueCell};

/// An experiment: its name, its factors with their levels, and the one by which it compares.
type Experiment = (&'static str, &'static [(Factor, &'static [&'static str])], Factor);

const PATHS: &[&str] = &["read+send", "sendfile", "splice"];

const EXPERIMENTS: &[Experiment] = &[
    ("paths", &[(Factor::Send, &["read+send", "mmap+write", "sendfile", "splice"])], Factor::Send),
    (
        "congestion",
        &[(Factor::Congestion, &["cubic", "reno", "bbr"]), (Factor::Send, PATHS)],
        Factor::Congestion,
    ),
    ("flows", &[(Factor::Flows, &["1", "10", "100"]), (Factor::Send, PATHS)], Factor::Flows),
    (
        "pacing",
        &[(Factor::Rate, &["400MB/s", "100MB/s", "800MB/s"]), (Factor::Send, PATHS)],
        Factor::Rate,
    ),
    (
        "mtu",
        &[
            (Factor::Align, &["page", "byte"]),
            (Factor::Mtu, &["1500", "9000"]),
            (Factor::Send, &["read+send", "sendfile"]),
        ],
        Factor::Mtu,
    ),
    (
        "offloads",
        &[(Factor::Offloads, &["all", "no-tso", "no-sg"]), (Factor::Send, PATHS)],
        Factor::Offloads,
    ),
    (
        "cork",
        &[(Factor::Message, &["64", "64k"]), (Factor::Push, &["plain", "cork", "more"])],
        Factor::Push,
    ),
    (
        "receive",
        &[
            (Factor::RecvBuffer, &["16k", "1m"]),
            (Factor::Recv, &["recv", "zerocopy-receive", "uring-recv"]),
        ],
        Factor::Recv,
    ),
    ("sizes", &[(Factor::Message, &["4k", "64k", "1m"]), (Factor::Send, PATHS)], Factor::Send),
    (
        "affinity",
        &[(Factor::Placement, &["free", "separate", "same"]), (Factor::Send, PATHS)],
        Factor::Placement,
    ),
];

/// A run of an experiment whose cells cost these multiples of one cost, in turn.
fn measured((name, factors, compare): Experiment, times: &[f64], world: Synthetic) -> Run {
    let (planned, _) = plan(name, factors, compare, |_| (500.0, 400.0));
    let costs = times.iter().cycle();
    let cells = planned.header.plan.cells.iter().filter(|cell| !cell.control).zip(costs);
    let mut cells: Vec<TrueCell> = cells
        .map(|(cell, times)| {
            let mut own =
                TrueCell::new(cell.transfer.send_path().unwrap(), 500.0 * times, 400.0 * times);
            own.cell = cell.clone();
            // A baseline is compared with nothing.
            own.cell.by.get_or_insert_with(|| cell.label.clone());
            own
        })
        .collect();
    cells[0].cell.by = None;
    let controls = [cells[0].control(), cells[0].positive_control(90.0)];
    cells.extend(controls);
    let factors = factors.iter().map(|(factor, _)| *factor).collect();
    let mut run = Synthetic { cells, factors, unsoaked: false, ..world }.run();
    run.header.plan.experiment = name.to_owned();
    run
}

/// All sentences of a run, in its short report and in the whole one.
fn sentences(run: &Run, estimates: &Estimates) -> String {
    let pivot = Pivot::build(run, estimates);
    let short = answer::answer(run, estimates, pivot.as_ref());
    let conclusion = experiments::section(run, estimates).conclusion;
    let whole = answer::in_full(run, estimates, conclusion);
    short.into_iter().chain(whole).collect::<Vec<_>>().join("\n")
}

fn compared_cells<'e>(
    estimates: &'e Estimates,
    words: &[&str],
) -> Vec<(&'e CellEstimate, Comparison)> {
    let cells = estimates.cells.iter().filter(|cell| !cell.control);
    let named = cells.filter(|cell| {
        let own: Vec<&str> = cell.label.split(' ').collect();
        words.iter().all(|word| own.contains(word))
    });
    named.filter_map(|cell| Some((cell, rows::comparison(estimates, cell)?))).collect()
}

/// The cost of both sides of the cell whose label has these words.
fn cost_bounds(estimates: &Estimates, words: &[&str]) -> Bounds {
    let fits = |cell: &&CellEstimate| {
        !cell.control && words.iter().all(|word| cell.label.split(' ').any(|own| own == *word))
    };
    estimates.cells.iter().find(fits).unwrap().cost_ns_per_kib.both.unwrap().interval.unwrap()
}

fn disjoint(one: Bounds, other: Bounds) -> bool {
    one.high.unwrap() < other.low || other.high.unwrap() < one.low
}

fn differs(comparison: &Comparison) -> bool {
    matches!(comparison, Comparison::Cheaper { .. } | Comparison::Dearer { .. })
}

/// The ratio of a cell as sentences print it.
fn printed(cell: &CellEstimate) -> String {
    let ratio = cell.ratio.both.unwrap();
    digits::bound(ratio.value, ratio.half_width.map_or(0.01, |half| ratio.value * half))
}

/// Holds what is said about the levels of one factor against the verdicts: `read+send costs 1.39
/// times as much at bbr as at cubic`, `for sendfile and splice no difference was shown`.
fn check_levels(estimates: &Estimates, text: &str) {
    for clause in text.split(['\n', ';', ':']).map(|clause| clause.trim().trim_end_matches('.')) {
        if let Some((what, rest)) = clause.split_once(" costs ") {
            let Some((rest, base)) = rest.rsplit_once(" as at ") else { continue };
            for part in rest.split(" and ") {
                let (times, level) = part.split_once(" times ").unwrap();
                let level = level.rsplit_once("at ").unwrap().1;
                if base == "page" {
                    // No cell is compared by its alignment: their costs are told apart.
                    let of_level = |level| cost_bounds(estimates, &[what, level, "1500"]);
                    assert!(disjoint(of_level(level), of_level(base)), "{clause}");
                    continue;
                }
                let cells = compared_cells(estimates, &[what, level]);
                let fits = |(cell, is): &(&CellEstimate, Comparison)| {
                    differs(is) && printed(cell) == times
                };
                assert!(cells.iter().any(fits), "{clause}: {cells:#?}");
            }
        }
        for (said, wanted) in [
            (" no difference was shown", Comparison::Undecided),
            (" it makes no difference", Comparison::Same { within: 0.0 }),
        ] {
            let Some(names) = clause.strip_prefix("for ").and_then(|text| text.strip_suffix(said))
            else {
                continue;
            };
            for name in names.split(", ").flat_map(|names| names.split(" and ")) {
                let cells = compared_cells(estimates, &[name]);
                let first_only = estimates.cells[0].label.split(' ').count() > 2;
                let cells =
                    cells.iter().filter(|(cell, _)| !first_only || cell.label.starts_with("page"));
                let cells: Vec<_> = cells.collect();
                assert!(!cells.is_empty(), "{clause}");
                assert!(cells.iter().all(|(_, is)| !differs(is)), "{clause}: {cells:#?}");
                let all_same = cells.iter().all(|(_, is)| matches!(is, Comparison::Same { .. }));
                assert_eq!(all_same, wanted != Comparison::Undecided, "{clause}");
            }
        }
    }
}

/// Holds the other sentences of experiments against the verdicts.
fn check_rest(estimates: &Estimates, name: &str, text: &str) {
    if name == "cork" {
        let conclusion = text.lines().last().unwrap();
        for size in ["64", "64k"] {
            let (cork, is) = compared_cells(estimates, &[size, "cork"])[0];
            let about = conclusion.split_once(&format!("messages of {size}:")).unwrap().1;
            let about = about.split_once(';').map_or(about, |(about, _)| about);
            let ratio = cork.ratio.both.unwrap().value;
            assert_eq!(about.contains(" CPU "), differs(&is), "{about}");
            assert!(!differs(&is) || (ratio < 1.0) == about.contains(" CPU 0."), "{about}");
        }
    }
    if let Some((_, by)) = text.split_once(" of the CPU of both ends with ") {
        let (_, label) = by.lines().next().unwrap().rsplit_once("by ").unwrap();
        let label = label.trim_end_matches('.');
        let words: Vec<&str> = label.split(' ').collect();
        assert!(
            matches!(compared_cells(estimates, &words)[..], [(_, Comparison::Cheaper { .. })]),
            "{text}"
        );
    }
    // The cheapest are not told from one another, so no verdict tells them apart.
    let tied = &estimates.verdict.cheapest;
    let reference_is_tied = tied.contains(&estimates.reference);
    for verdict in &estimates.verdict.cells {
        let is_tied = tied.contains(&verdict.label);
        let apart = matches!(verdict.comparison, Comparison::Dearer { .. })
            || (reference_is_tied && tied.len() > 1 && differs(&verdict.comparison));
        assert!(!(is_tied && apart), "{}: {tied:?}", verdict.label);
    }
    // At any size, or from a size on: the largest costs less, and so does every one at any size.
    let costs_less =
        |(_, is): &(&CellEstimate, Comparison)| matches!(is, Comparison::Cheaper { .. });
    for name in PATHS.iter().filter(|_| estimates.sizes.both.is_some()) {
        if text.contains(&format!("{name} at any size")) {
            assert!(compared_cells(estimates, &[name]).iter().all(costs_less), "{text}");
        }
        if text.contains(&format!("{name} from ")) {
            assert!(compared_cells(estimates, &[name, "1m"]).iter().all(costs_less), "{text}");
        }
    }
}

fn check(experiment: Experiment, times: &[f64], world: Synthetic) -> Run {
    let run = measured(experiment, times, world);
    let estimates = estimate(&run);
    let text = sentences(&run, &estimates);
    if !estimates.verdict.stands() {
        assert!(text.lines().all(|line| line.starts_with("Verdict withheld")), "{text}");
        return run;
    }
    let decided = estimates.verdict.cells.iter().any(|cell| differs(&cell.comparison));
    let claims = [" times as much", " % less CPU", " CPU 0.", " CPU 1.", " saved is "];
    assert!(decided || claims.iter().all(|claim| !text.contains(claim)), "{text}");
    check_levels(&estimates, &text);
    check_rest(&estimates, experiment.0, &text);
    run
}

#[test]
fn a_difference_that_absolute_costs_hide_is_in_the_sentence_as_it_is_in_the_table() {
    // All costs of a block move together by far more than the cells differ.
    let world = Synthetic {
        block_drift: 0.1,
        noise: 0.04,
        blocks: 40,
        rate_bytes_per_s: 2e8,
        ..Synthetic::default()
    };
    let congestion = EXPERIMENTS[1];
    let times = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.39, 2.07, 1.0];
    let run = check(congestion, &times, world);
    let estimates = estimate(&run);
    let text = sentences(&run, &estimates);
    for claimed in ["read+send costs 1.", "sendfile costs 2."] {
        assert!(text.contains(claimed), "{text}");
    }
    assert!(text.contains(" times as much at bbr as at cubic"), "{text}");
    assert!(!text.contains("at reno"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn sentences_follow_from_verdicts(
        which in 0..EXPERIMENTS.len(),
        times in proptest::collection::vec(
            prop_oneof![Just(1.0), 0.93..1.08_f64, 0.5..2.0_f64], 12),
        seed in any::<u64>(),
        noise in prop_oneof![Just(0.005), Just(0.03), Just(0.1)],
        block_drift in prop_oneof![Just(0.02), Just(0.1)],
    ) {
        let rate_bytes_per_s = 2e8;
        let idle_noise = 0.001;
        let world = Synthetic {
            seed,
            noise,
            block_drift,
            idle_noise,
            rate_bytes_per_s,
            ..Synthetic::default()
        };
        check(EXPERIMENTS[which], &times, world);
    }
}
