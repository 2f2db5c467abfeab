//! What a report is made of between its heading and its notes, for the terminal and for Markdown.

use super::grid::Grid;
use super::layout::Layout;
use super::text::wrap;
use super::width::Width;

/// One piece of it.
pub(super) enum Part {
    /// A table under a line that says what it holds.
    Table {
        caption: String,
        /// Its first columns, which each grid begins with where it takes several.
        keys: usize,
        grid: Grid,
    },
    /// Sentences, each on a line of its own.
    Text(Vec<String>),
    /// Lines of another program's shape, as they are, under a line that says what they are.
    Lines { caption: String, lines: Vec<String> },
}

impl Part {
    /// In at most as many columns as there are where that is possible; what cannot be broken is as wide as it is.
    pub(super) fn terminal(&self, layout: Layout) -> String {
        let columns = layout.columns;
        match self {
            Self::Table { caption, keys, grid } => {
                let grids = grid.clone().split(*keys, columns).into_iter().map(|grid| grid.terminal(layout));
                wrap("", caption, 0, columns) + &grids.collect::<Vec<_>>().join("\n")
            }
            Self::Text(sentences) => sentences.iter().map(|sentence| wrap("", sentence, 0, columns)).collect(),
            Self::Lines { caption, lines } => {
                wrap("", caption, 0, columns) + &lines.iter().map(|line| format!("{line}\n")).collect::<String>()
            }
        }
    }

    pub(super) fn markdown(&self, width: Width) -> String {
        match self {
            Self::Table { caption, keys, grid } => {
                format!("{}\n{}", width.paragraph(caption), width.table(*keys, grid.clone()))
            }
            Self::Text(sentences) => sentences.iter().map(|sentence| width.item(sentence)).collect(),
            Self::Lines { caption, lines } => {
                // Every line begins with a number or five spaces: none can end the fence.
                format!("{}\n```text\n{}\n```\n", width.paragraph(caption), lines.join("\n"))
            }
        }
    }
}
