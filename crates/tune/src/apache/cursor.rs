//! The lines of a file, as Apache joins them: a backslash right before a line's end goes on with
//! the next one (`ap_cfg_getline_core` in
//! <https://github.com/apache/httpd/blob/2.4.x/server/util.c>).

use std::ops::Range;

use super::words::is_space;

/// Where the reader of a file is.
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

/// One line, joined.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Joined {
    /// Without spaces at its ends.
    pub(super) text: String,
    /// The number of its first line, from 1.
    pub(super) line: u32,
    /// Its bytes in the file, without the spaces at its ends.
    pub(super) bytes: Range<usize>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 0 }
    }

    /// The offset after the line that was read last.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next line of the file, not joined, with its end.
    pub(super) fn physical(&mut self) -> Option<&'t str> {
        let physical = self.text[self.at..].split_inclusive('\n').next()?;
        self.at += physical.len();
        self.line = self.line.saturating_add(1);
        Some(physical)
    }
}

impl Iterator for Cursor<'_> {
    type Item = Joined;

    fn next(&mut self) -> Option<Joined> {
        let start = self.at;
        let mut text = String::new();
        let mut physical = self.physical()?;
        let line = self.line;
        loop {
            // Without its end the last line of a file goes on nowhere.
            let ended = physical.strip_suffix('\n');
            let bare = ended.map(|bare| bare.strip_suffix('\r').unwrap_or(bare));
            match bare.and_then(|bare| bare.strip_suffix('\\')) {
                None => {
                    text.push_str(bare.unwrap_or(physical));
                    break;
                }
                Some(bare) => text.push_str(bare),
            }
            match self.physical() {
                Some(next) => physical = next,
                None => break,
            }
        }
        let whole = &self.text[start..self.at];
        let begin = start + whole.len() - whole.trim_start_matches(is_space).len();
        let end = start + whole.trim_end_matches(is_space).len();
        let text = text.trim_matches(is_space).to_owned();
        Some(Joined { text, line, bytes: begin.min(end)..end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_at_backslashes() {
        let text = "A b \\\n  c\n# d \\\ne\r\n\nF g\\\\\r\nh\nI \\ \nlast\\";
        let lines: Vec<_> = Cursor::new(text).map(|line| (line.text, line.line)).collect();
        let expected =
            [("A b   c", 1), ("# d e", 3), ("", 5), ("F g\\h", 6), ("I \\", 8), ("last\\", 9)];
        assert_eq!(lines, expected.map(|(text, line)| (text.to_owned(), line)));
    }

    #[test]
    fn a_line_has_the_bytes_of_all_its_parts() {
        let text = "\n\t A b \\\n  c \nd";
        let lines: Vec<_> = Cursor::new(text).map(|line| &text[line.bytes]).collect();
        assert_eq!(lines, ["", "A b \\\n  c", "d"]);
    }
}
