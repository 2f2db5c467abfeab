//! The place of an NFS server or client: a mount namespace, in which folders of the host's are hidden by
//! empty ones in memory.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, mount};

use zc_kernel::netns::unshare_mounts;
use zc_run::{Error, Result};

/// The ports of NFS and of its mount protocol, in a network namespace that has no others.
pub(super) const NFS_PORT: u16 = 2049;
pub(super) const MOUNT_PORT: u16 = 20_048;

/// The longest READ that is allowed, in bytes.
pub(super) const MOST_READ: u64 = 1 << 20;

/// Moves this process, which has one thread, into a mount namespace of its own, and hides `folders`
/// there.
///
/// # Errors
/// CAP_SYS_ADMIN is missing.
pub(super) fn enter(folders: &[&str]) -> Result<()> {
    unshare_mounts().map_err(cannot("a mount namespace"))?;
    folders.iter().try_for_each(|folder| empty(folder).map_err(cannot(folder)))
}

/// Mounts an empty file system in memory.
pub(super) fn empty(folder: &str) -> io::Result<()> {
    mount("zc", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"size=100%")
        .map_err(Into::into)
}

/// Makes folders, those above them included.
pub(super) fn folders<'a>(each: impl IntoIterator<Item = &'a str>) -> Result<()> {
    each.into_iter()
        .try_for_each(|folder| fs::create_dir_all(folder).map_err(cannot(folder)))
}

/// Writes the bytes of several files, one after the other, into a new one.
pub(super) fn join(sources: Vec<File>, to: &Path) -> io::Result<()> {
    let mut into = File::create_new(to)?;
    for mut source in sources {
        io::copy(&mut source, &mut into)?;
    }
    Ok(())
}

/// What could not be made of the place.
pub(super) fn cannot(what: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::os(format!("make a place for NFS: {what}"), error)
}
