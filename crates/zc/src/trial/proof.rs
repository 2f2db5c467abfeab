//! The proof: before anything is measured, each cell sends bytes of the files and the far end's checksum must be the
//! files' own. A path that cannot run here is found out by the same attempt, with its reason.

use crate::record::{Cell, Fault, Probe, RecvPath, Result};
use crate::workload;

use zc_sys::clock::monotonic_ns;

use super::rig::Ended;
use super::rig::Rig;
use super::sending::Drive;
use super::side::Trouble;

/// Enough for every file of the generated set, twice round; larger sets are proven by their first part.
const PROOF_BYTES: u64 = 48 << 20;

impl Rig {
    /// Sends at least one round of the file set (at most [`PROOF_BYTES`]) by `cell` and compares checksums.
    ///
    /// # Errors
    /// The cell cannot run here ([`Trouble::CannotRun`]), or it broke, or the bytes differ.
    pub(super) fn attempt_proof(&mut self, cell: &Cell) -> std::result::Result<Probe, Trouble> {
        let bytes = self.setup.files.total_bytes().min(PROOF_BYTES);
        // A receive path that never shows its bytes is proven by count; the sender's bytes are proven with `recv`.
        let shown = Cell {
            recv: match cell.recv {
                RecvPath::RecvTrunc | RecvPath::Splice => RecvPath::Recv,
                other => other,
            },
            ..cell.clone()
        };
        let drive = Drive {
            rate_bytes_per_s: None,
            stop_after_bytes: Some(bytes),
            first_file: 0,
            piece_bytes: self.fixed.piece_bytes,
            checksum: true,
            to_listener: self.far.as_ref().is_none_or(|far| !far.proves()),
        };
        let Ended { sent, crc32, .. } = self.send_one(&shown, drive)?;
        let expected = self.expected_crc32(bytes)?;
        if sent.bytes != bytes || crc32 != expected {
            return Err(Trouble::Broke(Fault::failed(format!(
                "\"{}\" sent other bytes than the files hold: {} of {bytes} bytes, checksum {crc32:08x} instead of {expected:08x}",
                cell.label, sent.bytes
            ))));
        }
        if shown.recv != cell.recv {
            let silent = Drive { checksum: false, ..drive };
            self.send_one(cell, silent)?; // counts are compared there
        }
        Ok(Probe::Proof { cell: cell.label.clone(), bytes, crc32 })
    }

    /// One flow, until it stops by itself.
    fn send_one(&mut self, cell: &Cell, drive: Drive) -> std::result::Result<Ended, Trouble> {
        let flows = self.open_flows(cell, 1, drive)?;
        let began_ns = monotonic_ns();
        for flow in &flows {
            flow.begin(0);
        }
        self.finish_flows(flows, began_ns)
    }

    fn expected_crc32(&self, bytes: u64) -> Result<u32> {
        if let Some(&(for_bytes, crc32)) = self.expected.get()
            && for_bytes == bytes
        {
            return Ok(crc32);
        }
        let crc32 = workload::checksum(&self.setup.files, self.fixed.piece_bytes, bytes)?;
        let _ = self.expected.set((bytes, crc32));
        Ok(crc32)
    }
}
