//! Bytes, time, throughput and soakers' units of a window, from the readings at its edges.

use crate::machine::Machine;
use zc_run::{Reading, Trial};

pub(super) fn bytes(trial: &Trial) -> u64 {
    trial.closed.received.bytes.saturating_sub(trial.opened.received.bytes)
}

/// The readings of the remote machine at the edges of a trial's window, if it measures.
pub(super) fn remote_edges(trial: &Trial) -> Option<(&Reading, &Reading)> {
    trial.remote.as_ref().map(|window| (&window.opened, &window.closed))
}

/// The length of a trial's window, above 0; `None` without valid clock readings.
pub(super) fn elapsed_ns(trial: &Trial) -> Option<u64> {
    let (opened, closed) = (&trial.opened, &trial.closed);
    // The window is measured by the soakers' clock, which a window without soakers may lack.
    let clocks = [(opened.soak.at_ns, closed.soak.at_ns), (opened.stat.at_ns, closed.stat.at_ns)];
    clocks
        .into_iter()
        .filter(|(from, _)| *from > 0)
        .find_map(|(from, to)| to.checked_sub(from).filter(|ns| *ns > 0))
}

/// Payload bytes per second in a trial's window.
pub(super) fn throughput(trial: &Trial) -> Option<f64> {
    Some(bytes(trial) as f64 * 1e9 / elapsed_ns(trial)? as f64)
}

/// The length of a soaked window in ns, above 0, and the units that each soaker of the machine
/// finished in it. `None` when the window has no length, or a counter is missing or ran backwards.
pub(super) fn units(
    opened: &Reading,
    closed: &Reading,
    machine: &Machine<'_>,
) -> Option<(f64, Vec<f64>)> {
    let (from, to) = (&opened.soak, &closed.soak);
    let elapsed_ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)? as f64;
    let cpus = machine.cpus.len();
    if cpus == 0 || from.units.len() != cpus || to.units.len() != cpus {
        return None;
    }
    let each = std::iter::zip(&from.units, &to.units);
    let units = each.map(|(from, to)| to.checked_sub(*from).map(|units| units as f64));
    Some((elapsed_ns, units.collect::<Option<_>>()?))
}
