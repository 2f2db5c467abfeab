//! The figures of a cell's traffic, in the order of their columns in the table of traffic.

use super::entry::{Column, Entry, Group, Needs, Value, bare, csv, metric};
use super::unit::{
    BYTES, CALLS_PER_MB, INTERRUPTS_PER_S, NONE, PACKETS_PER_S, RATIO, SWITCHES_PER_MB,
};
use crate::digits::{percent, significant};
use zc_analysis::{CellEstimate, Figure};

pub(super) const TRAFFIC: &[Entry<CellEstimate>] = &[
    Entry {
        name: "packets",
        what: "Packets sent by the sending device per second; a GSO packet counts once.",
        unit: PACKETS_PER_S,
        value: Value::One(|cell| cell.traffic.packets_per_s.map(bare)),
        json: "traffic/packets_per_s",
        columns: &[Column::number(Group::Traffic, ["packets", "/s"], integer)],
        csv: &[csv("packets_per_s")],
        metric: None,
    },
    Entry {
        name: "packet size",
        what: "Average packet of the sending device, headers included; a GSO packet counts once.",
        unit: BYTES,
        value: Value::One(|cell| cell.traffic.packet_bytes.map(bare)),
        json: "traffic/packet_bytes",
        columns: &[Column::number(Group::Traffic, ["packet", "bytes"], integer)],
        csv: &[csv("packet_bytes")],
        metric: metric("zc_packet_size"),
    },
    Entry {
        name: "received packet size",
        what: "Payload of a packet as TCP got it at the receiving end; one merged by GRO is one.",
        unit: BYTES,
        value: Value::One(|cell| cell.traffic.received_packet_bytes.map(bare)),
        json: "traffic/received_packet_bytes",
        columns: &[Column::number(Group::Traffic, ["received", "bytes"], integer)
            .shown(|cell| cell.traffic.received_packet_bytes.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("received_packet_bytes")],
        metric: metric("zc_received_packet_size"),
    },
    Entry {
        name: "segments received",
        what: "Segments in a packet as TCP got it at the receiving end, by tcpi_segs_in.",
        unit: NONE,
        value: Value::One(|cell| cell.traffic.segments_per_received_packet.map(bare)),
        json: "traffic/segments_per_received_packet",
        columns: &[Column::number(Group::Traffic, ["segments", "/received"], three_digits)
            .shown(|cell| cell.traffic.segments_per_received_packet.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("segments_per_received_packet")],
        metric: None,
    },
    Entry {
        name: "fragments",
        what: "Fragments of memory in a packet, each of which a card maps for DMA; over null.",
        unit: NONE,
        value: Value::One(|cell| cell.traffic.fragments_per_packet.map(bare)),
        json: "traffic/fragments_per_packet",
        columns: &[Column::number(Group::Traffic, ["fragments", "/packet"], three_digits)
            .shown(|cell| cell.traffic.fragments_per_packet.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("fragments_per_packet")],
        metric: None,
    },
    Entry {
        name: "send calls",
        what: "System calls of the sender.",
        unit: CALLS_PER_MB,
        value: Value::One(|cell| cell.traffic.send_calls_per_mb.map(bare)),
        json: "traffic/send_calls_per_mb",
        columns: &[Column::number(Group::Traffic, ["sends", "/MB"], three_digits)
            .needs(&[Needs::OwnCalls])],
        csv: &[csv("send_calls_per_mb")],
        metric: metric("zc_send"),
    },
    Entry {
        name: "receive calls",
        what: "System calls of the receiver.",
        unit: CALLS_PER_MB,
        value: Value::One(|cell| cell.traffic.recv_calls_per_mb.map(bare)),
        json: "traffic/recv_calls_per_mb",
        columns: &[Column::number(Group::Traffic, ["recvs", "/MB"], three_digits)
            .needs(&[Needs::OwnCalls])],
        csv: &[csv("recv_calls_per_mb")],
        metric: metric("zc_recv"),
    },
    Entry {
        name: "mapped share",
        what: "Bytes that the receiver mapped instead of copying them, of all that it received.",
        unit: RATIO,
        value: Value::One(|cell| cell.traffic.mapped_share.map(bare)),
        json: "traffic/mapped_share",
        columns: &[Column::number(Group::Traffic, ["mapped", "share"], share)
            .shown(|cell| cell.traffic.mapped_share.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("mapped_share")],
        metric: None,
    },
    Entry {
        name: "context switches",
        what: "Context switches of the threads at both ends.",
        unit: SWITCHES_PER_MB,
        value: Value::One(|cell| cell.traffic.switches_per_mb.map(bare)),
        json: "traffic/switches_per_mb",
        columns: &[Column::number(Group::Traffic, ["switches", "/MB"], three_digits)
            .needs(&[Needs::OwnCalls])],
        csv: &[csv("switches_per_mb")],
        metric: metric("zc_context"),
    },
    Entry {
        name: "interrupts",
        what: "Interrupts on the soaked CPUs, timers included.",
        unit: INTERRUPTS_PER_S,
        value: Value::One(|cell| cell.traffic.interrupts_per_s.map(bare)),
        json: "traffic/interrupts_per_s",
        columns: &[Column::number(Group::Traffic, ["irqs", "/s"], integer)],
        csv: &[csv("interrupts_per_s")],
        metric: metric("zc_device"),
    },
    Entry {
        name: "ENOBUFS",
        what: "ENOBUFS and ENOMEM answers to zero-copy sends.",
        unit: NONE,
        value: Value::One(|cell| Some(bare(cell.traffic.enobufs as f64))),
        json: "traffic/enobufs",
        columns: &[Column::number(Group::Traffic, ["ENO-", "BUFS"], integer)
            .shown(|cell| cell.blocks > 0)
            .needs(&[Needs::OwnCalls])],
        csv: &[csv("enobufs")],
        metric: None,
    },
    Entry {
        name: "lost",
        what: "Bytes of datagrams that did not arrive, of those sent.",
        unit: NONE,
        value: Value::One(|cell| cell.traffic.lost_share.map(bare)),
        json: "traffic/lost_share",
        columns: &[Column::number(Group::Traffic, ["bytes", "lost"], |share| percent(share.value))
            .shown(|cell| cell.traffic.lost_share.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("lost_share")],
        metric: metric("zc_lost"),
    },
    Entry {
        name: "retransmits",
        what: "Retransmitted packets.",
        unit: NONE,
        value: Value::One(|cell| cell.traffic.retransmits.map(|count| bare(count as f64))),
        json: "traffic/retransmits",
        columns: &[Column::number(Group::Traffic, ["sent", "again"], integer)],
        csv: &[csv("retransmits")],
        metric: None,
    },
];

pub(super) fn integer(figure: Figure) -> String {
    format!("{:.0}", figure.value)
}

fn share(figure: Figure) -> String {
    percent(figure.value)
}

pub(super) fn three_digits(figure: Figure) -> String {
    significant(figure.value)
}
