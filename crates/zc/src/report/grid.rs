//! Columns of text, for the terminal and for Markdown.

use super::escape;

/// A column's two heading lines, and whether its cells stand to the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) head: [&'static str; 2],
    pub(super) left: bool,
}

/// A table: every row has as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Between two columns.
const GAP: usize = 2;

impl Grid {
    /// The columns it takes on a terminal.
    pub(super) fn columns_wide(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// For a terminal: two heading lines (one if the second is empty throughout), a rule, the rows.
    pub(super) fn terminal(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for line in 0..2 {
            if self.columns.iter().any(|column| !column.head[line].is_empty()) {
                self.line(&mut out, &widths, |index| self.columns[index].head[line]);
            }
        }
        out.push_str(&"─".repeat(self.columns_wide()));
        out.push('\n');
        for row in &self.rows {
            self.line(&mut out, &widths, |index| row.get(index).map_or("", String::as_str));
        }
        out
    }

    /// As a GitHub-flavoured Markdown table.
    pub(super) fn markdown(&self) -> String {
        let mut out = String::new();
        let heads = self.columns.iter().map(|column| {
            let [first, second] = column.head;
            [first, second].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        });
        out.push_str(&format!("| {} |\n", heads.collect::<Vec<_>>().join(" | ")));
        let rules: Vec<&str> = self.columns.iter().map(|column| if column.left { ":---" } else { "---:" }).collect();
        out.push_str(&format!("| {} |\n", rules.join(" | ")));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| markdown_text(cell)).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        out
    }

    fn line<'a>(&'a self, out: &mut String, widths: &[usize], cell: impl Fn(usize) -> &'a str) {
        let mut line = String::new();
        for (index, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            if index > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let text = cell(index);
            let fill = " ".repeat(width.saturating_sub(text.chars().count()));
            if column.left {
                line.push_str(text);
                line.push_str(&fill);
            } else {
                line.push_str(&fill);
                line.push_str(text);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }

    fn widths(&self) -> Vec<usize> {
        let head = |column: &Column| column.head.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let mut widths: Vec<usize> = self.columns.iter().map(head).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

/// Text that Markdown takes as text: no cell borders, no emphasis, no HTML.
pub(super) fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in escape(text, 2000).chars() {
        if matches!(character, '|' | '*' | '_' | '`' | '<' | '[' | '\\' | '#' | '~') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Words of `text` in lines of at most `columns`, the first after `label`, the others indented as far as `indent`.
pub(super) fn wrap(label: &str, text: &str, indent: usize, columns: usize) -> String {
    let room = columns.saturating_sub(indent).max(20);
    let mut out = format!("{label:<indent$}");
    let mut used = 0;
    for word in words(text) {
        let long = word.chars().count();
        if used > 0 && used + 1 + long > room {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += long;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The words of a text, a number and its unit as one.
fn words(text: &str) -> Vec<String> {
    const UNITS: &[&str] = &["%", "s", "ms", "us", "B", "kB", "MB", "GB", "B/s", "kB/s", "MB/s", "GB/s", "Hz"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(number)
                if number.ends_with(|c: char| c.is_ascii_digit())
                    && UNITS.contains(&word.trim_end_matches([',', ';', '.', ':', ')'])) =>
            {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid {
            columns: vec![Column { head: ["path", ""], left: true }, Column { head: ["both", "us/MB"], left: false }],
            rows: vec![vec!["a|b".to_owned(), "12 ±3".to_owned()], vec!["c".to_owned(), String::new()]],
        }
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(grid().terminal(), "path   both\n      us/MB\n───────────\na|b   12 ±3\nc\n");
        assert_eq!(grid().columns_wide(), 11);
    }

    #[test]
    fn markdown_cells_cannot_end_themselves() {
        assert_eq!(grid().markdown(), "| path | both us/MB |\n| :--- | ---: |\n| a\\|b | 12 ±3 |\n| c |  |\n");
    }

    #[test]
    fn words_wrap_under_their_label() {
        assert_eq!(
            wrap("note", "one two three four five six seven", 6, 26),
            "note  one two three four\n      five six seven\n"
        );
        assert_eq!(wrap("note", "", 6, 26), "note\n");
        assert_eq!(wrap("", "the budget of twenty 60 s, spent", 0, 23), "the budget of twenty\n60 s, spent\n");
    }
}
