//! The two JSON messages of iperf3: the client's parameters, and each end's results. Unknown fields
//! are ignored, as iperf3 does. What iperf3 requires is required.

use serde::{Deserialize, Serialize};

/// A flag that iperf3 writes as `true` or as 1.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum Flag {
    Bool(bool),
    Number(f64),
}

impl Flag {
    fn is_up(flag: Option<Self>) -> bool {
        match flag {
            Some(Self::Bool(up)) => up,
            Some(Self::Number(number)) => number != 0.0,
            None => false,
        }
    }
}

/// A client's parameters. Missing ones are off, or iperf3's own default.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<Flag>,
    #[serde(skip_serializing)]
    udp: Option<Flag>,
    #[serde(skip_serializing)]
    sctp: Option<Flag>,
    #[serde(skip_serializing)]
    mptcp: Option<Flag>,
    #[serde(skip_serializing)]
    bidirectional: Option<Flag>,
    #[serde(skip_serializing)]
    reverse: Option<Flag>,
    #[serde(skip_serializing)]
    nodelay: Option<Flag>,
    #[serde(skip_serializing)]
    zerocopy: Option<Flag>,
    #[serde(skip_serializing)]
    skip_rx_copy: Option<Flag>,
    #[serde(skip_serializing)]
    repeating_payload: Option<Flag>,
    /// Initial seconds that do not count.
    pub(super) omit: f64,
    /// Seconds; 0 is until the client ends the test.
    pub(super) time: f64,
    /// Bytes of all streams together; 0 is no limit.
    pub(super) num: f64,
    /// Blocks of all streams together; 0 is no limit.
    pub(super) blockcount: f64,
    /// Number of streams.
    pub(super) parallel: f64,
    /// Bytes of a block: what is read or written at a time.
    pub(super) len: f64,
    /// Bits per second of a stream; 0 is unlimited.
    #[serde(skip_serializing)]
    pub(super) bandwidth: f64,
    /// The same, enforced by the fq queueing discipline.
    #[serde(skip_serializing)]
    pub(super) fqrate: f64,
    /// Bytes of a socket buffer; 0 leaves it to the kernel.
    #[serde(skip_serializing)]
    pub(super) window: f64,
    /// IP type of service; 0 is the default.
    #[serde(skip_serializing, rename = "TOS")]
    pub(super) tos: f64,
    #[serde(skip_serializing)]
    pub(super) server_affinity: Option<f64>,
    #[serde(skip_serializing)]
    pub(super) congestion: Option<String>,
    #[serde(skip_serializing)]
    pub(super) authtoken: Option<String>,
    client_version: String,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            tcp: None,
            udp: None,
            sctp: None,
            mptcp: None,
            bidirectional: None,
            reverse: None,
            nodelay: None,
            zerocopy: None,
            skip_rx_copy: None,
            repeating_payload: None,
            omit: 0.0,
            time: 0.0,
            num: 0.0,
            blockcount: 0.0,
            parallel: 1.0,
            len: 131_072.0,
            bandwidth: 0.0,
            fqrate: 0.0,
            window: 0.0,
            tos: 0.0,
            server_affinity: None,
            congestion: None,
            authtoken: None,
            client_version: String::new(),
        }
    }
}

impl Parameters {
    /// TCP streams from the client to the server, until the client ends the test, for `longest_s`
    /// at most.
    pub(super) fn to_server(streams: usize, block_bytes: usize, longest_s: u32) -> Self {
        Self {
            tcp: Some(Flag::Bool(true)),
            time: longest_s.into(),
            parallel: streams as f64,
            len: block_bytes as f64,
            client_version: concat!("zc ", env!("CARGO_PKG_VERSION")).to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn wants_udp(&self) -> bool {
        Flag::is_up(self.udp)
    }

    pub(super) fn wants_sctp(&self) -> bool {
        Flag::is_up(self.sctp)
    }

    pub(super) fn wants_mptcp(&self) -> bool {
        Flag::is_up(self.mptcp)
    }

    pub(super) fn wants_both_directions(&self) -> bool {
        Flag::is_up(self.bidirectional)
    }

    /// The server sends.
    pub(super) fn is_reverse(&self) -> bool {
        Flag::is_up(self.reverse)
    }

    pub(super) fn wants_nodelay(&self) -> bool {
        Flag::is_up(self.nodelay)
    }

    /// The sender uses sendfile(2).
    pub(super) fn wants_sendfile(&self) -> bool {
        Flag::is_up(self.zerocopy)
    }

    /// The receiver does not copy (MSG_TRUNC).
    pub(super) fn skips_copy(&self) -> bool {
        Flag::is_up(self.skip_rx_copy)
    }

    /// The sender repeats a pattern.
    pub(super) fn repeats(&self) -> bool {
        Flag::is_up(self.repeating_payload)
    }
}

/// One end's results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    /// CPU time of the process, in percent of the test's time: 200 is two whole CPUs. By clock(3).
    pub cpu_util_total: f64,
    /// The part in user mode, by getrusage(2).
    pub cpu_util_user: f64,
    /// The part in the kernel, by getrusage(2).
    pub cpu_util_system: f64,
    /// 1: `retransmits` are valid; 0: they are not; -1: this end does not send.
    pub sender_has_retransmits: f64,
    /// Congestion control of its streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// In the order in which they were connected.
    pub streams: Vec<StreamResults>,
}

/// One end's results of one stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StreamResults {
    id: f64,
    bytes: f64,
    retransmits: f64,
    #[serde(default)]
    jitter: f64,
    #[serde(default)]
    errors: f64,
    #[serde(default)]
    packets: f64,
    #[serde(default)]
    start_time: f64,
    #[serde(default)]
    end_time: f64,
}

impl StreamResults {
    /// Results of the stream that was connected in `position`, from 0 on.
    pub(super) fn new(position: usize, bytes: u64, retransmits: Option<u32>, seconds: f64) -> Self {
        // 1, 3, 4, 5 ...: an accident of the first version, kept for compatibility.
        let id = if position == 0 { 1 } else { position + 2 };
        Self {
            id: id as f64,
            bytes: bytes as f64,
            retransmits: retransmits.map_or(-1.0, f64::from),
            end_time: seconds,
            ..Self::default()
        }
    }

    /// The bytes as an integer.
    pub fn bytes(&self) -> u64 {
        // Negative values and NaN become 0.
        self.bytes as u64
    }

    /// Length in seconds of the time in which they were counted.
    pub fn seconds(&self) -> f64 {
        self.end_time - self.start_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_are_those_that_a_server_requires() {
        let text = serde_json::to_value(Parameters::to_server(2, 131_072, 60)).unwrap();
        assert_eq!(text["tcp"], true);
        assert_eq!(
            (&text["parallel"], &text["len"], &text["time"]),
            (&2.0.into(), &131_072.0.into(), &60.0.into())
        );
        assert!(text.get("udp").is_none() && text.get("reverse").is_none());
    }

    #[test]
    fn the_ids_of_streams_have_no_2() {
        let ids: Vec<f64> =
            (0..4).map(|position| StreamResults::new(position, 0, None, 0.0).id).collect();
        assert_eq!(ids, [1.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn a_negative_number_of_bytes_counts_as_zero() {
        for (text, bytes) in [("1e12", 1_000_000_000_000), ("-5", 0), ("7", 7)] {
            let stream: StreamResults =
                serde_json::from_str(&format!("{{\"id\":1,\"bytes\":{text},\"retransmits\":-1}}"))
                    .unwrap();
            assert_eq!(stream.bytes(), bytes);
        }
    }
}
