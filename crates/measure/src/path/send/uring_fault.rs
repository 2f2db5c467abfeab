//! What went wrong while io_uring was sending, as a sentence.

use zc_kernel::uring::TransferError;

use super::outlet::broken;
use crate::workload::SourceFile;
use zc_run::Fault;

/// The failure of a transfer from `file` to the socket.
pub(super) fn fault(file: &SourceFile, error: TransferError) -> Fault {
    match error {
        TransferError::FileEnded => file.became_shorter(),
        TransferError::File(error) => file.unreadable(error),
        TransferError::Socket(error) => broken("io_uring", error),
        TransferError::Ring(error) => Fault::os("use io_uring", error),
    }
}
