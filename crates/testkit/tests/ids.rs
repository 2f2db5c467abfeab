//! Holds that ids of errors are written alike: up to five words in kebab case.

use std::path::{Path, PathBuf};

/// What stands before an id, or before the kind of the error and its id.
const BEFORE: [&str; 8] = [
    "Error::usage(",
    "Error::failed(",
    "Error::input(",
    "Error::unsupported(",
    "Error::output(",
    "Error::remote(",
    "Error::new(ErrorKind::",
    ".id(",
];

/// All files of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The literal that `text` begins with, where there is one.
fn literal(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == ',');
    text.trim_start().strip_prefix('"')?.split('"').next()
}

#[test]
fn ids_are_words_in_kebab_case() {
    let is_id = |id: &str| {
        let is_word = |word: &str| {
            word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        id.split('-').count() <= 5 && id.split('-').all(|word| !word.is_empty() && is_word(word))
    };
    let mut found = 0;
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Errors of the kernel's interfaces are the standard library's, and the patterns are above.
    let others = ["kernel", "testkit"].map(|name| crates.join(name));
    let files = sources(&crates).into_iter();
    let files = files.filter(|path| !others.iter().any(|other| path.starts_with(other)));
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(");
        for before in BEFORE {
            for id in text.split(before).skip(1).filter_map(literal) {
                assert!(is_id(id), "{}: \"{id}\"", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 300, "only {found} ids were found");
}
