//! Makes the folder of a fleet: an empty one, or one in which a `zc fleet plan` came to no end.

use std::io;
use std::path::Path;

use zc_kernel::open_folder::OpenFolder;
use zc_run::{Error, Result, escape, in_words, is_safe};

use crate::files::Whose;
use crate::folder::{Folder, PARTS, PLAN};
use crate::lock::{self, Lock};

impl Folder {
    /// A new one, with nothing in it yet, and its lock. The remains of an unfinished `zc fleet
    /// plan` are removed.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it exists and is not empty, is another user's,
    /// another process makes it now, or it cannot be made.
    pub fn create(path: &Path) -> Result<(Self, Lock)> {
        let name = escape(&path.to_string_lossy(), 400);
        let failed = |error: io::Error| {
            Error::output(
                "cannot-make-folder",
                format!("cannot make the folder \"{name}\": {}", in_words(&error)),
            )
            .help("a fleet has a folder of its own: name a new one with -o")
        };
        let is_line = |path: &Path| path.to_str().is_some_and(|path| path.chars().all(is_safe));
        let check_name = |path: &Path| match is_line(path) {
            true => Ok(()),
            false => Err(io::Error::other(
                "its name, which is in jobs, has a control character or is not UTF-8",
            )),
        };
        std::path::absolute(path).and_then(|path| check_name(&path)).map_err(failed)?;
        let made = OpenFolder::make(path).map_err(failed)?;
        let folder = Self { path: path.canonicalize().map_err(failed)?, whose: Whose::Own };
        check_name(&folder.path).map_err(failed)?;
        let metadata = folder.path.metadata().map_err(failed)?;
        folder.whose.check(&metadata).map_err(failed)?;
        folder.check_unused().map_err(failed)?;
        let lock = folder.lock("zc fleet plan")?;
        folder.check_unused().map_err(failed)?;
        for part in ["jobs", "plans"] {
            match std::fs::remove_dir_all(folder.path.join(part)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        for part in PARTS {
            made.within(part.as_ref()).map_err(failed)?;
        }
        Ok((folder, lock))
    }

    /// Checks that nothing is in it but what a plan that came to no end has left.
    fn check_unused(&self) -> io::Result<()> {
        let names = self.path.read_dir()?.map(|entry| entry.map(|entry| entry.file_name()));
        let names: Vec<_> = names.collect::<io::Result<_>>()?;
        if names.iter().any(|name| name == PLAN) {
            return Err(io::Error::other("it has the plan of a fleet already"));
        }
        let is_left = |name: &std::ffi::OsString| {
            let name = name.to_str().unwrap_or_default();
            name == lock::NAME || PARTS.contains(&name) || name.starts_with(&format!(".{PLAN}."))
        };
        let has_lock = names.iter().any(|name| name == lock::NAME);
        let is_empty = |part: &str| match self.path.join(part).read_dir() {
            Ok(mut entries) => Ok(entries.next().is_none()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        };
        let is_unused = names.is_empty()
            || has_lock && names.iter().all(is_left) && is_empty("runs")? && is_empty("logs")?;
        if is_unused { Ok(()) } else { Err(io::Error::other("it is not empty")) }
    }
}
