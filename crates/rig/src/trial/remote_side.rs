//! The machine that receives the bytes of a trial, as the rig sees it. It may measure, too.

use std::net::TcpStream;

use super::limit::Limit;
use super::receiving::RecvConfig;
use super::sending::Target;
use super::worker::TrialError;
use zc_run::{RemoteReport, RemoteWindow, Result};

/// Another machine that receives the bytes of a trial. By default it does not measure.
///
/// The clocks are not synchronised. The client sends how long from now a window opens and how long
/// it lasts; both ends then follow their own clocks, and no message is sent while a window is open.
/// The two windows differ by the time that a message takes.
pub trait RemoteSide: Send {
    /// Whether it can report the checksum of what it received.
    fn proves(&self) -> bool {
        false
    }

    /// Sets until when it is waited for.
    fn limit_to(&mut self, _limit: Limit) {}

    /// Resumes or pauses its soakers, and returns when they have obeyed.
    ///
    /// # Errors
    /// The other machine is gone.
    fn soak(&mut self, _on: bool) -> Result<()> {
        Ok(())
    }

    /// Prepares for the flows of a trial; returns where each is to connect to. It chooses
    /// `recv_config.cpus` itself.
    ///
    /// # Errors
    /// The receive path cannot run there, or it is gone.
    fn expect(
        &mut self,
        flows: usize,
        recv_config: RecvConfig,
    ) -> std::result::Result<Vec<Target>, TrialError>;

    /// Returns when all expected flows have connected.
    ///
    /// # Errors
    /// Same as [`expect`](Self::expect).
    fn await_flows(&mut self) -> std::result::Result<(), TrialError>;

    /// Asks for a window that opens in `opens_in_ns` from now and lasts `lasts_ns`.
    ///
    /// # Errors
    /// The other machine is gone.
    fn open_window(&mut self, _opens_in_ns: u64, _lasts_ns: u64) -> Result<()> {
        Ok(())
    }

    /// The readings at the window's edges, once it has closed; `None` if it does not measure.
    ///
    /// # Errors
    /// It is gone, or could not read.
    fn window(&mut self) -> Result<Option<RemoteWindow>> {
        Ok(None)
    }

    /// Waits for the end of flows whose senders have ended after `seconds`; their sockets are still
    /// open.
    ///
    /// # Errors
    /// A receiver failed, or it is gone.
    fn finish(
        &mut self,
        flows: &[SentFlow<'_>],
        seconds: f64,
    ) -> std::result::Result<RemoteEnded, TrialError>;

    /// Abandons flows and a window that will not be finished.
    fn give_up(&mut self);
}

/// A flow whose sender has ended.
#[derive(Debug, Clone, Copy)]
pub struct SentFlow<'a> {
    /// Its socket, still open at the sender.
    pub socket: &'a TcpStream,
    /// Payload bytes that it has sent.
    pub bytes: u64,
}

/// Report of the other machine on flows that have ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RemoteEnded {
    /// Payload bytes received over all flows; `None` if it does not report them, or not exactly.
    pub received_bytes: Option<u64>,
    /// CRC-32 of what the first flow received, if a checksum was asked for.
    pub crc32: Option<u32>,
    /// Its report about itself, if it does not run zc.
    pub report: Option<RemoteReport>,
}
