//! Ctrl-C, SIGTERM and SIGHUP: the first one asks the session to end after the trial it is at, the second one ends the
//! program at once (the kernel then takes namespaces, soakers and sockets away).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use zc_run::{Error, ErrorKind, Result};

/// A flag that is up once a signal has come.
///
/// # Errors
/// sigaction(2) failed.
pub(super) fn flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let code = i32::from(ErrorKind::Interrupted.exit_code());
        // The order matters: the shutdown looks at the flag before this signal has raised it.
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| Error::os("listen for signals", error))?;
    }
    Ok(flag)
}
