//! Folded stacks: one line per stack, frames from the outermost to the innermost joined by
//! semicolons, then the count; the input of flamegraph.pl, inferno and speedscope.

use zc_analysis::profile::{Flame, tree};
use zc_run::{Run, escape};

/// The most characters of a name.
const LONGEST: usize = 400;

/// The stacks of all cells except the control, under their labels; empty for a run that was not
/// sampled.
pub fn folded(run: &Run) -> String {
    let mut out = String::new();
    for cell in run.header.plan.cells.iter().filter(|cell| !cell.control) {
        if let Some(root) = tree(run, &cell.label) {
            fold(&root, "", &mut out);
        }
    }
    out
}

fn fold(flame: &Flame, above: &str, out: &mut String) {
    // Function names contain neither separators nor control characters; hostile input may.
    let name = escape(&flame.name, LONGEST).replace(';', "_");
    let stack = if above.is_empty() { name } else { format!("{above};{name}") };
    if flame.itself() > 0 {
        out.push_str(&format!("{stack} {}\n", flame.itself()));
    }
    for called in &flame.called {
        fold(called, &stack, out);
    }
}
