//! The initial file system of a guest: this program as its first process, the modules without which
//! the host's files cannot be mounted, and the job.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use zc_run::{Error, Result, in_words};

use crate::cpio::Archive;
use crate::decompress;
use crate::image::shown;
use crate::job::{JOB, Job, MODULES};
use crate::kernel::Kernel;
use crate::modules::Modules;
use crate::program::Program;

/// What is loaded before the host's files can be mounted, with all that they need.
const FIRST: [&str; 5] = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay"];

/// Folders that the first process mounts something on.
const MOUNT_POINTS: [&str; 6] = ["dev", "proc", "sys", "below", "above", "new"];

/// Where its libraries are: LD_LIBRARY_PATH names it (see `machine`).
pub(crate) const LIBRARIES: &str = "lib";

/// Writes the file system.
///
/// # Errors
/// A module or this program cannot be read; there is no memory for it.
pub(crate) fn write(kernel: &Kernel, job: &Job, out: impl Write) -> Result<()> {
    let mut modules = Vec::new();
    if let Some(folder) = kernel.own_modules() {
        for path in Modules::open(&folder)?.in_order(FIRST) {
            let bytes = decompress::module(&path).map_err(|error| {
                let name = shown(&path);
                let message = format!("cannot read the module \"{name}\": {}", in_words(&error));
                Error::input("cannot-read-module", message)
                    .help("compressed by xz it needs the program xz: apt-get install xz-utils")
            })?;
            modules.push(bytes);
        }
    }
    archive(&Program::own()?, &modules, job, BufWriter::new(out))
        .map_err(|error| Error::os("write the guest's initial file system", error))
}

/// `modules` in the order in which they are loaded.
fn archive(program: &Program, modules: &[Vec<u8>], job: &Job, out: impl Write) -> io::Result<()> {
    let mut archive = Archive::new(out);
    for folder in MOUNT_POINTS {
        archive.folder(Path::new(folder))?;
    }
    archive.file(Path::new("init"), 0o755, &program.bytes)?;
    if let Some(loader) = &program.loader {
        let name = loader.strip_prefix("/").unwrap_or(loader);
        archive.file(name, 0o755, &fs::read(loader)?)?;
    }
    for (name, path) in &program.libraries {
        // Programs may name a library by its whole path.
        let name = Path::new(name.trim_start_matches('/'));
        archive.file(&Path::new(LIBRARIES).join(name), 0o755, &fs::read(path)?)?;
    }
    for (place, bytes) in modules.iter().enumerate() {
        archive.file(&Path::new(MODULES).join(format!("{place:03}.ko")), 0o644, bytes)?;
    }
    archive.file(Path::new(JOB), 0o644, &serde_json::to_vec(job)?)?;
    archive.end().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio::entries;

    #[test]
    fn it_holds_the_program_its_libraries_the_modules_in_order_and_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let [loader, library] = ["ld.so", "libc.so.6"].map(|name| folder.path().join(name));
        fs::write(&loader, "loader").unwrap();
        fs::write(&library, "library").unwrap();
        let program = Program {
            bytes: b"program".to_vec(),
            loader: Some(loader.clone()),
            libraries: vec![("libc.so.6".to_owned(), library)],
        };
        let job = Job { words: vec!["zc".into(), "doctor".into()], ..Job::default() };
        let mut bytes = Vec::new();
        archive(&program, &[b"first".to_vec(), b"second".to_vec()], &job, &mut bytes).unwrap();
        let files = entries(&bytes);
        let bytes_of = |name: &str| {
            let file = files.iter().find(|(known, ..)| known == name);
            file.map(|(_, mode, bytes)| (*mode & 0o777, bytes.as_slice()))
        };
        assert_eq!(bytes_of("init"), Some((0o755, &b"program"[..])));
        let loader = loader.to_str().unwrap().trim_start_matches('/');
        assert_eq!(bytes_of(loader), Some((0o755, &b"loader"[..])));
        assert_eq!(bytes_of("lib/libc.so.6"), Some((0o755, &b"library"[..])));
        assert_eq!(bytes_of("modules/000.ko"), Some((0o644, &b"first"[..])));
        assert_eq!(bytes_of("modules/001.ko"), Some((0o644, &b"second"[..])));
        let read: Job = serde_json::from_slice(bytes_of("job.json").unwrap().1).unwrap();
        assert_eq!(read, job);
        assert!(MOUNT_POINTS.iter().all(|name| bytes_of(name).is_some()));
    }
}
