//! Layout of items, paragraphs and tables in a Markdown document of a given width.

use crate::terminal::table::Grid;
use crate::text::{markdown_text, wrap};

/// The width of a Markdown document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// One line per paragraph and tables as wide as they are: for rendering.
    Any,
    /// At most this many columns where possible, with aligned tables: for reading as text.
    Columns(usize),
}

impl Width {
    /// An item of a list.
    pub(super) fn item(self, text: &str) -> String {
        match self {
            Self::Any => format!("- {}\n", markdown_text(text)),
            Self::Columns(columns) => {
                escape_line_starts(&wrap("- ", &markdown_text(text), 2, columns - 1), 2)
            }
        }
    }

    pub(super) fn paragraph(self, text: &str) -> String {
        match self {
            Self::Any => markdown_text(text) + "\n",
            Self::Columns(columns) => {
                escape_line_starts(&wrap("", &markdown_text(text), 0, columns - 1), 0)
            }
        }
    }

    /// A table, split where needed, with its key columns in each part.
    pub(super) fn table(self, keys: usize, grid: Grid) -> String {
        match self {
            Self::Any => grid.markdown(),
            Self::Columns(columns) => {
                let tables = grid
                    .split_markdown(keys, columns)
                    .into_iter()
                    .map(|grid| grid.markdown_in_line());
                tables.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Escapes rewrapped lines that Markdown would read as the beginning of a list, quotation or rule.
fn escape_line_starts(text: &str, indent: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, line) in text.lines().enumerate() {
        let (margin, words) = line.split_at(line.len() - line.trim_start().len());
        let digits = words.chars().take_while(char::is_ascii_digit).count();
        out.push_str(margin);
        if place == 0 && indent > 0 {
            out.push_str(words); // the item's own mark
        } else if words.starts_with(['-', '+', '>', '=']) {
            out.push('\\');
            out.push_str(words);
        } else if digits > 0 && words[digits..].starts_with(['.', ')']) {
            out.push_str(&words[..digits]);
            out.push('\\');
            out.push_str(&words[digits..]);
        } else {
            out.push_str(words);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrapped_lines_begin_no_new_markdown_element() {
        let text = "- where there is nothing to say - and 12. of May 7) is > than = or + a\n";
        assert_eq!(
            escape_line_starts("a\n- b\n12. c\n3) d\n> e\n+ f\n=== g\n12.5 h\n", 0),
            "a\n\\- b\n12\\. c\n3\\) d\n\\> e\n\\+ f\n\\=== g\n12\\.5 h\n"
        );
        let item = Width::Columns(24).item(text.trim_end());
        assert!(item.starts_with("- \\- ") || item.starts_with("- - "), "{item}");
        assert!(item.lines().skip(1).all(|line| !line.trim_start().starts_with("- ")), "{item}");
        assert!(item.lines().all(|line| line.len() <= 24), "{item}");
    }
}
