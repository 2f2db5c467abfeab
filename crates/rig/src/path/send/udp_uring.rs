//! Datagrams by io_uring, on a tuned ring: `udp-uring` links an `IORING_OP_SEND` for each datagram
//! to the `IORING_OP_READ` that fills the buffer; `udp-uring-zc` sends several that the kernel cuts
//! by `IORING_OP_SEND_ZC`, and `udp-uring-vectored` by `IORING_OP_SENDMSG_ZC` with a part for each,
//! both from the registered copy of the files.

use super::datagrams::cut_by_kernel;
use super::definition::Definition;
use super::uring_send_batch::UringSendBatch;
use super::uring_send_zc::UringSendZc;
use zc_kernel::uring::ZeroCopySends;

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringSendBatch::of_datagrams(socket, setup)?)),
    call_without_flags: None,
};

pub(super) const ZC_PATH: Definition = Definition {
    open: |socket, setup| {
        cut_by_kernel(socket, setup.datagrams)?;
        let bytes = setup.datagrams.call_bytes();
        Ok(Box::new(UringSendZc::of_datagrams(socket, setup, ZeroCopySends::Linked, bytes)?))
    },
    call_without_flags: None,
};

pub(super) const VECTORED_PATH: Definition = Definition {
    open: |socket, setup| {
        cut_by_kernel(socket, setup.datagrams)?;
        let bytes = setup.datagrams.payload_bytes;
        Ok(Box::new(UringSendZc::of_datagrams(socket, setup, ZeroCopySends::Vectored, bytes)?))
    },
    call_without_flags: None,
};
