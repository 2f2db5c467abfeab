//! The figures of hardware events, which are columns of the table of traffic.

use super::entry::{Column, Entry, Group, Needs, Value, bare, csv};
use super::traffic::three_digits;
use super::unit::{CYCLES_PER_BYTE, INSTRUCTIONS_PER_BYTE, MISSES_PER_BYTE, RATIO};
use crate::digits::percent;
use zc_analysis::CellEstimate;

pub(super) const EVENTS: &[Entry<CellEstimate>] = &[
    Entry {
        name: "cycles",
        what: "Cycles of the CPUs of the flows beyond those of the soakers (`--counters`).",
        unit: CYCLES_PER_BYTE,
        value: Value::One(|cell| cell.events.cycles_per_byte),
        json: "events/cycles_per_byte",
        columns: &[Column::number(Group::Traffic, ["cycles", "/byte"], three_digits)
            .shown(|cell| cell.events.cycles_per_byte.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("cycles_per_byte")],
        metric: None,
    },
    Entry {
        name: "instructions",
        what: "Instructions there, likewise.",
        unit: INSTRUCTIONS_PER_BYTE,
        value: Value::One(|cell| cell.events.instructions_per_byte),
        json: "events/instructions_per_byte",
        columns: &[Column::number(Group::Traffic, ["instr.", "/byte"], three_digits)
            .shown(|cell| cell.events.instructions_per_byte.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("instructions_per_byte")],
        metric: None,
    },
    Entry {
        name: "LLC misses",
        what: "Misses of the last level of the cache there, likewise.",
        unit: MISSES_PER_BYTE,
        value: Value::One(|cell| cell.events.llc_misses_per_byte),
        json: "events/llc_misses_per_byte",
        columns: &[Column::number(Group::Traffic, ["LLC misses", "/byte"], three_digits)
            .shown(|cell| cell.events.llc_misses_per_byte.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("llc_misses_per_byte")],
        metric: None,
    },
    Entry {
        name: "counted share",
        what: "Share of the time in which events were counted; below 1 counters took turns.",
        unit: RATIO,
        value: Value::One(|cell| cell.events.counted_share.map(bare)),
        json: "events/counted_share",
        columns: &[Column::number(Group::Traffic, ["events", "counted"], |it| percent(it.value))
            .shown(|cell| cell.events.counted_share.is_some())
            .needs(&[Needs::Shown])],
        csv: &[csv("counted_share")],
        metric: None,
    },
];
