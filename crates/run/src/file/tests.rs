//! Every block comes back as it was, whatever was read in it.

use proptest::prelude::*;

use super::*;
use crate::{
    CpuCounts, CpuTicks, DeliveredReading, FragmentCounts, IdleWindow, LinkCounters, Reading,
    RecvCounts, RemoteWindow, SendCounts, Slot, SoakReading, SocketFacts, SoftirqCounts,
    StatReading, TaskReading, TcpReading, Trial, TrialKind, Usage,
};

fn block(slots: Vec<Slot>) -> Block {
    Block {
        index: 3,
        session: 1,
        began_ns: 17,
        memcpy_bytes_per_s: Some(1.5e9),
        slots,
        failed: Vec::new(),
        samples: None,
        dropped: None,
    }
}

#[test]
fn a_kind_of_softirq_is_in_memory_once() {
    let softirqs: SoftirqCounts = [("HI".to_owned(), vec![1])].into_iter().collect();
    let reading = Reading { softirqs, ..Reading::default() };
    let window = IdleWindow { opened: reading.clone(), closed: reading, remote: None };
    let text = block_line(&block(vec![Slot::Idle(window)]));
    let blocks = [(); 2].map(|()| serde_json::from_str::<Block>(&text).unwrap());
    let kinds = blocks.iter().flat_map(|block| &block.slots).map(|slot| match slot {
        Slot::Idle(window) => window.closed.softirqs.kinds().as_ptr(),
        Slot::Trial(_) => panic!("no trial"),
    });
    assert!(kinds.collect::<Vec<_>>().windows(2).all(|pair| pair[0] == pair[1]));
}

/// Counts as they are, and as they should not be.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..1_000_000u64, 1 => Just(0), 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn counts(most: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(count(), 0..=most)
}

prop_compose! {
    fn reading()(
        at_ns in count(),
        units in counts(2),
        stamp_ns in counts(2),
        cpu_ns in counts(2),
        by_cpu_ns in counts(2),
        n in prop::collection::vec(count(), 32),
        cpus in prop::collection::vec(count(), 0..3),
        softirqs in prop::collection::btree_map("[A-C]", prop::collection::vec(count(), 2), 0..3),
        interrupts in counts(2),
        has in prop::array::uniform8(any::<bool>()),
    ) -> Reading {
        let small = |place: usize| n[place] as u32;
        Reading {
            // Soakers that are stopped have no clocks.
            soak: match units.is_empty() && stamp_ns.is_empty() {
                true => SoakReading { at_ns, ..SoakReading::default() },
                false => SoakReading { at_ns, units, stamp_ns, cpu_ns, ksoftirqd_ns: by_cpu_ns },
            },
            process_cpu_ns: n[0],
            sender: if has[0] { TaskReading {
                    at_ns: n[1],
                    cpu_ns: n[2],
                    voluntary_switches: n[3],
                    involuntary_switches: n[4],
                } } else { TaskReading::default() },
            receiver: if has[1] { TaskReading {
                    at_ns: n[5],
                    cpu_ns: n[6],
                    voluntary_switches: n[7],
                    involuntary_switches: n[8],
                } } else { TaskReading::default() },
            sent: if has[2] { SendCounts {
                    bytes: n[9],
                    calls: n[10],
                    completions: n[11],
                    copied: n[12],
                    enobufs: n[13],
                    short: n[14],
                    framing_bytes: n[15],
                } } else { SendCounts::default() },
            received: if has[3] {
                RecvCounts { bytes: n[15], calls: n[16], mapped_bytes: n[17] }
            } else {
                RecvCounts::default()
            },
            tcp: has[4].then(|| TcpReading {
                at_ns: n[18],
                bytes_sent: n[19],
                bytes_acked: n[20],
                busy_us: n[21],
                segs_out: n[22],
                snd_mss: small(23),
                snd_cwnd: small(24),
                ..TcpReading::default()
            }),
            delivered: has[4].then(|| DeliveredReading {
                at_ns: n[18],
                packets: n[8],
                segs_in: n[9],
                bytes: n[10],
                all_segs_in: has[3].then_some(n[11]),
            }),
            stat: StatReading {
                at_ns: n[25],
                cpus: cpus
                    .iter()
                    .map(|&user| CpuTicks {
                        user,
                        softirq: n[26],
                        steal: n[27],
                        ..CpuTicks::default()
                    })
                    .collect(),
                context_switches: n[28],
                interrupts: n[29],
            },
            softirqs: softirqs.into_iter().collect(),
            interrupts,
            link: has[5].then(|| LinkCounters {
                at_ns: n[30],
                tx_bytes: n[31],
                rx_packets: n[3],
                ..LinkCounters::default()
            }),
            ksoftirqd_ns: has[6].then_some(n[5]),
            idle_ns: has[6].then_some(n[5]),
            burned_ns: has[5].then_some(n[6]),
            burned_units: has[6].then_some(n[5]),
            counted: match has[7] {
                true => vec![CpuCounts { cpu: 1, cycles: n[6], ..CpuCounts::default() }],
                false => Vec::new(),
            },
            cgroups_ns: has[7].then_some(n[7]),
        }
    }
}

prop_compose! {
    fn window()(opened in reading(), closed in reading()) -> Box<RemoteWindow> {
        Box::new(RemoteWindow { opened, closed, receiver: None })
    }
}

fn slot() -> impl Strategy<Value = Slot> {
    let idle = (reading(), reading(), prop::option::of(window()))
        .prop_map(|(opened, closed, remote)| Slot::Idle(IdleWindow { opened, closed, remote }));
    let trial =
        (reading(), reading(), prop::option::of(window()), count(), "[a-z\"\\\\\u{1b} ]{0,9}")
            .prop_map(|(opened, closed, remote, whole_bytes, cell)| {
                let whole_sender_usage = (whole_bytes % 2 == 0).then(Usage::default);
                let kind = TrialKind::ALL[whole_bytes as usize % TrialKind::ALL.len()];
                Slot::Trial(Trial {
                    cell,
                    kind,
                    opened,
                    closed,
                    whole_bytes,
                    whole_completions: whole_bytes / 2,
                    whole_copied: whole_bytes / 4,
                    whole_lost_bytes: (whole_bytes % 7 == 0).then_some(whole_bytes / 7),
                    fragments: (whole_bytes % 3 == 0)
                        .then_some(FragmentCounts { packets: whole_bytes, fragments: 7 }),
                    whole_sender_usage,
                    sockets: (whole_bytes % 5 != 0).then(|| SocketFacts {
                        congestion: "reno".to_owned(),
                        pacing_bytes_per_s: (whole_bytes % 2 == 0).then_some(whole_bytes),
                        snd_ssthresh_packets: (whole_bytes % 2 == 0).then_some(10),
                        sndbuf_bytes: 87_040,
                        rcvbuf_bytes: (whole_bytes % 3 == 0).then_some(131_072),
                        rcv_ssthresh_bytes: (whole_bytes % 3 == 0).then_some(65_535),
                    }),
                    remote,
                    remote_report: None,
                })
            });
    prop_oneof![idle, trial]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_block_comes_back_as_it_was(slots in prop::collection::vec(slot(), 0..6)) {
        let block = block(slots);
        let line = block_line(&block);
        prop_assert_eq!(serde_json::from_str::<Block>(&line).unwrap(), block);
    }
}
