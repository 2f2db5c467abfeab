//! The positive control: the reference once more, with a known cost on top. A run that does not
//! find what was added would not find a real difference of that size either.

use super::rates::TopSpeed;
use crate::plan::spec::{Cells, POSITIVE_SUFFIX};
use zc_rig::meter::unit_time;
use zc_rig::trial::Rig;
use zc_run::Cell;

/// Added cost as a share of the reference's: large enough to be found within a minute, and of the
/// size of the differences that are asked about. It is approximate, because the cost is not known
/// yet; the cost really added is computed from the bytes sent.
const SHARE: f64 = 0.1;

/// Adds the positive control to the cells of a run. Where that is possible, half of what it burns
/// is in softirq context: a cost there is in no account of a thread, and may interrupt any.
pub(super) fn add(
    rig: &Rig,
    Cells { cells, reference }: &mut Cells,
    speeds: &[TopSpeed],
    measured_at_both_ends: bool,
) {
    let Some(first) = cells.iter().find(|cell| cell.label == *reference) else { return };
    let Some((_, bytes_per_s)) = speeds.iter().find(|(label, _)| label == reference) else {
        return;
    };
    // At its top speed each end keeps about one CPU busy.
    let ends = if measured_at_both_ends { 2.0 } else { 1.0 };
    let cost_s_per_mb = ends * 1e6 / bytes_per_s;
    // It burns for acknowledgements, and datagrams have none.
    let can_burn = rig.can_burn_in_softirqs() && !first.transfer.is_of_datagrams();
    let can_burn = can_burn && rig.fixed().at(&first.levels).clients().is_none();
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
