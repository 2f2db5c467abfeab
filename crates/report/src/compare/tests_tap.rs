//! The results of tests, read by a parser that takes nothing but what
//! Documentation/dev-tools/ktap.rst describes.

use super::tests::{another_kernel, part, run};
use super::*;
use zc_analysis::compare::{Outcome, compare};
use zc_run::{Run, Severity, Warning};

/// A result line: whether it is `ok`, the description, and the reason of a SKIP.
type Parsed = (bool, String, Option<String>);

/// Reads KTAP.
///
/// # Errors
/// A line that the specification does not have, or that this program has no reason to print.
fn parse(text: &str) -> Result<Vec<Parsed>, String> {
    let mut lines = text.lines();
    let wrong = |what: &str, line: Option<&str>| Err(format!("{what}: {line:?}"));
    match lines.next() {
        Some("KTAP version 1") => {}
        other => return wrong("not a version line", other),
    }
    let plan = lines.next();
    let planned = plan.and_then(|line| line.strip_prefix("1..")?.parse::<usize>().ok());
    let Some(planned) = planned.filter(|count| *count > 0) else {
        return wrong("not a plan line", plan);
    };
    let mut results = Vec::new();
    for line in lines {
        if line.starts_with("# ") {
            continue;
        }
        let is_ok = !line.starts_with("not ");
        let rest = line.strip_prefix("not ").unwrap_or(line).strip_prefix("ok ");
        let Some((number, rest)) = rest.and_then(|rest| rest.split_once(' ')) else {
            return wrong("not a result", Some(line));
        };
        if number != (results.len() + 1).to_string() {
            return wrong("not the next number", Some(line));
        }
        let (name, directive) = match rest.split_once(" # ") {
            None => (rest, None),
            Some((name, after)) => match after.split_once(' ') {
                Some(("SKIP", reason)) if !reason.trim().is_empty() => (name, Some(reason)),
                _ => return wrong("not a directive with a reason", Some(line)),
            },
        };
        let texts = [name, directive.unwrap_or_default()];
        if name.trim().is_empty() || texts.iter().any(|text| text.contains('#')) {
            return wrong("not a description", Some(line));
        }
        results.push((is_ok, name.to_owned(), directive.map(str::to_owned)));
    }
    let all = results.len() == planned && text.ends_with('\n');
    if all { Ok(results) } else { wrong("not as planned", plan) }
}

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

#[test]
fn the_parser_refuses_what_is_no_ktap() {
    let good = "KTAP version 1\n1..2\n# a: note\nok 1 a\nok 2 b # SKIP why\n";
    assert_eq!(parse(good).unwrap().len(), 2);
    for (from, to) in [
        ("KTAP version 1", "TAP version 13"),
        ("1..2", "1..3"),
        ("ok 2", "ok 3"),
        ("ok 1 a", "ok 1 a # b"),
        ("# SKIP why", "# SKIP"),
        ("# a: note", "a: note"),
        ("ok 1 a", "ok 1 "),
    ] {
        assert!(parse(&good.replacen(from, to, 1)).is_err(), "{from} -> {to}");
    }
}
