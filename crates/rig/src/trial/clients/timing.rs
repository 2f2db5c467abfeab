//! How long a trial of paced clients takes: until all are served evenly, and until each has been
//! served some times.

use zc_run::{Clients, LinkKind, Timing};

/// About what a client's socket takes at once when it is writable again: a third of a send buffer
/// of ten packets. Over the loopback interface a packet of 64 KiB.
fn refill_bytes(link: LinkKind) -> f64 {
    if link == LinkKind::Loopback { 65_536.0 } else { 16_384.0 }
}

/// Clients begin over as many refills, so that they are not all served at the same moment.
const APART: f64 = 2.0;

/// Refills before the window opens, and in it.
const BEFORE: f64 = 4.0;
const WITHIN: f64 = 4.0;

/// Time over which the clients of a trial begin, in nanoseconds.
pub(super) fn apart_ns(clients: Clients, link: LinkKind) -> u64 {
    refills_ns(clients, link, APART)
}

/// The timing of a trial, whose parts are long enough for its clients.
pub(crate) fn at_least(timing: Timing, clients: Option<Clients>, link: LinkKind) -> Timing {
    let Some(clients) = clients else { return timing };
    let within_ns = refills_ns(clients, link, WITHIN);
    Timing {
        warmup_ns: timing.warmup_ns + refills_ns(clients, link, BEFORE),
        window_ns: timing.window_ns.max(within_ns),
        unsoaked_ns: timing.unsoaked_ns.max(within_ns),
        ..timing
    }
}

fn refills_ns(clients: Clients, link: LinkKind, refills: f64) -> u64 {
    (refills * refill_bytes(link) * 1e9 / clients.rate_bytes_per_s) as u64
}

/// As many flows as these clients are, where counters of all have to be read and sockets freed: a
/// client is a socket in a thread that there is, and a flow two threads with files in /proc.
pub(crate) fn weight(flows: usize, clients: Option<Clients>) -> usize {
    const CLIENTS_OF_A_FLOW: usize = 40;
    flows + clients.map_or(0, |clients| clients.count / CLIENTS_OF_A_FLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_trial_are_as_long_as_its_clients_need() {
        let timing =
            Timing { warmup_ns: 8_000_000, window_ns: 12_000_000, idle_ns: 1, unsoaked_ns: 2 };
        assert_eq!(at_least(timing, None, LinkKind::Veth), timing);
        let at = |mbit_per_s: f64| {
            let clients = Clients { count: 10, rate_bytes_per_s: mbit_per_s * 125e3 };
            at_least(timing, Some(clients), LinkKind::Veth)
        };
        assert_eq!(at(1.0).window_ns / 1_000_000, 524);
        assert_eq!(at(1.0).warmup_ns / 1_000_000, 532);
        assert_eq!(at(1000.0).window_ns, timing.window_ns);
    }
}
