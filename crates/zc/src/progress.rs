//! The progress of a run, on stderr. It is drawn only at the session's events, which come between
//! trials: a timer or a thread would cost CPU time inside a window. If stderr is not a terminal, a
//! plain line is printed now and then.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::busy::{Busy, others_left_out};
use zc_analysis::{Estimates, estimate};
use zc_measure::session::{Carried, Next, Progress};
use zc_run::escape;
use zc_run::{Run, Severity, Warning};

/// The least time between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

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
    Line(ProgressBar),
    /// Plain lines, at most one per [`PLAIN_EVERY`].
    Plain { last: Option<Instant> },
}

impl Watcher {
    /// A watcher that redraws one line on a terminal, and otherwise prints plain lines.
    pub(super) fn new(terminal: bool, budget: Duration) -> Self {
        let face = if terminal {
            let bar =
                ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr_with_hz(20));
            // The template is a constant that a test renders.
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style.progress_chars("=> "));
            }
            Face::Line(bar)
        } else {
            Face::Plain { last: None }
        };
        Self { face, budget, current: String::new(), estimated: None }
    }

    /// Clears the line, so that other output can follow.
    pub(super) fn clear(&mut self) {
        if let Face::Line(bar) = &self.face {
            bar.finish_and_clear();
        }
    }

    fn say(&mut self, text: &str, left: Duration) {
        match &mut self.face {
            Face::Line(bar) => {
                let spent = self.budget.saturating_sub(left).as_secs_f64();
                let share = spent / self.budget.as_secs_f64().max(f64::MIN_POSITIVE);
                bar.set_position((share * 100.0).clamp(0.0, 100.0) as u64);
                bar.set_message(text.to_owned());
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

const TEMPLATE: &str = "[{bar:20}] {wide_msg}";

fn plain(text: &str) {
    use std::io::Write as _;
    // A failure to print progress does not end the run.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

impl Progress for Watcher {
    fn preparing(&mut self, what: &str, left: Duration) {
        self.say(&format!("{}, {} left", escape(what, 80), seconds(left)), left);
    }

    fn carrying(&mut self, carried: &Carried) {
        let tell = || super::tell::note(&escape(&carried.to_string(), 400));
        match &self.face {
            Face::Line(bar) => bar.suspend(tell),
            Face::Plain { .. } => tell(),
        }
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
        if let Some(busy) = Busy::of(run).filter(|busy| busy.judged > 1) {
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
        let tell = || super::tell::warning(&warning.text, warning.remedy.as_deref());
        match &self.face {
            Face::Line(bar) => bar.suspend(tell),
            Face::Plain { .. } => tell(),
        }
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
    fn the_template_is_one_that_indicatif_takes() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
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
