//! How fast soakers count while nothing interrupts them, on a machine that is at work.
//!
//! The CPU clock of a soaker includes the interrupts that it is charged with, so units by that clock
//! are too few where a network card interrupts. But a soaker notes when it has finished each unit.
//! Somebody on another CPU who looks often sees short spans of it; those in which nothing came between
//! are the shortest, and all alike.

use zc_kernel::{clock, sched};
use zc_run::SoakReading;

/// Units of a span, some 60 us: several fit between two interrupts of a busy card.
const SPAN_UNITS: u64 = 32;

/// How long soakers are looked at.
const WATCH_NS: u64 = 3_000_000;

/// The speed is that of this share of the spans: those beyond it may be fast by an accident of the
/// clock.
const UNDISTURBED: f64 = 0.9;

/// Fewer spans tell nothing.
const LEAST_SPANS: usize = 8;

/// The speed of each soaker in units per ns; `None` where it had too little of its CPU, or where there
/// is no other CPU to look from. Takes [`WATCH_NS`] of two CPUs, one after the other.
pub(super) fn speeds(cpus: &[usize], read: impl Fn() -> SoakReading + Sync) -> Vec<Option<f64>> {
    let allowed = sched::allowed_cpus().unwrap_or_default();
    // From one CPU all others are seen, and from another one that one.
    let first = allowed.first().copied();
    let mut speeds = match first {
        Some(from) => watched(from, cpus.len(), &read),
        None => vec![None; cpus.len()],
    };
    if let Some(place) = cpus.iter().position(|cpu| Some(*cpu) == first) {
        speeds[place] = match allowed.get(1) {
            Some(from) => watched(*from, cpus.len(), &read)[place],
            None => None,
        };
    }
    speeds
}

fn watched(
    from: usize,
    soakers: usize,
    read: &(impl Fn() -> SoakReading + Sync),
) -> Vec<Option<f64>> {
    let watch = || {
        if sched::pin(&[from]).is_err() {
            return vec![None; soakers];
        }
        let mut spans = Spans::of(soakers);
        let until_ns = clock::monotonic_ns() + WATCH_NS;
        while clock::monotonic_ns() < until_ns {
            spans.see(&read());
        }
        spans.speeds()
    };
    // On a thread of its own, which is pinned.
    let watched = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, watch).ok()?;
        thread.join().ok()
    });
    watched.unwrap_or_else(|| vec![None; soakers])
}

/// Spans of each soaker.
struct Spans {
    /// Units and time at the beginning of the present one.
    begun: Vec<Option<(u64, u64)>>,
    each: Vec<Vec<f64>>,
}

impl Spans {
    fn of(soakers: usize) -> Self {
        Self { begun: vec![None; soakers], each: vec![Vec::new(); soakers] }
    }

    fn see(&mut self, reading: &SoakReading) {
        let now = reading.units.iter().zip(&reading.stamp_ns);
        for ((units, stamp_ns), (begun, spans)) in
            now.zip(self.begun.iter_mut().zip(&mut self.each))
        {
            let Some((units_then, stamp_then_ns)) = *begun else {
                *begun = Some((*units, *stamp_ns));
                continue;
            };
            let done = units.saturating_sub(units_then);
            if done >= SPAN_UNITS {
                spans.push(done as f64 / stamp_ns.saturating_sub(stamp_then_ns) as f64);
                *begun = Some((*units, *stamp_ns));
            }
        }
    }

    fn speeds(self) -> Vec<Option<f64>> {
        let speed = |mut spans: Vec<f64>| {
            spans.retain(|speed| speed.is_finite());
            if spans.len() < LEAST_SPANS {
                return None;
            }
            spans.sort_unstable_by(f64::total_cmp);
            spans.get((UNDISTURBED * spans.len() as f64) as usize).copied()
        };
        self.each.into_iter().map(speed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_were_interrupted_do_not_count() {
        let mut spans = Spans::of(2);
        let (mut units, mut at_ns) = (0, 0);
        for step in 0..4000_u64 {
            units += 8;
            // A third of the spans is interrupted for half of their length.
            at_ns += 16_000 + if step % 12 == 0 { 32_000 } else { 0 };
            let (units, stamp_ns) = (vec![units, 5], vec![at_ns, 9]);
            spans.see(&SoakReading { at_ns, units, stamp_ns, ..SoakReading::default() });
        }
        assert_eq!(spans.speeds(), [Some(8.0 / 16_000.0), None], "the second one gets no CPU");
    }

    #[test]
    fn a_soaker_is_as_fast_by_its_spans_as_by_its_own_clock() {
        let cpus = sched::allowed_cpus().unwrap();
        if cpus.len() < 2 {
            return eprintln!("skipped: two CPUs are needed");
        }
        let soakers = crate::meter::Soakers::start(&cpus[..1], zc_run::SoakerKind::Alu).unwrap();
        let pace = || {
            let reading = soakers.read();
            (reading.units[0], reading.cpu_ns[0])
        };
        for _ in 0..100 {
            let before = pace();
            let speeds = speeds(&cpus[..1], || soakers.read());
            let after = pace();
            let by_clock = (after.0 - before.0) as f64 / (after.1 - before.1) as f64;
            let span_ns = SPAN_UNITS as f64 / by_clock;
            if span_ns * (LEAST_SPANS + 1) as f64 > WATCH_NS as f64 {
                return eprintln!(
                    "skipped: a span takes {:.0} us here, so that too few are seen",
                    span_ns / 1e3
                );
            }
            let Some(speed) = speeds[0] else { continue };
            // A busy machine changes its clock; it is never faster than when undisturbed.
            if (0.9..1.02).contains(&(by_clock / speed)) {
                return;
            }
        }
        panic!("its speed is not that of its clock in any of 100 attempts");
    }
}
