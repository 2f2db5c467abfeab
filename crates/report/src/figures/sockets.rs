//! The figures of a cell's sockets, in the order of their columns in the table of sockets.

use super::entry::{Column, Entry, Group, Needs, Value, bare, csv};
use super::traffic::integer;
use super::unit::{BYTES, BYTES_PER_S, NONE, PACKETS};
use crate::digits::{bytes, rate};
use crate::text::shown;
use zc_analysis::{CellEstimate, Figure};

pub(super) const SOCKETS: &[Entry<CellEstimate>] = &[
    Entry {
        name: "congestion control",
        what: "Congestion control of the senders.",
        unit: NONE,
        value: Value::Word(|_, cell| congestion(cell)),
        json: "sockets/congestion",
        columns: &[Column::cell(Group::Sockets, ["congestion", "control"], |_, cell| {
            congestion(cell)
        })
        .left()],
        csv: &[csv("congestion")],
        metric: None,
    },
    Entry {
        name: "MSS",
        what: "Payload of a segment.",
        unit: BYTES,
        value: Value::One(|cell| number(cell.sockets.mss_bytes)),
        json: "sockets/mss_bytes",
        columns: &[Column::number(Group::Sockets, ["MSS", "bytes"], integer)
            .shown(|cell| cell.sockets.mss_bytes.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("mss_bytes")],
        metric: None,
    },
    Entry {
        name: "congestion window",
        what: "Congestion window of the sender as windows closed.",
        unit: PACKETS,
        value: Value::One(|cell| number(cell.sockets.cwnd_packets)),
        json: "sockets/cwnd_packets",
        columns: &[Column::number(Group::Sockets, ["cwnd", "packets"], integer)
            .shown(|cell| cell.sockets.cwnd_packets.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("cwnd_packets")],
        metric: None,
    },
    Entry {
        name: "slow start threshold",
        what: "Where the sender's slow start ends; none before the first loss.",
        unit: PACKETS,
        value: Value::One(|cell| number(cell.sockets.ssthresh_packets)),
        json: "sockets/ssthresh_packets",
        columns: &[Column::number(Group::Sockets, ["ssthresh", "packets"], integer)
            .shown(|cell| cell.sockets.ssthresh_packets.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("ssthresh_packets")],
        metric: None,
    },
    Entry {
        name: "send buffer",
        what: "SO_SNDBUF of the sender as windows closed.",
        unit: BYTES,
        value: Value::One(|cell| number(cell.sockets.sndbuf_bytes)),
        json: "sockets/sndbuf_bytes",
        columns: &[Column::number(Group::Sockets, ["send", "buffer"], in_bytes)
            .shown(|cell| cell.sockets.sndbuf_bytes.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("sndbuf_bytes")],
        metric: None,
    },
    Entry {
        name: "receive buffer",
        what: "SO_RCVBUF of the receiver as windows closed.",
        unit: BYTES,
        value: Value::One(|cell| number(cell.sockets.rcvbuf_bytes)),
        json: "sockets/rcvbuf_bytes",
        columns: &[Column::number(Group::Sockets, ["receive", "buffer"], in_bytes)
            .shown(|cell| cell.sockets.rcvbuf_bytes.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("rcvbuf_bytes")],
        metric: None,
    },
    Entry {
        name: "receiver's threshold",
        what: "What the receiver lets its window grow to (rcv_ssthresh).",
        unit: BYTES,
        value: Value::One(|cell| number(cell.sockets.rcv_ssthresh_bytes)),
        json: "sockets/rcv_ssthresh_bytes",
        columns: &[Column::number(Group::Sockets, ["receiver's", "ssthresh"], in_bytes)
            .shown(|cell| cell.sockets.rcv_ssthresh_bytes.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("rcv_ssthresh_bytes")],
        metric: None,
    },
    Entry {
        name: "pacing rate",
        what: "tcpi_pacing_rate of the sender: a limit where something paces.",
        unit: BYTES_PER_S,
        value: Value::One(|cell| number(cell.sockets.pacing_bytes_per_s)),
        json: "sockets/pacing_bytes_per_s",
        columns: &[Column::number(Group::Sockets, ["pacing", "rate"], |it| rate(it.value))
            .shown(|cell| cell.sockets.pacing_bytes_per_s.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("pacing_bytes_per_s")],
        metric: None,
    },
];

fn congestion(cell: &CellEstimate) -> String {
    cell.sockets.congestion.as_deref().map_or_else(String::new, shown)
}

fn number(count: Option<u64>) -> Option<Figure> {
    count.map(|count| bare(count as f64))
}

fn in_bytes(figure: Figure) -> String {
    bytes(figure.value)
}
