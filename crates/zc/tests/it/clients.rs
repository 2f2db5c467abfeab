//! `zc run clients` from outside: what does not go together with paced clients.

use crate::support::{Bounded as _, refused, stderr, zc_in};

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
