//! Opens all flows of a trial, and waits for their end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cell_config::CellConfig;
use super::clients;
use super::flow::Flow;
use super::links::Links;
use super::remote_side::{RemoteSide, SentFlow};
use super::sending::{SendConfig, Target};
use super::worker::TrialError;
use zc_kernel::clock::monotonic_ns;
use zc_run::{Error, FragmentCounts, RemoteReport, SendCounts, Usage};

/// Result of the flows of a trial that have ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Sum over the senders.
    pub(super) sent: SendCounts,
    /// Bytes of them in datagrams that did not arrive; `None`: they were streams.
    pub(super) lost_bytes: Option<u64>,
    /// CRC-32 of what the last one received, in proofs.
    pub(super) crc32: u32,
    /// CPU time of the sender threads; `None` where the kernel did not report it for one.
    pub(super) used: Option<Usage>,
    /// Packets and their fragments, where they were counted.
    pub(super) fragments: Option<FragmentCounts>,
    /// Whether a flow had not drained in time: what it sent is counted so far, and its connection
    /// is reset.
    pub(super) cut: bool,
    /// Report of the other machine about itself, if it does not run zc.
    pub(super) report: Option<RemoteReport>,
}

/// Connects the flows of a trial and opens their paths, on both machines where there are two.
pub(super) fn open_flows(
    links: &Links,
    remote: Option<&mut (dyn RemoteSide + 'static)>,
    config: &Arc<CellConfig>,
    flows: usize,
    send_config: SendConfig,
) -> std::result::Result<Vec<Flow>, TrialError> {
    // What does not prove what it received looks into nothing.
    let proves = send_config.to_listener || remote.as_ref().is_none_or(|remote| remote.proves());
    let is_decrypted = config.recv.decrypts() && proves;
    let send_config = SendConfig { keying: config.keying()?, is_decrypted, ..send_config };
    let Some(remote) = remote.filter(|_| !send_config.to_listener) else {
        return connect_flows(links, config, flows, send_config, &[]);
    };
    let targets =
        remote.expect(flows, config.recv_config(send_config.checksum, send_config.keying))?;
    let opened = connect_flows(links, config, flows, send_config, &targets)?;
    remote.await_flows()?;
    Ok(opened)
}

fn connect_flows(
    links: &Links,
    config: &Arc<CellConfig>,
    flows: usize,
    send_config: SendConfig,
    targets: &[Target],
) -> std::result::Result<Vec<Flow>, TrialError> {
    let link = links.for_levels(&config.cell.levels).map_err(TrialError::CannotRun)?;
    if let Some(all) = send_config.clients {
        return Ok(vec![clients::open(all, config, link, send_config)?]);
    }
    (0..flows)
        .map(|index| Flow::open(index, config, link, send_config, targets.get(index).cloned()))
        .collect()
}

/// Waits for flows that have been stopped, or that end at a number of bytes, and compares the bytes
/// sent with the bytes received. With `drain_at_most`, those that have not drained by then are cut.
pub(super) fn finish_flows(
    remote: Option<&mut (dyn RemoteSide + 'static)>,
    flows: Vec<Flow>,
    began_ns: u64,
    drain_at_most: Option<Duration>,
) -> std::result::Result<Ended, TrialError> {
    let to_remote = flows.iter().any(Flow::is_remote);
    let mut ended = Ended { used: Some(Usage::default()), ..Ended::default() };
    let mut sent_bytes = Vec::new();
    let drains_until = drain_at_most.map(|most| Instant::now() + most);
    for flow in &flows {
        let (sent, received, crc32) = match flow.finish_by(drains_until)? {
            Some(ended) => ended,
            None => {
                ended.cut = true;
                let (sent, received) = flow.counts();
                flow.release_port();
                (sent, received, 0)
            }
        };
        sent_bytes.push(sent.bytes);
        if flow.socket().may_lose() {
            *ended.lost_bytes.get_or_insert_default() += sent.bytes.saturating_sub(received.bytes);
        }
        ended.sent.add(&sent);
        ended.crc32 = crc32;
        if let Some(noted) = flow.noted().filter(|noted| noted.counted.packets > 0) {
            ended.fragments.get_or_insert_default().add(&noted.counted);
        }
        ended.used = ended.used.zip(flow.sender_usage()).map(|(mut sum, one)| {
            sum.add(&one);
            sum
        });
    }
    if let Some(remote) = remote.filter(|_| to_remote) {
        if ended.cut {
            remote.give_up();
            return Ok(ended);
        }
        let seconds = monotonic_ns().saturating_sub(began_ns) as f64 / 1e9;
        let sent: Vec<SentFlow<'_>> = flows
            .iter()
            .zip(sent_bytes)
            .filter_map(|(flow, bytes)| Some(SentFlow { socket: flow.socket().stream()?, bytes }))
            .collect();
        let remote_ended = remote.finish(&sent, seconds)?;
        let expected = flows.first().map_or(0, |flow| flow.counted_by_receiver(&ended.sent));
        if let Some(received) = remote_ended.received_bytes.filter(|received| *received != expected)
        {
            return Err(TrialError::Broke(Error::failed(
                "bytes-lost",
                format!(
                    "the sender sent {expected} bytes and the other machine received {received}"
                ),
            )));
        }
        ended.crc32 = remote_ended.crc32.unwrap_or_default();
        ended.report = remote_ended.report;
    }
    Ok(ended)
}

/// The error of flows that ended unasked: their own reason, if one has it.
pub(super) fn why_ended(flows: Vec<Flow>) -> TrialError {
    for flow in &flows {
        flow.stop();
    }
    let reason = flows.into_iter().find_map(|flow| flow.finish().err());
    reason.unwrap_or_else(|| {
        TrialError::Broke(Error::failed("flow-ended", "a flow ended in the middle of a trial"))
    })
}
