//! Bytes, time and throughput of a trial's window, from the readings at its edges.

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
