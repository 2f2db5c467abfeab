//! `zc bisect`: what was seen at a commit, and what is known of the first bad one.

use zc_analysis::bisect::{Against, Entry, Told, error_spent};

use crate::digits::{bound, percent};
use crate::escape;
use crate::text::wrap;

/// Letters of a commit's name that are shown.
const SHORT: usize = 12;

/// Column in which text begins.
const INDENT: usize = 10;

/// What is left of a bisection after the last answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// So many commits may be the first bad one; as many answers are still expected.
    Commits(u64, u32),
    /// The first bad commit, and the first line of its message.
    Found(String, String),
    /// It is one of these: the others between them were skipped.
    OneOf(Vec<String>),
    /// Not known: git is in no bisection.
    Unknown,
}

/// What was seen at a commit, with which `seen` ends.
pub fn commit(seen: &[Entry], left: &Left, columns: usize) -> String {
    let Some(entry) = seen.last() else { return String::new() };
    let mut lines = vec![
        ("commit", named(&entry.commit, &entry.subject)),
        ("answer", format!("{}: {}", word(entry.answer), measured(entry))),
    ];
    if entry.answer != Told::Skip {
        let text = format!(
            "{} that this answer is wrong, {} that any so far is",
            at_most(entry.error),
            at_most(error_spent(seen))
        );
        lines.push(("error", text));
    }
    lines.extend(of_left(left, seen));
    text(&lines, columns)
}

/// All commits of a bisection, and what is known of the first bad one.
pub fn report(seen: &[Entry], left: &Left, columns: usize) -> String {
    let mut lines = Vec::new();
    for entry in seen {
        lines.push((word(entry.answer), named(&entry.commit, &entry.subject)));
        lines.push(("", measured(entry)));
    }
    lines.extend(of_left(left, seen));
    text(&lines, columns)
}

fn text(lines: &[(&str, String)], columns: usize) -> String {
    lines.iter().map(|(label, text)| wrap(label, text, INDENT, columns)).collect()
}

fn word(answer: Told) -> &'static str {
    match answer {
        Told::Good => "good",
        Told::Bad => "bad",
        Told::Skip => "skip",
    }
}

fn named(commit: &str, subject: &str) -> String {
    let short: String = commit.chars().take(SHORT).collect();
    format!("{} {}", escape(&short, SHORT), escape(subject, 80)).trim_end().to_owned()
}

/// What was measured, or why it was not.
fn measured(entry: &Entry) -> String {
    let why = entry.why.as_deref().map(|why| escape(why, 600));
    let seen = entry.ratio.map(|ratio| {
        let (values, seconds) = (entry.values, entry.elapsed_s);
        format!("{} after {values} {} in {seconds:.0} s", times(entry, ratio), unit(entry))
    });
    match (seen, why) {
        (Some(seen), Some(why)) => format!("{why}; {seen}"),
        (Some(seen), None) => seen,
        (None, why) => why.unwrap_or_else(|| "nothing was measured".to_owned()),
    }
}

/// `sendfile costs 1.31 times as much as in state A (99.5 %: 1.18 to 1.45)`.
fn times(entry: &Entry, ratio: f64) -> String {
    let than = match entry.reference {
        Against::SavedRun => "in the saved run",
        Against::StateA => "in state A",
        Against::GoodKernel => "under the good kernel",
    };
    let (low, high) = (entry.low, entry.high);
    let half = (high.unwrap_or(ratio) - low.unwrap_or(ratio)) / 2.0;
    let half = if half > 0.0 { half } else { 0.02 };
    let end = |end| bound(end, half);
    let ends = match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", end(low), end(high)),
        (Some(low), None) => format!("{} or more", end(low)),
        (None, Some(high)) => format!("{} or less", end(high)),
        (None, None) => format!("an interval needs more {}", unit(entry)),
    };
    format!(
        "{} costs {} times as much as {than} ({}: {ends})",
        escape(&entry.cell, 80),
        end(ratio),
        confidence(entry.confidence)
    )
}

/// What a value is of.
fn unit(entry: &Entry) -> &'static str {
    match entry.reference {
        Against::SavedRun | Against::StateA => "blocks",
        Against::GoodKernel => "rounds",
    }
}

fn of_left(left: &Left, seen: &[Entry]) -> Vec<(&'static str, String)> {
    match left {
        Left::Unknown => Vec::new(),
        Left::Commits(commits, answers) => {
            let text =
                format!("{commits} commits may be the first bad one; answers to come: {answers}");
            vec![("left", text)]
        }
        Left::Found(commit, subject) => {
            let own = seen.iter().rfind(|entry| entry.commit == *commit);
            let own = own.and_then(|entry| Some(times(entry, entry.ratio?)));
            let own = own.unwrap_or_else(|| "given as bad, and not measured".to_owned());
            vec![("suspect", named(commit, subject)), ("", own), ("sure", sure(seen))]
        }
        Left::OneOf(commits) => {
            let names = commits.iter().map(|commit| named(commit, "")).collect::<Vec<_>>();
            vec![
                ("suspects", format!("one of {}", names.join(", "))),
                ("", "git skipped them, so they cannot be told apart".to_owned()),
                ("sure", sure(seen)),
            ]
        }
    }
}

/// How sure the end is.
fn sure(seen: &[Entry]) -> String {
    let answers = seen.iter().filter(|entry| entry.answer != Told::Skip).count();
    let worse = seen.iter().map(|entry| entry.worse).fold(0.0, f64::max);
    format!(
        "a wrong turn has a probability of {}: the errors of its answers ({answers}) \
         together, if one commit alone made it dearer, by {} or more",
        at_most(error_spent(seen)),
        percent(worse)
    )
}

/// The least share that a percentage with one decimal shows.
const LEAST: f64 = 0.0005;

/// `at most 1.2 %`, of what is smaller than can be shown `below 0.1 %`.
fn at_most(share: f64) -> String {
    match share > 0.0 && share < LEAST {
        true => "below 0.1 %".to_owned(),
        false => format!("at most {}", percent(share)),
    }
}

/// `98.8 %`, of what is nearer to 1 than can be shown `above 99.9 %`.
fn confidence(share: f64) -> String {
    match share < 1.0 && 1.0 - share < LEAST {
        true => "above 99.9 %".to_owned(),
        false => format!("{:.1} %", share * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(commit: &str, answer: Told, ratio: Option<f64>) -> Entry {
        Entry {
            zc_bisect: 1,
            bisection: "2026-11-28T20:00:00Z".to_owned(),
            at: "2026-11-28T20:01:00Z".to_owned(),
            commit: commit.repeat(20),
            subject: format!("tcp: commit {commit}\u{1b}"),
            cell: "sendfile".to_owned(),
            reference: Against::StateA,
            worse: 0.05,
            answer,
            why: (answer == Told::Skip).then(|| "\"make\" ended with exit status: 2".to_owned()),
            error: 0.0125,
            ratio,
            low: ratio.map(|ratio| ratio - 0.06),
            high: ratio.map(|ratio| ratio + 0.07),
            confidence: 0.9875,
            values: 24,
            elapsed_s: 13.7,
        }
    }

    #[test]
    fn a_commit_is_told_with_its_ratio_its_error_and_what_is_left() {
        let seen = [entry("1a", Told::Skip, None), entry("2b", Told::Good, Some(1.004))];
        let told = commit(&seen, &Left::Commits(12, 4), 80);
        insta::assert_snapshot!(told, @r"
        commit    2b2b2b2b2b2b tcp: commit 2b\u{1b}
        answer    good: sendfile costs 1.00 times as much as in state A (98.8 %: 0.94 to
                  1.07) after 24 blocks in 14 s
        error     at most 1.2 % that this answer is wrong, at most 1.2 % that any so far
                  is
        left      12 commits may be the first bad one; answers to come: 4
        ");
        insta::assert_snapshot!(commit(&seen[..1], &Left::Unknown, 80), @r#"
        commit    1a1a1a1a1a1a tcp: commit 1a\u{1b}
        answer    skip: "make" ended with exit status: 2
        "#);
        assert_eq!(commit(&[], &Left::Unknown, 80), "");
    }

    #[test]
    fn a_kernel_is_told_by_rounds() {
        let by_rounds = Entry {
            reference: Against::GoodKernel,
            low: None,
            high: None,
            ..entry("2b", Told::Skip, Some(1.04))
        };
        let told = commit(&[by_rounds], &Left::Unknown, 200);
        assert!(told.contains("1.04 times as much as under the good kernel"), "{told}");
        assert!(told.contains("an interval needs more rounds) after 24 rounds in 14 s"), "{told}");
    }

    #[test]
    fn an_error_that_is_too_small_to_show_is_not_none() {
        let mut tiny = entry("2b", Told::Bad, Some(1.31));
        (tiny.error, tiny.confidence) = (2e-5, 1.0 - 4e-5);
        let told = commit(&[tiny], &Left::Unknown, 100);
        assert!(told.contains("below 0.1 % that this answer is wrong, below 0.1 %"), "{told}");
        assert!(told.contains("(above 99.9 %: 1.25"), "{told}");
        assert_eq!([at_most(0.0), at_most(0.0006)], ["at most 0.0 %", "at most 0.1 %"]);
    }

    #[test]
    fn the_end_names_the_suspect_with_its_interval_and_how_sure_it_is() {
        let seen = [entry("2b", Told::Good, Some(1.004)), entry("3c", Told::Bad, Some(1.31))];
        let left = |name: &str| Left::Found(name.repeat(20), "tcp: it".to_owned());
        insta::assert_snapshot!(report(&seen, &left("3c"), 80), @r"
        good      2b2b2b2b2b2b tcp: commit 2b\u{1b}
                  sendfile costs 1.00 times as much as in state A (98.8 %: 0.94 to 1.07)
                  after 24 blocks in 14 s
        bad       3c3c3c3c3c3c tcp: commit 3c\u{1b}
                  sendfile costs 1.31 times as much as in state A (98.8 %: 1.25 to 1.38)
                  after 24 blocks in 14 s
        suspect   3c3c3c3c3c3c tcp: it
                  sendfile costs 1.31 times as much as in state A (98.8 %: 1.25 to 1.38)
        sure      a wrong turn has a probability of at most 2.5 %: the errors of its
                  answers (2) together, if one commit alone made it dearer, by 5.0 % or
                  more
        ");
        insta::assert_snapshot!(report(&seen[1..], &left("4d"), 80), @r"
        bad       3c3c3c3c3c3c tcp: commit 3c\u{1b}
                  sendfile costs 1.31 times as much as in state A (98.8 %: 1.25 to 1.38)
                  after 24 blocks in 14 s
        suspect   4d4d4d4d4d4d tcp: it
                  given as bad, and not measured
        sure      a wrong turn has a probability of at most 1.2 %: the errors of its
                  answers (1) together, if one commit alone made it dearer, by 5.0 % or
                  more
        ");
        let one_of = Left::OneOf(vec!["3c".repeat(20), "4d".repeat(20)]);
        insta::assert_snapshot!(report(&[], &one_of, 80), @r"
        suspects  one of 3c3c3c3c3c3c, 4d4d4d4d4d4d
                  git skipped them, so they cannot be told apart
        sure      a wrong turn has a probability of at most 0.0 %: the errors of its
                  answers (0) together, if one commit alone made it dearer, by 0.0 % or
                  more
        ");
    }
}
