//! The load of this machine, one window after another, until it is stopped.

use std::ops::ControlFlow;

use super::setup::{IDLE_WINDOWS, Soaked, idle, interrupted, set_up, start};
use zc_kernel::clock::sleep_until_or_stop;
use zc_kernel::stop::Stop;
use zc_rig::meter::loads_can_be_told;
use zc_run::{Result, SoakStart, SoakWindow};

/// Options of [`live`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOptions {
    /// CPUs and kind of the soakers.
    pub soaked: Soaked,
    /// Length of each window.
    pub period_ns: u64,
    /// Number of windows; `None` is without end.
    pub count: Option<u64>,
}

/// A report of [`live`].
#[derive(Debug)]
pub enum Heard<'a> {
    /// Once, before the first window.
    Start(&'a SoakStart),
    /// A window that has closed. Windows follow one another without a gap, except for the time that
    /// reporting takes.
    Window(&'a SoakWindow),
}

/// Measures until `stop` is set, `hear` breaks, or the count is reached.
///
/// # Errors
/// [`ErrorKind::Interrupted`](zc_run::ErrorKind) when `stop` was set before the first window; the
/// soakers cannot be started; those of [`loads_can_be_told`].
pub fn live(
    options: &LiveOptions,
    stop: &Stop,
    hear: &mut dyn FnMut(Heard<'_>) -> ControlFlow<()>,
) -> Result<()> {
    loads_can_be_told(options.soaked.cpus()?.len())?;
    let mut meter = set_up(&options.soaked)?;
    let start = start(&mut meter, |meter| {
        idle(meter, IDLE_WINDOWS, &mut |at_ns| sleep_until_or_stop(at_ns, stop))
    })?;
    if hear(Heard::Start(&start.ok_or_else(interrupted)?)).is_break() {
        return Ok(());
    }
    let mut windows = 0;
    while options.count.is_none_or(|count| windows < count) {
        let opened = meter.open()?;
        if sleep_until_or_stop(opened.soak.at_ns.saturating_add(options.period_ns), stop) {
            break;
        }
        let window = SoakWindow { opened, closed: meter.close()? };
        if hear(Heard::Window(&window)).is_break() {
            break;
        }
        windows += 1;
    }
    Ok(())
}
