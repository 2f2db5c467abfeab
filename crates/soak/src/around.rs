//! Measurements around an execution of a command: idle windows, and the CPU clocks of all other
//! processes.

use super::setup::idle;
use zc_rig::meter::{ByName, LoadMeter, Processes};
use zc_run::{ProcessTime, ProcessTimes, Result, SoakWindow};

/// Idle windows, with the processes as they were before and after them.
#[derive(Debug, Clone)]
pub(super) struct Idle {
    pub(super) windows: Vec<SoakWindow>,
    before: Processes,
    after: Processes,
}

impl Idle {
    /// Measures so many windows, or as many as there is time for before `interrupted`.
    pub(super) fn measure(
        meter: &mut LoadMeter,
        count: usize,
        interrupted: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Self> {
        let before = processes(meter);
        let windows = idle(meter, count, interrupted)?;
        Ok(Self { windows, before, after: processes(meter) })
    }

    /// No windows: there was no time for them.
    pub(super) fn none(meter: &mut LoadMeter) -> Self {
        let now = processes(meter);
        Self { windows: Vec::new(), before: now.clone(), after: now }
    }
}

/// The processes but for zc and its soakers.
fn processes(meter: &mut LoadMeter) -> Processes {
    Processes::read(&[std::process::id() as i32, meter.soakers().pid()])
}

/// CPU time of the processes from the idle windows before an execution to those after it, and in
/// these windows.
pub(super) fn times(before: &Idle, after: &Idle) -> ProcessTimes {
    let used = after.before.since(&before.after);
    let mut idle = before.after.since(&before.before);
    for (name, ns) in after.after.since(&after.before) {
        *idle.entry(name).or_default() += ns;
    }
    let span = |from: &Processes, to: &Processes| to.at_ns.saturating_sub(from.at_ns);
    ProcessTimes {
        window_ns: span(&before.after, &after.before),
        idle_ns: span(&before.before, &before.after) + span(&after.before, &after.after),
        each: by_name(used, &idle),
    }
}

/// One entry for each name in either of the two.
fn by_name(mut used: ByName, idle: &ByName) -> Vec<ProcessTime> {
    for name in idle.keys() {
        used.entry(name.clone()).or_default();
    }
    let of = |name: &(_, String)| idle.get(name).copied().unwrap_or(0);
    used.into_iter()
        .map(|(name, window_ns)| {
            let idle_ns = of(&name);
            ProcessTime { kind: name.0, name: name.1, window_ns, idle_ns }
        })
        .collect()
}
