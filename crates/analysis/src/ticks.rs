//! Ticks of /proc/stat between two readings.

use crate::machine::Machine;
use zc_run::{CpuTicks, Reading};

/// Length of a tick of /proc/stat. USER_HZ is 100 on every architecture that Linux still supports:
/// include/uapi/asm-generic/param.h.
pub const TICK_NS: f64 = 1e7;

/// Ticks of some columns between two readings, in the order of the machine's CPUs; `None` when a
/// reading lacks a CPU.
pub fn ticks_by_cpu(
    opened: &Reading,
    closed: &Reading,
    machine: &Machine<'_>,
    columns: impl Fn(&CpuTicks) -> u64,
) -> Option<Vec<u64>> {
    let cpus = machine.cpus.len();
    if cpus == 0 || opened.stat.cpus.len() != cpus || closed.stat.cpus.len() != cpus {
        return None;
    }
    // A column may decrease by a tick when the kernel corrects itself. That counts as 0.
    let pairs = opened.stat.cpus.iter().zip(&closed.stat.cpus);
    Some(pairs.map(|(opened, closed)| columns(closed).saturating_sub(columns(opened))).collect())
}
