//! The place of an NFS server or client: a mount namespace, in which folders of the host's are
//! hidden by empty ones in memory.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, ExitStatus};

use rustix::mount::{MountFlags, mount};

use zc_kernel::netns::unshare_mounts;
use zc_kernel::spawn::{HeldSignals, pidfd, wait_readable};
use zc_run::{Error, Result};

/// The ports of NFS and of its mount protocol, in a network namespace that has no others.
pub(crate) const NFS_PORT: u16 = 2049;
pub(super) const MOUNT_PORT: u16 = 20_048;

/// The longest READ or WRITE that is allowed, in bytes.
pub(super) const MOST_BYTES: u64 = 1 << 20;

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
    each.into_iter().try_for_each(|folder| fs::create_dir_all(folder).map_err(cannot(folder)))
}

/// Writes the bytes of several files, one after the other, into a new one.
pub(super) fn join(sources: Vec<File>, to: &Path) -> io::Result<()> {
    let mut into = File::create_new(to)?;
    for mut source in sources {
        io::copy(&mut source, &mut into)?;
    }
    Ok(())
}

/// Starts a program, whose stderr is this one's, and calls `meanwhile`. Waits until the program
/// ends or this process is told to end by a signal that is held: `None`.
///
/// # Errors
/// It cannot be started or waited for; what `meanwhile` says.
pub(super) fn run(
    mut command: Command,
    signals: &HeldSignals,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<Option<ExitStatus>> {
    let name = command.get_program().to_string_lossy().into_owned();
    signals.release_in_child(&mut command);
    let mut child = command.spawn().map_err(|error| Error::os(format!("start {name}"), error))?;
    meanwhile()?;
    let ended = pidfd(child.id() as i32)
        .and_then(|child| wait_readable(&[child.as_fd(), signals.as_fd()], None));
    match ended.as_deref() {
        Ok([false, true]) => Ok(None),
        _ => child.wait().map(Some).map_err(|error| Error::os(format!("wait for {name}"), error)),
    }
}

/// Returns the error of a step, `what`, of making the place.
pub(super) fn cannot(what: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::os(format!("make a place for NFS: {what}"), error)
}
