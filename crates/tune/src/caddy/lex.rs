//! Words of a Caddyfile, as Caddy's lexer has them
//! (<https://github.com/caddyserver/caddy/blob/v2.9.1/caddyconfig/caddyfile/lexer.go>): separated
//! by spaces, in quotes, in backticks or behind `<<MARKER`, with variables of the environment
//! replaced before anything else.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::Chars;

/// What begins a variable.
const OPEN: &str = "{$";

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// It is written in quotes, so a brace in it opens nothing.
    pub(super) is_quoted: bool,
    /// Its line, from 1.
    pub(super) line: u32,
    /// The line on which it ends.
    pub(super) last_line: u32,
    /// Where it stands, with its quotes.
    pub(super) bytes: Range<usize>,
}

/// Why a text has no words, and on which line.
pub(super) type Fault = (u32, &'static str);

impl Word {
    /// Whether it opens or closes a block: `{` or `}` without quotes.
    pub(super) fn is_brace(&self, brace: &str) -> bool {
        !self.is_quoted && self.text == brace
    }
}

/// The letters of a text with variables replaced: `{$NAME}`, `{$NAME:default}`.
struct Letters<'a> {
    text: &'a str,
    variables: &'a BTreeMap<String, String>,
    /// The offset behind what was read last, and that of its beginning.
    at: usize,
    from: usize,
    /// What is left of a variable's value.
    value: Chars<'a>,
    /// No variable follows, as nothing ends one.
    is_plain: bool,
}

impl<'a> Letters<'a> {
    /// The variable that begins where the text goes on: its value, and its length in the text.
    fn variable(&mut self) -> Option<(&'a str, usize)> {
        let rest = &self.text[self.at..];
        if self.is_plain || !rest.starts_with(OPEN) {
            return None;
        }
        let Some(end) = rest.find('}') else {
            self.is_plain = true;
            return None;
        };
        let inside = &rest[OPEN.len()..end];
        if inside.is_empty() {
            return None;
        }
        let (name, default) = inside.split_once(':').unwrap_or((inside, ""));
        let value = self.variables.get(name).map_or(default, String::as_str);
        Some((value, end + 1))
    }

    fn next(&mut self) -> Option<char> {
        loop {
            if let Some(letter) = self.value.next() {
                return Some(letter);
            }
            self.from = self.at;
            let Some((value, length)) = self.variable() else { break };
            self.value = value.chars();
            self.at += length;
        }
        let letter = self.text[self.at..].chars().next()?;
        self.at += letter.len_utf8();
        Some(letter)
    }
}

/// The variables of a text that have neither a value nor a default.
pub(super) fn unset<'t>(
    text: &'t str,
    variables: &BTreeMap<String, String>,
) -> impl Iterator<Item = &'t str> {
    const LONGEST: usize = 100;
    text.match_indices(OPEN).filter_map(|(at, _)| {
        let rest = &text[at + OPEN.len()..];
        let name = &rest[..rest.bytes().take(LONGEST).position(|byte| byte == b'}')?];
        let is_known = name.is_empty() || name.contains(':') || variables.contains_key(name);
        (!is_known).then_some(name)
    })
}

/// What a word is in.
#[derive(Debug, Clone, PartialEq, Eq)]
enum In {
    Nothing,
    Quotes(char),
    /// A heredoc with this marker.
    Here(String),
}

const QUOTE: &str = "a quote has no end";
const HERE: &str = "\"<<\" has no end";
const MARKER: &str = "behind \"<<\" there has to be a marker, such as \"<<END\"";
const PADDING: &str = "a line behind \"<<\" is indented by less than its end";

/// The words of a text. `Err`: where it has none, and why.
pub(super) fn words(text: &str, variables: &BTreeMap<String, String>) -> Result<Vec<Word>, Fault> {
    let mut letters =
        Letters { text, variables, at: 0, from: 0, value: "".chars(), is_plain: false };
    if text.starts_with('\u{feff}') {
        letters.at = '\u{feff}'.len_utf8();
    }
    let mut out = Vec::new();
    let mut line = 1;
    // Lines that a backslash joined to the one before.
    let mut joined = 0;
    while let Some(word) = word(&mut letters, &mut line, &mut joined)? {
        out.push(word);
    }
    Ok(out)
}

/// The next word.
fn word(
    letters: &mut Letters<'_>,
    line: &mut u32,
    joined: &mut u32,
) -> Result<Option<Word>, Fault> {
    let mut text = String::new();
    let mut inside = In::Nothing;
    let (mut is_comment, mut is_escaped) = (false, false);
    // A "<" behind a backslash begins no heredoc.
    let mut is_plain = false;
    let (mut start, mut first_line) = (0, *line);
    loop {
        let before = letters.at;
        let made = |text: String, is_quoted, last_line, end| {
            Ok(Some(Word { text, is_quoted, line: first_line, last_line, bytes: start..end }))
        };
        let Some(letter) = letters.next() else {
            return match inside {
                In::Nothing if text.is_empty() => Ok(None),
                In::Nothing => made(text, false, *line, before),
                In::Quotes(_) => Err((first_line, QUOTE)),
                In::Here(_) => Err((first_line, HERE)),
            };
        };
        match &inside {
            In::Quotes(quote) => {
                if *quote == '"' && is_escaped {
                    // Nothing but the quote is escaped.
                    if letter != '"' {
                        text.push('\\');
                    }
                    is_escaped = false;
                } else if *quote == '"' && letter == '\\' {
                    is_escaped = true;
                    continue;
                } else if letter == *quote {
                    return made(text, true, *line, letters.at);
                }
                if letter == '\n' {
                    *line += 1 + std::mem::take(joined);
                }
                text.push(letter);
                continue;
            }
            In::Here(marker) => {
                text.push(letter);
                if letter == '\n' {
                    *line += 1;
                }
                if text.ends_with(marker.as_str()) {
                    let text = without_padding(&text, marker).ok_or((first_line, PADDING))?;
                    return made(text, true, *line, letters.at);
                }
                continue;
            }
            In::Nothing => {}
        }
        if text.len() > 2 && text.starts_with("<<") && !is_plain && letter != ' ' {
            match letter {
                '\r' => {}
                '\n' => {
                    let of_marker = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
                    if !text[2..].chars().all(of_marker) {
                        return Err((first_line, MARKER));
                    }
                    *line += 1;
                    inside = In::Here(text.split_off(2));
                    text.clear();
                }
                letter => text.push(letter),
            }
            continue;
        }
        if letter == '\\' && !is_escaped {
            is_escaped = true;
            if text.is_empty() {
                (start, first_line) = (letters.from, *line);
            }
            continue;
        }
        if letter.is_whitespace() {
            let last_line = *line;
            if letter == '\n' {
                is_comment = false;
                match std::mem::take(&mut is_escaped) {
                    true => *joined += 1,
                    false => *line += 1 + std::mem::take(joined),
                }
            }
            if !text.is_empty() && letter != '\r' {
                return made(text, false, last_line, letters.from);
            }
            continue;
        }
        is_comment |= letter == '#' && text.is_empty() && !is_escaped;
        if is_comment {
            continue;
        }
        if text.is_empty() && !is_escaped {
            (start, first_line) = (letters.from, *line);
            if matches!(letter, '"' | '`') {
                inside = In::Quotes(letter);
                continue;
            }
        }
        if std::mem::take(&mut is_escaped) {
            match letter {
                '<' => is_plain = true,
                _ => text.push('\\'),
            }
        }
        text.push(letter);
    }
}

/// The lines of a heredoc without the spaces that stand before its end, and without that. `None`: a
/// line does not begin with these.
fn without_padding(text: &str, marker: &str) -> Option<String> {
    let body = text.strip_suffix(marker)?;
    let (lines, padding) = body.rsplit_once('\n').unwrap_or(("", body));
    let lines = lines.split('\n').map(|line| line.trim_end_matches('\r'));
    let lines =
        lines.map(|line| if line.is_empty() { Some("") } else { line.strip_prefix(padding) });
    Some(lines.collect::<Option<Vec<&str>>>()?.join("\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variables() -> BTreeMap<String, String> {
        [("A", "x y"), ("PORT", "80"), ("B", "{$A}")]
            .map(|(name, value)| (name.into(), value.into()))
            .into()
    }

    fn lexed(text: &str) -> Vec<Word> {
        words(text, &variables()).unwrap()
    }

    #[test]
    fn words_are_those_of_caddy() {
        for (text, expected) in [
            ("root * /srv  # all\n", &["root", "*", "/srv"][..]),
            ("a\"b c#d", &["a\"b", "c#d"]),
            ("respond \"a \\\"b\\\" \\n\" `c \"d\\`", &["respond", "a \"b\" \\n", "c \"d\\"]),
            ("a \\\n  b\nc", &["a", "b", "c"]),
            (
                "{$PORT} :{$PORT} {$NONE:81} {$NONE}x {$A} \"{$A}\" {$B} {$}",
                &["80", ":80", "81", "x", "x", "y", "x y", "{$A}", "{$}"],
            ),
            ("{$open", &["{$open"]),
            ("a <<END\n  b\n   c\n\n  END d", &["a", "b\n c\n", "d"]),
            ("<<E\nE", &[""]),
            ("\\<<END x \\y", &["<<END", "x", "\\y"]),
            ("\u{feff}a\r\n\r\nb\r\n", &["a", "b"]),
            ("\"\" x", &["", "x"]),
            ("# only\n", &[]),
            ("", &[]),
        ] {
            let found: Vec<String> = lexed(text).into_iter().map(|word| word.text).collect();
            assert_eq!(found, expected, "{text}");
        }
        for (text, line, why) in [
            ("a\n\"b\n", 2, QUOTE),
            ("`", 1, QUOTE),
            ("<<E\nx\n", 1, HERE),
            ("<<a.b\nx\n", 1, MARKER),
            ("<<E\nx\n  E", 1, PADDING),
        ] {
            assert_eq!(words(text, &variables()), Err((line, why)), "{text}");
        }
    }

    #[test]
    fn a_variable_without_a_value_and_a_default_is_known() {
        let text = "{$A} {$B:x} {$ONE}:{$C:} {$} {$TWO} {$";
        assert_eq!(unset(text, &variables()).collect::<Vec<_>>(), ["ONE", "TWO"]);
    }

    #[test]
    fn a_word_knows_its_lines_and_bytes() {
        let text = "a {$PORT}\n\"b\nc\" `d` \\\n e <<E\n f\n E\ng";
        let found: Vec<(u32, u32, &str)> = lexed(text)
            .into_iter()
            .map(|word| (word.line, word.last_line, &text[word.bytes]))
            .collect();
        assert_eq!(
            found,
            [
                (1, 1, "a"),
                (1, 1, "{$PORT}"),
                (2, 3, "\"b\nc\""),
                (3, 3, "`d`"),
                (3, 3, "e"),
                (3, 5, "<<E\n f\n E"),
                (7, 7, "g"),
            ]
        );
        let braces = lexed("{ \"{\" } x{");
        assert!(braces[0].is_brace("{") && !braces[1].is_brace("{") && braces[2].is_brace("}"));
        assert!(!braces[3].is_brace("{"));
    }

    proptest! {
        #[test]
        fn any_text_has_words_or_a_fault(text in "[ \n\\\\\"`<E#${}:A\u{e4}-]{0,40}") {
            if let Ok(found) = words(&text, &variables()) {
                for word in found {
                    prop_assert!(text.get(word.bytes).is_some());
                }
            }
        }
    }
}
