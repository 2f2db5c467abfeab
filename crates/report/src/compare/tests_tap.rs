//! The results of tests, read by a parser.

use super::tests::{another_kernel, part, run};
use super::*;
use crate::ktap::tests::{Parsed, parse};
use zc_analysis::compare::{Outcome, compare};
use zc_run::{Run, Severity, Warning};

/// The tests of a comparison of two runs with a margin of 5 %, and the answer.
fn tests(old: &Run, new: &Run) -> (String, Vec<Parsed>, Outcome) {
    let (compared, judgement) =
        compare(&part("old.json", old), &[part("new.json", new)], Some(0.05), None);
    let judgement = judgement.unwrap();
    let text = tap(&compared, &judgement);
    let parsed = parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    (text, parsed, judgement.outcome)
}

fn named<'a>(tests: &'a [Parsed], name: &str) -> &'a Parsed {
    tests.iter().find(|(_, each, _)| each == name).unwrap_or_else(|| panic!("{tests:?}"))
}

#[test]
fn each_cell_is_a_test_that_fails_where_it_is_shown_to_be_worse() {
    let (old, new) = another_kernel();
    let (text, parsed, outcome) = tests(&old, &new);
    assert_eq!(outcome, Outcome::Worse);
    assert!(matches!(named(&parsed, "sendfile"), (false, _, None)), "{text}");
    assert!(matches!(named(&parsed, "splice"), (true, _, None)), "{text}");
    insta::assert_snapshot!("compare_tap", text);
}

#[test]
fn what_cannot_be_told_is_skipped_with_its_reason() {
    let reason = |old: &Run, new: &Run, name: &str| {
        let (text, parsed, outcome) = tests(old, new);
        assert!(outcome != Outcome::NoneWorse && outcome != Outcome::Worse, "{text}");
        let (is_ok, _, why) = named(&parsed, name).clone();
        assert!(is_ok, "{text}");
        why.unwrap_or_else(|| panic!("{text}"))
    };
    let old = run(1, 1.0);
    let undecided = reason(&old, &run(2, 1.05), "sendfile");
    assert!(undecided.starts_with("undecided whether it is worse by more than 5.0 %"));

    let mut withheld = run(2, 1.0);
    withheld.header.warnings.push(Warning::new("a-doubt", Severity::Withhold, "text"));
    assert!(reason(&old, &withheld, "splice").contains("the warning \"a-doubt\""));

    let mut rate = run(2, 1.0);
    rate.header.plan.fixed.rate_bytes_per_s = 4e8;
    assert!(reason(&old, &rate, "comparison").starts_with("Cannot be compared: "));
    let mut empty = run(2, 1.0);
    empty.blocks.clear();
    assert!(reason(&old, &empty, "comparison").contains("no block that counts"));
}

#[test]
fn a_cell_of_one_run_alone_is_skipped_and_several_runs_are_named() {
    let (old, mut new) = another_kernel();
    relabel(&mut new, "splice", "new # \n not ok 1 path");
    let (compared, judgement) = compare(
        &part("old.json", &old),
        &[part("a.json", &new), part("b.json", &run(3, 1.0))],
        Some(0.05),
        None,
    );
    let parsed = parse(&tap(&compared, &judgement.unwrap())).unwrap();
    let skipped = |name: &str| named(&parsed, name).2.clone().unwrap();
    assert_eq!(skipped("a.json: splice"), "only in the old run");
    assert_eq!(skipped("a.json: new _ \\n not ok 1 path"), "only in the new run");
    assert!(named(&parsed, "b.json: splice").0);
}

/// Gives a cell another name.
fn relabel(run: &mut Run, label: &str, new: &str) {
    for cell in run.header.plan.cells.iter_mut().filter(|cell| cell.label == label) {
        cell.label = new.to_owned();
    }
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let zc_run::Slot::Trial(trial) = slot
            && trial.cell == label
        {
            trial.cell = new.to_owned();
        }
    }
}
