//! What is above the devices of a link: every layer that the kernel has carries bytes and counts
//! them, and bytes that go past one are found.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::several::{PROOF, links, rig_over, several};
use super::{End, send, two_cpus};
use zc_kernel::netlink::Devices;
use zc_rig::link::{Link, Several};
use zc_run::{
    Cell, Factor, IpVersion, Layer, Level, Levels, LinkKind, LinkOptions, Probe, RecvPath,
    SendPath, TrialKind, Unavailable,
};

/// Paths that hand the kernel bytes in ways of their own, the reference first.
const PATHS: [SendPath; 5] = [
    SendPath::ReadSend,
    SendPath::Sendfile,
    SendPath::Vmsplice,
    SendPath::MsgZerocopy,
    SendPath::UringSend,
];

/// What a kernel without a layer says of it.
fn skip(layer: Layer, no: &Unavailable) -> String {
    assert_eq!(no.kind.name(), "unsupported", "{layer}: {no:?}");
    assert!(no.remedy.is_some() && no.reason.contains("CONFIG_"), "{no:?}");
    let why = format!("{layer}: {}", no.reason);
    eprintln!("{why}");
    why
}

fn ended(missing: Vec<String>) -> End {
    if missing.is_empty() { End::Passed } else { End::Skipped(missing.join("; ")) }
}

pub(crate) fn each_carries_and_counts() -> End {
    let mut missing = Vec::new();
    for ip in [IpVersion::V4, IpVersion::V6] {
        let plain = LinkOptions { ip, ..LinkOptions::default() };
        let others: Vec<LinkOptions> =
            Layer::ALL.iter().map(|layer| LinkOptions { layer: *layer, ..plain.clone() }).collect();
        let Several { others: links, .. } =
            or_skip!(several(LinkKind::Veth, or_skip!(two_cpus()), &plain, &others));
        for (layer, link) in Layer::ALL.iter().copied().zip(links) {
            match link {
                Ok(link) => carries_and_counts(layer, &*link),
                Err(no) => missing.push(skip(layer, &no)),
            }
        }
    }
    ended(missing)
}

fn carries_and_counts(layer: Layer, link: &dyn Link) {
    const BYTES: u64 = 1_000_000;
    let facts = link.facts();
    assert_eq!((facts.layer(), facts.device.as_str(), facts.mtu_bytes), (layer, "zc0", 1500));
    let mtu_bytes = facts.layer.as_ref().and_then(|layer| layer.mtu_bytes);
    let expected = match layer {
        Layer::Plain | Layer::Esp | Layer::Mptcp => None,
        Layer::Bridge | Layer::Macvlan => Some(1500),
        Layer::Vxlan => Some(1450),
        Layer::Wireguard => Some(1420),
    };
    assert_eq!(mtu_bytes, expected, "{layer}");
    let before = (link.counters().unwrap(), link.layer_bytes().unwrap());
    send(link, BYTES as usize);
    let after = (link.counters().unwrap(), link.layer_bytes().unwrap());
    assert!(after.0.tx_bytes - before.0.tx_bytes >= BYTES, "{layer}: the pair carries it, too");
    match (before.1, after.1) {
        (Some(before), Some(after)) => {
            let sent = after.sent - before.sent;
            let received = after.received - before.received;
            assert!(sent >= BYTES && received >= BYTES, "{layer}: {sent} {received}");
        }
        counted => assert!(
            matches!(layer, Layer::Plain | Layer::Mptcp) && counted == (None, None),
            "{layer}: {counted:?}"
        ),
    }
}

/// Cells of some paths with each layer.
fn levels(layer: Layer) -> Levels {
    let mut cell = Cell::of_paths(SendPath::ReadSend, RecvPath::Recv);
    Level::parse(Factor::Layer, layer.name()).unwrap().put(&mut cell);
    cell.levels
}

fn cell(send: SendPath, layer: Layer) -> Cell {
    Cell { levels: levels(layer), ..Cell::of_paths(send, RecvPath::Recv) }
}

fn file(folder: &tempfile::TempDir) -> Vec<PathBuf> {
    let path = folder.path().join("file");
    let bytes: Vec<u8> = (0..300_000_usize).map(|at| (at * 7 + at / 251) as u8).collect();
    std::fs::write(&path, bytes).unwrap();
    vec![path]
}

pub(crate) fn every_path_is_proven_over_every_layer() -> End {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<Levels> = Layer::ALL.iter().map(|layer| levels(*layer)).collect();
    let mut rig = rig_over(or_skip!(links(LinkKind::Veth, &all)), &file(&folder));
    let mut missing = Vec::new();
    for &layer in Layer::ALL {
        let mut proven = BTreeSet::new();
        for send in PATHS {
            let cell = cell(send, layer);
            match rig.prove(&cell, PROOF) {
                Ok(Ok(Probe::Proof { .. })) => proven.insert(send),
                Ok(Err(no)) if send == SendPath::ReadSend => {
                    missing.push(skip(layer, &no));
                    break;
                }
                Ok(Err(no)) if no.kind.name() != "failed" => continue,
                other => panic!("{layer} {send}: {other:?}"),
            };
            let trial = rig.run(&cell, TrialKind::TopSpeed);
            trial.unwrap_or_else(|error| panic!("{layer} {send}: {error:?}"));
        }
        assert!(proven.is_empty() || proven.contains(&SendPath::Sendfile), "{layer}: {proven:?}");
    }
    ended(missing)
}

/// A route to the other end by the pair itself, on both sides, as if the layer were not there.
fn route_past(link: &Arc<dyn Link>) {
    std::thread::scope(|scope| {
        let past = |device: &'static str, is_sender: bool| {
            scope.spawn(move || {
                let address = if is_sender {
                    link.enter_sender().unwrap();
                    link.sender_address()
                } else {
                    link.enter_receiver().unwrap();
                    link.receiver_address()
                };
                let devices = Devices::open().unwrap();
                let index = devices.find(device).unwrap().index;
                devices.set_initial_window(index, address, 30, 10).unwrap();
            })
        };
        past("zc0", true).join().unwrap();
        past("zc1", false).join().unwrap();
    });
}

pub(crate) fn bytes_past_a_layer_are_found() -> End {
    let folder = tempfile::tempdir().unwrap();
    let mut missing = Vec::new();
    for layer in [Layer::Vxlan, Layer::Macvlan, Layer::Wireguard] {
        let links = or_skip!(links(LinkKind::Veth, &[levels(layer)]));
        let cell = cell(SendPath::Sendfile, layer);
        let link = match links.for_levels(&cell.levels) {
            Ok(link) => Arc::clone(link),
            Err(no) => {
                missing.push(skip(layer, &no));
                continue;
            }
        };
        let mut rig = rig_over(links, &file(&folder));
        rig.prove(&cell, PROOF).unwrap().unwrap();
        route_past(&link);
        let error = rig.prove(&cell, PROOF).unwrap_err();
        assert_eq!(error.id, "bytes-past-the-layer", "{layer}: {error:?}");
        let error = rig.run(&cell, TrialKind::Soaked).unwrap_err();
        assert_eq!(error.id, "bytes-past-the-layer", "{layer}: {error:?}");
    }
    ended(missing)
}

pub(crate) fn null_has_no_layers() -> End {
    let vxlan = LinkOptions { layer: Layer::Vxlan, ..LinkOptions::default() };
    let Several { others, .. } =
        or_skip!(several(LinkKind::Null, or_skip!(two_cpus()), &LinkOptions::default(), &[vxlan]));
    let Err(no) = &others[0] else { panic!("nobody takes VXLAN off behind the null link") };
    assert_eq!((no.kind.name(), no.remedy.as_deref()), ("unsupported", Some("--link veth")));
    End::Passed
}
