//! The generated file set: 63 files of 350,000 bytes on average, as ZC had them in 2001.
//!
//! Their lengths do not depend on the seed, so that runs are comparable. They grow with the cube
//! from one page to 1.4 MB (the shortest third has a sixtieth of the bytes). The seed decides their
//! order and their content, which does not compress. The files have no names, so they disappear
//! with the process, however it ends.
//!
//! A message cannot be longer than its file. If messages are longer than most of these files, the
//! set consists of equal files instead, as long as a common multiple of all messages, with about as
//! many bytes in total.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::{CWD, Mode, OFlags};

use super::fileset::{FileSet, SourceFile};
use zc_run::{Error, FileSetFacts, Result, in_words};

/// Number of generated files.
pub const GENERATED_FILES: usize = 63;

/// Sum of their lengths.
pub const GENERATED_BYTES: u64 = GENERATED_FILES as u64 * 350_000;

/// Length of the shortest.
const MIN_BYTES: u64 = 4_096;

/// Difference between the longest and the shortest, before the rest is added to the longest.
const SPAN_BYTES: u64 = 1_361_000;

/// Messages up to this length are cut from the files of 2001, nine tenths of whose bytes are in
/// longer files.
const LONGEST_CUT_BYTES: u64 = 128 << 10;

/// Equal files are not made longer than this to be a multiple of all messages.
const LONGEST_FILE_BYTES: u64 = 16 << 20;

impl FileSet {
    /// Makes the set in the folder for temporary files (TMPDIR, else /tmp), on its disk and in the
    /// page cache, for messages of these lengths.
    ///
    /// # Errors
    /// `ErrorKind::Output`: the folder cannot be written, or the disk is full.
    /// `ErrorKind::Unsupported`: RLIMIT_NOFILE.
    pub fn generate(seed: u64, messages: &[usize]) -> Result<(Self, FileSetFacts)> {
        generate_in(&std::env::temp_dir(), seed, messages)
    }

    /// A copy of the set, made in the same way.
    ///
    /// # Errors
    /// Same as [`generate`](Self::generate); or a file cannot be read.
    pub(super) fn copied(&self) -> Result<Self> {
        make(&std::env::temp_dir(), self.files.len(), |at, content| {
            self.read(self.file_as_piece(at)?, |part| content.extend_from_slice(part))
        })
    }
}

fn generate_in(folder: &Path, seed: u64, messages: &[usize]) -> Result<(FileSet, FileSetFacts)> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut lens = equal_length(messages).map_or_else(lengths, equal_lengths);
    lens.shuffle(&mut random);
    let set = make(folder, lens.len(), |at, content| {
        content.resize(lens[at] as usize, 0); // at most MIN_BYTES + SPAN_BYTES and a rest
        random.fill_bytes(content);
        Ok(())
    })?;
    let facts = set.facts("generated", Vec::new());
    Ok((set, facts))
}

/// Makes a set of so many files; `fill` writes the content of one of them.
fn make(
    folder: &Path,
    count: usize,
    mut fill: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<FileSet> {
    super::given::make_room(count)?;
    let cannot = |error: io::Error| {
        Error::output(
            "cannot-write",
            format!(
                "cannot write the generated files in folder \"{}\": {}",
                folder.display(),
                in_words(&error)
            ),
        )
        .help(format!(
            "set TMPDIR to a folder with {} MB of room, or give files with --files",
            GENERATED_BYTES.div_ceil(1_000_000)
        ))
    };
    let mut files = Vec::with_capacity(count);
    let mut content = Vec::new();
    for at in 0..count {
        content.clear();
        fill(at, &mut content)?;
        let mut file = nameless(folder, at).map_err(cannot)?;
        file.write_all(&content).map_err(cannot)?;
        let (name, len) = (format!("generated file {}", at + 1), content.len() as u64);
        files.push(SourceFile { name, file, len });
    }
    // Otherwise they would be written back some seconds later, within a window. The first call does
    // most of the work.
    for source in &files {
        source.file.sync_data().map_err(cannot)?;
    }
    Ok(FileSet::generated(files))
}

/// The lengths in ascending order (see the module).
fn lengths() -> Vec<u64> {
    let last = GENERATED_FILES as u64 - 1;
    let mut lens: Vec<u64> =
        (0..=last).map(|at| MIN_BYTES + SPAN_BYTES * at.pow(3) / last.pow(3)).collect();
    let rest = GENERATED_BYTES.saturating_sub(lens.iter().sum());
    if let Some(longest) = lens.last_mut() {
        *longest += rest;
    }
    lens
}

/// The length of equal files from which messages of all these lengths can be cut without a rest;
/// `None` if the files of 2001 are long enough.
fn equal_length(messages: &[usize]) -> Option<u64> {
    let longest = messages.iter().copied().max().unwrap_or(0) as u64;
    let common = messages
        .iter()
        .filter(|&&bytes| bytes > 0)
        .try_fold(1, |common, &bytes| lcm(common, bytes as u64));
    // Lengths without a small common multiple leave a short message at each file's end.
    (longest > LONGEST_CUT_BYTES)
        .then(|| common.filter(|&bytes| bytes <= LONGEST_FILE_BYTES).unwrap_or(longest))
}

fn lcm(one: u64, other: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor).checked_mul(other)
}

/// Files of `bytes` that make a set of about the same size, at least two.
fn equal_lengths(bytes: u64) -> Vec<u64> {
    let files = (GENERATED_BYTES / bytes).max(2);
    vec![bytes; files as usize] // at most GENERATED_FILES and some
}

/// A new file without a name, open for reading and writing.
fn nameless(folder: &Path, at: usize) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(file.into()),
        // Not every file system has O_TMPFILE (overlayfs before 6.1, NFS, FUSE). There the file has
        // a name for a moment.
        Err(_) => {
            let path = folder.join(format!(".zc-{}-{at}", std::process::id()));
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::workload::checksum;
    use zc_run::ErrorKind;

    #[test]
    fn the_lengths_are_as_in_2001_on_average_and_varied() {
        let lens = lengths();
        assert_eq!(lens.len(), 63);
        assert_eq!(lens.iter().sum::<u64>(), 63 * 350_000);
        assert_eq!(lens.first(), Some(&4_096));
        assert!(
            lens.last().is_some_and(|&longest| (1_300_000..1_500_000).contains(&longest)),
            "{lens:?}"
        );
        assert!(lens.is_sorted());
    }

    #[test]
    fn files_are_as_long_as_the_longest_message_and_no_fewer_than_two() {
        for (message_bytes, files) in [(256 << 10, 84), (4 << 20, 5), (5 << 20, 4), (64 << 20, 2)] {
            assert_eq!(equal_lengths(message_bytes), vec![message_bytes; files]);
        }
        let (_, facts) = FileSet::generate(1, &[256, 4 << 20]).unwrap();
        assert_eq!((facts.files, facts.min_bytes, facts.max_bytes), (5, 4 << 20, 4 << 20));
    }

    #[test]
    fn files_hold_whole_messages_of_every_length() {
        assert_eq!(equal_length(&[]), None);
        assert_eq!(equal_length(&[64, 64 << 10]), None);
        assert_eq!(equal_length(&[64 << 10, 1 << 20, 2 << 20, 5 << 20]), Some(10 << 20));
        assert_eq!(equal_length(&[1_000_003, 999_983]), Some(1_000_003));
    }

    #[test]
    fn the_same_seed_makes_the_same_files_and_another_makes_others() {
        let sum = |seed| {
            let (set, facts) = FileSet::generate(seed, &[]).unwrap();
            assert_eq!((facts.files, facts.total_bytes), (GENERATED_FILES, GENERATED_BYTES));
            assert_eq!(facts.origin, "generated");
            checksum(&set, set.walk(0, 65_536), GENERATED_BYTES).unwrap()
        };
        assert_eq!(sum(1), sum(1));
        assert_ne!(sum(1), sum(2));
    }

    #[test]
    fn elsewhere_generated_files_are_other_files_with_the_same_bytes() {
        use std::os::unix::fs::MetadataExt as _;
        let (set, _) = FileSet::generate(1, &[]).unwrap();
        let copy = set.elsewhere().unwrap();
        let sum = |set: &FileSet| checksum(set, set.walk(0, 65_536), set.total_bytes()).unwrap();
        assert_eq!((copy.total_bytes(), sum(&copy)), (GENERATED_BYTES, sum(&set)));
        let numbers = |set: &FileSet| -> Vec<u64> {
            set.files.iter().map(|source| source.file.metadata().unwrap().ino()).collect()
        };
        let (old, new) = (numbers(&set), numbers(&copy));
        assert!(new.iter().all(|number| !old.contains(number)), "{old:?} {new:?}");
    }

    #[test]
    fn nothing_is_left_in_the_folder_even_while_they_are_open() {
        let folder = tempfile::tempdir().unwrap();
        let (set, _) = generate_in(folder.path(), 1, &[]).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        set.check_lengths().unwrap();
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error_that_names_it() {
        let error = generate_in(Path::new("/nonesuch"), 1, &[]).map(drop).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::Output, "cannot-write"));
        assert!(error.message.contains("\"/nonesuch\""), "{error}");
        assert!(error.help.is_some_and(|help| help.contains("TMPDIR")));
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_folder() {
        // A file system of 1 MB in a mount namespace that is gone with the child.
        let child = Command::new("unshare")
            .args([
                "-rm",
                "sh",
                "-c",
                "mount -t tmpfs -o size=1m none /mnt && echo mounted && exec \"$0\" \"$@\"",
            ])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "workload::generate::tests::child_with_a_full_disk"])
            .output();
        let said =
            child.as_ref().map(|child| String::from_utf8_lossy(&child.stdout)).unwrap_or_default();
        if !said.contains("mounted") {
            eprintln!("skipped: no file system can be mounted here: {child:?}");
            return;
        }
        assert!(said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "runs as a child with a file system of 1 MB on /mnt"]
    fn child_with_a_full_disk() {
        let error = generate_in(Path::new("/mnt"), 1, &[]).map(drop).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::Output, "cannot-write"));
        assert!(error.message.contains("\"/mnt\""), "{error}");
    }
}
