//! Parts of a report between its heading and its notes, for the terminal and for Markdown.

use super::layout::Layout;
use super::table::Grid;
use crate::markdown::Width;
use crate::text::wrap;

pub(crate) enum Part {
    /// A table under its caption.
    Table {
        caption: String,
        /// The number of key columns, which are repeated where the table is split.
        keys: usize,
        grid: Grid,
    },
    /// Sentences, each on a line of its own.
    Text(Vec<String>),
    /// Preformatted lines in another program's format, under a caption.
    Lines { caption: String, lines: Vec<String> },
}

impl Part {
    /// Renders for a terminal, within `layout.columns` where the content can be broken.
    pub(crate) fn terminal(&self, layout: Layout) -> String {
        let columns = layout.columns;
        match self {
            Self::Table { caption, keys, grid } => {
                let grids = grid
                    .clone()
                    .split(*keys, columns)
                    .into_iter()
                    .map(|grid| grid.terminal(layout));
                wrap("", caption, 0, columns) + &grids.collect::<Vec<_>>().join("\n")
            }
            Self::Text(sentences) => {
                sentences.iter().map(|sentence| wrap("", sentence, 0, columns)).collect()
            }
            Self::Lines { caption, lines } => {
                wrap("", caption, 0, columns)
                    + &lines.iter().map(|line| format!("{line}\n")).collect::<String>()
            }
        }
    }

    pub(crate) fn markdown(&self, width: Width) -> String {
        match self {
            Self::Table { caption, keys, grid } => {
                format!("{}\n{}", width.paragraph(caption), width.table(*keys, grid.clone()))
            }
            Self::Text(sentences) => {
                sentences.iter().map(|sentence| width.item(sentence)).collect()
            }
            Self::Lines { caption, lines } => {
                // Every line begins with a number or five spaces: none can end the fence.
                format!("{}\n```text\n{}\n```\n", width.paragraph(caption), lines.join("\n"))
            }
        }
    }
}
