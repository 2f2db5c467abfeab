//! The words of `zc run` in a guest: those that were typed, but for what is about kernels, about the
//! whole and about how the result is printed.

use std::ffi::OsString;

use super::super::run_line::{self, Word};
use zc_run::{Error, Result};

/// Options that the guests do not get.
const OWN: [&str; 15] = [
    "kernel",
    "boots",
    "boot-budget",
    "build",
    "config-diff",
    "fail-if-worse",
    "tap",
    "budget",
    "seed",
    "out",
    "json",
    "commit-message",
    "verbose",
    "columns",
    "wait-until-quiet",
];

const FORMS: &str = "two kernels have a table, --json, --commit-message and --tap";

/// Options that a guest cannot follow, and why.
const NOT_THERE: [(&str, &str); 6] = [
    ("ab", "a state of the host is none of a guest"),
    ("remote", "guests have no network"),
    ("via", "guests have no network"),
    ("csv", FORMS),
    ("markdown", FORMS),
    ("like", "a saved run is not of a guest"),
];

/// The words after `run`; `typed` are those after the name of the program.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): an option is of no use in a guest.
pub(super) fn of_guest(typed: &[OsString]) -> Result<Vec<OsString>> {
    let texts: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let classes = run_line::classify(texts.iter().map(String::as_str), &[]);
    let mut words = Vec::new();
    for ((word, text), class) in typed.iter().zip(&texts).zip(classes).skip(1) {
        let option = match &class {
            Word::Option(long) | Word::Value(long) => Some(long.as_str()),
            Word::Other => None,
        };
        if let Some((name, why)) = NOT_THERE.iter().find(|(name, _)| Some(*name) == option) {
            let message = format!("\"--{name}\" and \"--kernel\" exclude one another: {why}");
            return Err(
                Error::usage("option-not-with-kernels", message).help("leave one of them out")
            );
        }
        let is_own = option.is_some_and(|option| OWN.contains(&option));
        if !is_own && (class != Word::Other || text != "-v") {
            words.push(word.clone());
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Ok(of_guest(&words)?.join(" ".as_ref()).to_string_lossy().into_owned())
    }

    #[test]
    fn a_guest_runs_what_was_typed_but_for_what_is_about_the_whole() {
        for (typed, words) in [
            ("run --kernel A=a --kernel=B=b", ""),
            ("run sizes --kernel A=a --paths sendfile --kernel B=b -v", "sizes --paths sendfile"),
            ("run --budget 5min --boots 3 --seed=4 --link veth --json --out d", "--link veth"),
            ("run --strict --wait-until-quiet 5s --config-diff --build make", "--strict"),
            ("run --fail-if-worse 5% --tap --quick --commit-message", "--quick"),
        ] {
            assert_eq!(of(typed).unwrap(), words, "{typed}");
        }
    }

    #[test]
    fn what_a_guest_cannot_follow_is_refused() {
        for typed in ["run --ab true", "run --remote=box", "run --via ssh", "run --csv"] {
            assert_eq!(of(typed).unwrap_err().id, "option-not-with-kernels", "{typed}");
        }
    }
}
