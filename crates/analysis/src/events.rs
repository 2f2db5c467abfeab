//! Hardware events per byte: those of the CPUs of the flows in a soaked window, less those of the
//! soakers.
//!
//! A soaker does the same work in each unit, so idle windows of the block tell how many events a
//! unit has. What a window has beyond its units' events is the traffic's, and that of whatever else
//! ran.

use crate::figures::{figure, per};
use crate::kept::KeptBlocks;
use crate::machine::is_emulated;
use crate::model::cell::CountedEvents;
use crate::sides::cpus_of_both;
use crate::window::bytes;
use zc_run::{Cell, CpuCounts, Reading, Slot, TrialKind};

/// Cycles, instructions, misses.
type Events = [f64; 3];

/// Events and units of a CPU in a window, or in several.
#[derive(Default)]
struct Sum {
    events: Events,
    units: f64,
}

/// Time in which events were to be counted, and in which they were.
#[derive(Default)]
struct Times {
    enabled_ns: f64,
    running_ns: f64,
}

pub(super) fn events(kept: &KeptBlocks, cell: &Cell) -> CountedEvents {
    if is_emulated(kept.header) {
        return CountedEvents::default();
    }
    let soaked = &kept.header.plan.fixed.soaked_cpus;
    let cpus: Vec<(usize, usize)> = cpus_of_both(kept.header, &cell.levels)
        .into_iter()
        .filter_map(|cpu| Some((cpu, soaked.iter().position(|each| *each == cpu)?)))
        .collect();
    let (mut blocks, mut times): (Vec<Events>, _) = (Vec::new(), Times::default());
    for (block, trial) in kept.trials(&cell.label, TrialKind::Soaked) {
        let slots = &kept.blocks[block].slots;
        let of_cpu = |(cpu, place): &(usize, usize)| {
            let mut idle = Sum::default();
            for slot in slots {
                let Slot::Idle(window) = slot else { continue };
                idle.add(window_of(&window.opened, &window.closed, *cpu, *place, None)?);
            }
            let all = window_of(&trial.opened, &trial.closed, *cpu, *place, Some(&mut times))?;
            let mut own = all.events;
            for (own, of_idle) in std::iter::zip(&mut own, idle.events) {
                *own -= all.units * per(of_idle, idle.units)?;
            }
            Some(own)
        };
        let by_cpu: Option<Vec<Events>> = cpus.iter().map(of_cpu).collect();
        let sums = by_cpu.filter(|each| !each.is_empty()).map(|each| {
            each.iter().fold([0.0; 3], |sum, own| [0, 1, 2].map(|at| sum[at] + own[at]))
        });
        let Some(sums) = sums else { continue };
        let [cycles, instructions, misses] = sums.map(|count| per(count, bytes(trial) as f64));
        if let (Some(cycles), Some(instructions), Some(misses)) = (cycles, instructions, misses) {
            blocks.push([cycles, instructions, misses]);
        }
    }
    let of =
        |at: usize| figure(&blocks.iter().map(|events| events[at]).collect::<Vec<_>>(), kept.level);
    CountedEvents {
        cycles_per_byte: of(0),
        instructions_per_byte: of(1),
        llc_misses_per_byte: of(2),
        counted_share: per(times.running_ns, times.enabled_ns).filter(|_| !blocks.is_empty()),
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.events = [0, 1, 2].map(|at| self.events[at] + other.events[at]);
        self.units += other.units;
    }
}

/// The events of a CPU in a window, scaled up to all of its time, and the units of its soaker,
/// which is at `place` of those of the machine. `None` where they were not counted.
fn window_of(
    opened: &Reading,
    closed: &Reading,
    cpu: usize,
    place: usize,
    times: Option<&mut Times>,
) -> Option<Sum> {
    let of = |reading: &Reading| -> Option<CpuCounts> {
        reading.counted.iter().find(|counts| counts.cpu == cpu).copied()
    };
    let (from, to) = (of(opened)?, of(closed)?);
    let since = |from: u64, to: u64| to.checked_sub(from).map(|count| count as f64);
    let enabled_ns = since(from.enabled_ns, to.enabled_ns)?;
    let running_ns = since(from.running_ns, to.running_ns)?;
    if let Some(times) = times {
        times.enabled_ns += enabled_ns;
        times.running_ns += running_ns;
    }
    let scale = per(enabled_ns, running_ns)?;
    let events = [
        since(from.cycles, to.cycles)? * scale,
        since(from.instructions, to.instructions)? * scale,
        since(from.llc_misses, to.llc_misses)? * scale,
    ];
    let units = since(*opened.soak.units.get(place)?, *closed.soak.units.get(place)?)?;
    Some(Sum { events, units })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::Run;
    use zc_testkit::synthetic::Synthetic;

    /// Events of a soaker's unit, and of a byte of traffic.
    const OF_UNIT: [u64; 3] = [10_000, 20_000, 3];
    const OF_BYTE: [f64; 3] = [2.5, 1.25, 0.01];

    /// A run whose CPUs have counted these events, in `running` of 4 parts of the time.
    fn counted(running: u64) -> Run {
        let mut run = Synthetic::default().run();
        let cpus = run.header.plan.fixed.soaked_cpus.clone();
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            let (opened, closed, bytes) = match slot {
                Slot::Idle(window) => (&mut window.opened, &mut window.closed, 0),
                Slot::Trial(trial) => {
                    let bytes = bytes(trial);
                    (&mut trial.opened, &mut trial.closed, bytes)
                }
            };
            for (place, &cpu) in cpus.iter().enumerate() {
                let length_ns = closed.soak.at_ns - opened.soak.at_ns;
                let Some(units) =
                    closed.soak.units.get(place).map(|it| it - opened.soak.units[place])
                else {
                    continue;
                };
                // Half of a byte's events are on each CPU.
                let [cycles, instructions, llc_misses] = [0, 1, 2].map(|at| {
                    let all = units * OF_UNIT[at] + (bytes as f64 * OF_BYTE[at] / 2.0) as u64;
                    all * running / 4
                });
                let enabled_ns = length_ns;
                let running_ns = length_ns * running / 4;
                opened.counted.push(CpuCounts { cpu, ..CpuCounts::default() });
                closed.counted.push(CpuCounts {
                    cpu,
                    enabled_ns,
                    running_ns,
                    cycles,
                    instructions,
                    llc_misses,
                });
            }
        }
        run
    }

    fn events_of(run: &Run) -> CountedEvents {
        events(&KeptBlocks::from_run(run), &run.header.plan.cells[0])
    }

    #[test]
    fn what_a_byte_has_beyond_the_soakers_is_found_also_where_counters_take_turns() {
        for (running, share) in [(4, 1.0), (1, 0.25)] {
            let found = events_of(&counted(running));
            let near = |figure: Option<crate::model::figure::Figure>, truth: f64| {
                let figure = figure.unwrap();
                assert!((figure.value / truth - 1.0).abs() < 0.01, "{figure:?} for {truth}");
                assert!(figure.interval.is_some());
            };
            near(found.cycles_per_byte, OF_BYTE[0]);
            near(found.instructions_per_byte, OF_BYTE[1]);
            near(found.llc_misses_per_byte, OF_BYTE[2]);
            assert!((found.counted_share.unwrap() - share).abs() < 0.001, "{found:?}");
        }
    }

    #[test]
    fn what_was_not_counted_on_every_cpu_of_the_flows_is_unknown() {
        let mut run = counted(4);
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            if let Slot::Trial(trial) = slot {
                trial.closed.counted.truncate(1);
            }
        }
        assert_eq!(events_of(&run), CountedEvents::default());
        assert_eq!(events_of(&Synthetic::default().run()), CountedEvents::default());
        // Counters that never had their turn.
        assert_eq!(events_of(&counted(0)), CountedEvents::default());
        let mut emulated = counted(4);
        emulated.header.host.hypervisor = Some(zc_run::EMULATOR.to_owned());
        assert_eq!(events_of(&emulated), CountedEvents::default());
    }
}
