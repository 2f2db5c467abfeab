//! Several links in one process, and the effects of MTU and offloads on them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use OffloadSwitch::{NoChecksum, NoGro, NoGso, NoSg, NoTso};

use super::{End, PATIENCE, counts_what_is_sent, one_cpu, send, sent_to_far_end, two_cpus};
use zc_rig::link::{AckGenerator, Link, Several, Sides, Steering, bring_up_several};
use zc_rig::trial::{self, Links, Rig, RigSetup};
use zc_run::{
    Cell, FixedParams, Levels, LinkKind, LinkOptions, OffloadSwitch, Probe, RecvPath, SendPath,
    Timing, TrialKind, UnavailableKind,
};
use zc_testkit::synthetic::Synthetic;

/// Time for a whole proof.
pub(crate) const PROOF: Duration = Duration::from_secs(60);

/// Ethernet's, jumbo frames, and those of the local runs of 2001.
const MTUS: [u32; 7] = [576, 1500, 3856, 9000, 16144, 16436, 65535];

pub(crate) fn with(mtu_bytes: Option<u32>, switched_off: &[OffloadSwitch]) -> LinkOptions {
    LinkOptions {
        mtu_bytes,
        switched_off: switched_off.iter().copied().collect(),
        ..LinkOptions::default()
    }
}

/// Links, or the reason to skip.
pub(crate) fn several(
    kind: LinkKind,
    sides: Sides,
    first: &LinkOptions,
    others: &[LinkOptions],
) -> Result<Several, End> {
    bring_up_several(kind, sides, Steering::Best, first, others).map_err(|no| match no.kind {
        UnavailableKind::Refused | UnavailableKind::Unsupported => End::Skipped(no.reason.clone()),
        UnavailableKind::Failed | UnavailableKind::Unknown => panic!("{no:?}"),
    })
}

/// Packets that TCP got on the receiver's side for a megabyte.
fn packets_for_a_megabyte(link: &dyn Link) -> u64 {
    let counted = || link.tcp_packets().unwrap().read().unwrap();
    let before = counted();
    send(link, 1_000_000);
    let after = counted();
    assert_eq!(after.all_segments, None, "nobody else is in this namespace");
    after.packets - before.packets
}

pub(crate) fn merged_segments_are_one_packet() -> End {
    let others = [with(None, &[NoTso, NoGso, NoGro]), with(None, &[NoTso, NoGso])];
    let Several { link, others } =
        or_skip!(several(LinkKind::Veth, one_cpu(), &LinkOptions::default(), &others));
    // A segment has an MTU less 40 bytes at most.
    let segments = 1_000_000 / 1460;
    let whole = packets_for_a_megabyte(&*link);
    assert!((1..segments / 2).contains(&whole), "{whole} of {segments}");
    let [apart, merged] = &others[..] else { panic!() };
    match apart {
        Ok(link) => {
            let apart = packets_for_a_megabyte(&**link);
            assert!(apart >= segments, "{apart} of {segments}");
        }
        Err(no) => return End::Skipped(no.reason.clone()),
    }
    match merged {
        Ok(link) if link.facts().receiver_merges == Some(true) => {
            let merged = packets_for_a_megabyte(&**link);
            assert!(merged < segments / 2, "{merged} of {segments}");
            End::Passed
        }
        Ok(_) => End::Skipped("the receiver's device does not merge".to_owned()),
        Err(no) => End::Skipped(no.reason.clone()),
    }
}

pub(crate) fn each_carries_its_own() -> End {
    let others = [
        with(Some(9000), &[]),
        with(Some(10), &[]),
        with(None, &[NoTso]),
        with(Some(3856), &[NoSg]),
    ];
    let Several { link, others } =
        or_skip!(several(LinkKind::Veth, one_cpu(), &LinkOptions::default(), &others));
    let Err(no) = &others[1] else { panic!("there is no IPv4 with an MTU of 10") };
    assert!(no.reason.contains("an MTU of 10"), "{no:?}");
    let links: Vec<&dyn Link> =
        [&link].into_iter().chain(others.iter().flatten()).map(|link| &**link).collect();
    let as_asked: Vec<_> = links
        .iter()
        .map(|link| (link.facts().mtu_bytes, link.facts().switched_off.len()))
        .collect();
    assert_eq!(as_asked, [(1500, 0), (9000, 0), (1500, 1), (3856, 1)]);
    for used in &links {
        let idle = || links.iter().filter(|link| !std::ptr::addr_eq(**link, *used));
        let before: Vec<u64> = idle().map(|link| link.counters().unwrap().tx_bytes).collect();
        counts_what_is_sent(*used);
        let after: Vec<u64> = idle().map(|link| link.counters().unwrap().tx_bytes).collect();
        // Where /proc/sys cannot be written, IPv6 is not disabled, and sends about 100 bytes now
        // and then.
        let little = |(before, after): (&u64, &u64)| after - before < 100_000;
        assert!(before.iter().zip(&after).all(little), "{before:?} {after:?}");
    }
    End::Passed
}

/// An ACK generator without flows uses no CPU time, however long the others work.
pub(crate) fn a_far_end_without_flows_rests() -> End {
    let others = [with(Some(9000), &[]), with(Some(16436), &[])];
    let Several { link, others } =
        or_skip!(several(LinkKind::Null, or_skip!(two_cpus()), &with(None, &[]), &others));
    let others: Vec<Box<dyn Link>> =
        others.into_iter().map(|link| link.unwrap_or_else(|no| panic!("{no:?}"))).collect();
    assert!(
        others.iter().all(|link| link.facts().device == "zc0"),
        "for an MTU no bridge is needed"
    );
    let resting = || -> Vec<u64> {
        others.iter().filter_map(|link| link.far_end()).map(AckGenerator::cpu_ns).collect()
    };
    let until = Instant::now() + PATIENCE;
    loop {
        // The flow of the link's check is released soon, and not at once.
        let before = resting();
        sent_to_far_end(&*link, 20_000_000);
        if resting() == before {
            return End::Passed;
        }
        assert!(Instant::now() < until, "{before:?} {:?}", resting());
    }
}

pub(crate) fn links_of_null_have_one_card() -> End {
    let sides = or_skip!(two_cpus());
    let others = [with(None, &[NoTso]), with(None, &[NoGro])];
    let Several { link, others } =
        or_skip!(several(LinkKind::Null, sides, &with(None, &[]), &others));
    let lesser = others[0].as_ref().unwrap_or_else(|no| panic!("{no:?}"));
    assert_eq!((link.facts().device.as_str(), lesser.facts().device.as_str()), ("zcbr0", "zcbr0"));
    let whole = sent_to_far_end(&*link, 10_000_000);
    let cut = sent_to_far_end(&**lesser, 10_000_000);
    assert!(
        whole.bytes / whole.packets > 10_000 && cut.bytes / cut.packets <= 1448,
        "{whole:?} {cut:?}"
    );
    let Err(no) = &others[1] else { panic!("nobody receives on the null link") };
    assert_eq!((no.kind.name(), no.remedy.as_deref()), ("unsupported", Some("--link veth")));

    // A refused link needs no bridge.
    let Several { link, .. } =
        or_skip!(several(LinkKind::Null, sides, &with(None, &[]), &[with(None, &[NoGro])]));
    assert_eq!(link.facts().device, "zc0");
    End::Passed
}

pub(crate) fn loopback_is_left_alone() -> End {
    let others = [with(Some(1500), &[]), with(None, &[NoTso])];
    let Several { others, .. } =
        or_skip!(several(LinkKind::Loopback, one_cpu(), &with(None, &[]), &others));
    for other in others {
        let no = other.err().expect("lo is the host's");
        assert!(no.reason.contains("the host's own"), "{no:?}");
        assert!(no.remedy.as_deref().is_some_and(|remedy| remedy.contains("--link veth")));
    }
    End::Passed
}

/// Average length of packets, on the wire at the sender's end and as IP receives them.
#[derive(Debug)]
pub(crate) struct Lengths {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

pub(crate) fn lengths(link: &dyn Link) -> Lengths {
    const BYTES: usize = 10_000_000;
    let before = link.counters().unwrap();
    let received = std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let receiver = scope.spawn(move || {
            link.enter_receiver().unwrap();
            let listener = TcpListener::bind((link.receiver_address(), 0)).unwrap();
            let before = ip_packets_received();
            tell.send(listener.local_addr().unwrap()).unwrap();
            let mut socket = listener.accept().unwrap().0;
            let mut buffer = vec![0; 64 << 10];
            while socket.read(&mut buffer).unwrap() > 0 {}
            ip_packets_received() - before
        });
        scope.spawn(move || {
            link.enter_sender().unwrap();
            let mut socket = TcpStream::connect(told.recv().unwrap()).unwrap();
            for piece in vec![7; BYTES].chunks(64 << 10) {
                socket.write_all(piece).unwrap();
            }
        });
        receiver.join().unwrap()
    });
    let after = link.counters().unwrap();
    let sent = (after.tx_bytes - before.tx_bytes) / (after.tx_packets - before.tx_packets);
    Lengths { sent, received: BYTES as u64 / received }
}

/// `InReceives` of the calling thread's namespace (RFC 4293): a packet that GRO has merged is one.
fn ip_packets_received() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let counts = text.lines().filter_map(|line| line.strip_prefix("Ip: ")).nth(1).unwrap();
    counts.split(' ').nth(2).unwrap().parse().unwrap()
}

pub(crate) fn each_switch_changes_packets() -> End {
    const WIRE: u64 = 1514;
    let cut = [NoTso, NoSg, NoChecksum];
    let asked: Vec<LinkOptions> =
        OffloadSwitch::ALL.iter().map(|switch| with(None, &[*switch])).collect();
    let (merging, asked): (Vec<LinkOptions>, Vec<LinkOptions>) =
        asked.into_iter().partition(|options| options.switched_off.contains(&NoGro));
    // No link has `no-gro`, so none merges.
    let links = or_skip!(several(LinkKind::Veth, or_skip!(two_cpus()), &with(None, &[]), &asked));
    for link in [Ok(links.link)].into_iter().chain(links.others) {
        let link = link.unwrap_or_else(|no| panic!("{no:?}"));
        let (facts, lengths) = (link.facts(), lengths(&*link));
        let is_cut = cut.iter().any(|switch| facts.switched_off.contains(switch));
        let of_packets = if is_cut { 0..=WIRE } else { 10_000..=65_600 };
        assert!(of_packets.contains(&lengths.sent), "{:?}: {lengths:?}", facts.switched_off);
        assert!(of_packets.contains(&lengths.received), "{:?}: {lengths:?}", facts.switched_off);
        assert_eq!((facts.receiver_merges, facts.sides_apart), (Some(false), true), "{facts:?}");
        let offloads = facts.offloads.as_ref().unwrap();
        for (switch, name) in [
            (NoTso, "tx-tcp-segmentation"),
            (NoGso, "tx-generic-segmentation"),
            (NoSg, "tx-scatter-gather"),
            (NoChecksum, "tx-checksum-ip-generic"),
        ] {
            // Some go together: netdev_fix_features().
            assert!(offloads[name] || !facts.switched_off.is_empty(), "{facts:?}");
            assert!(!facts.switched_off.contains(&switch) || !offloads[name], "{facts:?}");
        }
    }

    // One link has `no-gro`, so all others merge, which shows where packets are cut.
    let others: Vec<LinkOptions> = [&[NoTso][..], &[NoSg], &[NoChecksum], &[NoTso, NoGro]]
        .map(|off| with(None, off))
        .into_iter()
        .chain(merging)
        .collect();
    let links = or_skip!(several(LinkKind::Veth, or_skip!(two_cpus()), &with(None, &[]), &others));
    let links: Vec<Box<dyn Link>> = [Ok(links.link)]
        .into_iter()
        .chain(links.others)
        .map(|link| link.unwrap_or_else(|no| panic!("{no:?}")))
        .collect();
    let as_found: Vec<_> =
        links.iter().map(|link| (link.facts().receiver_merges, link.facts().sides_apart)).collect();
    // What is merged is merged on the sender's CPU.
    let (merged, not) = ((Some(true), false), (Some(false), true));
    assert_eq!(as_found, [(Some(true), true), merged, merged, merged, not, not]);
    let lengths: Vec<Lengths> = links.iter().map(|link| lengths(&**link)).collect();
    let [all, cut @ .., unmerged, no_gro] = &lengths[..] else { panic!("{lengths:?}") };
    assert!(all.received > 10_000 && no_gro.received > 10_000, "{lengths:?}");
    assert!(cut.iter().all(|each| each.sent <= WIRE), "{lengths:?}");
    assert!(unmerged.sent <= WIRE && unmerged.received <= WIRE, "{lengths:?}");
    if kernel_is_before(5, 13) {
        return End::Skipped(format!("veth does not merge before Linux 5.13: {lengths:?}"));
    }
    assert!(cut.iter().all(|each| each.received > 2 * WIRE), "{lengths:?}");
    End::Passed
}

/// Whether the running kernel is older than Linux `major`.`minor`.
fn kernel_is_before(major: u32, minor: u32) -> bool {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) < (Some(major), Some(minor))
}

/// A rig over links of one kind, for cells of these levels.
pub(crate) fn rig(
    kind: LinkKind,
    levels: &[Levels],
    files: &[std::path::PathBuf],
) -> Result<Rig, End> {
    Ok(rig_over(links(kind, levels)?, files))
}

/// Links of one kind, for cells of these levels.
pub(crate) fn links(kind: LinkKind, levels: &[Levels]) -> Result<Links, End> {
    let Sides { sender_cpu, receiver_cpu } = two_cpus()?;
    let options = LinkOptions::default();
    let others: Vec<LinkOptions> = levels.iter().map(|levels| options.at(levels)).collect();
    let up = trial::bring_up(&[kind], sender_cpu, receiver_cpu, &options, &others);
    up.map(|up| up.links).map_err(|error| End::Skipped(error.message))
}

/// A rig over these links, on the first two CPUs.
pub(crate) fn rig_over(links: Links, files: &[std::path::PathBuf]) -> Rig {
    let kind = links.base().facts().kind;
    let Ok(Sides { sender_cpu, receiver_cpu }) = two_cpus() else { panic!("the link has two") };
    let fixed = FixedParams {
        link: kind,
        rate_bytes_per_s: 100e6,
        rate_chosen: false,
        congestion: "reno".to_owned(),
        sender_cpu,
        receiver_cpu,
        soaked_cpus: vec![sender_cpu, receiver_cpu],
        ..Synthetic::default().header().plan.fixed
    };
    let timing = Timing {
        warmup_ns: 1_000_000,
        window_ns: 5_000_000,
        idle_ns: 1_000_000,
        unsoaked_ns: 5_000_000,
    };
    let (setup, _) = trial::open_files(files, 1, fixed.buffer_bytes, &[], sender_cpu).unwrap();
    Rig::new(RigSetup { links, setup, fixed, timing, remote: None, sampler: None, counters: None })
        .unwrap()
}

fn cell(send: SendPath, levels: &Levels) -> Cell {
    Cell { levels: levels.clone(), ..Cell::of_paths(send, RecvPath::Recv) }
}

pub(crate) fn every_path_is_proven_at_every_mtu() -> End {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = [1 << 20, 70_001, 9_000, 1_447]
        .iter()
        .enumerate()
        .map(|(number, len)| {
            let path = folder.path().join(number.to_string());
            std::fs::write(
                &path,
                (0..*len).map(|at: usize| (at * 7 + at / 251 + number) as u8).collect::<Vec<u8>>(),
            )
            .unwrap();
            path
        })
        .collect();
    let of = |mtu_bytes| Levels { mtu_bytes: Some(mtu_bytes), ..Levels::default() };
    // One more than a device of Ethernet's kind can have.
    let levels: Vec<Levels> = MTUS.into_iter().chain([65_536]).map(of).collect();
    let mut skipped = Vec::new();
    for kind in [LinkKind::Veth, LinkKind::Null] {
        let mut rig = match rig(kind, &levels, &files) {
            Ok(rig) => rig,
            Err(End::Skipped(why)) => {
                skipped.push(why);
                continue;
            }
            Err(End::Passed) => unreachable!(),
        };
        for levels in &levels[..MTUS.len()] {
            let (mut proven, mut mss) = (BTreeSet::new(), BTreeSet::new());
            for &send in SendPath::ALL {
                match rig.prove(&cell(send, levels), PROOF) {
                    Ok(Ok(Probe::Proof { .. })) => proven.insert(send),
                    Ok(Err(no)) if no.kind.name() != "failed" => continue,
                    other => panic!("{kind} {levels:?} {send}: {other:?}"),
                };
                let trial = rig.run(&cell(send, levels), TrialKind::TopSpeed);
                let trial =
                    trial.unwrap_or_else(|error| panic!("{kind} {levels:?} {send}: {error:?}"));
                mss.extend(trial.closed.tcp.map(|tcp| tcp.snd_mss)); // datagrams have none
            }
            // Its own link, and no other: headers take 40 bytes, timestamps 12.
            let own = levels.mtu_bytes.unwrap() - 52;
            assert_eq!(mss.last(), Some(&own), "{kind} {mss:?}");
            // A segment is at most half of the largest window that the peer has offered
            // (include/net/tcp.h, tcp_bound_to_half_wnd). The first window is one of 64 KiB, and a
            // peer that gets no CPU time opens it late.
            assert!(mss.len() == 1 || own > 0xffff / 2, "{kind} {mss:?}");
            assert!(
                proven.contains(&SendPath::ReadSend) && proven.contains(&SendPath::Sendfile),
                "{proven:?}"
            );
        }
        let no =
            rig.prove(&cell(SendPath::ReadSend, &levels[MTUS.len()]), PROOF).unwrap().unwrap_err();
        assert!(no.reason.contains("65536"), "{no:?}");
    }
    if skipped.is_empty() { End::Passed } else { End::Skipped(skipped.join("; ")) }
}
