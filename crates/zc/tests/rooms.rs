//! Holds the directions in which the rooms import one another. Every path in the source that leads to another room or
//! to `zc_sys`/`zc_stats` is an edge; an edge that is not in [`ALLOWED`] fails, so that the table stays true. Tests
//! inside the rooms are held to it too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The table, without `-> record`, which everything may import, and `record`, which may import nothing.
const ALLOWED: &[(&str, &[&str])] = &[
    ("cli", &["session", "classic", "plan", "estimate", "report"]),
    ("session", &["plan", "trial", "agent", "meter", "memory", "zc_sys"]),
    ("agent", &["trial", "path", "meter", "zc_sys"]),
    ("classic", &["path", "meter", "workload", "zc_sys"]),
    ("trial", &["link", "path", "meter", "workload", "zc_sys"]),
    ("link", &["zc_sys"]),
    ("path", &["zc_sys", "workload"]),
    ("meter", &["zc_sys"]),
    ("memory", &["workload", "zc_sys"]),
    ("workload", &["zc_sys"]),
    ("plan", &["zc_stats"]),
    ("estimate", &["zc_stats", "plan"]),
    ("report", &["estimate"]),
    ("record", &[]),
];

/// An import: who, whom, and where it stands.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    place: String,
}

#[test]
fn every_room_imports_only_what_it_may() {
    let wrong: Vec<String> = edges()
        .into_iter()
        .filter(|edge| !allowed(&edge.from, &edge.to))
        .map(|edge| format!("{}: {} imports {}", edge.place, edge.from, edge.to))
        .collect();
    assert!(wrong.is_empty(), "edges that are not in the table:\n{}", wrong.join("\n"));
}

#[test]
fn every_room_is_in_the_table() {
    let rooms: BTreeSet<String> = sources().iter().filter_map(|path| room(path)).collect();
    let known: BTreeSet<String> = ALLOWED.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(rooms, known);
}

#[test]
fn the_test_sees_what_it_looks_for() {
    let found = |text: &str| paths(&module_of(Path::new("report/table.rs")), &code(text));
    assert_eq!(found("use crate::session::run;"), ["session"]);
    assert_eq!(found("use crate::{session, estimate::{Figure, Sides}, record};"), ["session", "estimate", "record"]);
    assert_eq!(found("use super::super::plan::Plan;"), ["plan"]);
    assert_eq!(found("use super::{grid, super::plan};"), ["report", "plan"]);
    assert_eq!(found("fn f() { crate :: link::bring_up() }"), ["link"]);
    assert_eq!(found("pub(crate) fn f() -> zc_sys::Fd;"), ["zc_sys"]);
    assert_eq!(found("use ::zc_stats::median;"), ["zc_stats"]);
    assert!(
        found("// crate::session\n/* crate::plan */ \"crate::trial\" r#\"crate::path\"# '\"' 'a: loop {}").is_empty()
    );
    assert!(!allowed("report", "session"));
}

#[test]
fn the_rooms_that_meet_only_in_the_record_do_so() {
    // The measuring half and the reading half meet at the saved document alone.
    for (measuring, reading) in [("session", "estimate"), ("session", "report"), ("trial", "plan"), ("meter", "path")] {
        assert!(!allowed(measuring, reading) && !allowed(reading, measuring));
    }
}

fn allowed(from: &str, to: &str) -> bool {
    from == to
        || (to == "record" && from != "record")
        || ALLOWED.iter().any(|(room, may)| *room == from && may.contains(&to))
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file, relative to `src`.
fn sources() -> Vec<PathBuf> {
    let root = source_root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The room of a file; none for lib.rs and main.rs, which are the house's doors.
fn room(path: &Path) -> Option<String> {
    let mut parts = path.iter();
    let first = parts.next()?.to_str()?;
    let is_door = parts.next().is_none() && matches!(first, "lib.rs" | "main.rs");
    (!is_door).then(|| first.trim_end_matches(".rs").to_owned())
}

/// `report/table.rs` as `["report", "table"]`, `report/mod.rs` as `["report"]`.
fn module_of(path: &Path) -> Vec<String> {
    let names = path.with_extension("");
    names.iter().map(|part| part.to_str().unwrap().to_owned()).filter(|part| part != "mod").collect()
}

fn edges() -> BTreeSet<Edge> {
    let mut edges = BTreeSet::new();
    for path in sources() {
        let Some(from) = room(&path) else { continue };
        let text = std::fs::read_to_string(source_root().join(&path)).unwrap();
        for to in paths(&module_of(&path), &code(&text)) {
            edges.insert(Edge { from: from.clone(), to, place: format!("src/{}", path.display()) });
        }
    }
    edges
}

/// The text without comments, strings and characters, as tokens: names, `::`, braces, commas and the rest.
fn code(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let next = chars.get(i + 1).copied();
        match chars[i] {
            '/' if next == Some('/') => {
                while i < chars.len() && chars[i] != '\n' {
                    i += 1;
                }
            }
            '/' if next == Some('*') => {
                let mut depth = 0;
                while i < chars.len() {
                    match (chars[i], chars.get(i + 1)) {
                        ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
                        ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
                        _ => i += 1,
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            '"' => i = after_string(&chars, i),
            'r' if matches!(next, Some('"' | '#')) && raw_string(&chars, i).is_some() => {
                i = raw_string(&chars, i).unwrap();
            }
            // A character, not a lifetime: 'x' or '\...'.
            '\'' if next == Some('\\') => {
                i += 3;
                while i < chars.len() && chars[i] != '\'' {
                    i += 1;
                }
                i += 1;
            }
            '\'' if chars.get(i + 2) == Some(&'\'') => i += 3,
            ':' if next == Some(':') => {
                tokens.push("::".to_owned());
                i += 2;
            }
            c if c.is_alphanumeric() || c == '_' => {
                let start = i;
                while i < chars.len() && (chars[i].is_alphanumeric() || chars[i] == '_') {
                    i += 1;
                }
                tokens.push(chars[start..i].iter().collect());
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                i += 1;
            }
        }
    }
    tokens
}

fn after_string(chars: &[char], start: usize) -> usize {
    let mut i = start + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// Where a raw string that begins at `start` ends; none if none does.
fn raw_string(chars: &[char], start: usize) -> Option<usize> {
    let hashes = chars[start + 1..].iter().take_while(|c| **c == '#').count();
    let mut i = start + 1 + hashes;
    if chars.get(i) != Some(&'"') {
        return None;
    }
    i += 1;
    while i < chars.len() {
        if chars[i] == '"' && chars[i + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes {
            return Some(i + 1 + hashes);
        }
        i += 1;
    }
    None
}

/// The room, or the crate of the workspace, that each path in `tokens` leads to. `super` is followed as far as this
/// file's own module allows; `mod tests { use super::*; }` is one module deeper, and stays in the room either way.
fn paths(module: &[String], tokens: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let after_colons = i > 0 && tokens[i - 1] == "::";
        match tokens[i].as_str() {
            "zc_sys" | "zc_stats" => {
                found.push(tokens[i].clone());
                i += 1;
            }
            "crate" | "super" if !after_colons && tokens.get(i + 1).is_some_and(|token| token == "::") => {
                i = follow(&[], module, tokens, i, &mut found);
            }
            _ => i += 1,
        }
    }
    found
}

/// Follows one path, groups included, from `tokens[i]` on. `at` is where it has got to.
fn follow(at: &[String], module: &[String], tokens: &[String], mut i: usize, found: &mut Vec<String>) -> usize {
    let mut at = at.to_vec();
    let mut rooted = !at.is_empty();
    loop {
        match tokens.get(i).map(String::as_str) {
            Some("crate") => (at, rooted) = (Vec::new(), true),
            Some("super") => {
                at = if rooted { at } else { module.to_vec() };
                at.pop();
                rooted = true;
            }
            Some("self") => {}
            Some("{") => {
                i += 1;
                while tokens.get(i).is_some_and(|token| token != "}") {
                    let before = i;
                    // Inside the group every path begins where the group stands; `super` goes up from there.
                    i = follow_in_group(&at, module, tokens, i, found);
                    while tokens.get(i).is_some_and(|token| token != "," && token != "}") {
                        i += 1;
                    }
                    if tokens.get(i).is_some_and(|token| token == ",") || i == before {
                        i += 1;
                    }
                }
                return i + 1;
            }
            Some(name) if at.is_empty() && rooted => {
                // What is not a room is an item of lib.rs, or a macro.
                if ALLOWED.iter().any(|(room, _)| *room == name) {
                    found.push(name.to_owned());
                }
                at.push(name.to_owned());
            }
            Some(name) => at.push(name.to_owned()),
            None => return i,
        }
        i += 1;
        if tokens.get(i).is_some_and(|token| token == "::") {
            i += 1;
        } else {
            // A path that stays inside its room is an edge to itself, which is always allowed.
            if at.len() > 1 && !found.contains(&at[0]) && ALLOWED.iter().any(|(room, _)| *room == at[0]) {
                found.push(at[0].clone());
            }
            return i;
        }
    }
}

fn follow_in_group(at: &[String], module: &[String], tokens: &[String], i: usize, found: &mut Vec<String>) -> usize {
    if at.is_empty() {
        // `crate::{a, b}`: every name is a room.
        let room = &tokens[i];
        if ALLOWED.iter().any(|(known, _)| known == room) {
            found.push(room.clone());
        }
        return skip_path(tokens, i);
    }
    follow(at, module, tokens, i, found)
}

/// Behind one path of a group, with its own groups.
fn skip_path(tokens: &[String], mut i: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(i) {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 0 => return i,
            "}" => depth -= 1,
            "," if depth == 0 => return i,
            _ => {}
        }
        i += 1;
    }
    i
}
