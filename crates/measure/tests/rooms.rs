//! Checks which modules of this crate import which: every `crate::MODULE` in a module's source is
//! an edge, and an edge that is not in [`ALLOWED`] is a failure. Between crates Cargo does the
//! same.

use std::path::{Path, PathBuf};

use zc_testkit::imports::Sources;

/// Each room (top-level module), and those that it may import.
const ALLOWED: &[(&str, &[&str])] = &[
    ("internal", &[]),
    ("named_file", &[]),
    ("privileges", &[]),
    ("root", &[]),
    ("stderr_tail", &[]),
    ("http", &["meter", "named_file", "workload"]),
    ("plan", &[]),
    ("workload", &[]),
    ("link", &["root"]),
    ("meter", &["internal", "root", "workload"]),
    ("memory", &["workload"]),
    ("path", &["workload"]),
    (
        "trial",
        &[
            "http",
            "internal",
            "link",
            "meter",
            "path",
            "privileges",
            "root",
            "stderr_tail",
            "workload",
        ],
    ),
    ("agent", &["http", "link", "meter", "named_file", "path", "stderr_tail", "trial", "workload"]),
    ("session", &["agent", "http", "internal", "link", "memory", "meter", "plan", "root", "trial"]),
];

#[test]
fn every_room_imports_only_what_it_may() {
    let sources = Sources::read(&src()).unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (from, to) in sources.imports() {
        let (Some(room), Some(other)) = (from.first(), to.first()) else { continue };
        let Some((_, may)) = ALLOWED.iter().find(|(name, _)| *name == room) else { continue };
        seen += 1;
        if other != room && !may.contains(&other) {
            wrong.push(format!("{from}: {room} imports {other}"));
        }
    }
    assert!(seen > 0, "no imports were found");
    assert!(wrong.is_empty(), "edges that are not in the table:\n{}", wrong.join("\n"));
}

#[test]
fn every_room_is_in_the_table() {
    let mut rooms: Vec<String> = std::fs::read_dir(src())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "lib")
        .collect();
    rooms.sort();
    let mut known: Vec<&str> = ALLOWED.iter().map(|(room, _)| *room).collect();
    known.sort_unstable();
    assert_eq!(rooms, known);
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}
