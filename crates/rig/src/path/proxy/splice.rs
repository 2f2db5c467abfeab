//! `splice`: splice(2) from the socket into a pipe, and from the pipe into the other socket. The
//! payload moves as references to the pages that it arrived in.
//!
//! The flags are those of HAProxy (`raw_sock_to_pipe`, `raw_sock_from_pipe` in its src/raw_sock.c):
//! SPLICE_F_MOVE, and no SPLICE_F_MORE, as more may be long in coming. Here the sockets block.

use super::errors::{not_received, not_sent};
use super::forwarder::Forwarder;
use super::setup::{ProxySetup, Sockets};
use zc_kernel::splice::Pipe;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) fn open(setup: &ProxySetup<'_>) -> std::result::Result<Box<dyn Forwarder>, Unavailable> {
    let (sockets, pipe) = (setup.own()?, setup.pipe()?);
    Ok(Box::new(Splice { sockets, pipe, counts: RecvCounts::default() }))
}

struct Splice {
    sockets: Sockets,
    pipe: Pipe,
    counts: RecvCounts,
}

impl Forwarder for Splice {
    fn forward(&mut self) -> Result<usize> {
        self.counts.calls += 1;
        let capacity = self.pipe.capacity_bytes();
        let filled = self
            .pipe
            .fill_from_socket(&self.sockets.source, capacity)
            .map_err(|error| not_received("splice(2)", error))?;
        let mut left = filled;
        while left > 0 {
            self.counts.calls += 1;
            let emptied = self
                .pipe
                .empty_into(&self.sockets.target, left, false)
                .map_err(|error| not_sent("splice(2)", error))?;
            left = left.saturating_sub(emptied);
        }
        self.counts.bytes += filled as u64;
        Ok(filled)
    }

    fn counts(&self) -> RecvCounts {
        self.counts
    }
}
