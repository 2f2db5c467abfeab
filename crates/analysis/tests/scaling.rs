//! A saved run may come from a stranger, with tens of thousands of cells: what is computed from it
//! takes time in proportion to them.

use std::time::Instant;

use zc_analysis::compare::{Selection, compare};
use zc_analysis::estimate;
use zc_run::{Factor, Run, SendPath};
use zc_testkit::synthetic::{Synthetic, size_sweep};

/// How much more is computed than with one share of it.
const MORE: usize = 8;

/// A run with so many cells besides those that were measured.
fn of_cells(besides: usize) -> Run {
    let mut run = Synthetic { blocks: 8, ..Synthetic::default() }.run();
    let like = run.header.plan.cells.last().unwrap().clone();
    run.header.plan.cells.extend((0..besides).map(|number| {
        let mut cell = like.clone();
        cell.label = format!("cell {number}");
        cell
    }));
    run
}

/// A run with messages of so many sizes besides those that were measured.
fn of_sizes(besides: usize) -> Run {
    let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 900.0, 100.0)];
    let sizes: Vec<usize> = (0..besides).map(|number| 1000 + 100 * number).collect();
    let cells = size_sweep(&paths, &sizes);
    let factors = vec![Factor::Message, Factor::Send];
    Synthetic { cells, factors, blocks: 8, ..Synthetic::default() }.run()
}

/// Shortest of a few times of one thing, in seconds: what else the machine does only adds to it.
fn seconds(mut of: impl FnMut()) -> f64 {
    let times = (0..3).map(|_| {
        let began = Instant::now();
        of();
        began.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// How many times as long it takes with [`MORE`] times the cells.
fn growth(of: fn(usize) -> Run, cells: usize, compute: fn(&Run)) -> f64 {
    let (few, many) = (of(cells), of(MORE * cells));
    // In turn, so that a machine that slows down does so for both.
    let (few, many) = (seconds(|| compute(&few)), seconds(|| compute(&many)));
    eprintln!("{cells} cells: {few:.3} s, {} cells: {many:.3} s", MORE * cells);
    many / few
}

/// Between what is in proportion and what grows with the square: 8 and 64 times.
const LIMIT: f64 = 2.5 * MORE as f64;

#[test]
fn an_estimate_takes_time_in_proportion_to_the_cells() {
    let times = growth(of_cells, 2000, |run| drop(estimate(run)));
    assert!(times < LIMIT, "{times}");
}

#[test]
fn crossovers_take_time_in_proportion_to_the_sizes() {
    let times = growth(of_sizes, 32, |run| drop(estimate(run)));
    assert!(times < LIMIT, "{times}");
}

#[test]
fn a_comparison_takes_time_in_proportion_to_the_cells() {
    let times = growth(of_cells, 2000, |run| {
        let whole = |run| Selection { name: String::new(), run, cell: None, state: None };
        let mut other = run.clone();
        other.header.plan.seed += 1;
        drop(compare(&whole(run), &[whole(&other)], Some(0.05), None));
    });
    assert!(times < LIMIT, "{times}");
}
