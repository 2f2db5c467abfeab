//! All flows of a trial: how they come up, and what became of them.

use std::sync::Arc;

use zc_kernel::clock::monotonic_ns;

use super::cell_config::CellConfig;
use super::flow::Flow;
use super::remote_side::SentFlow;
use super::rig::Rig;
use super::sending::{SendConfig, Target};
use super::worker::TrialError;
use zc_run::{Error, RemoteReport, SendCounts, Usage};

/// What became of the flows of a trial.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// What their senders did.
    pub(super) sent: SendCounts,
    /// Of what the last one received, in proofs.
    pub(super) crc32: u32,
    /// What their threads used.
    pub(super) used: Option<Usage>,
    /// What the far end said of itself.
    pub(super) report: Option<RemoteReport>,
}

impl Rig {
    /// Connects the flows of a trial and opens their paths, on both machines where there are two.
    pub(super) fn open_flows(
        &mut self,
        config: &Arc<CellConfig>,
        flows: usize,
        send_config: SendConfig,
    ) -> std::result::Result<Vec<Flow>, TrialError> {
        let Some(far) = self.far.as_mut().filter(|_| !send_config.to_listener) else {
            return self.connect_flows(config, flows, send_config, &[]);
        };
        let targets = far.expect(flows, config.recv_config(send_config.checksum))?;
        let opened = self.connect_flows(config, flows, send_config, &targets)?;
        self.far.as_mut().map_or(Ok(()), |far| far.await_flows())?;
        Ok(opened)
    }

    fn connect_flows(
        &self,
        config: &Arc<CellConfig>,
        flows: usize,
        send_config: SendConfig,
        targets: &[Target],
    ) -> std::result::Result<Vec<Flow>, TrialError> {
        let link = self.links.of(&config.cell.levels).map_err(TrialError::CannotRun)?;
        (0..flows)
            .map(|index| Flow::open(index, config, link, send_config, targets.get(index).cloned()))
            .collect()
    }

    /// Waits for the end of flows that have been told to stop, or stop by themselves, and holds what was sent against what was
    /// received.
    pub(super) fn finish_flows(
        &mut self,
        flows: Vec<Flow>,
        began_ns: u64,
    ) -> std::result::Result<Ended, TrialError> {
        let elsewhere = flows.iter().any(Flow::is_remote);
        let mut ended = Ended { used: Some(Usage::default()), ..Ended::default() };
        let mut sent_bytes = Vec::new();
        for flow in &flows {
            let (sent, _, crc32) = flow.finish()?;
            sent_bytes.push(sent.bytes);
            ended.sent.add(&sent);
            ended.crc32 = crc32;
            ended.used = ended.used.zip(flow.sender_usage()).map(|(mut sum, one)| {
                sum.add(&one);
                sum
            });
        }
        if let Some(far) = self.far.as_mut().filter(|_| elsewhere) {
            let seconds = monotonic_ns().saturating_sub(began_ns) as f64 / 1e9;
            let sent: Vec<SentFlow<'_>> = flows
                .iter()
                .zip(sent_bytes)
                .map(|(flow, bytes)| SentFlow { socket: flow.socket(), bytes })
                .collect();
            let there = far.finish(&sent, seconds)?;
            if let Some(received) =
                there.received_bytes.filter(|received| *received != ended.sent.bytes)
            {
                return Err(TrialError::Broke(Error::failed(format!(
                    "the sender sent {} bytes and the far end received {received}",
                    ended.sent.bytes
                ))));
            }
            ended.crc32 = there.crc32.unwrap_or_default();
            ended.report = there.report;
        }
        Ok(ended)
    }
}

/// Why flows have ended that were not told to: their own reason is the better sentence.
pub(super) fn why_ended(flows: Vec<Flow>) -> TrialError {
    for flow in &flows {
        flow.stop();
    }
    let reason = flows.into_iter().find_map(|flow| flow.finish().err());
    reason.unwrap_or_else(|| {
        TrialError::Broke(Error::failed("a flow ended in the middle of a trial"))
    })
}
