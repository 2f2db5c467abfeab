//! A saved run may come from a stranger, with tens of thousands of cells: what is computed from it
//! takes time in proportion to them.

use zc_analysis::compare::{Selection, compare};
use zc_analysis::estimate;
use zc_run::{Factor, Run, SendPath};
use zc_testkit::growth::{LIMIT, growth};
use zc_testkit::synthetic::{Synthetic, size_sweep};

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

#[test]
fn an_estimate_takes_time_in_proportion_to_the_cells() {
    let times = growth(2000, of_cells, |run| drop(estimate(run)));
    assert!(times < LIMIT, "{times}");
}

#[test]
fn the_verdicts_of_all_cells_take_time_in_proportion_to_them() {
    let estimated = |cells| {
        let mut run = of_cells(cells);
        run.header.plan.cells.iter_mut().rev().take(cells).for_each(|cell| cell.control = false);
        estimate(&run)
    };
    let times = growth(2000, estimated, |estimates| {
        let found =
            estimates.cells.iter().filter_map(|cell| estimates.verdict.for_cell(&cell.label));
        assert!(found.count() > estimates.cells.len() / 2);
    });
    assert!(times < LIMIT, "{times}");
}

#[test]
fn crossovers_take_time_in_proportion_to_the_sizes() {
    let times = growth(32, of_sizes, |run| drop(estimate(run)));
    assert!(times < LIMIT, "{times}");
}

#[test]
fn a_comparison_takes_time_in_proportion_to_the_cells() {
    let times = growth(2000, of_cells, |run| {
        let whole = |run| Selection { name: String::new(), run, cell: None, state: None };
        let mut other = run.clone();
        other.header.plan.seed += 1;
        drop(compare(&whole(run), &[whole(&other)], Some(0.05), None));
    });
    assert!(times < LIMIT, "{times}");
}
