//! A folder of zc's own below TMPDIR: for what a command needs while it works. Everybody may read
//! it, as servers' workers may be another user's; it is removed at the end, by a process of its own
//! where zc was killed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use zc_kernel::spawn::HeldSignals;
use zc_rig::internal::{FOLDER, INTERNAL};
use zc_run::{Error, Result, in_words};

/// Time for servers to end that still write to it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder that is removed with all that is in it. Its fields are dropped in this order.
pub(super) struct Folder {
    folder: tempfile::TempDir,
    _keeper: Keeper,
}

/// The process that removes the folder when its stdin ends.
struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

/// The whole life of that process: waits until stdin ends, and removes the folder, if it is there
/// still.
///
/// # Errors
/// Signals cannot be blocked.
pub(super) fn keep(folder: &Path) -> Result<()> {
    // A closed terminal and a service manager's SIGTERM reach it too: zc hears them, and removes
    // the folder itself.
    let _signals = HeldSignals::hold(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        .map_err(|error| Error::os("block signals", error))?;
    drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let until = Instant::now() + PATIENCE;
    // What is written meanwhile keeps it from being removed.
    while fs::remove_dir_all(folder).is_err() && folder.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

impl Folder {
    /// Creates one whose name begins so.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be created.
    pub(super) fn named(prefix: &str) -> Result<Self> {
        let within = std::env::temp_dir();
        let cannot = |error: &std::io::Error| {
            let message =
                format!("cannot make a folder in \"{}\": {}", within.display(), in_words(error));
            Error::output("no-temporary-folder", message)
                .help("TMPDIR=FOLDER names one with room for its files")
        };
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(&within)
            .map_err(|error| cannot(&error))?;
        let all_may_read = Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), all_may_read).map_err(|error| cannot(&error))?;
        let keeper = Command::new("/proc/self/exe")
            .args([INTERNAL, FOLDER])
            .arg(folder.path())
            // SIGKILL to the group of this process is not for the one that cleans up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::os("start the process that keeps a folder", error))?;
        Ok(Self { folder, _keeper: Keeper(keeper) })
    }

    /// The place of a file or folder in it.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A folder in it, which everybody may write to: a server's workers write their temporary files
    /// there.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be made.
    pub(super) fn make(&self, name: &str) -> Result<PathBuf> {
        let path = self.place(name);
        fs::create_dir_all(&path)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o777)))
            .map_err(|error| self.cannot_write(name, &error))?;
        Ok(path)
    }

    /// Writes a file in it, and returns its path.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be written.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.place(name);
        fs::write(&path, text).map_err(|error| self.cannot_write(name, &error))?;
        Ok(path)
    }

    fn cannot_write(&self, name: &str, error: &std::io::Error) -> Error {
        let place = self.place(name);
        let message = format!("cannot write \"{}\": {}", place.display(), in_words(error));
        Error::output("cannot-write", message).help("TMPDIR=FOLDER names a folder with more room")
    }
}
