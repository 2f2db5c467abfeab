//! The proof: before anything is measured, each cell sends bytes of the files, and the receiver's
//! checksum must be that of the files. The same attempt finds paths that cannot run here, with the
//! reason.

use std::sync::Arc;

use crate::{path, workload};
use zc_run::{Cell, Error, FixedParams, Probe, RecvPath, Result, Unavailable};

use zc_kernel::clock::monotonic_ns;

use super::cell_config::CellConfig;
use super::flows::Ended;
use super::rig::Rig;
use super::sending::SendConfig;
use super::worker::TrialError;

/// Enough for two rounds of the generated set; of larger sets the first part is proven.
const PROOF_BYTES: u64 = 48 << 20;

/// Fewer bytes are proven with small messages: a path that takes 20 us for each is to be proven
/// within a second.
const MOST_MESSAGES: u64 = 1 << 15;

impl Rig {
    /// Proves a cell, or says why it cannot run here.
    ///
    /// # Errors
    /// A file has become shorter, or other bytes arrived than were sent: the run must not go on.
    pub fn prove(&mut self, cell: &Cell) -> Result<std::result::Result<Probe, Unavailable>> {
        let proven = self.attempt_proof(cell);
        match self.or_give_up(proven) {
            Ok(probe) => Ok(Ok(probe)),
            Err(TrialError::CannotRun(no)) => Ok(Err(no)),
            Err(TrialError::Broke(error)) => Err(error),
        }
    }

    /// Sends one round of the file set or more (at most [`PROOF_BYTES`]) with `cell` and compares
    /// checksums.
    ///
    /// # Errors
    /// The cell cannot run here ([`TrialError::CannotRun`]), or it failed, or the bytes differ.
    fn attempt_proof(&mut self, cell: &Cell) -> std::result::Result<Probe, TrialError> {
        // A receive path that does not expose the bytes is proven by their number; the sender's
        // bytes are proven with `recv`.
        let readable = Cell {
            recv: if path::shows_bytes(cell.recv) { cell.recv } else { RecvPath::Recv },
            ..cell.clone()
        };
        let config = self.config(&readable)?;
        let most_bytes = cell
            .levels
            .message_bytes
            .map_or(u64::MAX, |message| MOST_MESSAGES.saturating_mul(message as u64));
        let bytes = self.setup.files.total_bytes().min(PROOF_BYTES).min(most_bytes.max(1));
        let bursts = config.unpaced();
        let send_config = SendConfig {
            bursts,
            stop_after_bytes: Some(bytes),
            first_file: 0,
            piece_bytes: bursts.piece_bytes(config.fixed.piece_bytes),
            checksum: true,
            low_priority: false,
            to_listener: self.remote.as_ref().is_none_or(|remote| !remote.proves()),
            sends_nothing: false,
        };
        let Ended { sent, crc32, .. } = self.send_one(&config, send_config)?;
        let expected = self.expected_crc32(bytes, &config.fixed)?;
        if sent.bytes != bytes || crc32 != expected {
            return Err(TrialError::Broke(Error::failed(format!(
                "\"{}\" sent other bytes than the files hold: {} of {bytes} bytes, checksum \
                 {crc32:08x} instead of {expected:08x}",
                cell.label, sent.bytes
            ))));
        }
        if readable.recv != cell.recv {
            let silent = SendConfig { checksum: false, ..send_config };
            self.send_one(&self.config(cell)?, silent)?; // counts are compared there
        }
        Ok(Probe::Proof { cell: cell.label.clone(), bytes, crc32 })
    }

    /// Runs one flow until it stops by itself.
    fn send_one(
        &mut self,
        config: &Arc<CellConfig>,
        send_config: SendConfig,
    ) -> std::result::Result<Ended, TrialError> {
        let flows = self.open_flows(config, 1, send_config)?;
        let began_ns = monotonic_ns();
        for flow in &flows {
            flow.begin(0);
        }
        self.finish_flows(flows, began_ns)
    }

    fn expected_crc32(&mut self, bytes: u64, fixed: &FixedParams) -> Result<u32> {
        if let Some(&crc32) = self.expected.get(&(bytes, fixed.align)) {
            return Ok(crc32);
        }
        let walk = self.setup.files.walk(0, fixed.piece_bytes).aligned(fixed.align);
        let crc32 = workload::checksum(&self.setup.files, walk, bytes)?;
        self.expected.insert((bytes, fixed.align), crc32);
        Ok(crc32)
    }
}
