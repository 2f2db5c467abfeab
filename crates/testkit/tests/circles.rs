//! Holds that files import one way: no two import each other, directly or through others, and none
//! imports the file that lists it. Code that several files share is in a file below them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use zc_testkit::imports::{Module, Sources};

/// The crates of the workspace by the names of their folders, with their sources.
fn crates() -> Vec<(String, Sources)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.join("src").is_dir()).collect();
    folders.sort();
    let named = folders.into_iter().map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, Sources::read(&path.join("src")).unwrap())
    });
    named.collect()
}

#[test]
fn files_are_found_and_import_one_another() {
    let crates = crates();
    assert!(crates.iter().any(|(name, _)| name == "testkit"));
    for (name, sources) in &crates {
        assert!(sources.modules().any(Module::is_root), "{name} has a root");
    }
    let imports: usize = crates.iter().map(|(_, sources)| sources.imports().count()).sum();
    assert!(imports > 100, "only {imports} imports were found");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for (name, sources) in crates() {
        for circle in sources.circles() {
            let modules: Vec<String> = circle.iter().map(ToString::to_string).collect();
            found.push(format!("{name}: {}", modules.join(", ")));
        }
    }
    assert!(found.is_empty(), "circles of imports:\n{}", found.join("\n"));
}

#[test]
fn no_file_imports_the_one_that_lists_it() {
    let mut found = BTreeSet::new();
    for (name, sources) in crates() {
        found.extend(
            sources.upward().iter().map(|(from, to)| format!("{name}: {from} imports {to}")),
        );
    }
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "move what is shared to a file below:\n{}", found.join("\n"));
}
