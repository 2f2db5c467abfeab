//! A text as a word of a POSIX shell.

/// A word in single quotes that a shell reads as this text, whatever is in it.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_the_shell_stays_one() {
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
    }
}
