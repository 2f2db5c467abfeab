//! The positive control: the reference once more, with a known cost on top. A run that does not
//! find what was added would not find a real difference of that size either.

use super::rates::TopSpeed;
use crate::plan::spec::{Cells, POSITIVE_SUFFIX};
use zc_rig::meter::unit_time;
use zc_rig::trial::Rig;
use zc_run::{Cell, Reading, Trial, TrialKind};

/// Added cost as a share of the reference's: large enough to be found within a minute, and of the
/// size of the differences that are asked about. It is approximate, because the cost is not known
/// yet; the cost really added is computed from the bytes sent.
const SHARE: f64 = 0.1;

/// Adds the positive control to the cells of a run. Where that is possible, half of what it burns
/// is in softirq context: a cost there is in no account of a thread, and may interrupt any.
pub(super) fn add(
    rig: &mut Rig,
    Cells { cells, reference }: &mut Cells,
    speeds: &[TopSpeed],
    measured_at_both_ends: bool,
) {
    let Some(first) = cells.iter().find(|cell| cell.label == *reference) else { return };
    let Some((_, bytes_per_s)) = speeds.iter().find(|(label, _)| label == reference) else {
        return;
    };
    let has_clients = rig.fixed().at(&first.levels).clients().is_some();
    let cost_s_per_mb = if has_clients {
        let Some(cost) = cost_of_clients(rig, first, measured_at_both_ends) else { return };
        cost
    } else {
        // At its top speed each end keeps about one CPU busy.
        let ends = if measured_at_both_ends { 2.0 } else { 1.0 };
        ends * 1e6 / bytes_per_s
    };
    // It burns for acknowledgements, and datagrams have none. Clients have many connections, and
    // the program that burns knows one.
    let can_burn = rig.can_burn_in_softirqs() && !first.transfer.is_of_datagrams() && !has_clients;
    let in_softirqs = if can_burn { SHARE / 2.0 } else { 0.0 };
    let by_sender = SHARE - in_softirqs;
    let positive = Cell {
        label: format!("{reference}{POSITIVE_SUFFIX}"),
        control: true,
        burn_units_per_mb: Some(by_sender * cost_s_per_mb / unit_time().as_secs_f64()),
        burn_softirq_ns_per_mb: Some(in_softirqs * cost_s_per_mb * 1e9).filter(|ns| *ns > 0.0),
        ..first.clone()
    };
    cells.push(positive);
}

/// Paced packets are sent by timers, in softirq context and not in the sender's thread
/// (tcp_pace_kick in net/ipv4/tcp_output.c). So threads have about half of the cost of clients.
const BESIDE_THREADS: f64 = 2.0;

/// The cost of a cell of clients in seconds per MB, about: they leave CPUs idle, so their speed
/// does not show it. `None` if its trial fails, or nothing arrived.
fn cost_of_clients(rig: &mut Rig, cell: &Cell, measured_at_both_ends: bool) -> Option<f64> {
    let Trial { opened, closed, .. } = rig.run(cell, TrialKind::TopSpeed).ok()?;
    let grown = |of: fn(&Reading) -> u64| of(&closed).saturating_sub(of(&opened)) as f64;
    let receiver_ns =
        if measured_at_both_ends { grown(|reading| reading.receiver.cpu_ns) } else { 0.0 };
    let threads_ns = grown(|reading| reading.sender.cpu_ns) + receiver_ns;
    let mb = grown(|reading| reading.received.bytes) / 1e6;
    Some(BESIDE_THREADS * threads_ns / 1e9 / mb).filter(|cost| cost.is_finite() && *cost > 0.0)
}
