//! The units of figures: what CSV and JSON have, and the base unit that metrics have instead.

use crate::digits::us_per_mb;

/// A unit, and how an estimate is converted to it.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    /// Its symbol.
    pub(crate) symbol: &'static str,
    /// An estimate in the unit that CSV and JSON have.
    pub(crate) plain: fn(f64) -> f64,
    /// Name of the base unit, with which the name of a metric ends.
    pub(crate) base: &'static str,
    /// An estimate in the base unit.
    pub(crate) in_base: fn(f64) -> f64,
}

/// Units whose estimates are in the unit of CSV already.
const fn unit(symbol: &'static str, base: &'static str, in_base: fn(f64) -> f64) -> Unit {
    Unit { symbol, plain: |value| value, base, in_base }
}

/// CPU time per payload; estimates are ns per KiB.
pub(super) const COST: Unit = Unit {
    symbol: "us/MB",
    plain: us_per_mb,
    base: "seconds_per_byte",
    in_base: |ns_per_kib| ns_per_kib / 1024.0 / 1e9,
};
pub(super) const RATIO: Unit = unit("ratio", "ratio", |ratio| ratio);
pub(super) const BYTES: Unit = unit("bytes", "bytes", |bytes| bytes);
pub(super) const BYTES_PER_S: Unit = unit("bytes/s", "bytes_per_second", |bytes| bytes);
pub(super) const GBIT_PER_S: Unit = unit("Gbit/s", "bytes_per_second", |gbit| gbit / 8e-9);
pub(super) const PACKETS_PER_S: Unit = unit("packets/s", "packets_per_second", |packets| packets);
pub(super) const INTERRUPTS_PER_S: Unit =
    unit("interrupts/s", "interrupts_per_second", |interrupts| interrupts);
pub(super) const REQUESTS_PER_S: Unit =
    unit("requests/s", "requests_per_second", |requests| requests);
pub(super) const CALLS_PER_MB: Unit = unit("calls/MB", "calls_per_byte", |calls| calls * 1e-6);
pub(super) const CYCLES_PER_BYTE: Unit = unit("cycles/byte", "cycles_per_byte", |count| count);
pub(super) const INSTRUCTIONS_PER_BYTE: Unit =
    unit("instructions/byte", "instructions_per_byte", |count| count);
pub(super) const MISSES_PER_BYTE: Unit = unit("misses/byte", "misses_per_byte", |count| count);
pub(super) const PACKETS: Unit = unit("packets", "packets", |packets| packets);
pub(super) const PACKETS_PER_MB: Unit =
    unit("packets/MB", "packets_per_byte", |packets| packets * 1e-6);
pub(super) const ACKS_PER_MB: Unit = unit("acks/MB", "acks_per_byte", |acks| acks * 1e-6);
pub(super) const US_PER_PACKET: Unit = unit("us/packet", "seconds_per_packet", |us| us / 1e6);
pub(super) const US_PER_CALL: Unit = unit("us/call", "seconds_per_call", |us| us / 1e6);
pub(super) const US_PER_ACK: Unit = unit("us/ack", "seconds_per_ack", |us| us / 1e6);
pub(super) const SWITCHES_PER_MB: Unit =
    unit("switches/MB", "switches_per_byte", |switches| switches * 1e-6);
pub(super) const US_PER_REQUEST: Unit = unit("us/request", "seconds_per_request", |us| us / 1e6);
pub(super) const NS: Unit = unit("ns", "seconds", |ns| ns / 1e9);
/// Numbers of something, and words, which have no unit.
pub(super) const NONE: Unit = unit("", "", |number| number);
