//! `zc run proxy` from outside: bytes through a proxy, by its options.

use zc_run::{ProxyPath, Run, Slot, Support};

use crate::support::{Bounded as _, blocks_of, measuring, refused, saved, stderr, zc_in};

/// A run with these options, ended once it has two blocks.
fn run(options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut zc = zc_in(folder.path(), &["run", "proxy", "--out", "run.json"]);
    blocks_of(folder.path(), zc.args(options), 2);
    saved(folder.path())
}

#[test]
fn proxies_are_proven_paid_for_and_compared() {
    let _turn = measuring();
    let run = run(&[
        "--link",
        "loopback",
        "--proxy",
        "recv+send,splice,sockmap",
        "--proxy-buffer",
        "4k,64k,none",
    ]);
    let header = &run.header;
    let planned: Vec<&str> = header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    let cannot: Vec<&str> = header.unavailable.iter().map(|row| row.name.as_str()).collect();
    for row in &header.unavailable {
        let Support::No(no) = &row.support else { panic!("{row:?}") };
        eprintln!("skipped: {}: {}", row.name, no.reason);
        assert!(row.name.starts_with("sockmap") && no.remedy.is_some(), "{row:?}");
    }
    for label in ["recv+send 64k", "recv+send 4k", "splice 64k", "splice 4k", "recv+send 64k (A/A)"]
    {
        assert!(planned.contains(&label), "{planned:?}");
    }
    assert!(planned.contains(&"sockmap none") || cannot.contains(&"sockmap none"), "{planned:?}");
    assert!(!planned.iter().any(|label| label.starts_with("splice none")), "{planned:?}");
    for cell in &header.plan.cells {
        let at = header.plan.fixed.at(&cell.levels);
        assert_ne!(ProxyPath::of(&at), ProxyPath::None, "{cell:?}");
    }
    for slot in run.blocks.iter().flat_map(|block| &block.slots) {
        let Slot::Trial(trial) = slot else { continue };
        assert!(trial.whole_bytes > 0 || trial.kind.sends_nothing(), "{}", trial.cell);
    }
}

#[test]
fn a_proxy_needs_a_receiver_and_its_options_have_levels() {
    let folder = tempfile::tempdir().unwrap();
    for (options, id) in [
        (["--proxy", "socat"], "unknown-way-of-a-proxy"),
        (["--proxy-buffer", "1k"], "invalid-size"),
        (["--proxy-buffer", "2m"], "invalid-size"),
    ] {
        let output = zc_in(folder.path(), &["run", "proxy"]).args(options).finish().unwrap();
        assert_eq!(refused(&output, 2), id, "{}", stderr(&output));
    }
}
