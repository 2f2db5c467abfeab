//! The lines that a tuning is about, and what has come of each.

/// A line that may be changed. Its place among all lines is the index in the name of its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line to try: `tcp_nopush off`.
    pub name: String,
    /// What is in effect now: `tcp_nopush on`.
    pub present: String,
    /// What the line sets, the same for two lines that exclude each other: `tcp_nopush`.
    pub sets: String,
    /// Why it may matter, in a sentence.
    pub reason: String,
    /// Where it is documented.
    pub reference: String,
    /// What has come of it.
    pub fate: Fate,
}

/// What has come of a line before anything was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is a state of the screening run.
    Tried,
    /// It was not tried.
    NotTried {
        /// Why, as a part of a sentence.
        why: String,
    },
    /// The server refused the configuration.
    Refused {
        /// The server's words.
        words: String,
    },
    /// The responses were not those of the present state, or the server ended.
    Broke {
        /// How, as a part of a sentence.
        how: String,
    },
}

/// The indices in their order, of lines that set the same only the first.
pub(super) fn first_of_each(
    lines: &[Line],
    ordered: impl IntoIterator<Item = usize>,
) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for index in ordered {
        if chosen.iter().all(|at| lines[*at].sets != lines[index].sets) {
            chosen.push(index);
        }
    }
    chosen
}
