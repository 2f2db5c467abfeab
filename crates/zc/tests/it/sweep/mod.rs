//! Searches for faults that nobody has thought of: system calls that fail, limits, kills at random
//! moments, floods. docs/reliability.md says what is promised, and has the figures of the last
//! long sweep.
//!
//! By default each search tries a few cases, drawn with a seed that it prints, so that CI has a
//! sample of each. `ZC_SWEEP=full` tries all of them, which takes hours, and `ZC_SWEEP=100` so many
//! of each search; `ZC_SWEEP_SEED=N` draws the same cases again. `ZC_SWEEP_ONLY=stack` leaves out
//! those in whose description there is no `stack`.
//! `ZC_SWEEP=full cargo test -p zc --test it sweep:: -- --nocapture --test-threads 1`.

mod faults;
mod floods;
mod forbidden;
mod kills;
mod limits;
mod marked;
mod resident;
mod verdict;

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::support::at_once;
use crate::support::measuring::{Measuring, measuring};

/// Number of cases of a search that are tried.
fn cases_of(sample: usize) -> usize {
    match std::env::var("ZC_SWEEP") {
        Err(_) => sample,
        Ok(word) if word == "full" => usize::MAX,
        Ok(number) => number.parse().expect("ZC_SWEEP is \"full\" or a number of cases"),
    }
}

/// Whether more than a sample is asked for: then also what disturbs other tests is tried.
fn is_long() -> bool {
    std::env::var_os("ZC_SWEEP").is_some()
}

/// The turn of a search that measures. In a long sweep it needs none: nothing else is tested then,
/// and several searches may be started at the same time.
#[track_caller]
fn turn() -> Option<Measuring> {
    (!is_long()).then(measuring)
}

/// Seed of the dice of all searches. Without a setting it is the day's, so that a failure can be
/// repeated by anybody who looks at it at once.
fn seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let today = || since.map_or(0, |since| since.as_secs() / 86_400);
    std::env::var("ZC_SWEEP_SEED")
        .map_or_else(|_| today(), |seed| seed.parse().expect("ZC_SWEEP_SEED is a number"))
}

/// The dice of a search.
fn dice(search: &str) -> Pcg64 {
    let seed = seed();
    eprintln!("{search}: ZC_SWEEP_SEED={seed}");
    // Searches differ in their dice.
    let own = search.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    Pcg64::seed_from_u64(own)
}

/// The first cases of a shuffled list.
fn drawn<T>(mut cases: Vec<T>, most: usize, dice: &mut Pcg64) -> Vec<T> {
    cases.shuffle(dice);
    cases.truncate(most);
    cases
}

/// A number in a range, of a whole case or of a moment.
fn below(dice: &mut Pcg64, most: u64) -> u64 {
    dice.random_range(0..most.max(1))
}

/// Tries all cases, some at the same time, and panics at the end with what was found
/// in them. Each finding is printed when it is found.
#[track_caller]
fn search<T: Sync>(
    name: &str,
    cases: &[T],
    what: impl Fn(&T) -> String + Sync,
    one: impl Fn(&T) -> Result<(), String> + Sync,
) {
    let only = std::env::var("ZC_SWEEP_ONLY").unwrap_or_default();
    let cases: Vec<&T> = cases.iter().filter(|case| what(case).contains(&only)).collect();
    let findings = Mutex::new(Vec::new());
    at_once(&cases, |case| {
        if let Err(finding) = one(case) {
            let text =
                format!("{}\n    {}", what(case), finding.trim_end().replace('\n', "\n    "));
            eprintln!("FOUND {text}");
            findings.lock().unwrap().push(text);
        }
    });
    let findings = findings.into_inner().unwrap();
    eprintln!("{name}: {} cases tried, {} of them with a finding", cases.len(), findings.len());
    let mut all = String::new();
    findings.iter().for_each(|finding| writeln!(all, "{finding}").unwrap());
    assert!(findings.is_empty(), "{name}: {} findings\n{all}", findings.len());
    assert!(!cases.is_empty(), "{name}: nothing was tried");
}
