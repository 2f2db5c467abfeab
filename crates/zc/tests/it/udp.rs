//! `zc run udp` from outside: datagrams beside streams, by its options.

use zc_run::{RecvPath, Run, Slot, Transfer};

use crate::support::{Bounded as _, blocks_of, measuring, refused, saved, stderr, zc_in};

/// A run with these options, ended once it has two blocks.
fn run(experiment: &str, options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut zc = zc_in(folder.path(), &["run", experiment, "--out", "run.json"]);
    blocks_of(folder.path(), zc.args(options), 2);
    saved(folder.path())
}

#[test]
fn datagrams_are_proven_and_measured_beside_streams() {
    let _turn = measuring();
    let run = run(
        "udp",
        &["--link", "loopback", "--paths", "udp-send,udp-gso,quic-like", "--segments", "4,16"],
    );
    let cells = &run.header.plan.cells;
    let labels: Vec<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "read+send 1",
            "udp-send 1",
            "udp-gso 4",
            "udp-gso 16",
            "quic-like 4",
            "quic-like 16",
            "read+send 1 (A/A)",
            "read+send 1 (+burn)",
        ]
    );
    for cell in cells {
        let Transfer::Paths { send, recv } = cell.transfer else { panic!("{cell:?}") };
        assert_eq!(send.form(), recv.form(), "{cell:?}");
    }
    for slot in run.blocks.iter().flat_map(|block| &block.slots) {
        let Slot::Trial(trial) = slot else { continue };
        let is_of_datagrams = !trial.cell.starts_with("read+send");
        assert_eq!(trial.whole_lost_bytes.is_some(), is_of_datagrams, "{}", trial.cell);
    }
}

#[test]
fn receivers_of_datagrams_are_compared_with_one_another() {
    let _turn = measuring();
    let run = run("udp-receive", &["--link", "loopback", "--datagram", "1452"]);
    let receivers = run.header.plan.cells.iter().filter(|cell| !cell.control);
    let receivers: Vec<_> = receivers.filter_map(|cell| cell.transfer.recv_path()).collect();
    assert_eq!(receivers, [RecvPath::UdpRecvmsg, RecvPath::UdpRecvmmsg, RecvPath::UdpGro]);
    // What burns in softirqs does so for acknowledgements.
    let positive = run.header.plan.cells.iter().find(|cell| cell.is_positive_control()).unwrap();
    assert_eq!(positive.burn_softirq_ns_per_mb, None);
}

#[test]
fn options_of_datagrams_that_cannot_be_are_sentences() {
    let folder = tempfile::tempdir().unwrap();
    for (options, id) in [
        (["--datagram", "65508"], "invalid-size"),
        (["--datagram", "1"], "invalid-size"),
        (["--segments", "129"], "invalid-count"),
        (["--segments", "many"], "invalid-count"),
    ] {
        let output = zc_in(folder.path(), &["run", "udp"]).args(options).finish().unwrap();
        assert_eq!(refused(&output, 2), id, "{}", stderr(&output));
    }
}
