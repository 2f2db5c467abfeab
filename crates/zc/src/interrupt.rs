//! Ctrl-C, SIGTERM and SIGHUP. The first asks the session to end after the current trial. The
//! second ends the program at once, and the kernel removes namespaces, soakers and sockets.
//!
//! SIGXFSZ, which a write beyond RLIMIT_FSIZE raises, would end the program with its result. It is
//! caught, so that the write fails (EFBIG) as on a full disk. It is not ignored: commands that zc
//! starts would inherit that, but not a handler.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use zc_run::{Error, ErrorKind, Result};

/// A flag that is set when a signal arrives.
///
/// # Errors
/// sigaction(2) failed.
pub(super) fn flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let code = i32::from(ErrorKind::Interrupted.exit_code());
        // The order matters: the shutdown checks the flag before this signal has set it.
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| Error::os("listen for signals", error))?;
    }
    Ok(flag)
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
