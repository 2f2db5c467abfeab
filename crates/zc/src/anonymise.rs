//! `--anonymise`: what of the command line stays in the saved run. An option's name always does,
//! its value only if it is a number, or a name that zc has given.

use super::run_line::{self, Word};
use zc_measure::session::LEFT_OUT;
use zc_run::{Error, Experiment, Result, SendPath};

/// The options whose values reveal nothing about a host, besides those of factors.
const KEPT: [&str; 26] = [
    "ab-limit",
    "ab-settle",
    "ack-every",
    "ack-interval",
    "boot-budget",
    "boot-wait",
    "boots",
    "budget",
    "burn",
    "columns",
    "cpus",
    "fail-if-worse",
    "idle",
    "ip",
    "link",
    "rcvbuf",
    "responses",
    "rtt",
    "seed",
    "sessions",
    "soaker",
    "target",
    "wait-for-remote",
    "wait-until-quiet",
    "warmup",
    "window",
];

/// The option that zc profile alone has. It takes no value that is not left out as a word.
const OF_PROFILE: &str = "folded";

/// Refuses the experiment whose runs are about a log.
///
/// # Errors
/// It is that one.
pub(super) fn check(experiment: &str) -> Result<()> {
    let known = experiment.parse::<Experiment>().ok();
    let Some(named) = known.and_then(|experiment| experiment.definition().private) else {
        return Ok(());
    };
    Err(Error::usage(
        "cannot-anonymise",
        format!("--anonymise: runs of \"{experiment}\" hold {named}"),
    )
    .help("leave it out, and the saved run to yourself"))
}

/// The command line without what names hosts, users, files and commands.
pub(super) fn command(words: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = words.first().map(|_| "zc".to_owned()).into_iter().collect();
    // Those that measure: the options of zc profile are among those of zc run, but for one.
    let Some(named) = words.get(1).filter(|name| ["run", "profile"].contains(&name.as_str()))
    else {
        return kept;
    };
    kept.push(named.clone());
    let words = &words[2..];
    let classes = run_line::classify(words.iter().map(String::as_str), &[OF_PROFILE]);
    kept.extend(words.iter().zip(classes).map(|(word, class)| match class {
        Word::Option(long) if word.contains('=') && !keeps_value(&long) => {
            format!("--{long}={LEFT_OUT}")
        }
        Word::Option(_) => word.clone(),
        Word::Value(long) if keeps_value(&long) => word.clone(),
        Word::Other if word == "-v" || is_name(word) => word.clone(),
        Word::Value(_) | Word::Other => LEFT_OUT.to_owned(),
    }));
    kept
}

/// Whether an option's value may stay.
fn keeps_value(long: &str) -> bool {
    KEPT.contains(&long) || zc_run::Factor::of_option(long).is_some()
}

/// Whether a word is a name of zc's own.
fn is_name(word: &str) -> bool {
    Experiment::NAMES.contains(&word) || SendPath::NAMES.contains(&word)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::args::Cli;
    use super::*;

    fn kept(line: &[&str]) -> String {
        command(&line.iter().map(ToString::to_string).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn numbers_and_names_of_zc_stay_and_all_other_values_go() {
        for (line, expected) in [
            (
                &["/home/jo/zc", "run", "--via", "ssh box", "--budget", "2m", "--verbose", "-v"]
                    as &[&str],
                "zc run --via (left out) --budget 2m --verbose -v",
            ),
            (
                &["zc", "run", "sizes", "--files", "a", "/b", "--json", "--anonymise"],
                "zc run sizes --files (left out) (left out) --json --anonymise",
            ),
            (
                &[
                    "zc",
                    "run",
                    "--remote=box",
                    "--token=secret",
                    "--paths=sendfile",
                    "--flows",
                    "4",
                ],
                "zc run --remote=(left out) --token=(left out) --paths=sendfile --flows 4",
            ),
            (
                &[
                    "zc",
                    "run",
                    "--ab",
                    "--via",
                    "--ab",
                    "-x",
                    "--burn",
                    "sendfile=4us",
                    "--vi",
                    "box",
                ],
                "zc run --ab (left out) --ab (left out) --burn sendfile=4us (left out) (left out)",
            ),
            (
                &["zc", "profile", "sendfile", "--folded", "/home/jo/x", "--out", "y", "jo"],
                "zc profile sendfile --folded (left out) --out (left out) (left out)",
            ),
            (&["zc", "nonesuch", "box"], "zc"),
            (&[], ""),
        ] {
            assert_eq!(kept(line), expected);
        }
    }

    /// A new option shows here, and it is decided whether its values identify a host.
    #[test]
    fn every_option_with_a_value_is_kept_or_left_out() {
        let options = run_line::options();
        let is_of_run = |long: &str| options.iter().any(|arg| arg.get_long() == Some(long));
        let cli = Cli::command();
        let profile = cli.find_subcommand("profile").unwrap();
        for long in profile.get_arguments().filter_map(|arg| arg.get_long()) {
            assert!(is_of_run(long) || long == OF_PROFILE, "{long}");
        }
        let with_value = options.iter().filter(|arg| arg.get_action().takes_values());
        let known: Vec<&str> = with_value.filter_map(|arg| arg.get_long()).collect();
        let all = known.iter().copied().chain([OF_PROFILE]);
        let mut left_out: Vec<&str> = all.filter(|long| !keeps_value(long)).collect();
        left_out.sort_unstable();
        left_out.dedup();
        let of_servers_and_logs = [
            "cacert",
            "connections",
            "depth",
            "draw",
            "header",
            "log",
            "log-field",
            "log-format",
            "nconnect",
            "nfs-client",
            "nfs-file",
            "nfs-reader",
            "nfs-server",
            "nfs-threads",
            "nfs-transport",
            "requests",
            "rsize",
            "serve",
            "speedup",
            "state",
            "url",
            "vers",
            "write",
        ];
        left_out.retain(|long| !of_servers_and_logs.contains(long));
        let expected = [
            "ab",
            "ab-restore",
            "boot",
            "build",
            "carry",
            "far-address",
            "files",
            "folded",
            "kernel",
            "like",
            "out",
            "plan",
            "remote",
            "token",
            "token-file",
            "verify-state",
            "via",
            "with",
        ];
        assert_eq!(left_out, expected);
        let unknown = KEPT.iter().filter(|long| !known.contains(long));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn the_experiment_about_a_log_is_refused() {
        assert_eq!(check("replay").unwrap_err().id, "cannot-anonymise");
        for name in ["paths", "memory", "my own"] {
            check(name).unwrap();
        }
    }
}
