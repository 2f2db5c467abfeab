//! Holds the directions in which the rooms of this crate import one another: every `crate::ROOM` in a room's source is
//! an edge, and an edge that is not in [`ALLOWED`] fails. Between crates Cargo holds the same.

use std::path::{Path, PathBuf};

/// Each room, and those that it may import.
const ALLOWED: &[(&str, &[&str])] = &[
    ("plan", &[]),
    ("workload", &[]),
    ("link", &[]),
    ("meter", &[]),
    ("memory", &["workload"]),
    ("path", &["workload"]),
    ("trial", &["link", "path", "meter", "workload"]),
    ("agent", &["trial", "path", "meter"]),
    ("session", &["plan", "trial", "agent", "meter", "memory", "link"]),
];

#[test]
fn every_room_imports_only_what_it_may() {
    let mut wrong = Vec::new();
    for (room, may) in ALLOWED {
        for file in sources(&src().join(room)) {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect::<Vec<_>>()
                .join("\n");
            let imported = rooms_in(&code);
            for other in imported.iter().filter(|other| *other != room && !may.contains(other)) {
                wrong.push(format!("{}: {room} imports {other}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "edges that are not in the table:\n{}", wrong.join("\n"));
}

#[test]
fn every_room_is_in_the_table() {
    let mut rooms: Vec<String> = std::fs::read_dir(src())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    rooms.sort();
    let mut known: Vec<&str> = ALLOWED.iter().map(|(room, _)| *room).collect();
    known.sort_unstable();
    assert_eq!(rooms, known);
}

#[test]
fn the_test_sees_what_it_looks_for() {
    assert_eq!(rooms_in("use crate::session::run;"), ["session"]);
    assert_eq!(
        rooms_in("fn f() -> crate::link::Link {}\nuse crate::{trial, plan::Plan};"),
        ["link", "trial", "plan"]
    );
    assert!(rooms_in("use crate::unknown;").is_empty());
}

/// The rooms that paths from the root of the crate lead to: `crate::ROOM` and `crate::{ROOM, ...}`.
fn rooms_in(code: &str) -> Vec<&'static str> {
    let groups = code.split("crate::").skip(1).map(|rest| match rest.strip_prefix('{') {
        Some(group) => &group[..group.find(';').unwrap_or(group.len())],
        None => {
            &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
        }
    });
    groups
        .flat_map(|group| group.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter_map(|word| ALLOWED.iter().map(|(room, _)| *room).find(|room| *room == word))
        .collect()
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}
