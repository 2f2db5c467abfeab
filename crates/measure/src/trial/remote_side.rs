//! The far side of a trial that runs to another machine, as the rig sees it: somebody takes the bytes there, and perhaps measures.

use std::net::TcpStream;

use super::receiving::RecvConfig;
use super::sending::Target;
use super::worker::TrialError;
use zc_run::{RemoteReport, RemoteWindow, Result};

/// Another machine that takes the bytes of a trial. Without more it does not measure.
///
/// Its clock is its own: it is told how long from now a window opens, and how long it lasts, and both ends then keep to their own
/// clocks, so that nothing is said while a window is open. The two windows lie beside each other within the time that a
/// message takes.
pub trait RemoteSide: Send {
    /// Whether it can show the checksum of what it received.
    fn proves(&self) -> bool {
        false
    }

    /// Lets the soakers there work or sleep, and returns when they do.
    ///
    /// # Errors
    /// It is gone.
    fn soak(&mut self, _on: bool) -> Result<()> {
        Ok(())
    }

    /// Makes ready for the flows of a trial, and says where each is to connect to. `recv_config.cpus` are for it to choose.
    ///
    /// # Errors
    /// The receive path cannot run there, or it is gone.
    fn expect(
        &mut self,
        flows: usize,
        recv_config: RecvConfig,
    ) -> std::result::Result<Vec<Target>, TrialError>;

    /// Returns when all flows that were expected have come.
    ///
    /// # Errors
    /// As for [`expect`](Self::expect).
    fn await_flows(&mut self) -> std::result::Result<(), TrialError>;

    /// Asks for a window that opens in so many nanoseconds from now and lasts so many.
    ///
    /// # Errors
    /// It is gone.
    fn open_window(&mut self, _opens_in_ns: u64, _lasts_ns: u64) -> Result<()> {
        Ok(())
    }

    /// What was read at the window's edges, once it has closed; `None` where nobody measures.
    ///
    /// # Errors
    /// It is gone, or could not read.
    fn window(&mut self) -> Result<Option<RemoteWindow>> {
        Ok(None)
    }

    /// Waits for the end of flows whose senders have ended after `seconds`; their sockets are still open.
    ///
    /// # Errors
    /// A receiver broke, or it is gone.
    fn finish(
        &mut self,
        flows: &[SentFlow<'_>],
        seconds: f64,
    ) -> std::result::Result<RemoteEnded, TrialError>;

    /// Ends whatever was asked for and will not be finished: flows, a window.
    fn give_up(&mut self);
}

/// A flow whose sender has ended.
#[derive(Debug, Clone, Copy)]
pub struct SentFlow<'a> {
    /// Its socket, still open at this end.
    pub socket: &'a TcpStream,
    /// Payload bytes that it has sent.
    pub bytes: u64,
}

/// What the far side says of flows that have ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RemoteEnded {
    /// Payload bytes that came, over all flows; null where it does not say, or not to the byte.
    pub received_bytes: Option<u64>,
    /// CRC-32 of what the first flow received, where that was asked for.
    pub crc32: Option<u32>,
    /// What it says of itself, where it is no zc.
    pub report: Option<RemoteReport>,
}
