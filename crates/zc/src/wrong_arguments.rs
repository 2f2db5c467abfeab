//! clap's errors in zc's form. clap prints several lines with a usage; zc prints a sentence and a
//! hint for every failure.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use super::args::Cli;
use super::known::own;
use super::run_line;
use zc_run::nearest::nearest;
use zc_run::{Error, Experiment, escape};

/// The error for what clap refused in `words`, the arguments as typed.
pub(super) fn refused(error: &clap::Error, words: &[String]) -> Error {
    if words.first().is_some_and(|word| word == "run")
        && words.get(1).is_none_or(|word| word != Experiment::Server.name())
        && run_line::has_command(words)
    {
        return Error::usage(
            "unexpected-argument",
            "a load generator behind -- is for \"zc run server\"",
        )
        .help("zc run server --state A=URL --state B=URL --serve COMMAND -- LOADGEN");
    }
    if let Some(own) = own(error) {
        return own.clone();
    }
    let known = Cli::command();
    let command =
        words.first().filter(|word| known.find_subcommand(word).is_some()).map(String::as_str);
    let text = |kind| error.get(kind).map(plain).filter(|text| !text.is_empty());
    let (at, name) = commanded(&known, words);
    let help = match command {
        Some(_) => format!("{name} --help lists the arguments"),
        None => "zc --help lists the commands".to_owned(),
    };
    let arg = text(ContextKind::InvalidArg).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if command == Some("soak") && !arg.starts_with('-') => {
            Error::usage("unexpected-argument", format!("unexpected argument \"{arg}\""))
                .help(behind_dashes(words, &arg))
        }
        ErrorKind::UnknownArgument => {
            let (id, what) = match arg.starts_with('-') {
                true => ("unknown-option", "unknown option"),
                false => ("unexpected-argument", "unexpected argument"),
            };
            let theirs = elsewhere(at, &arg);
            if command == Some("run")
                && theirs.is_none()
                && let Some(taker) = taker(&known, &arg)
            {
                return Error::usage(
                    "unknown-option",
                    format!("\"{arg}\" is no option of \"{name}\""),
                )
                .help(format!("{taker} takes it; {help}"));
            }
            let meant = theirs.or_else(|| text(ContextKind::SuggestedArg));
            let suggestion = meant.map(|meant| format!("did you mean \"{meant}\"? {help}"));
            Error::usage(id, format!("{what} \"{arg}\"")).help(suggestion.unwrap_or(help))
        }
        ErrorKind::InvalidSubcommand => {
            let given = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            // One suggestion: clap lists every command that is similar.
            let names: Vec<&str> = known.get_subcommands().map(clap::Command::get_name).collect();
            let suggestion =
                nearest(&given, &names).map(|meant| format!("did you mean \"zc {meant}\"?"));
            Error::usage("unknown-command", format!("unknown command \"{given}\""))
                .help(suggestion.unwrap_or(help))
        }
        ErrorKind::ArgumentConflict => {
            let prior = text(ContextKind::PriorArg).unwrap_or_default();
            if prior == arg {
                Error::usage("option-given-twice", format!("\"{arg}\" is given twice"))
                    .help("give it once")
            } else {
                Error::usage(
                    "options-conflict",
                    format!("\"{arg}\" and \"{prior}\" exclude one another"),
                )
                .help("give one of them")
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(each)) => {
                    each.iter().map(|it| alternatives(it)).collect()
                }
                _ => vec![arg],
            };
            let missing = missing.join(" and ");
            let live_load =
                command == Some("soak") && words.iter().any(|word| is_of(word, "--for"));
            match asking_for_more(words) {
                Some(option) => {
                    Error::usage("option-needs-another", format!("\"{option}\" needs {missing}"))
                        .help(match live_load {
                            true => {
                                "live load ends after --count windows of --period; --for is of a \
                                 service"
                            }
                            false => &help,
                        })
                }
                None => {
                    Error::usage("argument-missing", format!("{missing} is missing")).help(help)
                }
            }
        }
        ErrorKind::InvalidValue
        | ErrorKind::TooManyValues
        | ErrorKind::WrongNumberOfValues
        | ErrorKind::TooFewValues => match text(ContextKind::InvalidValue) {
            Some(value) => {
                Error::usage("invalid-value", format!("\"{value}\" is no value for \"{arg}\""))
                    .help(help)
            }
            None => Error::usage("value-missing", format!("\"{arg}\" needs a value")).help(help),
        },
        ErrorKind::MissingSubcommand => Error::usage("command-missing", "a command is missing")
            .help("zc run measures; zc --help lists the commands"),
        ErrorKind::InvalidUtf8 => Error::usage("argument-not-utf-8", "an argument is not UTF-8")
            .help("only file names may be other bytes"),
        _ => Error::usage("invalid-arguments", first_line(error)).help(help),
    }
}

/// The command that `words` begin with, and its whole name: `zc run server`.
fn commanded<'a>(known: &'a clap::Command, words: &[String]) -> (&'a clap::Command, String) {
    let mut at = (known, known.get_name().to_owned());
    for word in words {
        let Some(command) = at.0.find_subcommand(word) else { break };
        at = (command, format!("{} {}", at.1, command.get_name()));
    }
    at
}

/// Whether a command takes an option.
fn takes(command: &clap::Command, option: &str) -> bool {
    let long = option.strip_prefix("--");
    long.is_some() && command.get_arguments().any(|own| own.get_long() == long)
}

/// `zc run`, or an experiment with options of its own, if one of them takes an option.
fn taker(known: &clap::Command, option: &str) -> Option<String> {
    let run = known.find_subcommand("run")?;
    if takes(run, option) {
        return Some("zc run".to_owned());
    }
    let own = run.get_subcommands().find(|own| takes(own, option))?;
    Some(format!("zc run {}", own.get_name()))
}

/// The option of a command for what other programs call `arg`.
fn elsewhere(command: &clap::Command, arg: &str) -> Option<String> {
    const NAMES: [(&str, &str); 6] = [
        ("--duration", "--for"),
        ("--time", "--for"),
        ("--duration", "--budget"),
        ("--time", "--budget"),
        ("--concurrency", "--connections"),
        ("--remote", "--via"),
    ];
    let own = NAMES.iter().find(|(theirs, own)| *theirs == arg && takes(command, own));
    own.map(|(_, own)| (*own).to_owned())
}

/// `"--service", "--cgroup" or "--pid"`: the arguments of which one is missing, as clap names a
/// group: `<--service <NAME>|--cgroup <PATH>|--pid <N>>`.
fn alternatives(group: &str) -> String {
    let inner = group.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    let each: Vec<String> = match inner.filter(|inner| inner.contains('|')) {
        Some(inner) => inner.split('|').map(named).collect(),
        None => vec![name(group)],
    };
    match each.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => each.concat(),
    }
}

/// A name of a group in quotes: an argument without dashes is positional.
fn named(argument: &str) -> String {
    if argument.starts_with('-') { name(argument) } else { name(&format!("<{argument}>")) }
}

/// An argument's name in quotes, without its value.
fn name(argument: &str) -> String {
    let name = argument.split(" <").next().unwrap_or_default();
    format!("\"{}\"", escape(if name.is_empty() { argument } else { name }, 80))
}

/// Whether a word is this option, with or without a value.
fn is_of(word: &str, option: &str) -> bool {
    word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The option without which nothing is missing; `None` if there is none such.
fn asking_for_more(words: &[String]) -> Option<&str> {
    let parses = |words: &[&String]| {
        Cli::try_parse_from([&"zc".to_owned()].into_iter().chain(words.iter().copied())).is_ok()
    };
    (0..words.len()).filter(|place| words[*place].starts_with("--")).find_map(|place| {
        // With its value or without one, as it may have.
        [1, 2].into_iter().find_map(|taken| {
            let rest: Vec<&String> =
                words.iter().take(place).chain(words.iter().skip(place + taken)).collect();
            parses(&rest).then(|| words[place].split('=').next().unwrap_or_default())
        })
    })
}

/// The command line of `zc soak` with its command after `--`.
fn behind_dashes(words: &[String], first: &str) -> String {
    let place = words.iter().position(|word| word == first).unwrap_or(words.len());
    let (own, command) = words.split_at(place);
    let line = [own, &["--".to_owned()], command].concat().join(" ");
    format!("a command goes after \"--\": zc {}", escape(&line, 200))
}

/// clap's first line, without its `error: `.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn plain(value: &ContextValue) -> String {
    let text = match value {
        ContextValue::Strings(strings) => strings.join(" "),
        other => other.to_string(),
    };
    // `--rate <RATE>`: the option's name is enough.
    let name = text.split(" <").next().unwrap_or_default();
    escape(if name.is_empty() { &text } else { name }, 80)
}
