//! Text from outside (file names, host names, reasons, arguments), made safe to print: control
//! characters would let a file name move the cursor, recolour the screen or forge a second line of
//! output.

use std::fmt::Write as _;

/// `text` with every control and direction-changing character as `\u{..}`, cut at `most` characters
/// with `...`.
pub fn escape(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    for (index, character) in text.chars().enumerate() {
        if index == most {
            out.push_str("...");
            break;
        }
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character if !is_safe(character) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out
}

/// Whether a character can be printed without an effect on other text.
pub fn is_safe(character: char) -> bool {
    !character.is_control() && !redirects(character)
}

/// Line separators, and the bidirectional and invisible format characters that make text look like
/// other text.
fn redirects(character: char) -> bool {
    matches!(
        character,
        '\u{061c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(escape("a\u{1b}[2Jb\nc\u{7}", 80), "a\\u{1b}[2Jb\\nc\\u{7}");
        assert_eq!(escape("\u{202e}gpj.exe", 80), "\\u{202e}gpj.exe");
        assert_eq!(escape("\u{9b}2J", 80), "\\u{9b}2J");
    }

    #[test]
    fn ordinary_text_of_any_language_stays_as_it_is() {
        assert_eq!(escape("Größe 文件 «é»", 80), "Größe 文件 «é»");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(escape("abcdef", 3), "abc...");
        assert_eq!(escape("abc", 3), "abc");
    }
}
