//! Every block comes back as it was, whatever was read in it.

use proptest::prelude::*;

use super::*;
use crate::{
    CpuTicks, LinkCounters, RecvCounts, SendCounts, SoakReading, StatReading, TaskReading,
    TcpReading,
};

fn again(block: &Block) -> Block {
    read(write(block).as_bytes(), &mut SoftirqCounts::default()).unwrap()
}

/// A window whose readings follow one another.
fn idle(opened: Reading, closed: Reading) -> Slot {
    Slot::Idle(IdleWindow { opened, closed, remote: None })
}

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

fn soak(at_ns: u64, units: &[u64]) -> Reading {
    let stamp_ns = units.iter().map(|units| at_ns - units % 7).collect();
    let soak = SoakReading { at_ns, units: units.to_vec(), stamp_ns, ..SoakReading::default() };
    Reading { soak, ..Reading::default() }
}

#[test]
fn a_line_is_made_of_small_numbers() {
    let softirqs = |net_rx| -> SoftirqCounts {
        [("NET_RX".to_owned(), vec![net_rx, 100]), ("TIMER".to_owned(), vec![5, 6])]
            .into_iter()
            .collect()
    };
    let opened = Reading {
        softirqs: softirqs(1_000_000),
        interrupts: vec![7, 8],
        ..soak(1_000_000, &[50, 60])
    };
    let closed = Reading {
        softirqs: softirqs(1_000_012),
        interrupts: vec![7, 8],
        ..soak(1_000_100, &[55, 60])
    };
    let text = write(&block(vec![idle(opened, closed)]));
    assert_eq!(
        text,
        concat!(
            r#"{"index":3,"session":1,"began_ns":17,"memcpy_bytes_per_s":1500000000.0,"slots":["#,
            r#"{"opened":{"absolute":true,"soak":[1000000,[50,60],[-1,-4]],"#,
            r#""stat":[[-1000000],[]],"softirqs":{"NET_RX":[1000000,100],"TIMER":[5,6]},"#,
            r#""interrupts":[7,8]},"closed":{"soak":[100,[5],[-6,-4]],"#,
            r#""stat":[[-1000100],[]],"softirqs":{"NET_RX":[12]}}}],"dropped":null}"#
        )
    );
}

#[test]
fn soakers_that_stop_and_start_again_go_on_from_where_they_were() {
    let still = |at_ns| Reading {
        soak: SoakReading { at_ns, ..SoakReading::default() },
        ..Reading::default()
    };
    let slots = vec![
        idle(soak(100, &[10, 11]), soak(200, &[20, 21])),
        idle(still(300), still(400)),
        idle(soak(500, &[30, 21]), soak(600, &[40, 41])),
    ];
    let block = block(slots);
    assert_eq!(again(&block), block);
    assert_eq!(
        write(&block).matches("absolute").count(),
        1,
        "the machine is the same while soakers are stopped"
    );
}

#[test]
fn a_kind_of_softirq_is_in_memory_once() {
    let softirqs: SoftirqCounts = [("HI".to_owned(), vec![1])].into_iter().collect();
    let reading = Reading { softirqs, ..soak(100, &[10]) };
    let text = write(&block(vec![idle(reading.clone(), reading)]));
    let mut known = SoftirqCounts::default();
    let blocks = [(); 2].map(|()| read(text.as_bytes(), &mut known).unwrap());
    let kinds = blocks.iter().flat_map(|block| &block.slots).map(|slot| match slot {
        Slot::Idle(window) => window.closed.softirqs.kinds().as_ptr(),
        Slot::Trial(_) => panic!("no trial"),
    });
    assert!(kinds.collect::<Vec<_>>().windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn what_a_later_minor_version_adds_is_ignored() {
    let line = |edge: &str, more: &str| {
        let slot = format!(r#"{{"opened":{edge},"closed":{{}}{more}}}"#);
        let head = format!(r#""index":0,"began_ns":0,"memcpy_bytes_per_s":null{more}"#);
        let text = format!(r#"{{{head},"slots":[{slot}],"dropped":null}}"#);
        read(text.as_bytes(), &mut SoftirqCounts::default()).unwrap()
    };
    let known = concat!(
        r#"{"absolute":true,"soak":[9,[8],[7]],"stat":[[1,2,3],[[1,2,3,4,5,6,7,8]]],"#,
        r#""sent":[1,2,3,4,5,6],"received":[1,2,3]}"#
    );
    let added = concat!(
        r#"{"absolute":true,"soak":[9,[8],[7],[],[],{"a":1}],"#,
        r#""stat":[[1,2,3,4],[[1,2,3,4,5,6,7,8,9]],[1]],"#,
        r#""sent":[1,2,3,4,5,6,-7],"received":[1,2,3,"x"],"new":[[1]]}"#
    );
    assert_eq!(line(added, r#","new":{"a":[1]}"#), line(known, ""));
}

#[test]
fn the_names_of_format_2_are_read() {
    let read_line = |line: &str| read(line.as_bytes(), &mut SoftirqCounts::default()).unwrap();
    let now = concat!(
        r#"{"index":0,"began_ns":0,"memcpy_bytes_per_s":null,"slots":[{"cell":"a","#,
        r#""kind":"unsoaked-control","opened":{"absolute":true,"stopped":5},"#,
        r#""closed":{"stopped":1}}],"dropped":null}"#
    );
    let then = now
        .replace("absolute", "anew")
        .replace("stopped", "still")
        .replace("unsoaked-control", "twin");
    assert_ne!(then, now);
    assert_eq!(read_line(&then), read_line(now));
}

#[test]
fn a_line_that_would_fill_any_memory_is_an_error() {
    let line = |cpus: usize, slots: usize| {
        let counts = vec!["1"; cpus].join(",");
        let first = format!(
            r#"{{"opened":{{"absolute":true,"soak":[1,[{counts}],[{counts}]],"interrupts":[{counts}]}},"closed":{{}}}}"#
        );
        let more = r#",{"opened":{},"closed":{}}"#.repeat(slots);
        let head = r#""index":0,"began_ns":0,"memcpy_bytes_per_s":null"#;
        format!(r#"{{{head},"slots":[{first}{more}],"dropped":null}}"#)
    };
    let read = |text: &str| read(text.as_bytes(), &mut SoftirqCounts::default());
    assert_eq!(read(&line(1000, 10)).unwrap().slots.len(), 11);
    // Three times as long, and a thousand times as many numbers.
    let text = line(3000, 100_000);
    let error = read(&text).unwrap_err().to_string();
    assert!(error.contains("more CPUs than the text has room for"), "{error}");
}

#[test]
fn what_no_zc_writes_is_an_error() {
    let refused = |slots: &str| {
        let head = r#""index":0,"began_ns":0,"memcpy_bytes_per_s":null"#;
        let line = format!(r#"{{{head},"slots":[{slots}],"dropped":null}}"#);
        read(line.as_bytes(), &mut SoftirqCounts::default()).unwrap_err().to_string()
    };
    let more = "a reading of more CPUs or kinds than the one before it";
    for edge in [
        r#"{"soak":[1,[2],[3]],"stat":[[],[]]}"#,
        r#"{"stat":[[],[[1]]]}"#,
        r#"{"stat":[[],[]],"softirqs":{"HI":[1]}}"#,
        r#"{"stat":[[],[]],"interrupts":[1]}"#,
    ] {
        assert_eq!(
            refused(&format!(r#"{{"opened":{edge},"closed":{{"stat":[[],[]]}}}}"#)),
            more,
            "{edge}"
        );
    }
    assert!(
        refused(r#"{"cell":"a","opened":{},"closed":{}}"#).contains("a trial without its kind")
    );
    assert!(refused(r#"{"opened":{"sent":[1e400]},"closed":{}}"#).contains("number out of range"));
    assert!(refused(r#"{"opened":{"sent":[NaN]},"closed":{}}"#).contains("expected value"));
    assert!(refused(r#"{"opened":{}}"#).contains("missing field `closed`"));
    assert!(refused(r#"{"opened":{"soak":[1,[2]]},"closed":{}}"#).contains("invalid length 2"));
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
            cgroups_ns: has[7].then_some(n[7]),
        }
    }
}

prop_compose! {
    fn window()(opened in reading(), closed in reading()) -> Box<RemoteWindow> {
        Box::new(RemoteWindow { opened, closed })
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
                    fragments: (whole_bytes % 3 == 0)
                        .then_some(FragmentCounts { packets: whole_bytes, fragments: 7 }),
                    whole_sender_usage,
                    sockets: (whole_bytes % 5 != 0).then(|| SocketFacts {
                        congestion: "reno".to_owned(),
                        pacing_bytes_per_s: (whole_bytes % 2 == 0).then_some(whole_bytes),
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
        prop_assert_eq!(again(&block), block);
    }
}
