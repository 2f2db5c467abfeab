//! A saved run may come from a stranger, with tens of thousands of cells: writing what is known of
//! it takes time in proportion to them.

use zc_analysis::{Estimates, estimate};
use zc_report::Layout;
use zc_run::Run;
use zc_testkit::growth::{LIMIT, growth};
use zc_testkit::synthetic::Synthetic;

/// A run with so many further cells, and its estimates.
fn run_with_cells(besides: usize) -> (Run, Estimates) {
    let mut run = Synthetic { blocks: 8, ..Synthetic::default() }.run();
    let like = run.header.plan.cells.last().unwrap().clone();
    run.header.plan.cells.extend((0..besides).map(|number| {
        let mut cell = like.clone();
        cell.label = format!("{number} of many cells with labels of a length like this one");
        cell.control = false;
        cell
    }));
    let estimates = estimate(&run);
    (run, estimates)
}

type Form = fn(&Run, &Estimates) -> String;

#[test]
fn every_form_takes_time_in_proportion_to_the_cells() {
    let forms: [(&str, Form); 6] = [
        ("json", zc_report::json),
        ("openmetrics", |run, estimates| zc_report::openmetrics(&[(run, estimates)])),
        ("csv", zc_report::csv),
        ("table", |run, estimates| zc_report::table(run, estimates, Layout::plain(100))),
        ("markdown", zc_report::markdown),
        ("html", |run, estimates| zc_report::html(&[(run, estimates)])),
    ];
    for (name, form) in forms {
        let times = growth(500, run_with_cells, |(run, estimates)| drop(form(run, estimates)));
        assert!(times < LIMIT, "{name}: {times}");
    }
}
