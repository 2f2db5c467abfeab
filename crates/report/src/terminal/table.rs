//! Columns of text, for the terminal and for Markdown.

use std::collections::BTreeMap;

use super::layout::{Layout, Tone};
use crate::text::markdown_text;

/// A column's two heading lines, and whether it is left-aligned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) head: [String; 2],
    pub(crate) left: bool,
    /// The second line continues the word in the first one.
    broken: bool,
}

impl Column {
    /// A left-aligned column, for words.
    pub(crate) fn left(first: impl Into<String>, second: impl Into<String>) -> Self {
        Self { head: [first.into(), second.into()], left: true, broken: false }
    }

    /// A right-aligned column, for figures.
    pub(crate) fn right(first: impl Into<String>, second: impl Into<String>) -> Self {
        Self { head: [first.into(), second.into()], left: false, broken: false }
    }

    /// The heading in one line; a broken word is joined.
    pub(crate) fn name(&self) -> String {
        let [first, second] = &self.head;
        let (first, between) = match first.strip_suffix('-') {
            Some(part) if !self.broken && !second.is_empty() => (part, ""),
            _ if self.broken || first.ends_with('/') || first.is_empty() || second.is_empty() => {
                (first.as_str(), "")
            }
            _ => (first.as_str(), " "),
        };
        format!("{first}{between}{second}")
    }

    /// A column of figures under one name; a long name is broken after the `+` or `-` nearest to
    /// its middle.
    pub(crate) fn named(name: &str) -> Self {
        let long = name.chars().count();
        let off = |place: usize| {
            (2 * name.get(..place).map_or(0, |part| part.chars().count())).abs_diff(long)
        };
        let places = name.match_indices(['+', '-']).map(|(place, sign)| place + sign.len());
        match places.filter(|place| *place < name.len()).min_by_key(|place| off(*place)) {
            Some(place) if long > WHOLE => {
                let (first, second) = name.split_at(place);
                Self { broken: true, ..Self::right(first, second) }
            }
            _ => Self::right(name, ""),
        }
    }
}

/// A table: every row has as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
    /// The colours of cells on a terminal, by row and column.
    pub(crate) tones: BTreeMap<(usize, usize), Tone>,
}

/// Names up to this length are not broken.
const WHOLE: usize = 9;

/// Spaces between columns.
const GAP: usize = 2;

impl Grid {
    /// A table without colours.
    pub(crate) fn new(columns: Vec<Column>, rows: Vec<Vec<String>>) -> Self {
        Self { columns, rows, tones: BTreeMap::new() }
    }

    /// Its width on a terminal.
    pub(crate) fn columns_wide(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// Renders for a terminal: two heading lines (one if the second is empty), a rule in the full
    /// report, and the rows.
    pub(crate) fn terminal(&self, layout: Layout) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for line in 0..2 {
            if self.columns.iter().any(|column| !column.head[line].is_empty()) {
                self.line(&mut out, &widths, layout, |index| {
                    (&self.columns[index].head[line], Some(Tone::Dim))
                });
            }
        }
        if layout.verbose {
            out.push_str(&layout.paint(Tone::Dim, &"─".repeat(self.columns_wide())));
            out.push('\n');
        }
        for (place, row) in self.rows.iter().enumerate() {
            self.line(&mut out, &widths, layout, |index| {
                (
                    row.get(index).map_or("", String::as_str),
                    self.tones.get(&(place, index)).copied(),
                )
            });
        }
        out
    }

    /// Splits the table into grids that fit `width`, each with the first `keys` columns. A grid
    /// with a single column besides the keys stays as wide as it is.
    pub(crate) fn split(self, keys: usize, width: usize) -> Vec<Self> {
        let widths = self.widths();
        self.split_by(keys, &widths, GAP, width)
    }

    /// Like [`split`](Self::split), for aligned Markdown tables.
    pub(crate) fn split_markdown(self, keys: usize, width: usize) -> Vec<Self> {
        let widths = self.markdown_widths();
        // `| a | b |`: three characters between two columns, and two at either end.
        self.split_by(keys, &widths, 3, width.saturating_sub(4))
    }

    fn split_by(self, keys: usize, widths: &[usize], gap: usize, width: usize) -> Vec<Self> {
        let wide = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
        if wide <= width || self.columns.len() <= keys + 1 {
            return vec![self];
        }
        let fixed: usize = widths.iter().take(keys).map(|width| width + gap).sum();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut used = 0;
        for (index, wide) in widths.iter().enumerate().skip(keys) {
            match groups.last_mut() {
                Some(group) if used + gap + wide <= width => {
                    group.push(index);
                    used += gap + wide;
                }
                _ => {
                    groups.push(vec![index]);
                    used = fixed + wide;
                }
            }
        }
        let part = |group: Vec<usize>| {
            let places: Vec<usize> = (0..keys).chain(group).collect();
            let columns =
                places.iter().filter_map(|place| self.columns.get(*place).cloned()).collect();
            let pick = |row: &Vec<String>| {
                places.iter().map(|place| row.get(*place).cloned().unwrap_or_default()).collect()
            };
            let moved = self.tones.iter().filter_map(|((row, column), tone)| {
                let column = places.iter().position(|place| place == column)?;
                Some(((*row, column), *tone))
            });
            Self { columns, rows: self.rows.iter().map(pick).collect(), tones: moved.collect() }
        };
        groups.into_iter().map(part).collect()
    }

    /// The grid in a GitHub-flavoured Markdown table.
    pub(crate) fn markdown(&self) -> String {
        let mut out = String::new();
        out.push_str(&format!("| {} |\n", self.markdown_heads().join(" | ")));
        let rules: Vec<&str> =
            self.columns.iter().map(|column| if column.left { ":---" } else { "---:" }).collect();
        out.push_str(&format!("| {} |\n", rules.join(" | ")));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| markdown_text(cell)).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        out
    }

    /// Renders in Markdown with aligned columns.
    pub(crate) fn markdown_in_line(&self) -> String {
        let widths = self.markdown_widths();
        let line = |cells: Vec<String>| {
            let cells =
                cells.iter().zip(&self.columns).zip(&widths).map(|((cell, column), width)| {
                    let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
                    if column.left { format!("{cell}{fill}") } else { format!("{fill}{cell}") }
                });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rules = self.columns.iter().zip(&widths).map(|(column, width)| {
            let dashes = "-".repeat(width.saturating_sub(1));
            if column.left { format!(":{dashes}") } else { format!("{dashes}:") }
        });
        let mut out = line(self.markdown_heads());
        out.push_str(&line(rules.collect()));
        for row in &self.rows {
            out.push_str(&line(row.iter().map(|cell| markdown_text(cell)).collect()));
        }
        out
    }

    /// The headings in one line each.
    fn markdown_heads(&self) -> Vec<String> {
        self.columns.iter().map(|column| markdown_text(&column.name())).collect()
    }

    fn markdown_widths(&self) -> Vec<usize> {
        // A rule is at least a colon and three dashes.
        let mut widths: Vec<usize> =
            self.markdown_heads().iter().map(|head| head.chars().count().max(4)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(markdown_text(cell).chars().count());
            }
        }
        widths
    }

    fn line<'a>(
        &'a self,
        out: &mut String,
        widths: &[usize],
        layout: Layout,
        cell: impl Fn(usize) -> (&'a str, Option<Tone>),
    ) {
        let mut line = String::new();
        for (index, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            if index > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let (text, tone) = cell(index);
            let fill = " ".repeat(width.saturating_sub(text.chars().count()));
            let painted = tone.map_or_else(|| text.to_owned(), |tone| layout.paint(tone, text));
            let (first, second) = if column.left { (&painted, &fill) } else { (&fill, &painted) };
            line.push_str(first);
            line.push_str(second);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }

    fn widths(&self) -> Vec<usize> {
        let head = |column: &Column| {
            column.head.iter().map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.columns.iter().map(head).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid::new(
            vec![Column::left("path", ""), Column::right("both", "us/MB")],
            vec![vec!["a|b".to_owned(), "12 ±3".to_owned()], vec!["c".to_owned(), String::new()]],
        )
    }

    #[test]
    fn columns_line_up() {
        let plain = "path   both\n      us/MB\n───────────\na|b   12 ±3\nc\n";
        assert_eq!(grid().terminal(Layout::plain(80)), plain);
        assert_eq!(grid().columns_wide(), 11);
    }

    #[test]
    fn colours_take_no_width() {
        let mut grid = grid();
        grid.tones.insert((0, 1), Tone::More);
        grid.tones.insert((1, 0), Tone::Less);
        let text = grid.terminal(Layout { colour: true, ..Layout::plain(80) });
        assert!(
            text.contains("a|b   \u{1b}[31m12 ±3\u{1b}[0m\n\u{1b}[32mc\u{1b}[0m\n"),
            "{text:?}"
        );
        let bare = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[2m", "\u{1b}[0m"]
            .iter()
            .fold(text, |text, code| text.replace(code, ""));
        let plain: Vec<String> =
            grid.terminal(Layout::plain(80)).lines().map(str::to_owned).collect();
        assert_eq!(bare.lines().map(str::trim_end).collect::<Vec<_>>(), plain);
    }

    #[test]
    fn text_cannot_end_a_markdown_cell() {
        assert_eq!(
            grid().markdown(),
            "| path | both us/MB |\n| :--- | ---: |\n| a\\|b | 12 ±3 |\n| c |  |\n"
        );
    }

    #[test]
    fn columns_that_do_not_fit_continue_in_another_grid_with_the_same_keys() {
        let mut wide = Grid::new(
            ["key", "aaaa", "bbbb", "cccc"].map(|head| Column::right(head, "")).to_vec(),
            vec![["k", "1", "2", "3"].map(str::to_owned).to_vec()],
        );
        wide.tones.insert((0, 3), Tone::Less);
        let heads = |width| -> Vec<Vec<String>> {
            let grids = wide.clone().split(1, width);
            assert!(grids.iter().all(|grid| grid.columns_wide() <= width.max(9)));
            grids
                .into_iter()
                .map(|grid| grid.columns.into_iter().map(|column| column.head[0].clone()).collect())
                .collect()
        };
        assert_eq!(heads(21), [["key", "aaaa", "bbbb", "cccc"]]);
        assert_eq!(heads(20), [vec!["key", "aaaa", "bbbb"], vec!["key", "cccc"]]);
        assert_eq!(heads(0), [["key", "aaaa"], ["key", "bbbb"], ["key", "cccc"]]);
        assert_eq!(wide.clone().split(4, 0), vec![wide.clone()]);
        let tones: Vec<_> = wide
            .clone()
            .split(1, 0)
            .into_iter()
            .map(|grid| grid.tones.into_keys().next())
            .collect();
        assert_eq!(tones, [None, None, Some((0, 1))], "a colour goes with its column");
    }

    #[test]
    fn a_long_name_is_broken_in_its_middle() {
        let head = |name: &str| Column::named(name).head.join("|");
        assert_eq!(head("uring-send-zc-fixed"), "uring-send-|zc-fixed");
        assert_eq!(head("msg-zerocopy"), "msg-|zerocopy");
        assert_eq!(head("read+write"), "read+|write");
        assert_eq!(head("read+send"), "read+send|");
        assert_eq!(head("nothing to break in"), "nothing to break in|");
        assert_eq!(head("ends with a sign-"), "ends with a sign-|");
        let grid = Grid::new(vec![Column::named("read+write")], Vec::new());
        assert!(grid.markdown().starts_with("| read+write |\n"));
    }
}
