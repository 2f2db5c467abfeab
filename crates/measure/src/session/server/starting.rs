//! Waiting for a server that may still be starting.

use std::time::{Duration, Instant};

use super::super::steps::{Steps, go_on};
use zc_run::{ErrorKind, Result};
use zc_servers::Served;

/// Time between two attempts.
const LOOK: Duration = Duration::from_millis(50);

/// Does what needs an answer of the server, again and again until it has one, for at most `limit`.
///
/// # Errors
/// The run was interrupted; the server has ended, which says more than that it does not answer; or
/// the last attempt's error.
pub(super) fn as_soon_as_it_answers<T>(
    limit: Duration,
    served: &mut Served,
    steps: &Steps<'_>,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let until = Instant::now() + limit;
    loop {
        served.check()?;
        go_on(steps.stop)?;
        match attempt() {
            Err(error) if error.kind == ErrorKind::Remote && Instant::now() < until => {
                std::thread::sleep(LOOK);
            }
            Err(error) if error.kind == ErrorKind::Remote => {
                served.check()?;
                return Err(error);
            }
            done => return done,
        }
    }
}
