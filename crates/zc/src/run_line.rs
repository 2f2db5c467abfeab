//! The command line of `zc run`, in which an experiment's name may stand after options, and several
//! may be named: one line for each of them, the name first.

use std::ffi::OsString;

use clap::{Arg, Args as _, Command, Parser, Subcommand};

use super::run_args::RunArgs;
use zc_run::Experiment;

/// The kind of a word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// An option, by its name without dashes, with its value or without one.
    Option(String),
    /// The value of the option before it.
    Value(String),
    /// Another word.
    Other,
}

/// The command line of `zc run` alone.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one
enum Commands {
    Run(RunArgs),
}

/// Parses a command line of `zc run`, which begins with the name of the program.
///
/// # Errors
/// clap's: it is none.
pub(super) fn parse(words: &[String]) -> std::result::Result<Vec<RunArgs>, clap::Error> {
    let (program, words) = words.split_at(words.len().min(1));
    let lines = one_each(words.iter().map(OsString::from).collect());
    let parsed = lines.into_iter().map(|line| {
        let words = program.iter().map(OsString::from).chain(line);
        let CommandLine { command: Commands::Run(args) } = CommandLine::try_parse_from(words)?;
        Ok(args)
    });
    parsed.collect()
}

/// The options of `zc run` and its experiments.
pub(super) fn options() -> Vec<Arg> {
    fn all(command: &Command) -> Vec<Arg> {
        let own = command.get_arguments().filter(|arg| arg.get_long().is_some()).cloned();
        own.chain(command.get_subcommands().flat_map(all)).collect()
    }
    let mut command = RunArgs::augment_args(Command::new("run"));
    command.build();
    all(&command)
}

/// The kind of each of these words; `others` are options with a value besides those of `zc run`.
pub(super) fn classify<'a>(words: impl IntoIterator<Item = &'a str>, others: &[&str]) -> Vec<Word> {
    let options = options();
    let mut open: Option<(String, bool)> = None;
    let mut is_over = false;
    let class = |word: &str| {
        is_over |= word == "--" && open.is_none();
        if let Some((long, several)) = open.take_if(|(_, several)| !*several || !is_option(word)) {
            open = several.then(|| (long.clone(), several));
            return Word::Value(long);
        }
        open = None;
        let name = word.strip_prefix("--").filter(|_| !is_over).unwrap_or_default();
        let (long, value) = name.split_once('=').map_or((name, None), |(a, b)| (a, Some(b)));
        let option = options.iter().find(|option| option.get_long() == Some(long));
        let (takes_value, several) = match option {
            Some(option) => (
                option.get_action().takes_values(),
                option.get_num_args().is_some_and(|values| values.max_values() > 1),
            ),
            None if others.contains(&long) => (true, false),
            None => return Word::Other,
        };
        if takes_value && value.is_none() {
            open = Some((long.to_owned(), several));
        }
        Word::Option(long.to_owned())
    };
    words.into_iter().map(class).collect()
}

/// Whether a command stands behind `--` in these words of `zc run`.
pub(super) fn has_command(words: &[String]) -> bool {
    let classes = classify(words.iter().map(String::as_str), &[]);
    words.iter().zip(classes).any(|(word, class)| word == "--" && class == Word::Other)
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

/// The command line of `zc run`, once for each experiment that it names, whose name comes first;
/// any other as it is.
pub(super) fn one_each(words: Vec<OsString>) -> Vec<Vec<OsString>> {
    if words.first().is_none_or(|word| word != "run") {
        return vec![words];
    }
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let classes = classify(texts.iter().map(String::as_str), &[]);
    let end = texts.iter().position(|text| text == "--").unwrap_or(texts.len());
    let is_name = |place: usize| {
        place < end
            && classes[place] == Word::Other
            && Experiment::NAMES.contains(&texts[place].as_str())
    };
    let (names, others): (Vec<usize>, Vec<usize>) =
        (1..words.len()).partition(|place| is_name(*place));
    if names.is_empty() {
        return vec![words];
    }
    let line = |name: usize| {
        let places = [0, name].into_iter().chain(others.iter().copied());
        places.map(|place| words[place].clone()).collect()
    };
    names.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_line_and_is_first_in_it() {
        for (line, lines) in [
            ("doctor run sizes", &["doctor run sizes"][..]),
            ("run --frob", &["run --frob"]),
            ("run --budget 5s memory", &["run memory --budget 5s"]),
            ("run --csv sizes --quick nfs", &["run sizes --csv --quick", "run nfs --csv --quick"]),
            ("run --via server --help", &["run --via server --help"]),
            ("run --via=sh server", &["run server --via=sh"]),
            ("run --files sizes a --json nfs", &["run nfs --files sizes a --json"]),
            ("run --ab --via --ab memory", &["run --ab --via --ab memory"]),
            ("run server -- oha memory", &["run server -- oha memory"]),
            ("run --help nfs", &["run nfs --help"]),
        ] {
            let words = line.split(' ').map(OsString::from).collect();
            let found = one_each(words).into_iter().map(|words| words.join(" ".as_ref()));
            assert_eq!(found.collect::<Vec<_>>(), lines, "{line}");
        }
    }
}
