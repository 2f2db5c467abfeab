//! The progress of a run, on stderr. It is drawn only at the session's events, which come between
//! trials: a timer or a thread would cost CPU time inside a window. If stderr is not a terminal, a
//! plain line is printed now and then.

use std::io::{Write as _, stderr};
use std::time::{Duration, Instant};

use super::busy::{Busy, others_left_out};
use zc_analysis::{Estimates, estimate};
use zc_measure::session::{Next, Progress};
use zc_remote::carry::Carried;
use zc_run::{Run, Severity, Warning, escape};

/// The least time between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// The least time between two drawings of the line: a terminal that draws uses a CPU.
const DRAW_EVERY: Duration = Duration::from_millis(50);

/// Characters between the brackets of the line.
const BAR: usize = 20;

/// Width of a terminal that does not say its own.
const USUAL_COLUMNS: usize = 80;

/// The least time between two estimates.
const ESTIMATE_EVERY: Duration = Duration::from_secs(2);

/// Shows the events of a run.
pub(super) struct Watcher {
    face: Face,
    budget: Duration,
    /// The current estimate in words, and when it was made.
    current: String,
    estimated: Option<Instant>,
}

enum Face {
    /// One line of a terminal, redrawn.
    Line { text: String, drawn: Option<Instant> },
    /// Plain lines, at most one per [`PLAIN_EVERY`].
    Plain { last: Option<Instant> },
}

impl Watcher {
    /// A watcher that redraws one line on a terminal, and otherwise prints plain lines.
    pub(super) fn new(terminal: bool, budget: Duration) -> Self {
        let face = if terminal {
            Face::Line { text: String::new(), drawn: None }
        } else {
            Face::Plain { last: None }
        };
        Self { face, budget, current: String::new(), estimated: None }
    }

    /// Clears the line, so that other output can follow.
    pub(super) fn clear(&mut self) {
        if let Face::Line { text, .. } = &mut self.face {
            text.clear();
            draw("");
        }
    }

    /// Prints something else, above the line.
    fn interrupt(&self, print: impl FnOnce()) {
        let Face::Line { text, .. } = &self.face else { return print() };
        draw("");
        print();
        draw(text);
    }

    fn say(&mut self, text: &str, left: Duration) {
        match &mut self.face {
            Face::Line { text: line, drawn } => {
                let spent = self.budget.saturating_sub(left).as_secs_f64();
                let share = spent / self.budget.as_secs_f64().max(f64::MIN_POSITIVE);
                let columns = rustix::termios::tcgetwinsize(stderr())
                    .ok()
                    .map(|size| usize::from(size.ws_col))
                    .filter(|columns| *columns > 0);
                *line = line_of(share, text, columns.unwrap_or(USUAL_COLUMNS));
                if drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_EVERY) {
                    *drawn = Some(Instant::now());
                    draw(line);
                }
            }
            Face::Plain { last } => {
                if last.is_none_or(|last| last.elapsed() >= PLAIN_EVERY) {
                    *last = Some(Instant::now());
                    plain(text);
                }
            }
        }
    }
}

/// A bar of the share that is done and a text, in one line of a terminal.
fn line_of(share: f64, text: &str, columns: usize) -> String {
    let filled = (share * BAR as f64) as usize;
    let head = if share > 0.0 && filled < BAR { ">" } else { "" };
    let bar = "=".repeat(filled.min(BAR)) + head;
    format!("[{bar:BAR$}] {text}").chars().take(columns).collect()
}

/// Draws a line in place of the last one. A failure to print progress does not end the run.
fn draw(line: &str) {
    // To the first column, and to the end of the line erased (console_codes(4)).
    let _ = write!(stderr().lock(), "\r\x1b[K{line}").and_then(|()| stderr().flush());
}

fn plain(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}

impl Progress for Watcher {
    fn preparing(&mut self, what: &str, left: Duration) {
        self.say(&format!("{}, {} left", escape(what, 80), seconds(left)), left);
    }

    fn carrying(&mut self, carried: &Carried) {
        self.interrupt(|| super::tell::note(&escape(&carried.to_string(), 400)));
    }

    fn trial(&mut self, next: Next<'_>) {
        let text = format!(
            "block {}, {}, {} left{}",
            next.block + 1,
            escape(next.cell, 40),
            seconds(next.left),
            self.current
        );
        self.say(&text, next.left);
    }

    fn block_done(&mut self, run: &Run) {
        if let Some(busy) = Busy::detect(run).filter(|busy| busy.judged > 1) {
            self.current = format!("; {busy}");
            return;
        }
        // An estimate costs budget, more with every block, and faster updates could not be read.
        if self.estimated.is_none_or(|at| at.elapsed() >= ESTIMATE_EVERY) {
            let others = others_left_out(run).map(|others| format!("; {others}"));
            self.current = current(&estimate(run)) + &others.unwrap_or_default();
            self.estimated = Some(Instant::now());
        }
    }

    fn warning(&mut self, warning: &Warning) {
        if warning.severity == Severity::Note {
            return;
        }
        self.interrupt(|| super::tell::warning(&warning.text, warning.remedy.as_deref()));
    }
}

/// The cheapest path so far, and how many intervals are narrow enough.
fn current(estimates: &Estimates) -> String {
    let ratios = estimates.cells.iter().filter(|cell| cell.by.is_some()).count();
    let done = estimates
        .cells
        .iter()
        .filter(|cell| cell.ratio.both.is_some_and(|ratio| ratio.converged))
        .count();
    let cheapest = estimates
        .cells
        .iter()
        .filter(|cell| !cell.control && !cell.failed_zero_copy)
        .filter_map(|cell| cell.ratio.both.map(|ratio| (cell, ratio)))
        .min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    let Some((cell, ratio)) = cheapest else { return String::new() };
    let width =
        ratio.half_width.map_or_else(String::new, |half| format!(" ±{:.1} %", half * 100.0));
    format!(
        "; {} at {:.2}{width} of {}; {done} of {ratios} narrow enough",
        cell.label,
        ratio.value,
        cell.by.as_ref().unwrap_or(&estimates.reference)
    )
}

fn seconds(left: Duration) -> String {
    format!("{} s", left.as_secs_f64().ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_terminal_has_a_bar_and_does_not_wrap() {
        assert_eq!(line_of(0.0, "block 1", 80), "[                    ] block 1");
        assert_eq!(line_of(0.52, "block 1", 80), "[==========>         ] block 1");
        assert_eq!(line_of(1.0, "block 1", 80), "[====================] block 1");
        assert_eq!(line_of(2.0, "±1 %", 25), "[====================] ±1");
    }

    #[test]
    fn a_run_without_cells_has_no_estimate_to_show() {
        assert_eq!(current(&Estimates::default()), "");
    }

    #[test]
    fn time_left_is_rounded_up() {
        assert_eq!(seconds(Duration::from_millis(1)), "1 s");
        assert_eq!(seconds(Duration::ZERO), "0 s");
    }
}
