//! Words of a POSIX shell.

/// A word that a shell reads as this text, whatever is in it.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_word_to_a_shell() {
        for text in ["", "a b", "it's $HOME", "$(id)", "a\nb", "'", "*", "`id`"] {
            let script = format!("printf %s {}", shell_word(text));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        }
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
    }
}
