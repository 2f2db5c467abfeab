//! An archive: a folder of saved runs, by day (`2026-11-24/NAME.jsonl.gz`), and what each adds to a
//! fleet.

mod figures;
mod index;
mod run_file;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use zc_analysis::fleet::RunFigures;
use zc_fleet::files::Whose;
use zc_kernel::open_folder::OpenFolder;
use zc_run::{Error, Result, in_words};

use super::{apart, replace, tell};

use index::{INDEX, Index};
pub(super) use run_file::{Figures, RunFile};

/// Depth to which folders are searched: the folders of days are one below the archive.
const DEPTH: usize = 2;

/// The files of an archive, by name: all .jsonl and .json files in it and in its folders, also
/// compressed ones, except the archive's own. A run that is there in both forms is read once.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): it is no folder that can be read.
pub(super) fn files(folder: &Path) -> Result<Vec<RunFile>> {
    let mut files = Vec::new();
    walk(folder, folder, DEPTH, &mut files).map_err(|error| {
        Error::input(
            "cannot-read-archive",
            format!("cannot read the archive \"{}\": {}", tell::path(folder), in_words(&error)),
        )
        .help("it is a folder of saved runs: zc fleet collect DIR --archive ARCHIVE fills one")
    })?;
    files.sort_unstable_by(|one: &RunFile, other| one.name.cmp(&other.name));
    let plain: HashSet<String> = files.iter().map(|file| file.name.clone()).collect();
    files.retain(|file| {
        let name = decompressed_name(&file.name);
        name == file.name || !plain.contains(name)
    });
    Ok(files)
}

fn walk(root: &Path, folder: &Path, depth: usize, files: &mut Vec<RunFile>) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let Ok(below) = path.strip_prefix(root) else { continue };
        // A link is no folder of a day and no run, and is listed as what it is.
        let is_linked_folder = kind.is_symlink() && path.is_dir();
        let name = below.to_string_lossy().into_owned();
        let is_named = stem(&name) != name && !is_own(below);
        if kind.is_dir() {
            if depth > 1 {
                walk(root, &path, depth - 1, files)?;
            }
        } else if is_linked_folder || is_named {
            let (root, below) = (root.to_owned(), below.to_owned());
            files.push(RunFile { root, below, whose: Whose::Anybodys, name });
        }
    }
    Ok(())
}

/// Suffixes of compressed files. Files of some of these formats are not read but listed with the
/// reason.
const COMPRESSED: [&str; 6] = [".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip"];

/// The name that a file has when it is decompressed.
fn decompressed_name(name: &str) -> &str {
    COMPRESSED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Whether the archive's folder has this run, compressed or not.
///
/// # Errors
/// The folder cannot be looked into.
pub(super) fn has_run(folder: &OpenFolder, name: &OsStr) -> std::io::Result<bool> {
    for end in COMPRESSED.iter().copied().chain([""]) {
        let mut name = name.to_owned();
        name.push(end);
        if folder.metadata(&name)?.is_some_and(|found| found.is_file()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether it is a file that an archive has besides its runs.
fn is_own(name: &Path) -> bool {
    [HOSTS, INDEX, "fleet.json"].iter().any(|own| name == Path::new(own))
}

/// The name of a run without the suffixes of its format; the same for any other file.
pub(super) fn stem(name: &str) -> &str {
    let plain = decompressed_name(name);
    plain.strip_suffix(".jsonl").or_else(|| plain.strip_suffix(".json")).unwrap_or(name)
}

/// Suffix of the name, without those of its format, of a run during which other jobs could use its
/// hosts.
pub(super) const SHARED: &str = ".shared";

/// Number of runs during which other jobs could use their hosts.
pub(super) fn shared(runs: &[RunFigures]) -> usize {
    runs.iter().filter(|run| stem(&run.name).ends_with(SHARED)).count()
}

/// The features of an archive's hosts.
pub(super) const HOSTS: &str = "hosts.json";

/// Makes a document from the figures of a folder's runs, without rights, and keeps the index in the
/// folder. The index is a convenience: if it cannot be read or written, all files are read.
///
/// # Errors
/// Errors of `make`.
pub(super) fn document(
    files: &[RunFile],
    folder: &Path,
    whose: Whose,
    make: impl FnOnce(Figures) -> Result<apart::Document>,
) -> Result<apart::Document> {
    let known = Index::read(folder, whose);
    let mut made = apart::document(|| {
        let mut figures = figures::read(files, &known);
        let index = std::mem::take(&mut figures.index);
        make(figures).map(|document| apart::Document { aside: index, ..document })
    })?;
    if !made.aside.is_empty() && known.text != made.aside {
        // Best effort: an archive may be on a disk that is full, or not writable.
        let _ = replace::own(&folder.join(INDEX), &made.aside);
    }
    made.aside = String::new();
    Ok(made)
}
