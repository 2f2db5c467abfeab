//! The largest packet of a link: above 64 KiB (BIG TCP) and below.

use super::several::{PROOF, lengths, rig, several};
use super::{End, counts_what_is_sent, sent_to_far_end, two_cpus};
use zc_rig::link::{Link, Several};
use zc_run::{
    Cell, Factor, IpVersion, Level, Levels, LinkKind, LinkOptions, OffloadSwitch, Probe, RecvPath,
    SendPath, UnavailableKind,
};

const LARGEST: &str = "largest packet to segment";
const SIZES: [u32; 5] = [32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10];

fn sized(ip: IpVersion) -> Vec<LinkOptions> {
    let of = |bytes| LinkOptions { gso_max_bytes: Some(bytes), ip, ..LinkOptions::default() };
    SIZES.map(of).to_vec()
}

/// Links with the size of each.
type Links = Vec<(u32, Box<dyn Link>)>;

/// The links that the kernel has, and the reason of the first that is missing.
fn links(kind: LinkKind, ip: IpVersion) -> Result<(Links, Option<String>), End> {
    let first = LinkOptions { ip, ..LinkOptions::default() };
    let Several { others, .. } = several(kind, two_cpus()?, &first, &sized(ip))?;
    let (mut links, mut missing) = (Vec::new(), None);
    for (bytes, link) in SIZES.into_iter().zip(others) {
        match link {
            Ok(link) => links.push((bytes, link)),
            Err(no) => {
                assert_eq!(no.kind, UnavailableKind::Unsupported, "{no:?}");
                assert!(bytes > 64 << 10, "{no:?}");
                missing = missing.or(Some(no.reason));
            }
        }
    }
    Ok((links, missing))
}

/// Whether packets of this average length come of a link with packets of up to `bytes`.
fn are_as_large(average: u64, bytes: u32) -> bool {
    let least = if bytes > 64 << 10 { 64 << 10 } else { bytes / 2 };
    (u64::from(least)..=u64::from(bytes)).contains(&average)
}

pub(crate) fn null_notes_packets_of_every_size() -> End {
    let (links, missing) = or_skip!(links(LinkKind::Null, IpVersion::V4));
    for (bytes, link) in &links {
        assert_eq!(link.facts().gso_max_bytes, Some(*bytes));
        let found = &link.facts().settings[LARGEST];
        assert!(found.starts_with(&(*bytes.min(&524_280)).to_string()), "{bytes}: {found}");
        let counts = sent_to_far_end(&**link, 50_000_000);
        assert_eq!(
            (counts.bytes, counts.acked_bytes, counts.gaps, counts.ended),
            (50_000_000, 50_000_000, 0, true),
            "{bytes}: {counts:?}"
        );
        assert!(are_as_large(counts.bytes / counts.packets, *bytes), "{bytes}: {counts:?}");
    }
    missing.map_or(End::Passed, End::Skipped)
}

pub(crate) fn null_has_them_behind_a_bridge_too() -> End {
    for bytes in [32 << 10, 256 << 10] {
        let options = LinkOptions {
            gso_max_bytes: Some(bytes),
            switched_off: [OffloadSwitch::NoGso].into(),
            ..LinkOptions::default()
        };
        let Several { link, .. } =
            or_skip!(several(LinkKind::Null, or_skip!(two_cpus()), &options, &[]));
        assert_eq!(link.facts().device, "zcbr0");
        let counts = sent_to_far_end(&*link, 50_000_000);
        assert_eq!((counts.bytes, counts.gaps), (50_000_000, 0), "{bytes}: {counts:?}");
        assert!(are_as_large(counts.bytes / counts.packets, bytes), "{bytes}: {counts:?}");
    }
    End::Passed
}

pub(crate) fn veth_carries_packets_of_every_size() -> End {
    let mut skipped = Vec::new();
    for ip in [IpVersion::V4, IpVersion::V6] {
        let (links, missing) = or_skip!(links(LinkKind::Veth, ip));
        skipped.extend(missing);
        for (bytes, link) in &links {
            counts_what_is_sent(&**link);
            if ip == IpVersion::V4 {
                // A stream that is read at once is sent in smaller packets than it may be.
                let lengths = lengths(&**link);
                assert!(lengths.sent <= u64::from(*bytes), "{bytes}: {lengths:?}");
            }
        }
    }
    if skipped.is_empty() { End::Passed } else { End::Skipped(skipped.join("; ")) }
}

pub(crate) fn null_refuses_large_packets_over_ipv6() -> End {
    let first = LinkOptions { ip: IpVersion::V6, ..LinkOptions::default() };
    let sizes = sized(IpVersion::V6);
    let Several { others, .. } =
        or_skip!(several(LinkKind::Null, or_skip!(two_cpus()), &first, &sizes));
    for (bytes, link) in SIZES.into_iter().zip(others) {
        match link {
            Ok(_) => assert!(bytes <= 64 << 10, "{bytes}"),
            Err(no) => assert!(bytes > 64 << 10 && no.reason.contains("IPv6"), "{bytes}: {no:?}"),
        }
    }
    End::Passed
}

pub(crate) fn every_path_is_proven_at_every_size() -> End {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = [3 << 20, 70_001, 1_447]
        .iter()
        .enumerate()
        .map(|(number, len)| {
            let path = folder.path().join(number.to_string());
            let bytes: Vec<u8> =
                (0..*len).map(|at: usize| (at * 7 + at / 251 + number) as u8).collect();
            std::fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let levels = ["32k", "128k", "512k"].map(|text| {
        let mut cell = Cell::of_paths(SendPath::ReadSend, RecvPath::Recv);
        Level::parse(Factor::GsoMax, text).unwrap().put(&mut cell);
        cell.levels
    });
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
        for levels in &levels {
            let mut proven = Vec::new();
            for &send in SendPath::ALL {
                let levels: Levels = levels.clone();
                let cell = Cell { levels, ..Cell::of_paths(send, RecvPath::Recv) };
                match rig.prove(&cell, PROOF) {
                    Ok(Ok(Probe::Proof { .. })) => proven.push(send),
                    Ok(Err(no)) if no.kind.name() == "unsupported" => skipped.push(no.reason),
                    other => panic!("{kind} {:?} {send}: {other:?}", cell.levels),
                }
            }
            let has_both =
                [SendPath::ReadSend, SendPath::Sendfile].map(|send| proven.contains(&send));
            assert!(has_both == [true; 2] || !skipped.is_empty(), "{kind} {levels:?}: {proven:?}");
        }
    }
    skipped.retain(|why| why.contains("before segmentation"));
    skipped.first().cloned().map_or(End::Passed, End::Skipped)
}
