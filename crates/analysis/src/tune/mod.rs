//! `zc tune`: which lines of a server's configuration to change, from up to three runs of the
//! server in states that differ from its present one by a line each.
//!
//! The **screening** run has all lines and chooses those that go on ([`promising`]). The
//! **confirming** run has these alone, in blocks of its own, and its verdicts are corrected for
//! their number ([`crate::Comparison`]). Nothing that was used to choose a line is used to test it,
//! so the choice costs no error (D. R. Cox, A note on data-dependent choice of a test, Biometrika
//! 62, 1975, 441-444). The **together** run has all lines that are to be changed in one state, as
//! effects do not add up, and fewer and fewer of them in others: those that are not
//! shown to add anything are left out (see `steps.rs`).
//!
//! Without a confirming run (interrupted, or no budget for it) the verdicts of the screening stand:
//! they are corrected for the number of all its lines.
//!
//! Latencies have no interval, and chance is told from the states that do nothing
//! (see `latency.rs`). A saving whose p99 rises is told and not advised.

mod answer;
mod latency;
mod line;
mod model;
mod phase;
mod promising;
mod states;
mod steps;
mod verdict;
mod worth;

pub use crate::price::{HOURS_A_MONTH, Price};
pub use answer::{Question, answer};
pub use line::{Fate, Line};
pub use model::{
    Answer, Errors, Latency, LineAnswer, LineVerdict, Outcome, PhaseAccount, PhaseName, Saving,
    Step, Together, Worth, Worths,
};
pub use phase::{Phase, Phases};
pub use promising::{MOST_PROMISING, promising};
pub use states::{PRESENT, TOGETHER, candidate_of_state, state_name, step_states};
pub use verdict::winners;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_simulated;
#[cfg(test)]
mod worlds;
