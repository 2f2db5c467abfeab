//! Options as getopt(3) reads them: single letters, in clusters (`-cC`), with a value in the same
//! word or the next (`-n100`, `-n 100`), before, between and after the operands, until `--`. The
//! few long options (`--raw`) are new.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::tool::Tool;
use zc_run::{Error, Result};

/// The options of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Letters without a value.
    pub(super) plain: &'static str,
    /// Letters with a value.
    pub(super) valued: &'static str,
    /// Long options: the name, and a letter that is upper case if the option takes a value.
    pub(super) long: &'static [(&'static str, char)],
    /// Whether the first operand ends the options: what follows belongs to a command.
    pub(super) stops_at_operand: bool,
}

/// The parsed arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Options in the order in which they were typed, with their values.
    pub(super) given: Vec<(Letter, Option<OsString>)>,
    /// The arguments that are not options.
    pub(super) operands: Vec<OsString>,
}

/// The name of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    /// `-x`
    Short(char),
    /// `--name`
    Long(&'static str),
}

impl std::fmt::Display for Letter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short(letter) => write!(f, "-{letter}"),
            Self::Long(name) => write!(f, "--{name}"),
        }
    }
}

impl Known {
    /// Parses the arguments of `tool`.
    ///
    /// # Errors
    /// An option is unknown, lacks its value, or has one that it does not take.
    pub(super) fn read(&self, tool: Tool, words: &[OsString]) -> Result<Words> {
        let mut read = Words::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_bytes() {
                b"--" => {
                    read.operands.extend(words.by_ref().cloned());
                    break;
                }
                [b'-', b'-', long @ ..] => {
                    let option = self.long(tool, long, &mut words)?;
                    read.given.push(option);
                }
                [b'-', cluster @ ..] if !cluster.is_empty() => {
                    self.cluster(tool, cluster, &mut words, &mut read.given)?;
                }
                _ => {
                    read.operands.push(word.clone());
                    if self.stops_at_operand {
                        read.operands.extend(words.by_ref().cloned());
                    }
                }
            }
        }
        Ok(read)
    }

    fn long<'a>(
        &self,
        tool: Tool,
        typed: &[u8],
        words: &mut impl Iterator<Item = &'a OsString>,
    ) -> Result<(Letter, Option<OsString>)> {
        let mut parts = typed.splitn(2, |byte| *byte == b'=');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next());
        let Some((name, kind)) = self.long.iter().find(|(known, _)| known.as_bytes() == name)
        else {
            return Err(unknown(tool, &format!("--{}", String::from_utf8_lossy(name))));
        };
        let letter = Letter::Long(name);
        let value = match (kind.is_ascii_uppercase(), value) {
            (true, Some(value)) => Some(OsString::from_vec(value.to_vec())),
            (true, None) => Some(words.next().cloned().ok_or_else(|| lacks_value(tool, letter))?),
            (false, None) => None,
            (false, Some(_)) => {
                return Err(Error::usage(
                    "unexpected-value",
                    format!("option \"{letter}\" takes no value"),
                )
                .help(help(tool)));
            }
        };
        Ok((letter, value))
    }

    fn cluster<'a>(
        &self,
        tool: Tool,
        cluster: &[u8],
        words: &mut impl Iterator<Item = &'a OsString>,
        given: &mut Vec<(Letter, Option<OsString>)>,
    ) -> Result<()> {
        for (at, byte) in cluster.iter().enumerate() {
            let typed = char::from(*byte);
            let letter = Letter::Short(typed);
            if self.plain.contains(typed) {
                given.push((letter, None));
            } else if self.valued.contains(typed) {
                let rest = &cluster[at + 1..];
                let value = match rest {
                    [] => words.next().cloned().ok_or_else(|| lacks_value(tool, letter))?,
                    rest => OsString::from_vec(rest.to_vec()),
                };
                given.push((letter, Some(value)));
                return Ok(());
            } else {
                // A letter that is not ASCII is several bytes: show it whole.
                let rest = String::from_utf8_lossy(&cluster[at..]).into_owned();
                let shown = rest.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
                return Err(unknown(tool, &format!("-{shown}")));
            }
        }
        Ok(())
    }
}

fn help(tool: Tool) -> String {
    format!("{} -h lists the options", tool.name())
}

fn unknown(tool: Tool, option: &str) -> Error {
    Error::usage("unknown-option", format!("unknown option \"{option}\"")).help(help(tool))
}

fn lacks_value(tool: Tool, letter: Letter) -> Error {
    Error::usage("value-missing", format!("option \"{letter}\" needs a value")).help(help(tool))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: Known = Known {
        plain: "cCd",
        valued: "np",
        long: &[("raw", 'r'), ("interval", 'I')],
        stops_at_operand: false,
    };

    fn read(words: &[&str]) -> Result<Words> {
        KNOWN.read(Tool::Zcc, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    fn flat(words: &[&str]) -> String {
        let words = read(words).unwrap();
        let given = words.given.iter().map(|(letter, value)| match value {
            Some(value) => format!("{letter}={}", value.to_string_lossy()),
            None => letter.to_string(),
        });
        let operands = words.operands.iter().map(|word| word.to_string_lossy().into_owned());
        given.chain(operands).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn letters_come_alone_in_clusters_and_after_operands() {
        for (words, as_read) in [
            (&["-cC"][..], "-c -C"),
            (&["-c", "-C"], "-c -C"),
            (&["-dddn100", "a", "-p", "1"], "-d -d -d -n=100 -p=1 a"),
            (&["a", "b", "-n100"], "-n=100 a b"),
            (&["-n", "-5"], "-n=-5"),
            (&["-n", "100", "--", "-c"], "-n=100 -c"),
            (&["-", "--raw"], "--raw -"),
            (&["--interval=0.5", "--interval", "2"], "--interval=0.5 --interval=2"),
        ] {
            assert_eq!(flat(words), as_read, "{words:?}");
        }
    }

    #[test]
    fn an_unknown_option_is_an_error_that_names_its_letter() {
        for (words, id, named) in [
            (&["-x"][..], "unknown-option", "\"-x\""),
            (&["-cx"], "unknown-option", "\"-x\""),
            (&["-é"], "unknown-option", "\"-é\""),
            (&["-n"], "value-missing", "\"-n\""),
            (&["-cn"], "value-missing", "\"-n\""),
            (&["--interval"], "value-missing", "\"--interval\""),
            (&["--raw=1"], "unexpected-value", "\"--raw\""),
            (&["--frob"], "unknown-option", "\"--frob\""),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.id == id && error.message.contains(named), "{error:?}");
            assert_eq!(error.help.as_deref(), Some("zcc -h lists the options"));
        }
    }

    #[test]
    fn a_command_s_own_options_are_left_alone() {
        let known = Known { stops_at_operand: true, ..KNOWN };
        let words: Vec<OsString> =
            ["-d", "ls", "-d", "--", "-x"].iter().map(OsString::from).collect();
        let read = known.read(Tool::RunRr, &words).unwrap();
        assert_eq!(read.given.len(), 1);
        assert_eq!(read.operands, &words[1..]);
    }

    proptest! {
        #[test]
        fn no_words_panic(
            words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..6),
        ) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
            let _ = KNOWN.read(Tool::Zcc, &words);
        }
    }
}
