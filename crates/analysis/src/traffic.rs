//! Rates of the counters other than the soakers, over a cell's soaked windows.

use crate::figures::{per, scaled};
use crate::kept::KeptBlocks;
use crate::model::cell::{CostPer, LimitedBy, Traffic};
use crate::model::figure::{Figure, Sides};
use crate::unit::us_per_mb;
use crate::window::{bytes, elapsed_ns, remote_edges};
use zc_run::{
    Cell, DeliveredReading, LinkCounters, Reading, RecvPath, TaskReading, TcpReading,
    Traffic as Kind, Trial, TrialKind,
};

#[derive(Default)]
struct Sums {
    bytes: u64,
    elapsed_ns: u64,
    send_calls: f64,
    short: f64,
    enobufs: u64,
    recv_calls: f64,
    mapped_bytes: f64,
    switches: f64,
    wake_ups: f64,
    /// MB that moved between the readings of context switches, which are some milliseconds outside
    /// of the window.
    switches_mb: f64,
    interrupts: Option<f64>,
    interrupts_ns: f64,
    link: Option<LinkSums>,
    tcp: Option<TcpSums>,
    delivered: Delivered,
}

#[derive(Default)]
struct LinkSums {
    packets: f64,
    bytes: f64,
    rx_packets: f64,
    rx_bytes: f64,
    elapsed_ns: f64,
    /// MB of payload that moved between its readings.
    payload_mb: f64,
}

#[derive(Default)]
struct TcpSums {
    retransmits: u64,
    acks: f64,
    /// MB of payload that moved between its readings.
    payload_mb: f64,
    busy_us: f64,
    rwnd_limited_us: f64,
    sndbuf_limited_us: f64,
}

/// The device of both directions.
const LOOPBACK: &str = "lo";

/// Packets of TCP that may be others', as a share of all that arrived in a window: with more than
/// these, the packets of the flows are unknown.
const OTHERS_AT_MOST: f64 = 0.05;

/// Packets of the flows as TCP got them.
#[derive(Default)]
struct Delivered {
    packets: f64,
    segments: f64,
    bytes: f64,
}

pub(super) fn traffic(kept: &KeptBlocks, cell: &Cell) -> Traffic {
    let mut sums = Sums::default();
    let is_shared = kept.header.link.device == LOOPBACK;
    for (_, trial) in kept.trials(&cell.label, TrialKind::Soaked) {
        sums.add(trial, is_shared);
    }
    let delivered = &sums.delivered;
    let megabytes = sums.bytes as f64 / 1e6;
    let fragments = Fragments::count(kept, cell);
    Traffic {
        bytes: sums.bytes,
        elapsed_ns: sums.elapsed_ns,
        send_calls_per_mb: per(sums.send_calls, megabytes),
        wake_ups_per_mb: per(sums.wake_ups, sums.switches_mb),
        // Bytes arrive by at least one call, so 0 means that calls were not counted.
        recv_calls_per_mb: per(sums.recv_calls, megabytes).filter(|calls| *calls > 0.0),
        packet_bytes: sums.link.as_ref().and_then(|link| per(link.bytes, link.packets)),
        packets_per_s: sums.link.as_ref().and_then(|link| per(link.packets * 1e9, link.elapsed_ns)),
        packets_per_mb: sums
            .link
            .as_ref()
            .filter(|_| kept.header.link.device != LOOPBACK)
            .and_then(|link| per(link.packets, link.payload_mb)),
        received_packets_per_mb: per(delivered.packets * 1e6, delivered.bytes),
        received_packet_bytes: per(delivered.bytes, delivered.packets),
        segments_per_received_packet: per(delivered.segments, delivered.packets),
        // Without any the sender would have stopped: 0 means that they were not counted.
        acks_per_mb: sums
            .tcp
            .as_ref()
            .and_then(|tcp| per(tcp.acks, tcp.payload_mb))
            .filter(|acks| *acks > 0.0),
        rx_packet_bytes: sums.link.as_ref().and_then(|link| per(link.rx_bytes, link.rx_packets)),
        rx_packets_per_s: sums
            .link
            .as_ref()
            .and_then(|link| per(link.rx_packets * 1e9, link.elapsed_ns)),
        interrupts_per_s: sums
            .interrupts
            .and_then(|interrupts| per(interrupts * 1e9, sums.interrupts_ns)),
        switches_per_mb: per(sums.switches, sums.switches_mb),
        fragments_per_packet: per(fragments.fragments, fragments.packets),
        fragments_per_mb: per(fragments.fragments, fragments.megabytes),
        lost_share: lost_share(kept, cell),
        retransmits: sums.tcp.as_ref().map(|tcp| tcp.retransmits),
        enobufs: sums.enobufs,
        short_share: per(sums.short, sums.send_calls),
        limited_by: sums.tcp.as_ref().and_then(|tcp| {
            Some(LimitedBy {
                receive_window: per(tcp.rwnd_limited_us, tcp.busy_us)?,
                send_buffer: per(tcp.sndbuf_limited_us, tcp.busy_us)?,
            })
        }),
        mapped_share: if cell.transfer.recv_path().is_some_and(RecvPath::maps_pages) {
            per(sums.mapped_bytes, sums.bytes as f64)
        } else {
            None
        },
    }
}

/// The cost by what was counted. Calls are those of an end of zc's own.
pub(super) fn cost_per(kept: &KeptBlocks, cost: &Sides<Figure>, traffic: &Traffic) -> CostPer {
    let is_own = matches!(kept.header.plan.traffic, Kind::Stream | Kind::Responses(_));
    let by = |cost: Option<Figure>, per_mb: Option<f64>| {
        Some(scaled(&cost?, us_per_mb(1.0) / per_mb.filter(|count| *count > 0.0)?))
    };
    let by_all = |per_mb: Option<f64>| Sides {
        sender: by(cost.sender, per_mb),
        receiver: by(cost.receiver, per_mb),
        both: by(cost.both, per_mb),
    };
    let sends = traffic.send_calls_per_mb.filter(|_| is_own);
    let receives = traffic.recv_calls_per_mb.filter(|_| is_own);
    let received = by(cost.receiver, traffic.received_packets_per_mb);
    CostPer {
        us_per_packet: Sides { receiver: received, ..by_all(traffic.packets_per_mb) },
        us_per_call: Sides { receiver: by(cost.receiver, receives), ..by_all(sends) },
        us_per_ack: by_all(traffic.acks_per_mb),
    }
}

/// Over whole trials: what was sent in a window may have arrived after it.
fn lost_share(kept: &KeptBlocks, cell: &Cell) -> Option<f64> {
    let mut sum = None;
    for (_, trial) in kept.trials(&cell.label, TrialKind::Soaked) {
        let Some(lost) = trial.whole_lost_bytes else { continue };
        let (all_lost, all) = sum.get_or_insert((0.0, 0.0));
        *all_lost += lost as f64;
        *all += trial.whole_bytes as f64;
    }
    sum.and_then(|(lost, all)| per(lost, all))
}

/// Fragments of packets, over whole trials.
#[derive(Default)]
struct Fragments {
    fragments: f64,
    packets: f64,
    megabytes: f64,
}

impl Fragments {
    /// Fragments of the unsoaked controls, which are paced like the soaked trials; without any, of
    /// the trials at top speed.
    fn count(kept: &KeptBlocks, cell: &Cell) -> Self {
        let mut sum = Self::default();
        for kind in [TrialKind::UnsoakedControl, TrialKind::TopSpeed] {
            for (_, trial) in kept.trials(&cell.label, kind) {
                let Some(counted) = trial.fragments else { continue };
                sum.fragments += counted.fragments as f64;
                sum.packets += counted.packets as f64;
                sum.megabytes += trial.whole_bytes as f64 / 1e6;
            }
            if sum.packets > 0.0 {
                break;
            }
        }
        sum
    }
}

impl Sums {
    /// `is_shared`: both ends receive in one network namespace.
    fn add(&mut self, trial: &Trial, is_shared: bool) {
        let (opened, closed) = (&trial.opened, &trial.closed);
        let Some(elapsed) = elapsed_ns(trial) else { return };
        self.bytes = self.bytes.saturating_add(bytes(trial));
        self.elapsed_ns = self.elapsed_ns.saturating_add(elapsed);
        self.send_calls += since(opened.sent.calls, closed.sent.calls);
        self.short += since(opened.sent.short, closed.sent.short);
        self.enobufs =
            self.enobufs.saturating_add(closed.sent.enobufs.saturating_sub(opened.sent.enobufs));
        // The receiver's own counters, on whichever machine it is.
        let (remote_opened, remote_closed) = remote_edges(trial).unwrap_or((opened, closed));
        self.recv_calls += since(remote_opened.received.calls, remote_closed.received.calls);
        self.mapped_bytes +=
            since(remote_opened.received.mapped_bytes, remote_closed.received.mapped_bytes);
        let stat_ns = since(opened.stat.at_ns, closed.stat.at_ns);
        let moved_mb = |ns: f64| bytes(trial) as f64 / 1e6 * ns / elapsed as f64;
        self.switches_mb += moved_mb(stat_ns);
        self.wake_ups += since(opened.sender.voluntary_switches, closed.sender.voluntary_switches);
        self.switches += switches(&opened.sender, &closed.sender)
            + switches(&remote_opened.receiver, &remote_closed.receiver);
        if let Some(interrupts) = interrupts(opened, closed) {
            let interrupts = interrupts
                + remote_edges(trial)
                    .and_then(|(opened, closed)| self::interrupts(opened, closed))
                    .unwrap_or(0.0);
            *self.interrupts.get_or_insert(0.0) += interrupts;
            // They are read right after /proc/stat.
            self.interrupts_ns += since(opened.stat.at_ns, closed.stat.at_ns);
        }
        if let (Some(opened), Some(closed)) = (&opened.link, &closed.link) {
            let link = self.link.get_or_insert_default();
            link.add(opened, closed);
            link.payload_mb += moved_mb(since(opened.at_ns, closed.at_ns));
        }
        if let (Some(opened), Some(closed)) = (&opened.tcp, &closed.tcp) {
            let tcp = self.tcp.get_or_insert_default();
            tcp.add(opened, closed);
            tcp.payload_mb += moved_mb(since(opened.at_ns, closed.at_ns));
        }
        let acks = match (is_shared, &opened.tcp, &closed.tcp) {
            (false, ..) => Some(0.0),
            (true, Some(opened), Some(closed)) => Some(since(opened.segs_in, closed.segs_in)),
            (true, ..) => None,
        };
        if let (Some(opened), Some(closed), Some(acks)) =
            (&remote_opened.delivered, &remote_closed.delivered, acks)
        {
            self.delivered.add(opened, closed, acks);
        }
    }
}

impl Delivered {
    /// Adds what arrived between two readings, unless too much of it may be others'. `acks` of the
    /// packets are acknowledgements for the senders, which are not merged: GRO leaves packets
    /// without payload alone (tcp_gro_receive in net/ipv4/tcp_offload.c).
    fn add(&mut self, opened: &DeliveredReading, closed: &DeliveredReading, acks: f64) {
        let packets = since(opened.packets, closed.packets) - acks;
        let segments = since(opened.segs_in, closed.segs_in);
        let others = match (opened.all_segs_in, closed.all_segs_in) {
            // No packet has fewer segments than one.
            (Some(opened), Some(closed)) => since(opened, closed) - acks - segments,
            _ => 0.0,
        };
        if packets > 0.0 && others <= OTHERS_AT_MOST * packets {
            self.packets += packets;
            self.segments += segments;
            self.bytes += since(opened.bytes, closed.bytes);
        }
    }
}

impl LinkSums {
    fn add(&mut self, opened: &LinkCounters, closed: &LinkCounters) {
        self.packets += since(opened.tx_packets, closed.tx_packets);
        self.bytes += since(opened.tx_bytes, closed.tx_bytes);
        self.rx_packets += since(opened.rx_packets, closed.rx_packets);
        self.rx_bytes += since(opened.rx_bytes, closed.rx_bytes);
        self.elapsed_ns += since(opened.at_ns, closed.at_ns);
    }
}

impl TcpSums {
    fn add(&mut self, opened: &TcpReading, closed: &TcpReading) {
        self.retransmits = self
            .retransmits
            .saturating_add(closed.total_retrans.saturating_sub(opened.total_retrans));
        self.acks += since(opened.segs_in, closed.segs_in);
        self.busy_us += since(opened.busy_us, closed.busy_us);
        self.rwnd_limited_us += since(opened.rwnd_limited_us, closed.rwnd_limited_us);
        self.sndbuf_limited_us += since(opened.sndbuf_limited_us, closed.sndbuf_limited_us);
    }
}

/// Increase of a counter; 0 for one that decreased, which belongs to a new device or socket.
fn since(opened: u64, closed: u64) -> f64 {
    closed.saturating_sub(opened) as f64
}

fn switches(opened: &TaskReading, closed: &TaskReading) -> f64 {
    since(opened.voluntary_switches, closed.voluntary_switches)
        + since(opened.involuntary_switches, closed.involuntary_switches)
}

fn interrupts(opened: &Reading, closed: &Reading) -> Option<f64> {
    let (opened, closed) = (&opened.interrupts, &closed.interrupts);
    (!opened.is_empty() && opened.len() == closed.len())
        .then(|| opened.iter().zip(closed).map(|(opened, closed)| since(*opened, *closed)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{FragmentCounts, Slot};
    use zc_testkit::synthetic::Synthetic;

    fn near(value: Option<f64>, truth: f64) -> bool {
        value.is_some_and(|value| (value / truth - 1.0).abs() < 0.01)
    }

    #[test]
    fn packets_and_acknowledgements_are_counted_by_payload() {
        let mut run = Synthetic::default().run();
        let traffic_of =
            |run: &zc_run::Run| traffic(&KeptBlocks::from_run(run), &run.header.plan.cells[0]);
        let found = traffic_of(&run);
        assert!(near(found.packets_per_mb, 1e6 / 30_000.0), "{found:?}");
        assert_eq!(found.acks_per_mb, None, "none were counted");
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            let Slot::Trial(trial) = slot else { continue };
            let bytes = bytes(trial);
            let length_ns = trial.closed.soak.at_ns - trial.opened.soak.at_ns;
            // It is read over a window of twice the length, in which twice the payload moves.
            let (opened, closed) = (trial.opened.tcp.as_mut(), trial.closed.tcp.as_mut());
            let (opened, closed) = (opened.unwrap(), closed.unwrap());
            closed.at_ns = opened.at_ns + 2 * length_ns;
            closed.segs_in = opened.segs_in + bytes / 20_000;
        }
        assert!(near(traffic_of(&run).acks_per_mb, 25.0), "{:?}", traffic_of(&run));
        run.header.link.device = LOOPBACK.to_owned();
        assert_eq!(traffic_of(&run).packets_per_mb, None, "it sends both ways");
    }

    #[test]
    fn what_tcp_got_is_known_where_little_of_it_may_be_others() {
        let mut run = Synthetic::default().run();
        let found = |run: &zc_run::Run| {
            let found = traffic(&KeptBlocks::from_run(run), &run.header.plan.cells[0]);
            let per_mb = found.received_packets_per_mb;
            assert_eq!(per_mb.is_some(), found.received_packet_bytes.is_some());
            per_mb.zip(found.segments_per_received_packet)
        };
        assert_eq!(found(&run), None, "it was not counted");
        // Packets of 29,200 bytes in 20 segments, and `others` packets beside each 100 of them.
        let deliver = |run: &mut zc_run::Run, others: Option<u64>, acks: u64| {
            for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
                let Slot::Trial(trial) = slot else { continue };
                let packets = bytes(trial) / 29_200;
                let others_packets = others.unwrap_or(0) * packets / 100;
                trial.opened.delivered = Some(DeliveredReading {
                    packets: 3_000,
                    segs_in: 100,
                    bytes: 7,
                    all_segs_in: others.map(|_| 5_000),
                    at_ns: 1,
                });
                trial.closed.delivered = Some(DeliveredReading {
                    packets: 3_000 + packets + others_packets + acks * packets,
                    segs_in: 100 + 20 * packets,
                    bytes: 7 + 29_200 * packets,
                    all_segs_in: others
                        .map(|_| 5_000 + 20 * packets + others_packets + acks * packets),
                    at_ns: 2,
                });
                let (opened, closed) = (&trial.opened.tcp, &mut trial.closed.tcp);
                closed.as_mut().unwrap().segs_in = opened.unwrap().segs_in + acks * packets;
            }
        };
        let is = |found: Option<(f64, f64)>| {
            near(found.map(|found| found.0), 1e6 / 29_200.0)
                && near(found.map(|found| found.1), 20.0)
        };
        deliver(&mut run, None, 0);
        assert!(is(found(&run)), "{:?}", found(&run));
        deliver(&mut run, Some(0), 0);
        assert!(is(found(&run)), "{:?}", found(&run));
        deliver(&mut run, Some(30), 0);
        assert_eq!(found(&run), None);
        // Acknowledgements arrive in the same namespace over loopback, and nowhere else.
        deliver(&mut run, Some(0), 1);
        assert_eq!(found(&run), None);
        run.header.link.device = LOOPBACK.to_owned();
        assert!(is(found(&run)), "{:?}", found(&run));
    }

    #[test]
    fn what_tcp_got_on_another_machine_is_in_its_readings() {
        let mut run = Synthetic::default().run();
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            let Slot::Trial(trial) = slot else { continue };
            let of = |packets| {
                Some(DeliveredReading {
                    packets,
                    segs_in: 4 * packets,
                    bytes: 4_000 * packets,
                    ..DeliveredReading::default()
                })
            };
            let opened = Reading { delivered: of(10), ..trial.opened.clone() };
            let closed = Reading { delivered: of(60), ..trial.closed.clone() };
            let window = zc_run::RemoteWindow { opened, closed, receiver: None };
            trial.remote = Some(Box::new(window));
            trial.opened.delivered = of(1);
            trial.closed.delivered = of(1);
        }
        let found = traffic(&KeptBlocks::from_run(&run), &run.header.plan.cells[0]);
        assert_eq!(found.received_packet_bytes, Some(4_000.0));
        assert_eq!(found.segments_per_received_packet, Some(4.0));
    }

    #[test]
    fn a_cost_is_divided_by_what_was_counted_for_its_side() {
        let run = Synthetic::default().run();
        let kept = KeptBlocks::from_run(&run);
        let cost = |ns_per_kib: f64| {
            let bounds = crate::model::figure::Bounds {
                low: 0.9 * ns_per_kib,
                high: Some(1.1 * ns_per_kib),
                confidence: 0.95,
            };
            Some(crate::figures::with_interval(ns_per_kib, Some(bounds), 7))
        };
        // 1000 and 500 us/MB.
        let cost = Sides { sender: cost(1024.0), receiver: cost(512.0), both: cost(1536.0) };
        let counted = Traffic {
            send_calls_per_mb: Some(50.0),
            recv_calls_per_mb: Some(25.0),
            packets_per_mb: Some(20.0),
            received_packets_per_mb: Some(40.0),
            acks_per_mb: None,
            ..Traffic::default()
        };
        let found = cost_per(&kept, &cost, &counted);
        let values = |sides: Sides<Figure>| {
            [sides.sender, sides.receiver, sides.both].map(|figure| figure.unwrap().value)
        };
        assert_eq!(values(found.us_per_packet), [50.0, 12.5, 75.0]);
        assert_eq!(values(found.us_per_call), [20.0, 20.0, 30.0]);
        assert_eq!(found.us_per_ack, Sides::default());
        let half = found.us_per_call.sender.unwrap().half_width.unwrap();
        assert!((half - 2.0).abs() < 1e-9, "{half}");
        let mut of_server = run.clone();
        of_server.header.plan.traffic = Kind::Server(zc_testkit::server::ran_already());
        let kept = KeptBlocks::from_run(&of_server);
        assert_eq!(cost_per(&kept, &cost, &counted).us_per_call, Sides::default());
    }

    #[test]
    fn fragments_are_those_of_paced_trials_where_there_are_any() {
        let mut run = Synthetic::default().run();
        let fragments_of = |run: &zc_run::Run| {
            let traffic = traffic(&KeptBlocks::from_run(run), &run.header.plan.cells[0]);
            (traffic.fragments_per_packet, traffic.fragments_per_mb.map(f64::round))
        };
        assert_eq!(fragments_of(&run), (None, None));
        let mut count = |kind: TrialKind, bytes_in_one: u64| {
            for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
                let Slot::Trial(trial) = slot else { continue };
                if trial.kind == kind {
                    let fragments = trial.whole_bytes / bytes_in_one;
                    let packets = trial.whole_bytes / 60_000;
                    trial.fragments = Some(FragmentCounts { packets, fragments });
                }
            }
            fragments_of(&run)
        };
        let (per_packet, per_mb) = count(TrialKind::TopSpeed, 20_000);
        assert!((per_packet.unwrap() - 3.0).abs() < 0.01 && per_mb == Some(50.0));
        let (per_packet, per_mb) = count(TrialKind::UnsoakedControl, 4_000);
        assert!((per_packet.unwrap() - 15.0).abs() < 0.01 && per_mb == Some(250.0));
    }
}
