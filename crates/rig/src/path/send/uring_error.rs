//! Errors of io_uring transfers as errors of the send path.

use super::socket_writer::broken;
use crate::workload::SourceFile;
use zc_kernel::uring::TransferError;
use zc_run::Error;

/// The error of a transfer from `file` to the socket.
pub(super) fn transfer_error(file: &SourceFile, error: TransferError) -> Error {
    match error {
        TransferError::FileEnded => file.became_shorter(),
        TransferError::File(error) => file.unreadable(error),
        TransferError::Socket(error) => broken("io_uring", error),
        TransferError::Ring(error) => Error::os("use io_uring", error),
    }
}
