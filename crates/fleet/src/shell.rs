//! Words of a POSIX shell.

/// A word that a shell reads as this text, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+=:,./@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    zc_run::shell_word(text)
}

/// Words, each as a shell reads it, with spaces between them.
pub(super) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_one_word_to_a_shell() {
        for text in ["", "a b", "it's", "$(id)", "a\nb", "plain", "-x=1", "*", "`id`", "~"] {
            let script = format!("printf %s {}", quoted(text));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        }
        assert_eq!(words(["zc", "run", "--paths", "a b"]), "zc run --paths 'a b'");
    }
}
