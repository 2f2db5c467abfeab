//! Folded stacks: a line to a stack, its frames from the outermost to the innermost with semicolons between them, and how often it was
//! found; what flamegraph.pl, inferno and speedscope read.

use zc_analysis::profile::{Flame, tree};
use zc_run::Run;

/// The stacks of all cells but the control, each under its label; nothing for a run that was not sampled.
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
    // What would end a frame or a line; names of functions have neither.
    let name = flame.name.replace([';', '\n', '\r'], "_");
    let stack = if above.is_empty() { name } else { format!("{above};{name}") };
    if flame.itself() > 0 {
        out.push_str(&format!("{stack} {}\n", flame.itself()));
    }
    for called in &flame.called {
        fold(called, &stack, out);
    }
}
