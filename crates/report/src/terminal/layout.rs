//! Layout of a report for a terminal: width, extent and colours. Colours are SGR escapes (ECMA-48,
//! 8.3.117), which never count as width. Without colour there are no escapes.

/// The width of text that is not for a terminal: mail and commit messages are read in 80 columns,
/// and quoted.
pub const TEXT_COLUMNS: usize = 72;

/// The layout of a report for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Maximum length of lines where possible.
    pub columns: usize,
    /// The full report; otherwise the short one: what was measured, one table, the controls and the
    /// answer.
    pub verbose: bool,
    /// Whether verdicts are green, red and yellow, and headings dim.
    pub colour: bool,
}

impl Layout {
    /// The full report without colour.
    pub fn plain(columns: usize) -> Self {
        Self { columns, verbose: true, colour: false }
    }

    /// `text` in a tone if colour is on. Padding must be outside of the text.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
        } else {
            text.to_owned()
        }
    }
}

/// Meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Less,
    More,
    /// Unclear, withheld, or doubtful.
    Unclear,
    /// Headings and labels.
    Dim,
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
