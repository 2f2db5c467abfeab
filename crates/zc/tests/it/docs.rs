//! Checks of the documentation against the source.

use std::collections::BTreeSet;
use std::path::Path;

use zc_run::{RecvPath, SendPath};

/// The page of each path: docs/paths/NAME.md, and docs/paths/recv-NAME.md of a receive path.
fn pages() -> impl Iterator<Item = (&'static str, String)> {
    let send = SendPath::ALL.iter().map(|path| (path.name(), format!("{}.md", path.name())));
    let recv = RecvPath::ALL.iter().map(|path| (path.name(), format!("recv-{}.md", path.name())));
    send.chain(recv)
}

#[test]
fn every_path_has_a_page_that_names_it_and_every_page_has_a_path() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/paths");
    for (name, page) in pages() {
        let text = std::fs::read_to_string(folder.join(&page))
            .unwrap_or_else(|error| panic!("docs/paths/{page}: {error}"));
        assert!(text.contains(name), "docs/paths/{page} does not name \"{name}\"");
    }
    let expected: BTreeSet<String> = pages().map(|(_, page)| page).collect();
    let entries = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = entries.filter(|name| name != "README.md").collect();
    assert_eq!(found, expected);
}
