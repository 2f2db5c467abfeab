//! Compares the soakers with known loads: a burner thread whose thread CPU clock gives the true
//! load, at several loads, in duty cycles of 1 ms and of 100 ms. Each load lies between two idle
//! windows and is repeated without soakers to see what /proc/stat shows then.
//!
//! Unlike live soaking this uses soakers in zc's own process, as in `zc run`: they rank in the
//! burner's own session.

use rand::seq::SliceRandom;
use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64;

use super::burner::Burner;
use super::setup::{Soaked, interrupted};
use zc_kernel::stop::Stop;
use zc_kernel::{clock, sched};
use zc_rig::meter::{IdleClock, KernelMeters, Soakers, loads_can_be_told};
use zc_run::{
    BurnShape, IdleSpan, Result, SoakEdge, SoakReading, SoakVerify, SoakWindow, StatReading,
    UnsoakedControl, VerifyVisit,
};

/// The duty cycles of the loads.
const SHAPES: [BurnShape; 2] = [BurnShape::Smooth, BurnShape::Bursty];
/// The loads, in percent of a CPU.
const PERCENT: [u32; 8] = [0, 5, 10, 25, 50, 75, 90, 95];
/// Window of a smooth load. It is short: the noise of a shared machine is slow, so neighbouring
/// windows are comparable, and many short windows give more information than a few long ones.
const SMOOTH_NS: u64 = 50_000_000;
/// Window of a bursty load and of an unsoaked one: one period of the bursty burner.
const BURSTY_NS: u64 = 100_000_000;
/// Idle window between two loads, shared by both.
const IDLE_NS: u64 = 40_000_000;
/// Time between an order to the burner and the opening of a window.
const SETTLE_NS: u64 = 5_000_000;
/// Looks at the idle clock, one every [`LOOK_NS`], to find a step of it.
const LOOKS: usize = 60;
/// A look takes some 20 us of the reader's CPU.
const LOOK_NS: u64 = 1_000_000;
/// The order of visits is drawn anew for every round, from this fixed seed, as no result depends on
/// it.
const SEED: u64 = 2001;

/// Options of [`verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyOptions {
    /// CPUs and kind of the soakers.
    pub soaked: Soaked,
    /// Time for everything. A round of all loads is never cut short, and there are two or more.
    pub budget_ns: u64,
}

/// Visits every load, round after round, until the budget is spent; `round` is called with the
/// rounds done and the rounds planned.
///
/// # Errors
/// [`ErrorKind::Interrupted`](zc_run::ErrorKind) when `stop` was set before there were two rounds;
/// the soakers cannot be started; those of [`loads_can_be_told`].
pub fn verify(
    options: &VerifyOptions,
    stop: &Stop,
    round: &mut dyn FnMut(usize, usize),
) -> Result<SoakVerify> {
    let cpus = options.soaked.cpus()?;
    loads_can_be_told(cpus.len())?;
    // The last one: on most machines the first has more of the interrupts.
    let burner = cpus.len().saturating_sub(1);
    let burner_cpu = cpus.get(burner).copied().unwrap_or(0);
    // The reader of the meters and the waker of the burner run on other CPUs, if there are any.
    let allowed: Vec<usize> = sched::allowed_cpus().unwrap_or_default();
    let other_cpus: Vec<usize> = allowed.iter().copied().filter(|&cpu| cpu != burner_cpu).collect();
    let mut bench = Bench {
        meters: KernelMeters::open(&cpus)?,
        idle_clock: IdleClock::open(),
        soakers: Soakers::start(&cpus, options.soaked.kind)?,
        burner: Burner::start(burner_cpu, &other_cpus)?,
        place: burner,
    };
    drop(sched::pin(&other_cpus));
    let visits = bench.rounds(options.budget_ns, stop, round);
    drop(sched::pin(&allowed));
    let visits = visits?;
    if visits.len() < 2 * SHAPES.len() * PERCENT.len() {
        return Err(interrupted());
    }
    Ok(SoakVerify { cpus, burner, soaker: options.soaked.kind, visits })
}

fn window_ns(shape: BurnShape) -> u64 {
    match shape {
        BurnShape::Smooth => SMOOTH_NS,
        BurnShape::Bursty => BURSTY_NS,
    }
}

struct Bench {
    soakers: Soakers,
    meters: KernelMeters,
    idle_clock: Option<IdleClock>,
    burner: Burner,
    /// Index of the burner's CPU among the soakers'.
    place: usize,
}

/// A window, and what the burner did in it.
struct Measured {
    window: SoakWindow,
    truth_ns: u64,
    soaker_cpu_ns: u64,
    switches: u64,
}

impl Bench {
    /// Runs as many rounds of all loads as there is time for.
    fn rounds(
        &mut self,
        budget_ns: u64,
        stop: &Stop,
        round: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<VerifyVisit>> {
        let mut cases: Vec<(BurnShape, u32)> = SHAPES
            .into_iter()
            .flat_map(|shape| PERCENT.into_iter().map(move |percent| (shape, percent)))
            .collect();
        // A control waits for two steps of the idle clock, and one more is made in each round.
        let control_ns = BURSTY_NS + 3 * SETTLE_NS;
        let visit_ns = |shape| window_ns(shape) + IDLE_NS + control_ns + 2 * SETTLE_NS;
        let round_ns: u64 =
            control_ns + cases.iter().map(|&(shape, _)| visit_ns(shape)).sum::<u64>();
        let rounds = usize::try_from(budget_ns / round_ns).unwrap_or(usize::MAX).max(2);
        let mut rng = Pcg64::seed_from_u64(SEED);
        let mut visits = Vec::new();
        for done in 0..rounds {
            cases.shuffle(&mut rng);
            let Some(soaked) = self.soaked_round(&cases, stop)? else { break };
            self.soakers.pause();
            // Not always first: what the soakers held up is then still being caught up with.
            let controls = self.control_round(&cases, rng.random_range(0..cases.len()), stop)?;
            self.soakers.resume();
            let Some(controls) = controls else { break };
            visits.extend(
                soaked
                    .into_iter()
                    .zip(controls)
                    .map(|(visit, control)| VerifyVisit { unsoaked_control: control, ..visit }),
            );
            round(done + 1, rounds);
        }
        Ok(visits)
    }

    /// Every load once, between idle windows. `None` when it was interrupted.
    fn soaked_round(
        &mut self,
        cases: &[(BurnShape, u32)],
        stop: &Stop,
    ) -> Result<Option<Vec<VerifyVisit>>> {
        let mut visits: Vec<VerifyVisit> = Vec::new();
        let Some(first) = self.window(IDLE_NS, stop)? else { return Ok(None) };
        let mut idle_before = first.window;
        for &(shape, percent) in cases {
            self.burner.work(percent, shape);
            let seen = self.window(window_ns(shape), stop)?;
            self.burner.rest();
            let (Some(seen), Some(idle)) = (seen, self.window(IDLE_NS, stop)?) else {
                return Ok(None);
            };
            visits.push(VerifyVisit {
                shape,
                percent,
                idle_before: std::mem::replace(&mut idle_before, idle.window.clone()),
                window: seen.window,
                truth_ns: seen.truth_ns,
                soaker_cpu_ns: seen.soaker_cpu_ns,
                switches: seen.switches,
                idle_after: idle.window,
                unsoaked_control: UnsoakedControl::default(),
            });
        }
        Ok(Some(visits))
    }

    /// Every load once, without soakers, and none before the one at `rest_before`. `None` when it
    /// was interrupted.
    fn control_round(
        &mut self,
        cases: &[(BurnShape, u32)],
        rest_before: usize,
        stop: &Stop,
    ) -> Result<Option<Vec<UnsoakedControl>>> {
        let mut at_rest = None;
        let mut controls = Vec::new();
        for (place, &(shape, percent)) in cases.iter().enumerate() {
            if place == rest_before {
                let Some(seen) = self.control(stop)? else { return Ok(None) };
                at_rest = seen.idle;
            }
            self.burner.work(percent, shape);
            let seen = self.control(stop)?;
            self.burner.rest();
            let Some(seen) = seen else { return Ok(None) };
            controls.push(seen);
        }
        for control in &mut controls {
            control.idle_at_rest = at_rest;
        }
        Ok(Some(controls))
    }

    /// Measures a window without soakers: /proc/stat at its edges, and within it, from step to
    /// step, the idle clock.
    fn control(&mut self, stop: &Stop) -> Result<Option<UnsoakedControl>> {
        clock::sleep_until(clock::monotonic_ns() + SETTLE_NS);
        let opened = self.meters.read_stat()?;
        let began_ns = self.burner.cpu_ns()?;
        let first = self.idle_step()?;
        if clock::sleep_until_or_stop(clock::monotonic_ns() + BURSTY_NS, stop) {
            return Ok(None);
        }
        let second = self.idle_step()?;
        let truth_ns = self.burner.cpu_ns()?.saturating_sub(began_ns);
        let idle = first.zip(second).map(|(first, second)| IdleSpan {
            elapsed_ns: second.elapsed_ns.saturating_sub(first.elapsed_ns),
            idle_ns: second.idle_ns.saturating_sub(first.idle_ns),
            truth_ns: second.truth_ns.saturating_sub(first.truth_ns),
        });
        let closed = self.meters.read_stat()?;
        Ok(Some(UnsoakedControl { opened, closed, truth_ns, idle, idle_at_rest: None }))
    }

    /// Waits for a step of the idle clock. Returns it as a span that began with the clocks, or
    /// `None` if there is no such clock or no step.
    fn idle_step(&self) -> Result<Option<IdleSpan>> {
        let Some(idle_clock) = &self.idle_clock else { return Ok(None) };
        let mut before_ns = None;
        for _ in 0..LOOKS {
            let elapsed_ns = clock::monotonic_ns();
            let Some(idle_ns) = idle_clock.read_ns() else { return Ok(None) };
            let truth_ns = self.burner.cpu_ns_with_waker()?;
            if before_ns.is_some_and(|before_ns| idle_ns > before_ns) {
                return Ok(Some(IdleSpan { elapsed_ns, idle_ns, truth_ns }));
            }
            before_ns = Some(idle_ns);
            clock::sleep_until(elapsed_ns + LOOK_NS);
        }
        Ok(None)
    }

    /// Measures a window. The soakers and the burner's clock are read together at its edges,
    /// /proc/stat outside of it.
    fn window(&mut self, length_ns: u64, stop: &Stop) -> Result<Option<Measured>> {
        clock::sleep_until(clock::monotonic_ns() + SETTLE_NS);
        let stat = self.meters.read_stat()?;
        let sleeps = self.burner.sleeps();
        let began_ns = self.burner.cpu_ns()?;
        let opened = edge(self.soakers.read(), stat);
        if clock::sleep_until_or_stop(clock::monotonic_ns() + length_ns, stop) {
            return Ok(None);
        }
        let soak = self.soakers.read();
        let truth_ns = self.burner.cpu_ns()?.saturating_sub(began_ns);
        let switches = self.burner.sleeps().saturating_sub(sleeps);
        let closed = edge(soak, self.meters.read_stat()?);
        let its = |edge: &SoakEdge| edge.soak.cpu_ns.get(self.place).copied().unwrap_or(0);
        let soaker_cpu_ns = its(&closed).saturating_sub(its(&opened));
        Ok(Some(Measured {
            window: SoakWindow { opened, closed },
            truth_ns,
            soaker_cpu_ns,
            switches,
        }))
    }
}

fn edge(soak: SoakReading, stat: StatReading) -> SoakEdge {
    SoakEdge { soak, stat, ..SoakEdge::default() }
}
