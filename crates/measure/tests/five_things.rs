//! Adding a path is five things: its name in `record`, its code, its probe, its page in docs/paths/, and a test. This
//! test reads the source and fails when one of them is missing for any path.

use std::path::{Path, PathBuf};

use zc_run::{RecvPath, SendPath};

/// A path of either kind, as the source spells it.
struct Subject {
    /// `SendPath::Sendfile`.
    variant: String,
    /// `sendfile`.
    name: &'static str,
    /// `docs/paths/sendfile.md`.
    page: PathBuf,
    /// The file that opens it.
    opener: PathBuf,
}

fn subjects() -> Vec<Subject> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/path");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/paths");
    let send = SendPath::ALL.iter().map(|path| Subject {
        variant: format!("SendPath::{path:?}"),
        name: path.name(),
        page: pages.join(format!("{}.md", path.name())),
        opener: source.join("send/mod.rs"),
    });
    let recv = RecvPath::ALL.iter().map(|path| Subject {
        variant: format!("RecvPath::{path:?}"),
        name: path.name(),
        page: pages.join(format!("recv-{}.md", path.name())),
        opener: source.join("recv/mod.rs"),
    });
    send.chain(recv).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below `folder`, with its text.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let text = read(&path);
            found.push((path, text));
        }
    }
    found
}

/// Whether `text` names the variant, and not one whose name only begins with it (`MsgZerocopy`, `MsgZerocopyMmap`).
fn names(text: &str, variant: &str) -> bool {
    text.match_indices(variant).any(|(at, _)| !text[at + variant.len()..].starts_with(|c: char| c.is_alphanumeric()))
}

#[test]
fn every_name_can_be_typed_and_is_its_own() {
    for path in SendPath::ALL {
        assert_eq!(path.name().parse::<SendPath>().ok(), Some(*path));
    }
    for path in RecvPath::ALL {
        assert_eq!(path.name().parse::<RecvPath>().ok(), Some(*path));
    }
}

#[test]
fn every_path_has_code_that_is_reached() {
    let missing: Vec<String> = subjects()
        .iter()
        .filter(|subject| !names(&read(&subject.opener), &subject.variant))
        .map(|subject| format!("{} is not opened in {}", subject.name, subject.opener.display()))
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn no_opener_has_an_arm_for_whatever_else_there_is() {
    // A wildcard would let a new name compile without code.
    for opener in ["send/mod.rs", "recv/mod.rs"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/path").join(opener);
        assert!(!read(&path).contains("_ => "), "{opener} has a wildcard arm");
    }
}

#[test]
fn every_path_has_a_page_that_says_what_it_does() {
    let missing: Vec<String> = subjects()
        .iter()
        .filter(|subject| !std::fs::read_to_string(&subject.page).is_ok_and(|text| text.contains(subject.name)))
        .map(|subject| format!("{} has no page {}", subject.name, subject.page.display()))
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn no_page_describes_a_path_that_does_not_exist() {
    let pages: Vec<PathBuf> = subjects().into_iter().map(|subject| subject.page).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/paths");
    for (path, _) in files(&folder) {
        let known = pages.contains(&path) || path.file_name().is_some_and(|name| name == "README.md");
        assert!(known, "{} is the page of no path", path.display());
    }
}

#[test]
fn every_path_is_tried_by_a_test() {
    // A test tries a path by its name, or all of them by `ALL`.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<String> = files(&root.join("src/path"))
        .into_iter()
        .filter_map(|(path, text)| {
            let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
            if is_test { Some(text) } else { text.split_once("#[cfg(test)]").map(|(_, tests)| tests.to_owned()) }
        })
        .collect();
    texts.extend(
        files(&root.join("tests"))
            .into_iter()
            .filter(|(path, _)| path.extension().is_some_and(|extension| extension == "rs"))
            .filter(|(path, _)| !path.ends_with("five_things.rs"))
            .map(|(_, text)| text),
    );
    let tries = |kind: &str, variant: &str| {
        texts.iter().any(|text| names(text, variant) || text.contains(&format!("{kind}::ALL")))
    };
    let missing: Vec<&str> = subjects()
        .iter()
        .filter(|subject| !tries(subject.variant.split("::").next().unwrap(), &subject.variant))
        .map(|subject| subject.name)
        .collect();
    assert!(missing.is_empty(), "no test names {}", missing.join(", "));
}

#[test]
fn every_path_can_say_why_it_cannot_run() {
    // The probe: opening tries the kernel and answers with a reason, so every path's code knows `Unavailable`.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/path");
    let all: String = files(&root).into_iter().map(|(_, text)| text).collect();
    for opener in ["send/mod.rs", "recv/mod.rs"] {
        assert!(read(&root.join(opener)).contains(", No>"), "{opener} cannot say no");
    }
    assert!(all.contains("Unavailable::unsupported") && all.contains("Unavailable::refused"));
}
