//! A saved run may come from a stranger, with tens of thousands of cells: what is computed from it
//! takes time in proportion to them.

use std::sync::{Mutex, PoisonError};

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

/// CPU time of this process, all its threads, in ticks of the kernel: beside other programs, what takes
/// long waits for its CPUs, and what is short may not.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name, in brackets, may have spaces. utime and stime are the 12th and the 13th field after it.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// The least of a few CPU times of one thing: what else the machine does only adds to it.
fn least(mut of: impl FnMut()) -> f64 {
    let times = (0..3).map(|_| {
        let before = ticks();
        of();
        (ticks() - before) as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// How many times as long it takes with [`MORE`] times the cells.
fn growth(of: fn(usize) -> Run, cells: usize, compute: fn(&Run)) -> f64 {
    // One test at a time, as they are threads of one process where `cargo test` runs them.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (few, many) = (of(cells), of(MORE * cells));
    let (few, many) = (least(|| compute(&few)), least(|| compute(&many)));
    eprintln!("{cells} cells: {few} ticks, {} cells: {many} ticks", MORE * cells);
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
