//! Servers that do not exist, tuned as `zc tune` does it.

use super::*;
use crate::{Estimates, estimate};
use zc_run::Run;
use zc_testkit::server::{TrueState, in_states};
use zc_testkit::synthetic::Synthetic;

/// The truth about a line: CPU and p99 by those of the present state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Truth {
    pub(super) cpu: f64,
    pub(super) p99: f64,
    /// Of several lines that do the same only the best counts.
    pub(super) does: Option<&'static str>,
    /// How many times as much CPU it takes beside other lines.
    pub(super) beside: f64,
}

pub(super) const NEUTRAL: Truth = Truth { cpu: 1.0, p99: 1.0, does: None, beside: 1.0 };

/// The truth about several lines: the effects of those that do different things add up.
fn in_one(truths: &[Truth]) -> Truth {
    let counts = |at: usize, of: fn(&Truth) -> f64| {
        let others = truths.iter().enumerate().filter(|(other, truth)| {
            truth.does.is_some() && truth.does == truths[at].does && *other != at
        });
        // Of equal ones the first.
        others.clone().all(|(other, truth)| (of(&truths[at]), at) < (of(truth), other))
    };
    let product = |of: fn(&Truth) -> f64| -> f64 {
        (0..truths.len()).filter(|at| counts(*at, of)).map(|at| of(&truths[at])).product()
    };
    let cpu = product(if truths.len() > 1 {
        |truth| truth.cpu * truth.beside
    } else {
        |truth| truth.cpu
    });
    Truth { cpu, p99: product(|truth| truth.p99), ..NEUTRAL }
}

/// A run with its estimates.
pub(super) type Measured = (Run, Estimates);

/// p99 of the present state.
const P99_NS: f64 = 4e6;

/// A machine of which `seed` decides all noise: `p99_noise` is the standard deviation of the
/// logarithm of each p99.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) blocks: usize,
    pub(super) noise: f64,
    pub(super) p99_noise: f64,
}

impl World {
    pub(super) fn quiet(seed: u64) -> Self {
        Self { seed, blocks: 30, noise: 0.02, p99_noise: 0.0 }
    }

    /// Measures the present state beside others.
    pub(super) fn measure(&self, salt: u64, states: &[(String, Truth)]) -> Measured {
        let mut draws = Draws(self.seed.wrapping_mul(1000) + salt);
        let mut p99_ns =
            |by: f64| (P99_NS * by * (self.p99_noise * draws.normal()).exp()).round() as u64;
        let mut all = vec![TrueState { name: PRESENT.to_owned(), ratio: 1.0, p99_ns: p99_ns(1.0) }];
        all.extend(states.iter().map(|(name, truth)| TrueState {
            name: name.clone(),
            ratio: truth.cpu,
            p99_ns: p99_ns(truth.p99),
        }));
        let again = p99_ns(1.0);
        let world = Synthetic {
            blocks: self.blocks,
            seed: self.seed.wrapping_mul(10) + salt,
            noise: self.noise,
            ..Synthetic::default()
        };
        let run = in_states(&all, again, world);
        let estimates = estimate(&run);
        (run, estimates)
    }

    /// All runs of a tuning.
    pub(super) fn tune(&self, truths: &[Truth]) -> Tuning {
        let lines = lines(truths.len());
        let state = |at: &usize| (state_name(*at, &lines[*at].name), truths[*at]);
        let all: Vec<usize> = (0..truths.len()).collect();
        let screening = self.measure(1, &all.iter().map(state).collect::<Vec<_>>());
        let chosen = promising(phase(&screening), &lines);
        let confirming = (!chosen.is_empty())
            .then(|| self.measure(2, &chosen.iter().map(state).collect::<Vec<_>>()));
        let mut tuning = Tuning { lines, screening, confirming, together: None };
        let winners = winners(&tuning.phases(), &tuning.lines);
        if winners.len() > 1 {
            let truth = |at: &usize| truths[*at];
            let states = step_states(&winners)
                .map(|(name, lines)| (name, in_one(&lines.iter().map(truth).collect::<Vec<_>>())));
            tuning.together = Some(self.measure(3, &states.collect::<Vec<_>>()));
        }
        tuning
    }
}

/// The lines of a tuning and its runs.
pub(super) struct Tuning {
    pub(super) lines: Vec<Line>,
    pub(super) screening: Measured,
    pub(super) confirming: Option<Measured>,
    pub(super) together: Option<Measured>,
}

impl Tuning {
    pub(super) fn phases(&self) -> Phases<'_> {
        Phases {
            screening: phase(&self.screening),
            confirming: self.confirming.as_ref().map(phase),
            together: self.together.as_ref().map(phase),
        }
    }

    pub(super) fn answer(&self) -> Answer {
        answer(
            &self.phases(),
            &Question {
                lines: &self.lines,
                busiest_requests_per_s: Some(2000.0),
                asked_requests_per_s: None,
                cores: 12,
                price: None,
            },
        )
    }
}

pub(super) fn phase((run, estimates): &Measured) -> Phase<'_> {
    Phase { run, estimates }
}

/// Lines that set something of their own each.
pub(super) fn lines(count: usize) -> Vec<Line> {
    let line = |at: usize| Line {
        name: format!("line_{at} on"),
        present: format!("line_{at} off"),
        sets: format!("line_{at}"),
        reason: "it may matter".to_owned(),
        reference: "a document".to_owned(),
        fate: Fate::Tried,
    };
    (0..count).map(line).collect()
}

/// Numbers by the generator of Steele, Lea and Flood (SplitMix, OOPSLA 2014).
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform().max(1e-12), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}
