//! The cells of the experiment `paths`: every send path once, and the reference a second time as the A/A control.

use crate::record::{Cell, RecvPath, SendPath};

/// What the label of the control has behind the name of the reference.
pub const CONTROL_SUFFIX: &str = " (A/A)";

/// A cell per path in the order given, the reference first if it was not asked for (ratios need it), and the control.
pub fn cells(sends: &[SendPath], recv: RecvPath, reference: SendPath) -> Vec<Cell> {
    let cell = |send: SendPath| Cell::of_paths(send, recv);
    let mut cells = Vec::new();
    if !sends.contains(&reference) {
        cells.push(cell(reference));
    }
    for &send in sends {
        if cells.iter().all(|known: &Cell| known.send != send) {
            cells.push(cell(send));
        }
    }
    cells.push(Cell { label: format!("{reference}{CONTROL_SUFFIX}"), control: true, ..cell(reference) });
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_and_its_control_are_always_there() {
        let labels = |sends: &[SendPath]| {
            cells(sends, RecvPath::Recv, SendPath::ReadSend).into_iter().map(|cell| cell.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[SendPath::Sendfile]), ["read+send", "sendfile", "read+send (A/A)"]);
        assert_eq!(
            labels(&[SendPath::Sendfile, SendPath::Sendfile, SendPath::ReadSend]),
            ["sendfile", "read+send", "read+send (A/A)"]
        );
    }
}
