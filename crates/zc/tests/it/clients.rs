//! `zc run clients` from outside: paced clients by their options, and what does not go together with
//! them.

use zc_run::{Run, Slot, Support};

use crate::support::{Bounded as _, blocks_of, measuring, refused, saved, stderr, zc_in};

/// A run with these options, ended once it has two blocks.
fn run(options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut zc = zc_in(folder.path(), &["run", "clients", "--out", "run.json"]);
    blocks_of(folder.path(), zc.args(options), 2);
    saved(folder.path())
}

#[test]
fn clients_are_proven_served_at_their_rate_and_compared() {
    let _turn = measuring();
    let run = run(&[
        "--link",
        "loopback",
        "--clients",
        "20",
        "--client-rate",
        "5Mbit/s",
        "--paths",
        "read+send,sendfile",
    ]);
    let plan = &run.header.plan;
    let labels: Vec<&str> = plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(labels[..3], ["read+send", "sendfile", "read+send (A/A)"], "{labels:?}");
    assert!(!plan.fixed.rate_chosen, "{:?}", plan.fixed);
    for cell in &plan.cells {
        let at = plan.fixed.at(&cell.levels);
        let clients = at.clients().unwrap();
        assert_eq!((clients.count, clients.rate_bytes_per_s), (20, 625e3), "{}", cell.label);
        assert_eq!(at.rate_bytes_per_s, 12.5e6, "{}", cell.label);
        // Waking is part of what clients cost, and what burns in softirqs does so for one flow.
        assert!(cell.harness.is_none() && cell.burn_softirq_ns_per_mb.is_none(), "{cell:?}");
    }
    let mut trials = 0;
    for slot in run.blocks.iter().flat_map(|block| &block.slots) {
        let Slot::Trial(trial) = slot else { continue };
        assert!(trial.whole_bytes > 0, "{}", trial.cell);
        trials += 1;
    }
    assert!(trials > 0);
}

#[test]
fn paths_that_wait_for_one_connection_are_rows_with_their_reason() {
    let _turn = measuring();
    let run = run(&[
        "--link",
        "loopback",
        "--clients",
        "30",
        "--client-rate",
        "5Mbit/s",
        "--paths",
        "sendfile,splice,uring-send",
    ]);
    let names: Vec<&str> = run.header.unavailable.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["splice", "uring-send"]);
    for row in &run.header.unavailable {
        let Support::No(no) = &row.support else { panic!("{row:?}") };
        assert!(no.remedy.is_some(), "{row:?}");
    }
}

#[test]
fn what_only_flows_have_is_refused_beside_clients() {
    let folder = tempfile::tempdir().unwrap();
    for options in [
        &["clients", "--flows", "10"][..],
        &["clients", "--rate", "400MB/s"],
        &["clients", "--proxy", "splice"],
        &["clients", "--burn", "100 20Mbit/s sendfile=4us"],
        &["flows", "--clients", "100"],
        &["pacing", "--clients", "100"],
        &["proxy", "--clients", "100"],
        &["clients", "--via", "sh -c"],
    ] {
        let output = zc_in(folder.path(), &["run"]).args(options).finish().unwrap();
        assert_eq!(refused(&output, 2), "incompatible-with-clients", "{options:?}");
        assert!(stderr(&output).contains("--clients does not go together"), "{options:?}");
    }
    let output = zc_in(folder.path(), &["run", "requests", "--clients", "100"]).finish().unwrap();
    assert_eq!(refused(&output, 2), "incompatible-with-responses");
}

#[test]
fn options_of_clients_that_cannot_be_are_sentences() {
    let folder = tempfile::tempdir().unwrap();
    for (options, id) in [
        (&["clients", "--clients", "0"][..], "invalid-count"),
        (&["clients", "--clients", "100001"], "invalid-count"),
        (&["clients", "--clients", "many"], "invalid-count"),
        (&["clients", "--client-rate", "auto"], "invalid-rate"),
        (&["clients", "--client-rate", "5"], "invalid-rate"),
        (&["clients", "--clients", "none"], "client-rate-without-clients"),
        (&["paths", "--client-rate", "5Mbit/s"], "client-rate-without-clients"),
    ] {
        let output = zc_in(folder.path(), &["run"]).args(options).finish().unwrap();
        assert_eq!(refused(&output, 2), id, "{options:?}: {}", stderr(&output));
    }
}
