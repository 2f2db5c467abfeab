//! Paced clients over links of zc's own.

use super::End;
use super::several::{PROOF, links, rig, rig_over};
use zc_run::{Cell, Factor, Level, LinkKind, Probe, RecvPath, SendPath, TrialKind};

/// Two segments of an MTU of 1500: what TCP makes of a millisecond at these rates.
const TWO_SEGMENTS: u64 = 2 * 1448;

fn cell(send: SendPath, clients: &str) -> Cell {
    let mut cell = Cell::of_paths(send, RecvPath::Recv);
    for (factor, text) in [(Factor::Clients, clients), (Factor::ClientRate, "10Mbit/s")] {
        Level::parse(factor, text).unwrap().put(&mut cell);
    }
    cell
}

/// Two clients more than there are ports are told of, and the trial after that has all of them.
pub(crate) fn ports_run_out_in_a_sentence() -> End {
    let links = or_skip!(links(LinkKind::Veth, &[]));
    let link = links.base().clone();
    let narrowed = std::thread::spawn(move || {
        link.enter_sender().unwrap();
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40099")
    });
    if let Err(error) = narrowed.join().unwrap() {
        return End::Skipped(format!("the range of ports cannot be set: {error}"));
    }
    let mut rig = rig_over(links, &[]);
    let error = rig.run(&cell(SendPath::Sendfile, "102"), TrialKind::Soaked).unwrap_err();
    let text = error.message;
    assert!(text.contains("102 clients need a port each, and of the 100 of"), "{text}");
    rig.run(&cell(SendPath::Sendfile, "100"), TrialKind::Soaked).unwrap();
    End::Passed
}

pub(crate) fn packets_are_small() -> End {
    let mut skipped = None;
    for kind in [LinkKind::Veth, LinkKind::Null] {
        let mut rig = match rig(kind, &[], &[]) {
            Ok(rig) => rig,
            Err(End::Skipped(why)) => {
                skipped = Some(why);
                continue;
            }
            Err(End::Passed) => unreachable!(),
        };
        for send in [SendPath::ReadSend, SendPath::Sendfile, SendPath::MsgZerocopy] {
            let cell = cell(send, "40");
            match rig.prove(&cell, PROOF) {
                Ok(Ok(Probe::Proof { .. })) => {}
                Ok(Err(no)) if no.kind.name() == "refused" => continue, // RLIMIT_MEMLOCK
                other => panic!("{kind} {send}: {other:?}"),
            }
            let trial = rig.run(&cell, TrialKind::Soaked).unwrap();
            let of = |what: fn(&zc_run::Reading) -> u64| what(&trial.closed) - what(&trial.opened);
            let bytes = of(|reading| reading.received.bytes);
            let packets = of(|reading| reading.link.as_ref().unwrap().tx_packets);
            assert!(bytes > 0 && packets > 0, "{kind} {send}: {bytes} {packets}");
            // Not to the byte: counters of the device are read some time before and after those of
            // the window, and what a receiver gets was sent before.
            let average = bytes / packets;
            assert!(average < 2 * TWO_SEGMENTS, "{kind} {send}: packets of {average} bytes");
            assert!(trial.closed.tcp.unwrap().snd_cwnd < 1000, "{kind} {send}: {trial:?}");
        }
        // Flows have what they had before.
        let trial = rig.run(&Cell::of_paths(SendPath::Sendfile, RecvPath::Recv), TrialKind::Soaked);
        assert!(trial.unwrap().closed.tcp.unwrap().snd_cwnd >= 3000, "{kind}");
    }
    skipped.map_or(End::Passed, End::Skipped)
}
