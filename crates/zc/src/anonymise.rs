//! `--anonymise`: what of the command line stays in the saved run. An option's name always does,
//! its value only if it is a number, or a name that zc has given.

use clap::{Args as _, Command};

use super::run_args::RunArgs;
use zc_measure::session::LEFT_OUT;
use zc_run::{Error, Experiment, Result, SendPath};

/// The options whose values reveal nothing about a host, besides those of factors.
const KEPT: [&str; 22] = [
    "ab-limit",
    "ab-settle",
    "ack-every",
    "ack-interval",
    "budget",
    "burn",
    "columns",
    "cpus",
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

/// Refuses experiments whose runs are about a server, a log or a mount.
///
/// # Errors
/// It is one of them.
pub(super) fn check(experiment: &str) -> Result<()> {
    let known = experiment.parse::<Experiment>().ok();
    let Some(named) = known.and_then(|experiment| experiment.definition().private) else {
        return Ok(());
    };
    Err(Error::usage(format!("--anonymise: runs of \"{experiment}\" hold {named}"))
        .help("leave it out, and the saved run to yourself"))
}

/// The command line without what names hosts, users, files and commands.
pub(super) fn command(words: &[String]) -> Vec<String> {
    let mut command = RunArgs::augment_args(Command::new("run"));
    command.build();
    let mut words = words.iter().map(String::as_str);
    let mut kept: Vec<String> = words.next().map(|_| "zc".to_owned()).into_iter().collect();
    // Those that measure: the options of zc profile are among those of zc run, but for one.
    let Some(named) = words.next().filter(|name| ["run", "profile"].contains(name)) else {
        return kept;
    };
    kept.push(named.to_owned());
    let option = |long: &str| command.get_arguments().find(|arg| arg.get_long() == Some(long));
    let mut is_value_of: Option<&str> = None;
    for word in words {
        if let Some(long) = is_value_of.take() {
            kept.push(if keeps_value(long) { word } else { LEFT_OUT }.to_owned());
            continue;
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(a, b)| (a, Some(b)));
        let long = name.strip_prefix("--");
        let long = long.filter(|long| option(long).is_some() || *long == OF_PROFILE);
        kept.push(match (long, value) {
            (Some(long), Some(_)) if !keeps_value(long) => format!("--{long}={LEFT_OUT}"),
            (Some(long), None) => {
                let takes_value = option(long).is_some_and(|arg| arg.get_action().takes_values());
                is_value_of = takes_value.then_some(long);
                word.to_owned()
            }
            (Some(_), Some(_)) => word.to_owned(),
            _ if word == "-v" || is_name(word) => word.to_owned(),
            _ => LEFT_OUT.to_owned(),
        });
    }
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
                &["/home/jo/zc", "run", "--via", "ssh box", "--budget", "2m", "--verbose", "-v"][..],
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
        let mut cli = Cli::command();
        cli.build();
        let mut left_out = Vec::new();
        let mut known = Vec::new();
        for command in ["run", "profile"] {
            let command = cli.find_subcommand(command).unwrap();
            let run = RunArgs::augment_args(Command::new("run"));
            let is_of_run =
                |long: &str| run.get_arguments().any(|arg| arg.get_long() == Some(long));
            for long in command.get_arguments().filter_map(|arg| arg.get_long()) {
                assert!(is_of_run(long) || [OF_PROFILE, "help"].contains(&long), "{long}");
            }
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let Some(long) = arg.get_long() else { continue };
                known.push(long);
                if !keeps_value(long) {
                    left_out.push(long);
                }
            }
        }
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
            "carry",
            "far-address",
            "files",
            "folded",
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
    fn experiments_about_servers_and_logs_are_refused() {
        for name in ["server", "nfs", "replay"] {
            let error = check(name).unwrap_err();
            assert!(error.message.contains(name) && error.help.is_some(), "{error}");
        }
        for name in ["paths", "memory", "my own"] {
            check(name).unwrap();
        }
    }
}
