//! A word as it is written, so that Caddy reads the same word.

/// The word, in backticks or quotes where it has to be.
pub(super) fn quoted(word: &str) -> String {
    let is_bare = !word.is_empty()
        && !word.starts_with(['#', '"', '`', '<'])
        && !word.contains(|c: char| c.is_whitespace() || matches!(c, '\\' | '\0'))
        && !matches!(word, "{" | "}" | "{}");
    match is_bare {
        true => word.to_owned(),
        // Nothing is escaped in backticks.
        false if !word.contains('`') => format!("`{word}`"),
        // And in quotes nothing but these.
        false => format!("\"{}\"", word.replace('"', "\\\"")),
    }
}

/// Words as a line.
pub(super) fn joined<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::lex::words;
    use super::*;

    proptest! {
        // Quotes end with a backslash in no way that Caddy reads.
        #[test]
        fn a_quoted_word_is_read_as_the_same(text in "[ \n\"`#{}<a\u{e4}]{0,12}|[ \\\\\"{}a]{0,12}") {
            let found = words(&format!("x {} y", quoted(&text)), &BTreeMap::new()).unwrap();
            prop_assert_eq!(found.len(), 3);
            prop_assert_eq!(&found[1].text, &text);
            let is_brace = ["{", "}"].iter().any(|brace| found[1].is_brace(brace));
            prop_assert!(!is_brace);
        }
    }
}
