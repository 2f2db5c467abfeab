//! The proof: before anything is measured, each cell sends bytes of the files, and the receiver's
//! checksum must be that of the files. The same attempt finds paths that cannot run here, with the
//! reason.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cell_config::CellConfig;
use super::clients::FILES_APART;
use super::datagrams::proven_at_once;
use super::flows::Ended;
use super::priority::Priority;
use super::rig::Rig;
use super::sending::SendConfig;
use super::worker::TrialError;
use crate::{path, workload};
use zc_kernel::clock::monotonic_ns;
use zc_run::{Cell, Clients, Error, FixedParams, Probe, RecvPath, Result, Transfer, Unavailable};

/// Enough for two rounds of the generated set; of larger sets the first part is proven.
const PROOF_BYTES: u64 = 48 << 20;

/// Bytes that are sent first, to see how long they take.
const FIRST_BYTES: u64 = 16 << 10;

/// The next step sends at most so many times as much: a few bytes say little about the speed. With
/// fewer than [`WORTH_IT`] times as many bytes a proof is not repeated.
const AT_ONCE: u64 = 32;
const WORTH_IT: u64 = 2;

/// Clients to each of which a proof sends all of its bytes.
const MOST_CLIENTS: usize = 8;

/// Fewer bytes are proven with small messages: a path that takes 20 us for each is to be proven
/// within a second.
const MOST_MESSAGES: u64 = 1 << 15;

impl Rig {
    /// Proves a cell, or says why it cannot run here. It sends as many bytes as it can in about
    /// `time`.
    ///
    /// # Errors
    /// A file has become shorter, or other bytes arrived than were sent: the run must not go on.
    pub fn prove(
        &mut self,
        cell: &Cell,
        time: Duration,
    ) -> Result<std::result::Result<Probe, Unavailable>> {
        let proven = self.attempt_proof(cell, time);
        match self.or_give_up(proven) {
            Ok(probe) => Ok(Ok(probe)),
            Err(TrialError::CannotRun(no)) => Ok(Err(no)),
            Err(TrialError::Broke(error)) => Err(error),
        }
    }

    /// Sends one round of the file set (at most [`PROOF_BYTES`]) with `cell` and compares
    /// checksums: first a few bytes, and then, at the speed that was found, as many as `time` has
    /// room for.
    ///
    /// # Errors
    /// The cell cannot run here ([`TrialError::CannotRun`]), or it failed, or the bytes differ.
    fn attempt_proof(
        &mut self,
        cell: &Cell,
        time: Duration,
    ) -> std::result::Result<Probe, TrialError> {
        let until = Instant::now() + time;
        // A receive path that does not expose the bytes is proven by their number; the sender's
        // bytes are proven with `recv`.
        let hidden = match cell.transfer {
            Transfer::Paths { send, recv } if !path::shows_bytes(recv) => Some(send),
            _ => None,
        };
        let readable = match hidden {
            Some(send) => {
                let transfer = Transfer::Paths { send, recv: RecvPath::Recv }.paired();
                &Cell { transfer, ..cell.clone() }
            }
            None => cell,
        };
        let config = self.config(readable)?;
        let most_bytes = cell
            .levels
            .message_bytes
            .map_or(u64::MAX, |message| MOST_MESSAGES.saturating_mul(message as u64));
        let most_bytes = self.setup.files.total_bytes().min(PROOF_BYTES).min(most_bytes.max(1));
        let mut bytes = most_bytes.min(FIRST_BYTES);
        loop {
            let began = Instant::now();
            let crc32 = self.send_proven(cell, &config, bytes)?;
            let bytes_per_s = bytes as f64 / began.elapsed().as_secs_f64();
            let left = until.saturating_duration_since(Instant::now());
            let next = ((bytes_per_s * left.as_secs_f64()) as u64).min(most_bytes);
            if next < bytes.saturating_mul(WORTH_IT).min(most_bytes) || bytes == most_bytes {
                if hidden.is_some() {
                    let silent = SendConfig { checksum: false, ..self.proving(&config, bytes) };
                    self.send_one(&self.config(cell)?, silent)?; // counts are compared there
                }
                return Ok(Probe::Proof { cell: cell.label.clone(), bytes, crc32 });
            }
            bytes = next.min(bytes.saturating_mul(AT_ONCE));
        }
    }

    /// Configuration of a flow that sends `bytes` bytes to a receiver that reads them.
    fn proving(&self, config: &CellConfig, bytes: u64) -> SendConfig {
        let bursts = config.unpaced();
        SendConfig {
            bursts,
            stop_after_bytes: Some(bytes),
            first_file: 0,
            piece_bytes: match config.datagrams {
                Some(datagrams) => proven_at_once(datagrams),
                None => bursts.piece_bytes(config.fixed.piece_bytes),
            },
            checksum: true,
            priority: Priority::Usual,
            to_listener: self.remote.as_ref().is_none_or(|remote| !remote.proves()),
            sends_nothing: false,
            keying: None,
            is_decrypted: false,
            clients: config.clients.map(|clients| Clients {
                count: clients.count.min(MOST_CLIENTS),
                rate_bytes_per_s: f64::INFINITY,
            }),
        }
    }

    /// Sends the first `bytes` of the files, and returns their checksum.
    ///
    /// # Errors
    /// Same as [`attempt_proof`](Self::attempt_proof).
    fn send_proven(
        &mut self,
        cell: &Cell,
        config: &Arc<CellConfig>,
        bytes: u64,
    ) -> std::result::Result<u32, TrialError> {
        let send_config = self.proving(config, bytes);
        let each = send_config.clients.map_or(1, |clients| clients.count as u64);
        let Ended { sent, crc32, .. } = self.send_one(config, send_config)?;
        let expected = self.expected_crc32(bytes, each as usize, &config.fixed)?;
        if sent.bytes != bytes * each || crc32 != expected {
            return Err(TrialError::Broke(Error::failed(
                "wrong-bytes",
                format!(
                    "\"{}\" sent other bytes than the files hold: {} of {} bytes, checksum \
                 {crc32:08x} instead of {expected:08x}",
                    cell.label,
                    sent.bytes,
                    bytes * each
                ),
            )));
        }
        Ok(crc32)
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
        self.finish_flows(flows, began_ns, None)
    }

    /// CRC-32 of the first `bytes` of the files, or the sum of those of the first that each of
    /// several `clients` is sent.
    fn expected_crc32(&mut self, bytes: u64, clients: usize, fixed: &FixedParams) -> Result<u32> {
        let key = (bytes, fixed.align, clients);
        if let Some(&crc32) = self.expected.get(&key) {
            return Ok(crc32);
        }
        let mut sum = 0_u32;
        for client in 0..clients {
            let files = &self.setup.files;
            let walk = files.walk(client * FILES_APART, fixed.piece_bytes).aligned(fixed.align);
            sum = sum.wrapping_add(workload::checksum(files, walk, bytes)?);
        }
        self.expected.insert(key, sum);
        Ok(sum)
    }
}
