//! Waiting for `--wait`, and the outages that it tolerates.

use std::time::Duration;

use crate::tell;
use zc_kernel::stop::Stop;
use zc_run::{Error, ErrorKind, Result};

/// Interval at which signals are checked.
const STEP: Duration = Duration::from_millis(100);

/// Waits so long; whether that was interrupted.
pub(super) fn interrupted_within(time: Duration, stop: &Stop) -> bool {
    for _ in 0..time.as_millis() / STEP.as_millis() {
        if stop.is_set() {
            return true;
        }
        std::thread::sleep(STEP);
    }
    stop.is_set()
}

/// Says that a scheduler does not answer, or refuses: it is asked again. Anything else ends the
/// command.
///
/// # Errors
/// Anything else.
pub(super) fn outage(error: Error) -> Result<()> {
    if error.kind != ErrorKind::Remote {
        return Err(error);
    }
    tell::warning(&format!("{}: it is tried again", error.message), error.help.as_deref());
    Ok(())
}

/// Asks a scheduler, once every so long until it answers; `None` after an interruption.
///
/// # Errors
/// Same as for [`outage`].
pub(super) fn answered<T>(
    every: Duration,
    stop: &Stop,
    ask: impl Fn() -> Result<T>,
) -> Result<Option<T>> {
    let mut is_told = false;
    while !interrupted_within(every, stop) {
        match ask() {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) if is_told && error.kind == ErrorKind::Remote => {}
            Err(error) => outage(error)?,
        }
        is_told = true;
    }
    Ok(None)
}
