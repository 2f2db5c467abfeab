//! `zc run tls` from outside: encrypted cells beside those in the clear, by its options.

use zc_run::{RecvPath, Run, Slot, Support, Transfer};

use crate::support::{Bounded as _, blocks_of, measuring, refused, saved, stderr, zc_in};

/// A run with these options, ended once it has two blocks.
fn run(options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut zc = zc_in(folder.path(), &["run", "tls", "--link", "loopback", "--out", "run.json"]);
    blocks_of(folder.path(), zc.args(options), 2);
    saved(folder.path())
}

#[test]
fn what_is_encrypted_is_proven_and_measured_beside_what_is_in_the_clear() {
    let _turn = measuring();
    let run = run(&["--paths", "tls-write", "--cipher", "aes-128-gcm,chacha20-poly1305"]);
    let cells = &run.header.plan.cells;
    let labels: Vec<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "read+send clear",
            "tls-write aes-128-gcm",
            "tls-write chacha20-poly1305",
            "read+send clear (A/A)",
            "read+send clear (+burn)",
        ]
    );
    for cell in cells {
        let Transfer::Paths { send, recv } = cell.transfer else { panic!("{cell:?}") };
        assert_eq!(send.form().is_encrypted(), recv == RecvPath::TlsRecv, "{cell:?}");
    }
    for slot in run.blocks.iter().flat_map(|block| &block.slots) {
        let Slot::Trial(trial) = slot else { continue };
        let encrypts = trial.cell.starts_with("tls-write");
        assert_eq!(trial.closed.sent.framing_bytes > 0, encrypts, "{}", trial.cell);
    }
}

#[test]
fn versions_records_and_receivers_are_options_and_what_cannot_be_is_a_row() {
    let _turn = measuring();
    let run = run(&[
        "--paths",
        "tls-write,ktls-write",
        "--cipher",
        "aes-256-gcm",
        "--tls",
        "1.2",
        "--record",
        "4k",
        "--recv",
        "recv-trunc",
    ]);
    let tls =
        run.header.plan.cells.iter().find_map(|cell| run.header.plan.fixed.tls(cell.transfer));
    let tls = tls.expect("a cell that encrypts");
    assert_eq!((tls.version.name(), tls.payload_bytes), ("1.2", 4096));
    for row in &run.header.unavailable {
        let Support::No(no) = &row.support else { panic!("{row:?}") };
        assert!(row.name.starts_with("ktls-write"), "{row:?}");
        eprintln!("skipped: {}: {}", row.name, no.reason);
        assert!(no.remedy.is_some(), "{row:?}");
    }
}

#[test]
fn options_of_tls_that_cannot_be_are_sentences() {
    let folder = tempfile::tempdir().unwrap();
    for (options, id) in [
        (["--cipher", "aes-128-cbc"], "unknown-cipher"),
        (["--record", "17k"], "invalid-size"),
        (["--tls", "1.1"], "unknown-version-of-tls"),
    ] {
        let output = zc_in(folder.path(), &["run", "tls"]).args(options).finish().unwrap();
        assert_eq!(refused(&output, 2), id, "{}", stderr(&output));
    }
}
