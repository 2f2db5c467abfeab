//! The words of a line, as HAProxy splits it (`parse_line` in
//! <https://github.com/haproxy/haproxy/blob/v2.6.0/src/tools.c>; section 2.2 and 2.3 of the
//! manual): quotes, escapes, comments, and variables of the environment in double quotes.

use std::collections::BTreeMap;
use std::ops::Range;

/// The words of one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) words: Vec<String>,
    /// The bytes of the line from its first word to the end of its last.
    pub(super) bytes: Range<usize>,
}

/// Why a line has no words, as HAProxy says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad(pub(super) &'static str);

const QUOTE: Bad = Bad("a quote has no end");
const HEX: Bad = Bad("\"\\x\" needs two hexadecimal digits");
const NAME: Bad = Bad("a variable has no name");
const BRACE: Bad = Bad("\"${\" has no \"}\"");

/// Splits a line, which may have its end.
pub(super) fn split(
    line: &str,
    variables: &BTreeMap<String, String>,
) -> std::result::Result<Split, Bad> {
    let mut splitter =
        Splitter { rest: line, at: 0, variables, out: Split::default(), word: None, quote: None };
    while splitter.step()? {}
    match splitter.quote {
        Some(_) => Err(QUOTE),
        None => Ok(splitter.out),
    }
}

/// How far a line is split.
struct Splitter<'a> {
    rest: &'a str,
    at: usize,
    variables: &'a BTreeMap<String, String>,
    out: Split,
    /// The word that has begun.
    word: Option<String>,
    quote: Option<char>,
}

impl Splitter<'_> {
    /// Takes some bytes off the rest.
    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn push(&mut self, text: &str) {
        self.begin();
        self.word.get_or_insert_default().push_str(text);
    }

    fn begin(&mut self) {
        if self.word.is_none() {
            if self.out.words.is_empty() {
                self.out.bytes = self.at..self.at;
            }
            self.word = Some(String::new());
        }
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.out.words.push(word);
            self.out.bytes.end = self.at;
        }
    }

    /// Takes the next letter; false: the line ends.
    fn step(&mut self) -> std::result::Result<bool, Bad> {
        let Some(letter) = self.rest.chars().next().filter(|it| !matches!(it, '\0' | '\n' | '\r'))
        else {
            self.end_word();
            return Ok(false);
        };
        match (letter, self.quote) {
            ('#', None) => {
                self.end_word();
                return Ok(false);
            }
            ('"' | '\'', None) => {
                self.begin();
                self.quote = Some(letter);
                self.skip(1);
            }
            (letter, Some(quote)) if letter == quote => {
                self.quote = None;
                self.skip(1);
            }
            ('\\', None | Some('"')) => self.escape()?,
            ('$', Some('"')) => self.variable()?,
            (letter, None) if is_space(letter) => {
                self.end_word();
                self.skip(1);
            }
            (letter, _) => {
                let mut bytes = [0; 4];
                self.push(letter.encode_utf8(&mut bytes));
                self.skip(letter.len_utf8());
            }
        }
        Ok(true)
    }

    /// What is behind a backslash; what is no escape stays.
    fn escape(&mut self) -> std::result::Result<(), Bad> {
        let (text, bytes) = match self.rest.as_bytes().get(1) {
            Some(b' ') => (" ", 2),
            Some(b'\\') => ("\\", 2),
            Some(b't') => ("\t", 2),
            Some(b'n') => ("\n", 2),
            Some(b'r') => ("\r", 2),
            Some(b'#') => ("#", 2),
            Some(b'\'') => ("'", 2),
            Some(b'"') => ("\"", 2),
            Some(b'$') => ("$", 2),
            Some(b'x') => {
                let digits = self.rest.get(2..4).ok_or(HEX)?;
                let byte = u8::from_str_radix(digits, 16).map_err(|_| HEX)?;
                let mut bytes = [0; 4];
                self.push(char::from(byte).encode_utf8(&mut bytes));
                self.skip(4);
                return Ok(());
            }
            _ => ("\\", 1),
        };
        self.push(text);
        self.skip(bytes);
        Ok(())
    }

    /// A variable: `$NAME`, `${NAME}`, `${NAME-default}`.
    fn variable(&mut self) -> std::result::Result<(), Bad> {
        let text = &self.rest[1..];
        let (has_brace, text) = match text.strip_prefix('{') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let is_first = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | '.');
        if !text.starts_with(is_first) {
            return Err(NAME);
        }
        let is_inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = text[1..].find(|letter| !is_inside(letter)).map_or(text.len(), |end| end + 1);
        let (name, behind) = text.split_at(end);
        let (default, behind) = match behind.strip_prefix('-').filter(|_| has_brace) {
            Some(rest) => rest.split_at(rest.find('}').ok_or(BRACE)?),
            None => ("", behind.strip_prefix("[*]").filter(|_| has_brace).unwrap_or(behind)),
        };
        let behind = match has_brace {
            true => behind.strip_prefix('}').ok_or(BRACE)?,
            false => behind,
        };
        let bytes = self.rest.len() - behind.len();
        let value = self.variables.get(name).map_or(default, String::as_str).to_owned();
        self.push(&value);
        self.skip(bytes);
        Ok(())
    }
}

/// As isspace(3) has it.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\u{b}' | '\u{c}')
}

/// Words as a line that HAProxy splits into the same words.
pub(super) fn joined<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if word.is_empty() {
        return "\"\"".to_owned();
    }
    let mut out = String::with_capacity(word.len());
    for letter in word.chars() {
        match letter {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{b}' => out.push_str("\\x0b"),
            '\u{c}' => out.push_str("\\x0c"),
            '\0' => out.push_str("\\x00"),
            ' ' | '\\' | '"' | '\'' | '#' => {
                out.push('\\');
                out.push(letter);
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variables() -> BTreeMap<String, String> {
        [("A", "x y"), ("PORT", "80")].map(|(name, value)| (name.into(), value.into())).into()
    }

    fn words(line: &str) -> Vec<String> {
        split(line, &variables()).unwrap().words
    }

    #[test]
    fn lines_are_split_as_haproxy_splits_them() {
        for (line, expected) in [
            ("  bind :80  # all\n", &["bind", ":80"][..]),
            ("acl a path \"/a b\" '/c # \"d\"'\r\n", &["acl", "a", "path", "/a b", "/c # \"d\""]),
            ("a\\ b\\#c \\q \\\\ \\\"", &["a b#c", "\\q", "\\", "\""]),
            ("bind \":${PORT}\" \"$A\" $A '$A'", &["bind", ":80", "x y", "$A", "$A"]),
            ("\"${NONE-a b}\" \"${NONE}\" \"${PORT-1}\"", &["a b", "", "80"]),
            ("\"\" x", &["", "x"]),
            ("a\"b c\"d", &["ab cd"]),
            ("\\x41\\t", &["A\t"]),
            ("# comment", &[]),
            ("", &[]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
        for (line, bad) in
            [("a \"b", QUOTE), ("'", QUOTE), ("\\x4", HEX), ("\"$ \"", NAME), ("\"${A\"", BRACE)]
        {
            assert_eq!(split(line, &variables()), Err(bad), "{line}");
        }
    }

    #[test]
    fn a_line_s_bytes_are_those_of_its_words() {
        for (line, text) in [("\t bind :80 # x\n", "bind :80"), ("\"a b\" ", "\"a b\""), (" ", "")]
        {
            assert_eq!(&line[split(line, &variables()).unwrap().bytes], text);
        }
    }

    proptest! {
        #[test]
        fn joined_words_are_split_into_the_same(all in prop::collection::vec("[^\0]{0,9}", 1..5)) {
            prop_assert_eq!(words(&joined(&all)), all);
        }

        #[test]
        fn any_line_is_split_or_refused(line in "[ \\\\\"'$#{}xA\u{e4}-]{0,30}") {
            let _ = split(&line, &variables());
        }
    }
}
