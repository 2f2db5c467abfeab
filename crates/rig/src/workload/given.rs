//! Opens and checks the files that the user named, and leaves out those that cannot be sent.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::fileset::{FileSet, SourceFile};
use zc_kernel::descriptors::{self, Room};
use zc_run::{Error, FileSetFacts, Result, in_words};

/// Descriptors that a run needs in addition to its files: sockets, pipes, rings, namespaces, /proc.
const OTHER_DESCRIPTORS: u64 = 40;

impl FileSet {
    /// Opens `paths`, in their order. A path that cannot be sent (missing, unreadable, empty, a
    /// directory, a FIFO, a device) is an error when it is the only one; of several it is left out
    /// and named in the facts.
    ///
    /// # Errors
    /// `ErrorKind::Input`: no file can be sent. `ErrorKind::Unsupported`: RLIMIT_NOFILE is too low
    /// for so many files, even with the soft limit raised to the hard one.
    pub fn open(paths: &[PathBuf]) -> Result<(Self, FileSetFacts)> {
        make_room(paths.len())?;
        let mut files = Vec::with_capacity(paths.len());
        let mut skipped = Vec::new();
        for path in paths {
            match open_one(path) {
                Ok(file) => files.push(file),
                Err(Refusal::This(error)) if paths.len() > 1 => skipped.push(error.message),
                Err(Refusal::This(error) | Refusal::All(error)) => return Err(error),
            }
        }
        if files.is_empty() {
            return Err(nothing_left(paths.len(), skipped.first()));
        }
        let set = Self::new(files);
        let facts = set.facts("given", skipped);
        Ok((set, facts))
    }
}

fn nothing_left(given: usize, first: Option<&String>) -> Error {
    match first {
        Some(first) => Error::input(
            "no-usable-file",
            format!("none of the {given} files can be sent; the first: {first}"),
        ),
        None => Error::usage("files-missing", "no files were given"),
    }
    .help("name regular files that are not empty, such as /usr/bin/*")
}

/// Why a path was not opened.
enum Refusal {
    /// This file cannot be sent.
    This(Error),
    /// Nor can any file after it.
    All(Error),
}

fn open_one(path: &Path) -> std::result::Result<SourceFile, Refusal> {
    let failed = |error| match refused(path, error) {
        error if error.kind == zc_run::ErrorKind::Input => Refusal::This(error),
        error => Refusal::All(error),
    };
    // Checked before it is opened, because opening a device can have effects, and again afterwards,
    // because it may have been replaced in between. O_NONBLOCK keeps a FIFO from blocking then.
    let looked_at = std::fs::metadata(path).map_err(failed)?;
    regular(path, &looked_at).map_err(Refusal::This)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
        .open(path)
        .map_err(failed)?;
    let opened = file.metadata().map_err(failed)?;
    regular(path, &opened).map_err(Refusal::This)?;
    // io_uring honours O_NONBLOCK on regular files: it returns EAGAIN where the page cache has a
    // hole.
    blocking(&file).map_err(failed)?;
    Ok(SourceFile { name: path.display().to_string(), file, len: opened.len() })
}

fn blocking(file: &File) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    Ok(rustix::fs::fcntl_setfl(file, flags - OFlags::NONBLOCK)?)
}

fn regular(path: &Path, found: &Metadata) -> Result<()> {
    let name = path.display();
    if found.is_dir() {
        return Err(Error::input("is-a-directory", format!("\"{name}\" is a directory"))
            .help(format!("name the files in it: {name}/*")));
    }
    if !found.is_file() {
        return Err(Error::input(
            "not-a-regular-file",
            format!("\"{name}\" is {}, not a regular file", kind(found.file_type())),
        )
        .help("copy its output to a file, and name that"));
    }
    if found.len() == 0 {
        return Err(Error::input("file-empty", format!("file \"{name}\" is empty"))
            .help("name files that have bytes; files of /proc have no length, copy them first"));
    }
    Ok(())
}

fn kind(found: FileType) -> &'static str {
    if found.is_fifo() {
        "a FIFO"
    } else if found.is_socket() {
        "a socket"
    } else if found.is_block_device() || found.is_char_device() {
        "a device"
    } else {
        "something"
    }
}

fn refused(path: &Path, error: io::Error) -> Error {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            Error::input("no-such-file", format!("file \"{name}\" does not exist"))
                .help("check the name and the current folder")
        }
        io::ErrorKind::PermissionDenied => Error::input(
            "file-not-permitted",
            format!("file \"{name}\" may not be read by this user"),
        )
        .help("name files that this user can read, or copy it"),
        _ if is_out_of_descriptors(&error) => Error::unsupported(
            "too-many-open-files",
            format!("cannot open file \"{name}\": {}", in_words(&error)),
        )
        .help("raise the limit of open files (`ulimit -n`), or give fewer files"),
        _ => Error::input(
            "cannot-open-file",
            format!("cannot open file \"{name}\": {}", in_words(&error)),
        ),
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::MFILE | Errno::NFILE))
}

/// Ensures that `files` files can be open at a time.
pub(super) fn make_room(files: usize) -> Result<()> {
    let needed = (files as u64).saturating_add(OTHER_DESCRIPTORS);
    let room = descriptors::raise_limit(needed)
        .map_err(|error| Error::os("raise the limit of open files", error))?;
    match room {
        Room::There => Ok(()),
        Room::No { hard } => Err(Error::unsupported(
            "too-many-open-files",
            format!(
                "{files} files cannot be open at a time: RLIMIT_NOFILE is {hard}, and zc needs \
             {OTHER_DESCRIPTORS} more"
            ),
        )
        .help(format!(
            "raise it (`ulimit -Hn {}` as root), or give fewer files",
            needed.next_power_of_two()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use zc_run::ErrorKind;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn refusal(path: PathBuf) -> Error {
        FileSet::open(&[path]).map(|(_, facts)| facts).unwrap_err()
    }

    #[test]
    fn files_are_opened_in_their_order_with_their_facts() {
        let folder = folder();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, [1; 5]).unwrap();
        fs::write(&b, [2; 70_000]).unwrap();
        let (set, facts) = FileSet::open(&[b.clone(), a.clone(), b]).unwrap();
        assert_eq!(set.files.iter().map(|file| file.len).collect::<Vec<_>>(), [70_000, 5, 70_000]);
        assert_eq!(
            (facts.files, facts.total_bytes, facts.min_bytes, facts.max_bytes),
            (3, 140_005, 5, 70_000)
        );
        assert_eq!(facts.origin, "given");
        assert!(!facts.filesystem.is_empty() && facts.skipped.is_empty());
        assert!(!rustix::fs::fcntl_getfl(&set.files[0].file).unwrap().contains(OFlags::NONBLOCK));
    }

    #[test]
    fn a_missing_file_alone_is_an_error_that_names_it() {
        let error = refusal("/nonesuch/file".into());
        assert_eq!((error.kind, &*error.id), (ErrorKind::Input, "no-such-file"));
        assert!(error.message.contains("\"/nonesuch/file\"") && error.help.is_some(), "{error}");
    }

    #[test]
    fn an_empty_file_alone_is_an_error_that_names_it() {
        let folder = folder();
        let path = folder.path().join("empty");
        fs::write(&path, []).unwrap();
        for path in [path, "/proc/self/stat".into()] {
            let error = refusal(path.clone());
            let named = error.message.contains(&*path.to_string_lossy());
            assert!(error.id == "file-empty" && named, "{error:?}");
        }
    }

    #[test]
    fn a_directory_alone_is_an_error_whose_hint_names_its_files() {
        let error = refusal("/tmp".into());
        assert_eq!(error.id, "is-a-directory");
        assert_eq!(error.help.as_deref(), Some("name the files in it: /tmp/*"));
    }

    #[test]
    fn a_fifo_or_a_device_is_an_error_and_does_not_block() {
        let folder = folder();
        let path = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        for (path, kind) in [(path, "FIFO"), ("/dev/zero".into(), "device")] {
            let error = refusal(path);
            let named = error.message.contains(kind);
            assert!(error.id == "not-a-regular-file" && named, "{error:?}");
        }
    }

    #[test]
    fn of_several_paths_the_unusable_ones_are_left_out_and_named() {
        let folder = folder();
        let good = folder.path().join("good");
        fs::write(&good, [1; 5]).unwrap();
        let (set, facts) =
            FileSet::open(&["/nonesuch".into(), good, "/tmp".into(), "/proc/self/stat".into()])
                .unwrap();
        assert_eq!(set.files.len(), 1);
        assert_eq!(
            facts.skipped,
            [
                "file \"/nonesuch\" does not exist",
                "\"/tmp\" is a directory",
                "file \"/proc/self/stat\" is empty"
            ]
        );
    }

    #[test]
    fn nothing_left_is_an_error_with_the_first_reason() {
        let error = FileSet::open(&["/nonesuch".into(), "/tmp".into()]).map(drop).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::Input, "no-usable-file"));
        assert!(error.message.contains("\"/nonesuch\""), "{error}");
        assert_eq!(FileSet::open(&[]).map(drop).unwrap_err().kind, ErrorKind::Usage);
    }

    #[test]
    fn an_unreadable_file_is_an_error_that_names_it() {
        if rustix::process::geteuid().is_root() {
            eprintln!("skipped: root reads everything");
            return;
        }
        let folder = folder();
        let path = folder.path().join("secret");
        fs::write(&path, [1]).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        assert_eq!(refusal(path).id, "file-not-permitted");
    }

    /// Runs the ignored test `child` in a process of its own under `ulimit`.
    fn under_limits(ulimit: &str, child: &str) {
        let status = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "ulimit {ulimit} && exec \"$0\" --ignored --exact workload::given::tests::{child}"
            ))
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&status.stdout);
        assert!(status.status.success() && said.contains("1 passed"), "{said}");
    }

    fn many() -> Vec<PathBuf> {
        vec![std::env::current_exe().unwrap(); 200]
    }

    #[test]
    fn more_files_than_the_soft_limit_are_opened() {
        under_limits("-Sn 64", "child_opens_many");
    }

    #[test]
    #[ignore = "runs as a child under limits"]
    fn child_opens_many() {
        assert_eq!(FileSet::open(&many()).unwrap().1.files, 200);
    }

    #[test]
    fn more_files_than_the_hard_limit_are_an_error_that_names_it() {
        under_limits("-n 64", "child_is_refused_many");
    }

    #[test]
    #[ignore = "runs as a child under limits"]
    fn child_is_refused_many() {
        let error = FileSet::open(&many()).map(drop).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::Unsupported, "too-many-open-files"));
        assert!(["200", "64", "40"].iter().all(|number| error.message.contains(number)), "{error}");
        assert_eq!(
            error.help.as_deref(),
            Some("raise it (`ulimit -Hn 256` as root), or give fewer files")
        );
        assert_eq!(FileSet::generate(1, &[]).map(drop).unwrap_err().kind, ErrorKind::Unsupported);
        assert_eq!(FileSet::open(&many()[..20]).unwrap().1.files, 20);
    }
}
