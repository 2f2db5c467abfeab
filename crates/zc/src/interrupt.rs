//! Ctrl-C, SIGTERM and SIGHUP. The first signal asks running work to end. The second ends the
//! program at once, as the first does if no code checks for it within a second: only a wait cannot
//! check, and the kernel removes namespaces, soakers and sockets.
//!
//! SIGXFSZ, which a write beyond RLIMIT_FSIZE raises, would end the program with its result. It is
//! caught, so that the write fails (EFBIG) as on a full disk. It is not ignored: commands that zc
//! starts would inherit that, but not a handler.

use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use zc_kernel::stop::Stop;
use zc_run::{Error, ErrorKind, Result};

/// A flag that is set when a signal arrives, the same one at each call.
///
/// # Errors
/// sigaction(2) failed.
pub(super) fn flag() -> Result<Stop> {
    static STOP: OnceLock<Stop> = OnceLock::new();
    if let Some(stop) = STOP.get() {
        return Ok(stop.clone());
    }
    let stop = STOP.get_or_init(Stop::default);
    let code = i32::from(ErrorKind::Interrupted.exit_code());
    stop.on_signals(&[SIGINT, SIGTERM, SIGHUP], code)
        .map_err(|error| Error::os("listen for signals", error))?;
    Ok(stop.clone())
}

/// Makes writes beyond RLIMIT_FSIZE fail instead of ending the program.
///
/// # Errors
/// sigaction(2) failed.
pub(super) fn survive_file_size_limit() -> Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default())
        .map_err(|error| Error::os("catch SIGXFSZ", error))?;
    Ok(())
}
