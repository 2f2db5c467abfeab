//! The two JSON messages of iperf3: the client's parameters, and each end's results. Unknown fields
//! are ignored, as iperf3 does. What iperf3 requires is required.

use serde::{Deserialize, Serialize};

/// A client's parameters: TCP streams from the client to the server. iperf3 takes missing ones as
/// off, or as its own defaults.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Parameters {
    tcp: bool,
    /// Initial seconds that do not count.
    omit: f64,
    /// Seconds; 0 is until the client ends the test.
    time: f64,
    /// Bytes of all streams together; 0 is no limit.
    num: f64,
    /// Blocks of all streams together; 0 is no limit.
    blockcount: f64,
    /// Number of streams.
    parallel: f64,
    /// Bytes of a block: what is read or written at a time.
    len: f64,
    client_version: &'static str,
}

impl Parameters {
    /// Streams until the client ends the test, for `longest_s` at most.
    pub(super) fn to_server(streams: usize, block_bytes: usize, longest_s: u32) -> Self {
        Self {
            tcp: true,
            omit: 0.0,
            time: longest_s.into(),
            num: 0.0,
            blockcount: 0.0,
            parallel: streams as f64,
            len: block_bytes as f64,
            client_version: concat!("zc ", env!("CARGO_PKG_VERSION")),
        }
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
    pub(super) fn new(position: usize, bytes: u64, seconds: f64) -> Self {
        // 1, 3, 4, 5 ...: an accident of the first version, kept for compatibility.
        let id = if position == 0 { 1 } else { position + 2 };
        Self {
            id: id as f64,
            bytes: bytes as f64,
            retransmits: -1.0,
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
            (0..4).map(|position| StreamResults::new(position, 0, 0.0).id).collect();
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
