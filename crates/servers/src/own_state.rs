//! Keeps what a server writes to the host's state folders from the host, and from a server that
//! runs there: `--serve 'nginx -c /etc/nginx/nginx.conf'` would overwrite the pid file of the live
//! nginx, write into its access log and use its folders for temporary files.
//!
//! In a mount namespace each of these folders becomes an overlay with its upper layer in memory:
//! the server sees what is there, and what it changes is gone with it. Two things are different in
//! it: pid files are not there, as a server that finds one may take the live one for itself (Apache
//! does); and a Unix socket of the host is a symbolic link to the host's folder, since one cannot
//! connect to a socket through an overlay.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_move, unmount};

use zc_kernel::netns::unshare_mounts;
use zc_kernel::privileges::has_capabilities;
use zc_run::{Error, Result};

/// Folders in which servers keep pid files, sockets, logs, caches and temporary files (hier(7)),
/// and those of servers built from their sources.
const FOLDERS: [&str; 8] = [
    "/run",
    "/var/log",
    "/var/lib",
    "/var/cache",
    "/var/spool",
    "/usr/local/nginx/logs",
    "/usr/local/openresty/nginx/logs",
    "/usr/local/apache2/logs",
];

/// Folder in which the upper layers are made; not below any of these folders, as TMPDIR may be.
const SCRATCH: &str = "/tmp";

/// Name under which the host's own folder is seen, below each of them.
const OF_HOST: &str = ".zc-host";

/// Limits of the search for sockets and pid files: depth and number of entries.
const DEEPEST: usize = 3;
const MOST_ENTRIES: usize = 20_000;

/// Whether this process may change mounts as the host's root: it may start a server of NFS, or
/// mount one. A user gets a user namespace for a link, in which the process has all capabilities,
/// too.
pub(super) fn may_mount() -> bool {
    let is_first = fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
    has_capabilities() && is_first
}

/// Moves the calling thread into a mount namespace of its own, in which these folders are the
/// server's.
///
/// # Errors
/// CAP_SYS_ADMIN is missing; the kernel has no overlay file system.
pub(super) fn enter() -> Result<()> {
    unshare_mounts().map_err(cannot("a mount namespace"))?;
    // Hidden until all overlays are there, which hold the file system themselves.
    let scratch = Path::new(SCRATCH);
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("zc", scratch, "tmpfs", flags, c"mode=700")
        .map_err(|errno| cannot("memory")(errno.into()))?;
    for (place, folder) in FOLDERS.iter().map(Path::new).enumerate() {
        if fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
            hide(folder, &scratch.join(place.to_string()))
                .map_err(cannot(&folder.display().to_string()))?;
        }
    }
    unmount(scratch, UnmountFlags::DETACH).map_err(|errno| cannot("memory")(errno.into()))
}

/// Puts an overlay over a folder, whose layers are made at `layers`.
fn hide(folder: &Path, layers: &Path) -> io::Result<()> {
    let [upper, work, of_host] = ["upper", "work", "host"].map(|name| layers.join(name));
    for each in [layers, &upper, &work, &of_host] {
        fs::create_dir(each)?;
    }
    // What is merged has the owner and the mode of the upper layer.
    let own = fs::metadata(folder)?;
    std::os::unix::fs::chown(&upper, Some(own.uid()), Some(own.gid()))?;
    fs::set_permissions(&upper, fs::Permissions::from_mode(own.mode() & 0o7777))?;
    mount_bind(folder, &of_host)?;
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        folder.display(),
        upper.display(),
        work.display()
    );
    let options = std::ffi::CString::new(options)?;
    mount("zc", folder, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?;
    let beside = folder.join(OF_HOST);
    fs::create_dir(&beside)?;
    mount_move(&of_host, &beside)?;
    let mut left = MOST_ENTRIES;
    change(folder, Path::new(""), &beside, DEEPEST, &mut left)
}

/// Takes pid files away, and makes sockets links to those of the host, in and below `folder`, which
/// is `at` from its top.
fn change(
    folder: &Path,
    at: &Path,
    of_host: &Path,
    depth: usize,
    left: &mut usize,
) -> io::Result<()> {
    // A folder that this user may not read has nothing for its servers.
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let entries: Vec<DirEntry> = entries.flatten().collect();
    for entry in entries {
        let (path, at) = (entry.path(), at.join(entry.file_name()));
        let Ok(kind) = entry.file_type() else { continue };
        if *left == 0 || path == of_host {
            continue;
        }
        *left -= 1;
        if kind.is_socket() {
            fs::remove_file(&path)?;
            symlink(of_host.join(&at), &path)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "pid") {
            fs::remove_file(&path)?;
        } else if kind.is_dir() && depth > 1 {
            change(&path, &at, of_host, depth - 1, left)?;
        }
    }
    Ok(())
}

fn cannot(what: &str) -> impl Fn(io::Error) -> Error {
    move |error| {
        Error::os(format!("keep what the server writes from the host: {what}"), error).help(
            "as a user without privileges the server cannot write there, and nothing is kept \
                 from it",
        )
    }
}
