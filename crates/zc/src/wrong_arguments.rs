//! clap's refusals in zc's own form. clap prints several lines with a usage; zc prints a sentence and a hint for every
//! failure, whoever found it.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use zc_run::Fault;
use zc_run::escape;

/// The sentence and hint for what clap refused. `command` is the subcommand that was typed, if it is one.
pub(super) fn fault(error: &clap::Error, command: Option<&str>) -> Fault {
    let text = |kind| error.get(kind).map(plain).filter(|text| !text.is_empty());
    let help = match command {
        Some(command) => format!("zc {command} --help lists what can be given"),
        None => "zc --help lists the commands".to_owned(),
    };
    let arg = text(ContextKind::InvalidArg).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let what = if arg.starts_with('-') { "unknown option" } else { "unexpected argument" };
            let hint = text(ContextKind::SuggestedArg).map(|meant| format!("did you mean \"{meant}\"? {help}"));
            Fault::usage(format!("{what} \"{arg}\"")).hint(hint.unwrap_or(help))
        }
        ErrorKind::InvalidSubcommand => {
            let given = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let hint =
                text(ContextKind::SuggestedSubcommand).map(|meant| format!("did you mean \"zc {meant}\"? {help}"));
            Fault::usage(format!("unknown command \"{given}\"")).hint(hint.unwrap_or(help))
        }
        ErrorKind::ArgumentConflict => {
            let prior = text(ContextKind::PriorArg).unwrap_or_default();
            if prior == arg {
                Fault::usage(format!("\"{arg}\" is given twice")).hint("give it once")
            } else {
                Fault::usage(format!("\"{arg}\" and \"{prior}\" exclude one another")).hint("give one of them")
            }
        }
        ErrorKind::MissingRequiredArgument => Fault::usage(format!("\"{arg}\" is missing")).hint(help),
        ErrorKind::InvalidValue
        | ErrorKind::TooManyValues
        | ErrorKind::WrongNumberOfValues
        | ErrorKind::TooFewValues => match text(ContextKind::InvalidValue) {
            Some(value) => Fault::usage(format!("\"{value}\" is no value for \"{arg}\"")).hint(help),
            None => Fault::usage(format!("\"{arg}\" needs a value")).hint(help),
        },
        ErrorKind::MissingSubcommand => {
            Fault::usage("a command is missing").hint("zc run measures; zc --help lists the commands")
        }
        ErrorKind::InvalidUtf8 => Fault::usage("an argument is not UTF-8").hint("only file names may be other bytes"),
        _ => Fault::usage(first_line(error)).hint(help),
    }
}

/// clap's own first line, without its `error: `.
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::args::Cli;
    use super::*;

    fn told(words: &[&str]) -> String {
        let error = Cli::try_parse_from(std::iter::once(&"zc").chain(words)).expect_err("clap refuses it");
        let fault = fault(&error, words.first().copied().filter(|word| !word.starts_with('-')));
        assert_eq!(fault.kind.exit_code(), 2);
        assert!(fault.hint.is_some());
        fault.sentence
    }

    #[test]
    fn what_clap_refuses_is_told_in_a_sentence() {
        for (words, sentence) in [
            (&["rnu"][..], "unknown command \"rnu\""),
            (&["run", "--pathz", "splice"], "unknown option \"--pathz\""),
            (&["plan", "paths", "extra"], "unexpected argument \"extra\""),
            (&["run", "--rate"], "\"--rate\" needs a value"),
            (&["run", "--rate", "1MB/s", "--rate", "2MB/s"], "\"--rate\" is given twice"),
            (&["run", "--json", "--csv"], "\"--json\" and \"--csv\" exclude one another"),
            (&["run", "--markdown", "--json"], "\"--markdown\" and \"--json\" exclude one another"),
            (&["run", "--files"], "\"--files\" needs a value"),
            (&["run", "--json=yes"], "\"yes\" is no value for \"--json\""),
            (&["show"], "\"<FILE>\" is missing"),
            (&["show", "a", "b"], "unexpected argument \"b\""),
            (&["--frobnicate"], "unknown option \"--frobnicate\""),
            (&["plan", "paths", "a\u{1b}[2J"], "unexpected argument \"a\\u{1b}[2J\""),
        ] {
            assert_eq!(told(words), sentence, "{words:?}");
        }
    }

    #[test]
    fn a_near_miss_is_suggested() {
        let error = Cli::try_parse_from(["zc", "run", "--congestoin", "reno"]).unwrap_err();
        let hint = fault(&error, Some("run")).hint.unwrap();
        assert_eq!(hint, "did you mean \"--congestion\"? zc run --help lists what can be given");
    }
}
