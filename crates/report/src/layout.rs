//! How a report for a terminal is laid out: how wide, how much of it, and in which colours. Colours
//! are SGR escapes (ECMA-48, 8.3.117) that never count as width; without colour not one escape is
//! written.

/// The layout of a report for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Lines are no longer than this where that is possible.
    pub columns: usize,
    /// Everything; else what was measured, one table, the controls and the answer.
    pub verbose: bool,
    /// Verdicts in green, red and yellow, headings dim.
    pub colour: bool,
}

impl Layout {
    /// Everything, without colour.
    pub fn plain(columns: usize) -> Self {
        Self { columns, verbose: true, colour: false }
    }

    /// `text` in a tone where there is colour. The text must be padded outside.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
        } else {
            text.to_owned()
        }
    }
}

/// What a colour stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It costs less.
    Less,
    /// It costs more.
    More,
    /// Unclear, withheld, or doubtful.
    Unclear,
    /// Headings and labels.
    Dim,
    /// The answer.
    Answer,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Less => "32",
            Self::More => "31",
            Self::Unclear => "33",
            Self::Dim => "2",
            Self::Answer => "1",
        }
    }
}
