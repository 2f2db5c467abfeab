//! Checks a client's parameters. What is not supported is refused with the closest error of iperf3,
//! rather than served differently than requested.

use std::time::Duration;

use zc_kernel::sched::allowed_cpus;

use super::super::messages::Parameters;
use super::limits::Limits;
use super::refusal::Refusal;

/// iperf3's own limits (`iperf.h`): bytes of a block, of a socket buffer, and seconds that are
/// omitted.
const MOST_BLOCK_BYTES: f64 = (1 << 20) as f64;
const MOST_WINDOW_BYTES: f64 = (512 << 20) as f64;
const MOST_OMITTED_S: f64 = 600.0;
/// Time that a test may take beyond its duration. Same as in iperf3: ten changes of state at a
/// round trip of 4 s.
const GRACE: Duration = Duration::from_secs(40);

/// A test that can be served.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Number of streams.
    pub streams: usize,
    /// Whether the server sends.
    pub reverse: bool,
    /// Bytes read or written at a time.
    pub block_bytes: usize,
    /// Time at the beginning that does not count.
    pub omit: Duration,
    /// When the test is given up even if bytes move.
    pub longest: Duration,
    /// Limit of blocks that the server sends, on all streams together.
    pub most_blocks: Option<u64>,
    /// Bits per second that the server sends on a stream.
    pub rate_bits: Option<f64>,
    /// SO_RCVBUF and SO_SNDBUF of streams.
    pub window_bytes: Option<usize>,
    /// TCP_NODELAY on streams.
    pub nodelay: bool,
    /// IP type of service of streams.
    pub tos: Option<u8>,
    /// Congestion control of streams that the server sends on.
    pub congestion: Option<String>,
    /// CPU to run on.
    pub cpu: Option<usize>,
    /// Send with sendfile(2).
    pub by_sendfile: bool,
    /// Receive without copying (MSG_TRUNC).
    pub skip_copy: bool,
    /// Send a pattern instead of random bytes.
    pub repeating: bool,
}

impl Request {
    /// Checks parameters against the limits and what this machine has.
    ///
    /// # Errors
    /// The reason to refuse the test.
    pub fn of(wanted: &Parameters, limits: &Limits) -> Result<Self, Refusal> {
        let refuse = |error: u32, why: String| Err(Refusal { error, errno: 0, why });
        // IEUNIMP: "an option you are trying to set is not implemented yet".
        for (is_wanted, what) in [
            (wanted.wants_udp(), "UDP"),
            (wanted.wants_sctp(), "SCTP"),
            (wanted.wants_mptcp(), "MPTCP"),
            (wanted.wants_both_directions(), "both directions at once (--bidir)"),
        ] {
            if is_wanted {
                return refuse(13, format!("wants {what}, which this server does not support"));
            }
        }
        // IEAUTHTEST
        if wanted.authtoken.is_some() {
            return refuse(
                142,
                "wants to authenticate, which this server does not support".to_owned(),
            );
        }
        // IENUMSTREAMS
        let Some(streams) = within(wanted.parallel, 1.0, limits.streams as f64) else {
            return refuse(
                6,
                format!(
                    "wants {} streams; at most {} are allowed",
                    wanted.parallel, limits.streams
                ),
            );
        };
        // IEBLOCKSIZE
        let Some(block_bytes) = within(wanted.len, 1.0, MOST_BLOCK_BYTES) else {
            return refuse(7, format!("wants blocks of {} bytes", wanted.len));
        };
        // IEOMIT
        let Some(omit_s) = within(wanted.omit, 0.0, MOST_OMITTED_S) else {
            return refuse(12, format!("wants to omit {} seconds", wanted.omit));
        };
        // IEDURATION
        let Some(time_s) = within(wanted.time, 0.0, limits.longest.as_secs_f64()) else {
            let longest = limits.longest.as_secs();
            return refuse(
                5,
                format!("wants a test of {} seconds; at most {longest} are allowed", wanted.time),
            );
        };
        // IEBUFSIZE
        let Some(window) = within(wanted.window, 0.0, MOST_WINDOW_BYTES) else {
            return refuse(8, format!("wants a socket buffer of {} bytes", wanted.window));
        };
        // IEBADTOS
        let Some(tos) = within(wanted.tos, 0.0, 255.0) else {
            return refuse(23, format!("wants a type of service of {}", wanted.tos));
        };
        let cpu = match wanted.server_affinity {
            None => None,
            Some(number) => match within(number, 0.0, 1023.0).map(|cpu| cpu as usize) {
                Some(cpu) if allowed_cpus().is_ok_and(|cpus| cpus.contains(&cpu)) => Some(cpu),
                // IEAFFINITY, EINVAL
                _ => {
                    let why = format!("wants this server on CPU {number}, which it may not use");
                    return Err(Refusal { error: 132, errno: 22, why });
                }
            },
        };
        let reverse = wanted.is_reverse();
        // IESETPACING, EOPNOTSUPP. A receiving server has nothing to pace.
        if reverse && wanted.fqrate > 0.0 {
            let why = "wants the server to be paced by fq (--fq-rate), which it does not support"
                .to_owned();
            return Err(Refusal { error: 140, errno: 95, why });
        }
        let congestion = wanted.congestion.clone().filter(|_| reverse);
        if let Some(name) = congestion.as_deref().filter(|name| !is_available(name)) {
            // IESETCONGESTION, ENOENT. Asking the kernel for it could load a module on behalf of an
            // unknown client.
            let why = format!(
                "wants congestion control \"{}\", which is not loaded here",
                name.escape_default()
            );
            return Err(Refusal { error: 134, errno: 2, why });
        }
        let longest = if time_s > 0.0 {
            Duration::from_secs_f64(time_s + omit_s) + GRACE
        } else {
            limits.longest
        };
        // Omitted bytes are sent in addition to the requested ones, and only the client knows when
        // the omitted time ends.
        let blocks = [wanted.blockcount, (wanted.num / block_bytes).ceil()]
            .into_iter()
            .find(|blocks| *blocks >= 1.0);
        Ok(Self {
            streams: streams as usize,
            reverse,
            block_bytes: block_bytes as usize,
            omit: Duration::from_secs_f64(omit_s),
            longest,
            most_blocks: blocks.filter(|_| omit_s == 0.0).map(|blocks| blocks as u64),
            rate_bits: Some(wanted.bandwidth).filter(|bits| *bits >= 1.0),
            window_bytes: Some(window as usize).filter(|bytes| *bytes > 0),
            nodelay: wanted.wants_nodelay(),
            tos: Some(tos as u8).filter(|tos| *tos > 0),
            congestion,
            cpu,
            by_sendfile: wanted.wants_sendfile(),
            skip_copy: wanted.skips_copy(),
            repeating: wanted.repeats(),
        })
    }
}

/// The number, if it is in the range. NaN is not.
fn within(number: f64, least: f64, most: f64) -> Option<f64> {
    (least..=most).contains(&number).then_some(number)
}

/// Whether the kernel has it without loading a module (tcp(7), tcp_available_congestion_control).
fn is_available(name: &str) -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .is_ok_and(|names| names.split_whitespace().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Request, Refusal> {
        Request::of(&serde_json::from_str(text).unwrap(), &Limits::default())
    }

    #[test]
    fn the_parameters_of_iperf_3_12_are_understood() {
        let request = request(
            r#"{"tcp":true,"omit":1,"time":10,"num":0,"blockcount":0,"parallel":4,"reverse":true,
            "len":131072,"bandwidth":1000000,"pacing_timer":1000,"client_version":"3.12",
            "nodelay":true,"window":65536,"zerocopy":1,"TOS":16}"#,
        )
        .unwrap();
        assert_eq!((request.streams, request.reverse, request.block_bytes), (4, true, 131_072));
        assert_eq!(
            (request.omit, request.longest),
            (Duration::from_secs(1), Duration::from_secs(51))
        );
        assert_eq!(
            (request.rate_bits, request.window_bytes, request.tos),
            (Some(1e6), Some(65_536), Some(16))
        );
        assert!(request.nodelay && request.by_sendfile && request.most_blocks.is_none());
    }

    #[test]
    fn missing_parameters_have_defaults() {
        let request = request("{}").unwrap();
        assert_eq!((request.streams, request.block_bytes, request.reverse), (1, 128 << 10, false));
    }

    #[test]
    fn a_number_of_bytes_or_blocks_limits_the_blocks() {
        let blocks = |text: &str| request(text).unwrap().most_blocks;
        assert_eq!(blocks(r#"{"num":1000,"len":300}"#), Some(4));
        assert_eq!(blocks(r#"{"blockcount":7}"#), Some(7));
        assert_eq!(blocks(r#"{"num":1000,"len":300,"omit":1}"#), None);
    }

    #[test]
    fn unsupported_parameters_are_refused_with_an_error_number_of_iperf3() {
        for (text, error) in [
            (r#"{"udp":true}"#, 13),
            (r#"{"sctp":true}"#, 13),
            (r#"{"mptcp":1}"#, 13),
            (r#"{"bidirectional":true}"#, 13),
            (r#"{"authtoken":"x"}"#, 142),
            (r#"{"parallel":129}"#, 6),
            (r#"{"parallel":0}"#, 6),
            (r#"{"parallel":-1e300}"#, 6),
            (r#"{"len":0}"#, 7),
            (r#"{"len":1e9}"#, 7),
            (r#"{"omit":-1}"#, 12),
            (r#"{"time":86401}"#, 5),
            (r#"{"window":1e12}"#, 8),
            (r#"{"TOS":256}"#, 23),
            (r#"{"server_affinity":1e9}"#, 132),
            (r#"{"server_affinity":-1}"#, 132),
            (r#"{"reverse":true,"fqrate":1}"#, 140),
            (r#"{"reverse":true,"congestion":"no-such"}"#, 134),
        ] {
            let refusal = request(text).unwrap_err();
            assert_eq!(refusal.error, error, "{text}: {refusal:?}");
            assert!(refusal.why.starts_with("wants "), "{refusal:?}");
        }
    }

    #[test]
    fn parameters_that_concern_only_the_client_are_accepted() {
        request(r#"{"fqrate":1000,"congestion":"no-such","udp":false,"zerocopy":1}"#).unwrap();
    }
}
