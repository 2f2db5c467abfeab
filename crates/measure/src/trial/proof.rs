//! The proof: before anything is measured, each cell sends bytes of the files and the far end's checksum must be the
//! files' own. A path that cannot run here is found out by the same attempt, with its reason.

use std::sync::Arc;

use crate::workload;
use zc_run::{Cell, Error, FixedParams, Probe, RecvPath, Result};

use zc_kernel::clock::monotonic_ns;

use super::cell_config::CellConfig;
use super::flows::Ended;
use super::rig::Rig;
use super::sending::SendConfig;
use super::worker::TrialError;

/// Enough for every file of the generated set, twice round; larger sets are proven by their first part.
const PROOF_BYTES: u64 = 48 << 20;

/// Of small messages fewer bytes are enough: a path that takes 20 us for each is to be proven within a second.
const MOST_MESSAGES: u64 = 1 << 15;

impl Rig {
    /// Sends at least one round of the file set (at most [`PROOF_BYTES`]) by `cell` and compares checksums.
    ///
    /// # Errors
    /// The cell cannot run here ([`TrialError::CannotRun`]), or it broke, or the bytes differ.
    pub(super) fn attempt_proof(&mut self, cell: &Cell) -> std::result::Result<Probe, TrialError> {
        // A receive path that never shows its bytes is proven by count; the sender's bytes are proven with `recv`.
        let shown = Cell {
            recv: match cell.recv {
                RecvPath::RecvTrunc | RecvPath::Splice => RecvPath::Recv,
                other => other,
            },
            ..cell.clone()
        };
        let config = self.config(&shown)?;
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
            gives_way: false,
            to_listener: self.far.as_ref().is_none_or(|far| !far.proves()),
        };
        let Ended { sent, crc32, .. } = self.send_one(&config, send_config)?;
        let expected = self.expected_crc32(bytes, &config.fixed)?;
        if sent.bytes != bytes || crc32 != expected {
            return Err(TrialError::Broke(Error::failed(format!(
                "\"{}\" sent other bytes than the files hold: {} of {bytes} bytes, checksum {crc32:08x} instead of {expected:08x}",
                cell.label, sent.bytes
            ))));
        }
        if shown.recv != cell.recv {
            let silent = SendConfig { checksum: false, ..send_config };
            self.send_one(&self.config(cell)?, silent)?; // counts are compared there
        }
        Ok(Probe::Proof { cell: cell.label.clone(), bytes, crc32 })
    }

    /// One flow, until it stops by itself.
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
