//! The errors of a proxy: which of its two connections broke.

use std::io;

use zc_run::Error;

/// The error of a call that was to receive.
pub(super) fn not_received(call: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionReset => {
            Error::failed("sender-reset", "the sender reset the connection to the proxy")
        }
        _ => Error::os(format!("receive in a proxy with {call}"), error),
    }
}

/// The error of a call that was to send.
pub(super) fn not_sent(call: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::NotConnected => closed_early(),
        _ => Error::os(format!("send in a proxy with {call}"), error),
    }
}

/// The error where the receiver has gone.
pub(super) fn closed_early() -> Error {
    Error::failed(
        "receiver-closed-early",
        "the receiver closed the connection while the proxy was sending",
    )
}
