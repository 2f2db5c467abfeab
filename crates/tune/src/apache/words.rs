//! Words of a line, as Apache splits and quotes them (`ap_getword_conf` and `substring_conf` in
//! <https://github.com/apache/httpd/blob/2.4.x/server/util.c>).

/// A space to Apache: `isspace()` of C.
pub(super) fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// A text without the spaces around it.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Takes the first word off a text, with the spaces behind it. At the end it is empty.
///
/// A quote ends at the next one or at the end of the text. A backslash escapes a quote, where the
/// word is in quotes, and a backslash anywhere.
pub(super) fn take_word(rest: &mut &str) -> String {
    take(rest).0
}

/// The same, and whether the word's quote, if it has one, has an end.
fn take(rest: &mut &str) -> (String, bool) {
    let text = rest.trim_start_matches(is_space);
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''));
    let body = &text[usize::from(quote.is_some())..];
    let mut word = String::new();
    let mut letters = body.char_indices().peekable();
    let mut end = body.len();
    let mut is_whole = quote.is_none();
    while let Some((at, letter)) = letters.next() {
        match (letter, letters.peek()) {
            (letter, _) if Some(letter) == quote => {
                (end, is_whole) = (at + 1, true);
                break;
            }
            (letter, _) if quote.is_none() && is_space(letter) => {
                end = at;
                break;
            }
            ('\\', Some(&(_, next))) if next == '\\' || Some(next) == quote => {
                word.push(next);
                letters.next();
            }
            _ => word.push(letter),
        }
    }
    *rest = body[end..].trim_start_matches(is_space);
    (word, is_whole)
}

/// Whether a quote in a text has no end.
pub(super) fn has_open_quote(text: &str) -> bool {
    let mut rest = trimmed(text);
    while !rest.is_empty() {
        if !take(&mut rest).1 {
            return true;
        }
    }
    false
}

/// All words of a text.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut rest = trimmed(text);
    let mut out = Vec::new();
    while !rest.is_empty() {
        out.push(take_word(&mut rest));
    }
    out
}

/// A word as Apache reads it back.
pub(super) fn quoted(word: &str) -> String {
    let is_special = |letter: char| is_space(letter) || matches!(letter, '"' | '\'' | '\\');
    if !word.is_empty() && !word.contains(is_special) && !word.starts_with('#') {
        return word.to_owned();
    }
    let mut out = String::with_capacity(word.len() + 2);
    out.push('"');
    for letter in word.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
    out
}

/// Words as one text.
pub(super) fn joined<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_apache_splits_them() {
        for (text, expected) in [
            (" a  b\t", &["a", "b"][..]),
            ("\"a b\" 'c \"d'", &["a b", "c \"d"]),
            (r#""%h \"%r\"" x"#, &["%h \"%r\"", "x"]),
            (r"a\\b c\d", &[r"a\b", r"c\d"]),
            (r"'it\'s'", &["it's"]),
            ("\"open end", &["open end"]),
            ("\"a\"b", &["a", "b"]),
            ("a\"b c\"", &["a\"b", "c\""]),
            ("\"\" a", &["", "a"]),
            ("ä\u{a0}b", &["ä\u{a0}b"]),
            (r"a\", &[r"a\"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_quoted_is_read_back(words in proptest::collection::vec("[a#\"' \\\\${}\t<>é]{0,6}", 0..5)) {
            let text = joined(&words);
            assert_eq!(super::words(&text), words, "{text}");
        }

        #[test]
        fn any_text_has_words(text in "\\PC{0,40}") {
            words(&text);
        }
    }
}
