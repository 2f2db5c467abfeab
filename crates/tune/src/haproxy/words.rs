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

const QUOTE: &str = "a quote has no end";
const HEX: &str = "\"\\x\" needs two hexadecimal digits";
const NAME: &str = "a variable has no name";
const BRACE: &str = "\"${\" has no \"}\"";

/// Splits a line, which may have its end. `Err`: why it has no words.
pub(super) fn split(
    line: &str,
    variables: &BTreeMap<String, String>,
) -> Result<Split, &'static str> {
    let mut out = Split::default();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let at = line.len() - rest.len();
        rest = &rest[letter.len_utf8()..];
        match (letter, quote) {
            ('\0' | '\n' | '\r', _) | ('#', None) => break,
            (letter, None) if is_space(letter) => {
                out.words.extend(word.take());
                continue;
            }
            _ => {}
        }
        if word.is_none() && out.words.is_empty() {
            out.bytes.start = at;
        }
        let word = word.get_or_insert_default();
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.push(escaped(&mut rest)?),
            ('$', Some('"')) => word.push_str(variable(&mut rest, variables)?),
            (letter, _) => word.push(letter),
        }
        out.bytes.end = line.len() - rest.len();
    }
    out.words.extend(word);
    if quote.is_some() { Err(QUOTE) } else { Ok(out) }
}

/// What is behind a backslash; what is no escape stays, and so does the backslash.
fn escaped(rest: &mut &str) -> Result<char, &'static str> {
    let text = *rest;
    let (letter, bytes) = match text.chars().next() {
        Some(letter @ (' ' | '\\' | '#' | '\'' | '"' | '$')) => (letter, 1),
        Some('t') => ('\t', 1),
        Some('n') => ('\n', 1),
        Some('r') => ('\r', 1),
        Some('x') => {
            let byte = text.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
            (char::from(byte.ok_or(HEX)?), 3)
        }
        _ => ('\\', 0),
    };
    *rest = &text[bytes..];
    Ok(letter)
}

/// The value of a variable, of which the dollar is read: `$NAME`, `${NAME}`, `${NAME-default}`.
fn variable<'a>(
    rest: &mut &'a str,
    variables: &'a BTreeMap<String, String>,
) -> Result<&'a str, &'static str> {
    let all: &'a str = rest;
    let (has_brace, text) = match all.strip_prefix('{') {
        Some(text) => (true, text),
        None => (false, all),
    };
    let is_no_name = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    let (name, mut behind) = text.split_at(text.find(is_no_name).unwrap_or(text.len()));
    if name.is_empty() {
        return Err(NAME);
    }
    let mut default = "";
    if has_brace {
        let (inside, after) = behind.split_once('}').ok_or(BRACE)?;
        default = inside.strip_prefix('-').unwrap_or_default();
        behind = after;
    }
    *rest = behind;
    Ok(variables.get(name).map_or(default, String::as_str))
}

/// As isspace(3) has it.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\u{b}' | '\u{c}')
}

/// Words as a line that HAProxy splits into the same words.
pub(super) fn joined<S: AsRef<str>>(words: &[S]) -> String {
    let mut out = String::new();
    for word in words {
        let word = word.as_ref();
        if !out.is_empty() {
            out.push(' ');
        }
        if word.is_empty() {
            out.push_str("\"\"");
        }
        for letter in word.chars() {
            match letter {
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\u{b}' => out.push_str("\\x0b"),
                '\u{c}' => out.push_str("\\x0c"),
                ' ' | '\\' | '"' | '\'' | '#' => out.extend(['\\', letter]),
                letter => out.push(letter),
            }
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
