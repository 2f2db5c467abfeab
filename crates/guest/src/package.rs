//! Kernels in packages of Debian: unpacked, with what their installation would have made.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use zc_run::{Error, Result, escape, in_words};

use crate::image::shown;

/// How an archive of ar begins, as which packages of Debian are (deb(5)).
const ARCHIVE: &[u8] = b"!<arch>\n";

/// Whether a file is a package of Debian.
pub fn is_package(path: &Path) -> bool {
    let mut begin = [0; ARCHIVE.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == ARCHIVE
}

/// Unpacks a package into an empty folder, and makes its modules.dep there.
///
/// # Errors
/// - [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no dpkg-deb, or no depmod.
/// - [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be unpacked, or has no kernel.
pub fn unpack(package: &Path, into: &Path) -> Result<()> {
    run(Command::new("dpkg-deb").arg("-x").arg(package).arg(into), "dpkg", package)?;
    // Since Debian 13 modules are below usr/, where depmod does not look.
    let (lib, usr) = (into.join("lib"), into.join("usr/lib"));
    if !lib.exists() && usr.exists() {
        std::os::unix::fs::symlink("usr/lib", &lib)
            .map_err(|error| Error::os("make a symbolic link", error))?;
    }
    for release in fs::read_dir(lib.join("modules")).into_iter().flatten().flatten() {
        if !release.path().join("modules.dep").exists() {
            let mut depmod = Command::new("depmod");
            run(depmod.arg("-b").arg(into).arg(release.file_name()), "kmod", package)?;
        }
    }
    Ok(())
}

/// Runs a program of the package `of`, about a kernel's package.
fn run(command: &mut Command, of: &str, package: &Path) -> Result<()> {
    let program = escape(&command.get_program().to_string_lossy(), 40);
    let name = shown(package);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Users have no sbin on theirs.
    let folders = [path.as_os_str(), OsStr::new("/usr/sbin:/sbin")].join(OsStr::new(":"));
    let output = command.env("PATH", folders).stdin(Stdio::null()).output().map_err(|error| {
        let message =
            format!("cannot run \"{program}\" to unpack \"{name}\": {}", in_words(&error));
        Error::unsupported("no-unpacker", message)
            .help(format!("apt-get install {of}, or name a folder that it was unpacked into"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = escape(said.lines().next().unwrap_or("it says nothing"), 300);
    Err(Error::input("cannot-unpack", format!("{program} does not unpack \"{name}\": {first}"))
        .help("is it whole, is it a package of a kernel (linux-image-...), and is there room in TMPDIR?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_told_by_how_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        assert!(!is_package(&path) && !is_package(folder.path()));
        fs::write(&path, "!<arch>\ndebian-binary").unwrap();
        assert!(is_package(&path));
        fs::write(&path, "!<").unwrap();
        assert!(!is_package(&path));
    }

    #[test]
    fn what_is_no_package_cannot_be_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.deb");
        fs::write(&path, "!<arch>\nnothing").unwrap();
        let error = unpack(&path, folder.path()).unwrap_err();
        assert!(["cannot-unpack", "no-unpacker"].contains(&&*error.id), "{error}");
    }
}
