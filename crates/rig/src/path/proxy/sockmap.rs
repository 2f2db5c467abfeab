//! `sockmap`: a BPF program redirects each packet to the other socket, and a worker of the kernel
//! sends it from there. The thread waits for the end, and counts come from TCP_INFO.
//!
//! The kernel does not tell when it has sent all: the end is where as many bytes as the source has
//! received have been handed to the target.

use std::time::Duration;

use super::errors::{closed_early, not_received};
use super::forwarder::Forwarder;
use super::setup::{ProxySetup, Sockets};
use crate::link::explain_bpf;
use zc_kernel::bpf::{BpfError, Redirect, Stage};
use zc_kernel::tcp;
use zc_run::{Error, RecvCounts, Result, Unavailable};

/// Interval at which the end is looked for, once the sender has sent all.
const LOOK: Duration = Duration::from_micros(200);

pub(super) fn open(setup: &ProxySetup<'_>) -> std::result::Result<Box<dyn Forwarder>, Unavailable> {
    let sockets = setup.own()?;
    let redirect =
        Redirect::between(&sockets.source, &sockets.target).map_err(|error| no(&error))?;
    let counts = RecvCounts::default();
    Ok(Box::new(Sockmap { _redirect: redirect, sockets, counts, is_over: false }))
}

/// Explains why sockets could not be redirected.
fn no(error: &BpfError) -> Unavailable {
    if error.stage == Stage::Attach && error.error.raw_os_error().is_some_and(is_missing) {
        return Unavailable::unsupported(format!("this kernel does not redirect sockets: {error}"))
            .remedy("a kernel with CONFIG_BPF_STREAM_PARSER, 5.10 or newer");
    }
    explain_bpf(error)
}

fn is_missing(errno: i32) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_raw_os_error(errno);
    matches!(errno, Errno::INVAL | Errno::OPNOTSUPP | Errno::NOENT)
}

struct Sockmap {
    /// Dropped before the sockets.
    _redirect: Redirect,
    sockets: Sockets,
    counts: RecvCounts,
    is_over: bool,
}

impl Forwarder for Sockmap {
    fn forward(&mut self) -> Result<usize> {
        if self.is_over {
            return Ok(0);
        }
        let Sockets { source, target } = &self.sockets;
        let looked = |error| Error::os("look at the connections of a proxy", error);
        let (source_ended, _) = tcp::wait_ends(source, target, None).map_err(looked)?;
        if !source_ended {
            return Err(closed_early());
        }
        if let Some(error) = tcp::take_error(source).map_err(looked)? {
            return Err(not_received("a socket map", error));
        }
        let mut target_ended = false;
        loop {
            // The end of the stream counts as a byte (tcp_rcv_nxt_update, net/ipv4/tcp_input.c).
            let due = tcp::info(source).map_err(looked)?.bytes_received.saturating_sub(1);
            let to = tcp::info(target).map_err(looked)?;
            let sent = (to.bytes_sent + u64::from(to.notsent_bytes)) - to.bytes_retrans;
            if sent >= due {
                self.is_over = true;
                self.counts.bytes = sent;
                return Ok(sent as usize);
            }
            if target_ended {
                return Err(closed_early());
            }
            std::thread::sleep(LOOK);
            let at_once = Some(Duration::ZERO);
            (_, target_ended) = tcp::wait_ends(source, target, at_once).map_err(looked)?;
        }
    }

    fn counts(&self) -> RecvCounts {
        self.counts
    }
}
