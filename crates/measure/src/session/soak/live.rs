//! The load of this machine, a window after the other, until somebody says stop.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use zc_kernel::clock::sleep_until_or_stop;

use super::{Soaked, interrupted, set_up, start};
use zc_run::{Result, SoakStart, SoakWindow};

/// What [`live`] is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOptions {
    /// The soakers.
    pub soaked: Soaked,
    /// How long each window is.
    pub period_ns: u64,
    /// After how many windows to stop; none goes on.
    pub count: Option<u64>,
}

/// What [`live`] tells.
#[derive(Debug)]
pub enum Heard<'a> {
    /// Once, before the first window.
    Start(&'a SoakStart),
    /// A window that has closed. Windows follow one another without a gap but for the time that telling takes.
    Window(&'a SoakWindow),
}

/// Watches the machine until `stop` is up, `hear` says that it has enough, or the count is reached.
///
/// # Errors
/// [`ErrorKind::Interrupted`](zc_run::ErrorKind) when `stop` came up before the first window; the soakers cannot be had.
pub fn live(
    options: &LiveOptions,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(Heard<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let mut meter = set_up(&options.soaked)?;
    let start = start(&mut meter, &mut |at_ns| sleep_until_or_stop(at_ns, stop))?;
    if hear(Heard::Start(&start.ok_or_else(interrupted)?)).is_break() {
        return Ok(());
    }
    let mut told = 0;
    while options.count.is_none_or(|count| told < count) {
        let opened = meter.open()?;
        if sleep_until_or_stop(opened.soak.at_ns.saturating_add(options.period_ns), stop) {
            break;
        }
        let window = SoakWindow { opened, closed: meter.close()? };
        if hear(Heard::Window(&window)).is_break() {
            break;
        }
        told += 1;
    }
    Ok(())
}
