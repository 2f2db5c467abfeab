//! Records what `zc --version --verbose` says about the build: commit, target, profile, features
//! and compiler. Nothing that differs between two builds of one commit is recorded, no time and no
//! path. Compresses the JSON Schemas.

use std::env;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() {
    let record = |name: &str, value: &str| println!("cargo::rustc-env=ZC_BUILD_{name}={value}");
    println!("cargo::rerun-if-changed=build.rs");
    record("COMMIT", &commit());
    record("TARGET", &variable("TARGET"));
    record("PROFILE", &variable("PROFILE"));
    record("FEATURES", &features());
    record("RUSTC", &output(Command::new(variable("RUSTC")).arg("-V")).unwrap_or_default());
    compress_schemas().expect("src/schema can be read, and OUT_DIR be written");
}

/// Each schema of src/schema as `NAME.json.deflate` in the folder for what is generated.
fn compress_schemas() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src/schema");
    let folder = PathBuf::from(variable("OUT_DIR"));
    for entry in std::fs::read_dir("src/schema")? {
        let mut name = entry?.file_name();
        let text = std::fs::read(Path::new("src/schema").join(&name))?;
        name.push(".deflate");
        let mut compressed =
            DeflateEncoder::new(File::create(folder.join(name))?, Compression::best());
        compressed.write_all(&text)?;
        compressed.finish()?;
    }
    Ok(())
}

/// A variable that cargo sets.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Cargo features that are on, by their names.
fn features() -> String {
    // Others may not be UTF-8.
    let mut names: Vec<String> = env::vars_os()
        .filter_map(|(name, _)| Some(name.to_str()?.strip_prefix("CARGO_FEATURE_")?.to_lowercase()))
        .collect();
    names.sort();
    names.join(" ")
}

/// The commit, with ` modified` after it if what is built differs from it; empty if it is not
/// known.
///
/// It is taken from `ZC_COMMIT` (for packagers whose tree has neither of the others), from what
/// `cargo package` wrote beside the sources, or from the clone. The clone is asked for release
/// builds alone: others would be built anew after each commit.
fn commit() -> String {
    println!("cargo::rerun-if-env-changed=ZC_COMMIT");
    if let Ok(given) = env::var("ZC_COMMIT")
        && given.split(' ').next().is_some_and(is_hash)
    {
        return given;
    }
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    of_package(&folder).unwrap_or_else(|| match variable("PROFILE").as_str() {
        "release" => of_clone(&folder).unwrap_or_default(),
        _ => String::new(),
    })
}

/// The commit that `cargo package` recorded.
fn of_package(folder: &Path) -> Option<String> {
    let file = folder.join(".cargo_vcs_info.json");
    let text = std::fs::read_to_string(&file).ok()?;
    println!("cargo::rerun-if-changed={}", file.display());
    let (_, rest) = text.split_once("\"sha1\"")?;
    let hash = rest.split('"').nth(1)?;
    is_hash(hash).then(|| marked(hash, text.contains("\"dirty\": true")))
}

/// The commit of the clone that this crate is in, if it is a clone of zc.
fn of_clone(folder: &Path) -> Option<String> {
    let root = folder.parent()?.parent()?;
    let git = |words: &[&str]| {
        output(Command::new("git").arg("--no-optional-locks").arg("-C").arg(root).args(words))
    };
    // Not that of a repository into which zc was copied.
    if !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    let sources = ["crates", "Cargo.toml", "Cargo.lock"];
    for each in sources {
        println!("cargo::rerun-if-changed={}", root.join(each).display());
    }
    // HEAD changes when another branch is checked out, its log with every commit.
    for name in ["HEAD", "logs/HEAD"] {
        let file = root.join(git(&["rev-parse", "--git-path", name])?);
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    let hash = git(&["rev-parse", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changes = git(&[&status[..], &sources[..]].concat())?;
    is_hash(&hash).then(|| marked(&hash, !changes.is_empty()))
}

fn marked(hash: &str, modified: bool) -> String {
    if modified { format!("{hash} modified") } else { hash.to_owned() }
}

fn is_hash(text: &str) -> bool {
    text.len() >= 7 && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// The first line that a command prints; `None` if it cannot be run or fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.lines().next().unwrap_or_default().to_owned())
}
