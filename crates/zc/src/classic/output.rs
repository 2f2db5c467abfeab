//! Output of the tools of 2001: lines on stdout, and notes on stderr for `-d`.

use std::io::{self, Write as _};
use std::ops::ControlFlow;

use crate::tell;
use zc_run::{Error, in_words};

/// Writes a line to stdout and flushes it, for readers that follow along. Breaks if the reader has
/// gone, or if the line cannot be written; `failed` then has the error.
pub(super) fn line(text: &str, failed: &mut Option<Error>) -> ControlFlow<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            if error.kind() != io::ErrorKind::BrokenPipe {
                let error = Error::output(
                    "cannot-write-stdout",
                    format!("cannot write to stdout: {}", in_words(&error)),
                );
                *failed = Some(error.help("is its disk full?"));
            }
            ControlFlow::Break(())
        }
    }
}

/// Prints a note if `on`: for `-d`.
pub(super) fn debug(on: bool, text: impl FnOnce() -> String) {
    if on {
        tell::note(&text());
    }
}
