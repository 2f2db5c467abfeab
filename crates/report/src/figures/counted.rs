//! The figures of costs by what was counted, in the order of their columns in the table of
//! `zc show --per`.

use super::entry::{Column, Entry, Group, Needs, Per, Side, Value, bare, csv};
use super::traffic::three_digits;
use super::unit::{ACKS_PER_MB, PACKETS_PER_MB, US_PER_ACK, US_PER_CALL, US_PER_PACKET};
use crate::digits::with_half_width;
use zc_analysis::{CellEstimate, Figure};

pub(super) const COUNTED: &[Entry<CellEstimate>] = &[
    Entry {
        name: "packets per MB",
        what: "Packets of the sending device by payload; a GSO packet counts once.",
        unit: PACKETS_PER_MB,
        value: Value::One(|cell| cell.traffic.packets_per_mb.map(bare)),
        json: "traffic/packets_per_mb",
        columns: &[Column::number(Group::Per(Per::Packet), ["packets", "/MB"], three_digits)],
        csv: &[csv("packets_per_mb")],
        metric: None,
    },
    Entry {
        name: "received packets per MB",
        what: "Packets that TCP got at the receiving end by payload; one merged by GRO is one.",
        unit: PACKETS_PER_MB,
        value: Value::One(|cell| cell.traffic.received_packets_per_mb.map(bare)),
        json: "traffic/received_packets_per_mb",
        columns: &[Column::number(Group::Per(Per::Packet), ["received", "/MB"], three_digits)
            .shown(|cell| cell.traffic.received_packets_per_mb.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("received_packets_per_mb")],
        metric: None,
    },
    Entry {
        name: "cost per packet",
        what: "Cost by packets of the sending device; the receiver's by those that TCP got there.",
        unit: US_PER_PACKET,
        value: Value::Sides(|cell| cell.cost_per.us_per_packet),
        json: "cost_per/us_per_packet",
        columns: &[
            sender(Per::Packet, "us/packet"),
            receiver(Per::Packet, "us/packet")
                .shown(|cell| cell.cost_per.us_per_packet.receiver.is_some())
                .needs(&[Needs::Receiver, Needs::Shown]),
            both(Per::Packet, "us/packet"),
        ],
        csv: &[
            csv("sender_us_per_packet").side(Side::Sender),
            csv("receiver_us_per_packet").side(Side::Receiver),
            csv("both_us_per_packet"),
        ],
        metric: None,
    },
    Entry {
        name: "cost per call",
        what: "Cost of a side by its system calls; of both ends by those of the sender.",
        unit: US_PER_CALL,
        value: Value::Sides(|cell| cell.cost_per.us_per_call),
        json: "cost_per/us_per_call",
        columns: &[
            sender(Per::Call, "us/send"),
            receiver(Per::Call, "us/recv"),
            both(Per::Call, "us/send"),
        ],
        csv: &[
            csv("sender_us_per_call").side(Side::Sender),
            csv("receiver_us_per_call").side(Side::Receiver),
            csv("both_us_per_call"),
        ],
        metric: None,
    },
    Entry {
        name: "acknowledgements",
        what: "Segments that the sending sockets received, by TCP_INFO.",
        unit: ACKS_PER_MB,
        value: Value::One(|cell| cell.traffic.acks_per_mb.map(bare)),
        json: "traffic/acks_per_mb",
        columns: &[Column::number(Group::Per(Per::Ack), ["acks", "/MB"], three_digits)],
        csv: &[csv("acks_per_mb")],
        metric: None,
    },
    Entry {
        name: "cost per acknowledgement",
        what: "Cost by acknowledgements that the sender received.",
        unit: US_PER_ACK,
        value: Value::Sides(|cell| cell.cost_per.us_per_ack),
        json: "cost_per/us_per_ack",
        columns: &[
            sender(Per::Ack, "us/ack"),
            receiver(Per::Ack, "us/ack"),
            both(Per::Ack, "us/ack"),
        ],
        csv: &[
            csv("sender_us_per_ack").side(Side::Sender),
            csv("receiver_us_per_ack").side(Side::Receiver),
            csv("both_us_per_ack"),
        ],
        metric: None,
    },
];

/// The sender's part.
const fn sender(per: Per, unit: &'static str) -> Column {
    Column::number(Group::Per(per), ["sender", unit], cost).side(Side::Sender)
}

/// The receiver's part.
const fn receiver(per: Per, unit: &'static str) -> Column {
    Column::number(Group::Per(per), ["receiver", unit], cost)
        .side(Side::Receiver)
        .needs(&[Needs::Receiver])
}

/// What both ends cost; where the sender alone was measured, that is in its own column.
const fn both(per: Per, unit: &'static str) -> Column {
    Column::number(Group::Per(per), ["both", unit], cost).needs(&[Needs::Receiver])
}

fn cost(figure: Figure) -> String {
    with_half_width(figure.value, figure.half_width)
}
