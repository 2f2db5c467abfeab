//! The words of `zc run` in a boot: those that were typed, but for what is about kernels, about the
//! whole and about how the result is printed.

use std::ffi::OsString;

use super::super::run_line::{self, Word};
use zc_run::{Error, Result};

/// Where the run is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum There {
    Guest,
    /// On a machine of its own.
    Machine,
}

/// Options that the run does not get.
const OWN: [&str; 17] = [
    "kernel",
    "boots",
    "boot",
    "boot-wait",
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

/// Options that lead to the machine, and options of its boots.
const TO_MACHINE: [&str; 4] = ["remote", "via", "carry", "no-carry"];
const OF_MACHINE: [&str; 2] = ["boot", "boot-wait"];

/// Options that a guest cannot follow, and why.
const NOT_IN_GUEST: [(&str, &str); 3] = [
    ("ab", "a state of the host is none of a guest"),
    ("remote", "guests have no network"),
    ("via", "guests have no network"),
];

/// The same on another machine.
const NOT_ON_MACHINE: [(&str, &str); 9] = [
    ("ab", "its states are the kernels"),
    ("token", "ssh leads to the machine, and needs none"),
    ("token-file", "ssh leads to the machine, and needs none"),
    ("wait-for-remote", "--boot-wait says how long the machine may be away"),
    ("far-address", "the run stays on the machine"),
    ("plan", "a file of this host is none of the machine"),
    ("log", "a file of this host is none of the machine"),
    ("build", "the machine has its kernels already"),
    ("config-diff", "it is of kernels on this host"),
];

const FORMS: &str = "two kernels have a table, --json, --commit-message and --tap";

/// Options that are of no use with two kernels at all.
const NOT_THERE: [(&str, &str); 3] =
    [("csv", FORMS), ("markdown", FORMS), ("like", "a saved run is not of a guest")];

/// The words after `run`; `typed` are those after the name of the program.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): an option is of no use there.
pub(super) fn of_run(typed: &[OsString], there: There) -> Result<Vec<OsString>> {
    let (refused, led): (&[(&str, &str)], &[&str]) = match there {
        There::Guest => (&NOT_IN_GUEST, &[]),
        There::Machine => (&NOT_ON_MACHINE, &TO_MACHINE),
    };
    let texts: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let classes = run_line::classify(texts.iter().map(String::as_str), &[]);
    let mut words = Vec::new();
    for ((word, text), class) in typed.iter().zip(&texts).zip(classes).skip(1) {
        let option = match &class {
            Word::Option(long) | Word::Value(long) => Some(long.as_str()),
            Word::Other => None,
        };
        let mut refused = refused.iter().chain(&NOT_THERE);
        if let Some((name, why)) = refused.find(|(name, _)| Some(*name) == option) {
            let message = format!("\"--{name}\" and \"--kernel\" exclude one another: {why}");
            return Err(
                Error::usage("option-not-with-kernels", message).help("leave one of them out")
            );
        }
        if there == There::Guest
            && let Some(name) = option.filter(|option| OF_MACHINE.contains(option))
        {
            let message = format!("\"--{name}\" needs a machine that boots the kernels");
            return Err(Error::usage("option-needs-another", message).help("--remote root@HOST"));
        }
        if there == There::Machine && word.to_str().is_none() {
            return Err(Error::usage("argument-not-utf-8", "an argument is not UTF-8")
                .help("only words that are reach another machine as they are"));
        }
        let is_own = option.is_some_and(|option| OWN.contains(&option) || led.contains(&option));
        if !is_own && (class != Word::Other || text != "-v") {
            words.push(word.clone());
        }
    }
    Ok(words)
}

/// Options that the wire between two guests cannot follow, besides those of the link `null`.
const NOT_ON_A_WIRE: [&str; 4] = ["ip", "mtu", "offloads", "layer"];

/// The words of a guest that is on a wire, of those after `run`: the way to the other guest is in
/// place of a link.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): an option is of no use there.
pub(super) fn on_a_wire(
    words: Vec<OsString>,
    way: impl Iterator<Item = OsString>,
) -> Result<Vec<OsString>> {
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let classes = run_line::classify(texts.iter().map(String::as_str), &[]);
    let mut kept: Vec<OsString> = way.collect();
    for (word, class) in words.into_iter().zip(classes) {
        let (Word::Option(name) | Word::Value(name)) = &class else {
            kept.push(word);
            continue;
        };
        if NOT_ON_A_WIRE.contains(&name.as_str()) {
            let message = format!("--{name}: the wire of two guests is as QEMU makes it");
            return Err(Error::usage("option-not-on-a-wire", message)
                .help("leave the option out, or take --link veth"));
        }
        if name != "link" {
            kept.push(word);
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<String> {
        of_there(line, There::Guest)
    }

    fn of_there(line: &str, there: There) -> Result<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Ok(of_run(&words, there)?.join(" ".as_ref()).to_string_lossy().into_owned())
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
        assert_eq!(of("run --boot kexec").unwrap_err().id, "option-needs-another");
    }

    #[test]
    fn a_machine_runs_the_same_but_for_the_way_there_and_files_of_this_host() {
        let typed =
            "run sizes --remote root@box --carry zc --boot kexec --boot-wait=5min --link veth";
        assert_eq!(of_there(typed, There::Machine).unwrap(), "sizes --link veth");
        for typed in
            ["run --plan x", "run --ab true", "run --token x", "run --csv", "run --build x"]
        {
            let error = of_there(typed, There::Machine).unwrap_err();
            assert_eq!(error.id, "option-not-with-kernels", "{typed}");
        }
    }

    #[test]
    fn on_a_wire_the_way_to_the_far_guest_is_in_place_of_the_link() {
        let on = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let words = on_a_wire(words, [OsString::from("WAY")].into_iter())?;
            Ok::<_, Error>(words.join(" ".as_ref()).to_string_lossy().into_owned())
        };
        assert_eq!(on("sizes --link wire --rate 1MB/s").unwrap(), "WAY sizes --rate 1MB/s");
        assert_eq!(on("--paths sendfile --link=wire").unwrap(), "WAY --paths sendfile");
        for option in ["--mtu 9000", "--ip=6", "--offloads no-tso", "--layer bridge"] {
            assert_eq!(on(option).unwrap_err().id, "option-not-on-a-wire", "{option}");
        }
    }
}
