//! The request to end the program: SIGINT, SIGTERM and SIGHUP set a flag that waiting code checks.
//!
//! Not every wait can check it: looking a name up, opening a FIFO, reading from a file system that
//! hangs. So the first signal starts a timer. If the flag was not checked when it is over, the
//! program ends there and then, as it does at a second signal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::low_level;

/// Message written to stderr if the flag was not checked in time.
const SAID: &[u8] =
    b"error: interrupted while a file, a name, a command or another machine was waited for [interrupted]\n\
                      hint: what a run had saved by then is printed by zc show FILE\n";

/// Seconds within which the flag must be checked after it was set.
const PATIENCE_S: libc::c_uint = 1;

/// Whether the program is to end. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_set: AtomicBool,
    /// The flag was seen set, and the work is being ended.
    is_heard: AtomicBool,
}

impl Stop {
    /// A flag that is set already.
    pub fn already() -> Self {
        let stop = Self::default();
        stop.set();
        stop
    }

    /// Sets it.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
    }

    /// Whether it is set. The caller must then end within a moment.
    pub fn is_set(&self) -> bool {
        let is_set = self.0.is_set.load(Ordering::Relaxed);
        if is_set {
            self.0.is_heard.store(true, Ordering::Relaxed);
        }
        is_set
    }

    /// Sets it when one of `signals` arrives for the first time. If it is not looked at within a
    /// second, and at the second signal, the program ends with exit code `code`. For once in a
    /// process: it takes SIGALRM.
    ///
    /// # Errors
    /// - EINVAL: not a signal number, or one that cannot be handled.
    ///
    /// # References
    /// - [sigaction(2)]
    /// - [alarm(2)]
    /// - [signal-safety(7)]: alarm, write and _exit may be called by a handler.
    ///
    /// [sigaction(2)]: https://man7.org/linux/man-pages/man2/sigaction.2.html
    /// [alarm(2)]: https://man7.org/linux/man-pages/man2/alarm.2.html
    /// [signal-safety(7)]: https://man7.org/linux/man-pages/man7/signal-safety.7.html
    #[doc(alias = "sigaction")]
    #[doc(alias = "alarm")]
    pub fn on_signals(&self, signals: &[i32], code: i32) -> io::Result<()> {
        let state = Arc::clone(&self.0);
        let at_alarm = move || {
            if !state.is_heard.load(Ordering::Relaxed) {
                // SAFETY: the bytes are static. The call may be made in a handler, and where it
                // fails nothing is said.
                unsafe { libc::write(2, SAID.as_ptr().cast(), SAID.len()) };
                low_level::exit(code);
            }
        };
        // SAFETY: the handler reads an atomic, and calls write(2) and _exit(2). It neither
        // allocates nor locks; what it owns is never dropped, as it is not unregistered.
        unsafe { low_level::register(libc::SIGALRM, at_alarm) }?;
        for &signal in signals {
            let state = Arc::clone(&self.0);
            let at_signal = move || {
                if state.is_set.swap(true, Ordering::Relaxed) {
                    low_level::exit(code);
                }
                // SAFETY: alarm(2) takes any number, and may be called in a handler.
                unsafe { libc::alarm(PATIENCE_S) };
            };
            // SAFETY: as above, with alarm(2) in place of write(2).
            unsafe { low_level::register(signal, at_signal) }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_heard_once_it_is_set_and_looked_at() {
        let stop = Stop::default();
        assert!(!stop.is_set() && !stop.0.is_heard.load(Ordering::Relaxed));
        stop.set();
        assert!(!stop.0.is_heard.load(Ordering::Relaxed));
        assert!(stop.clone().is_set() && stop.0.is_heard.load(Ordering::Relaxed));
        assert!(Stop::already().is_set());
    }
}
