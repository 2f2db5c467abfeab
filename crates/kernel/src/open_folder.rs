//! Writes files where other users may write, too: steps from folder to folder by descriptors, so
//! that nothing that is moved meanwhile leads elsewhere.
//!
//! The path of a folder, and a file that the user names, may lead through symbolic links. They are
//! followed as fs.protected_symlinks demands, also where that is off: another user's link in a
//! folder in which anybody may write is refused. A name within an open folder never leads through a
//! link. Another user's file in a folder in which anybody may write is not replaced
//! (fs.protected_regular).
//!
//! # References
//! [proc_sys_fs(5)], [open(2)], [symlink(7)]
//!
//! [proc_sys_fs(5)]: https://man7.org/linux/man-pages/man5/proc_sys_fs.5.html
//! [open(2)]: https://man7.org/linux/man-pages/man2/open.2.html
//! [symlink(7)]: https://man7.org/linux/man-pages/man7/symlink.7.html

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, mkdirat, openat, readlinkat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::random;

/// Limit on links followed in a path, the same as the kernel's, path_resolution(7).
const MOST_LINKS: usize = 40;

/// Mode from which the process's umask removes bits.
const FOR_ALL: u32 = 0o666;

/// A folder that files are written in.
#[derive(Debug)]
pub struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// The folder at `path`, which the user has named.
    ///
    /// # Errors
    /// Errors of open(2); [`ErrorKind::PermissionDenied`] for another user's link in a folder in
    /// which anybody may write.
    pub fn open(path: &Path) -> io::Result<Self> {
        walk(path, Last::Folder).map(|(folder, _)| folder)
    }

    /// Like [`open`](Self::open), but creates missing folders.
    ///
    /// # Errors
    /// Same as for [`open`](Self::open), and those of mkdir(2).
    pub fn make(path: &Path) -> io::Result<Self> {
        walk(path, Last::NewFolder).map(|(folder, _)| folder)
    }

    /// The folder that holds `path`, and the name of the file in it. If that file is a link, it is
    /// not followed.
    ///
    /// # Errors
    /// Same as for [`open`](Self::open); [`ErrorKind::InvalidInput`] if `path` ends in no name.
    pub fn parent_of(path: &Path) -> io::Result<(Self, OsString)> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok((Self::open(parent.unwrap_or(Path::new(".")))?, name.to_owned()))
    }

    /// Like [`parent_of`](Self::parent_of), but follows links to the last.
    ///
    /// # Errors
    /// Same as for [`parent_of`](Self::parent_of).
    pub fn parent_of_target(path: &Path) -> io::Result<(Self, OsString)> {
        let (folder, name) = walk(path, Last::File)?;
        Ok((folder, name.ok_or(ErrorKind::InvalidInput)?))
    }

    /// The folder `name` in this one, created if it is missing. It must not be a link.
    ///
    /// # Errors
    /// Errors of mkdir(2) and open(2); [`ErrorKind::NotADirectory`] for a link.
    pub fn within(&self, name: &OsStr) -> io::Result<Self> {
        match self.folder(name) {
            Err(Errno::NOENT) => {}
            opened => return Ok(opened?),
        }
        match mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(self.folder(name)?),
            Err(error) => Err(error.into()),
        }
    }

    /// The folder of a file whose path from here is `path`, and its name. No part of the path may
    /// be a link; missing folders are created.
    ///
    /// # Errors
    /// Same as for [`within`](Self::within); [`ErrorKind::InvalidInput`] if the path leads out of
    /// here.
    pub fn inner(&self, path: &Path) -> io::Result<(Self, OsString)> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
        let mut at = Self(self.0.try_clone()?);
        for part in path.parent().into_iter().flat_map(Path::components) {
            match part {
                Component::Normal(folder) => at = at.within(folder)?,
                _ => return Err(ErrorKind::InvalidInput.into()),
            }
        }
        Ok((at, name))
    }

    /// Metadata of `name` in this folder, or `None` if there is no such entry. A link is not
    /// followed.
    ///
    /// # Errors
    /// Errors of open(2), except that nothing is there.
    pub fn metadata(&self, name: &OsStr) -> io::Result<Option<Metadata>> {
        self.entry(name)?.map(|entry| entry.metadata()).transpose()
    }

    /// Opens the regular file `name`.
    ///
    /// # Errors
    /// Errors of open(2): ELOOP for a link; [`ErrorKind::InvalidInput`] for anything but a regular
    /// file.
    pub fn open_file(&self, name: &OsStr, write: bool) -> io::Result<File> {
        let access = if write { OFlags::WRONLY } else { OFlags::RDONLY };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let is_file = |facts: &Metadata| facts.is_file();
        // Opening a device may do something.
        if self.metadata(name)?.as_ref().is_some_and(|found| !found.is_symlink() && !is_file(found))
        {
            return Err(ErrorKind::InvalidInput.into());
        }
        let file = File::from(openat(&self.0, name, flags, Mode::empty())?);
        if !is_file(&file.metadata()?) {
            return Err(ErrorKind::InvalidInput.into());
        }
        Ok(file)
    }

    /// Creates a file that does not exist, with these bits of its mode.
    ///
    /// # Errors
    /// Errors of open(2): EEXIST also for a link.
    pub fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::from_raw_mode(mode))?.into())
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// Errors of symlink(2).
    pub fn symlink(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// Removes the file `name`. A link is removed itself.
    ///
    /// # Errors
    /// Errors of unlink(2).
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Renames a file of this folder.
    ///
    /// # Errors
    /// Errors of rename(2).
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Checks that what is called `name` here may be replaced.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`]: it is another user's, and anybody may write here.
    pub fn check_owner(&self, name: &OsStr) -> io::Result<()> {
        match self.metadata(name)? {
            Some(found) if self.is_foreign(&found)? => Err(io::Error::new(
                ErrorKind::PermissionDenied,
                "it is another user's, in a folder where anybody may write",
            )),
            _ => Ok(()),
        }
    }

    /// Has `fill` write a new file and, once it is complete, renames it to `name`, replacing an
    /// older file, whose mode it keeps. Until then it has a temporary name that nobody can predict.
    ///
    /// # Errors
    /// Errors of [`check_owner`](Self::check_owner), open(2), rename(2) and `fill`. The older file
    /// is unchanged.
    pub fn replace(
        &self,
        name: &OsStr,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.check_owner(name)?;
        let old = self.metadata(name)?.filter(Metadata::is_file);
        let part = OsString::from(format!(".zc-{:016x}", u64::from_ne_bytes(random::array()?)));
        let mut file = self.create_new(&part, FOR_ALL)?;
        let written = fill(&mut file)
            .and_then(|()| match old {
                // Set-user-ID and set-group-ID bits are not kept.
                Some(old) => file.set_permissions(Permissions::from_mode(old.mode() & 0o777)),
                None => Ok(()),
            })
            .and_then(|()| self.rename(&part, name));
        written.inspect_err(|_| drop(self.remove(&part)))
    }

    fn folder(&self, name: &OsStr) -> rustix::io::Result<Self> {
        open_folder(&self.0, name).map(Self)
    }

    /// Opens the entry `name` with a descriptor that cannot read it (O_PATH).
    fn entry(&self, name: &OsStr) -> io::Result<Option<File>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(entry) => Ok(Some(entry.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether anybody may write here, and this is neither the process's nor the folder's owner's.
    fn is_foreign(&self, found: &Metadata) -> io::Result<bool> {
        let own = File::from(self.0.try_clone()?).metadata()?;
        let owners = [geteuid().as_raw(), own.uid()];
        Ok(own.mode() & 0o002 != 0 && !owners.contains(&found.uid()))
    }
}

/// Opens `name` in a folder, if it is a folder and no link. O_DIRECTORY also mounts what autofs has
/// there.
fn open_folder(at: impl std::os::fd::AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

/// Kind of the last part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A folder.
    Folder,
    /// A folder, which is made, as those before it are.
    NewFolder,
    /// A file, which need not be there.
    File,
}

/// Steps along a path and the targets of its links. Returns the folder in which it ends, and of a
/// file its name.
fn walk(path: &Path, last: Last) -> io::Result<(OpenFolder, Option<OsString>)> {
    let start = |name: &str| Ok::<_, Errno>(OpenFolder(open_folder(CWD, OsStr::new(name))?));
    // The working folder may be one that this user may not enter.
    let mut at = start(if path.is_absolute() { "/" } else { "." })?;
    let mut rest = vec![path.to_owned()];
    let mut links = 0;
    while let Some(path) = rest.pop() {
        let mut parts = path.components();
        let Some(part) = parts.next() else { continue };
        rest.push(parts.as_path().to_owned());
        let name = match part {
            Component::RootDir | Component::Prefix(_) => {
                at = start("/")?;
                continue;
            }
            Component::CurDir => continue,
            Component::ParentDir => {
                at = at.folder(OsStr::new(".."))?;
                continue;
            }
            Component::Normal(name) => name,
        };
        let is_last = rest.iter().all(|path| path.as_os_str().is_empty());
        let is_file = is_last && last == Last::File;
        if !is_file && let Ok(folder) = at.folder(name) {
            at = folder;
            continue;
        }
        match at.entry(name)? {
            Some(entry) if entry.metadata()?.is_symlink() => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                rest.push(at.target(entry)?);
            }
            _ if is_file => return Ok((at, Some(name.to_owned()))),
            None if last == Last::NewFolder => at = at.within(name)?,
            // The reason why it could not be opened as a folder.
            _ => at = at.folder(name)?,
        }
    }
    Ok((at, None))
}

impl OpenFolder {
    /// Target of a link of this folder.
    fn target(&self, link: File) -> io::Result<PathBuf> {
        if self.is_foreign(&link.metadata()?)? {
            return Err(io::Error::new(
                ErrorKind::PermissionDenied,
                "another user's symbolic link leads there, from a folder where anybody may write",
            ));
        }
        let target = readlinkat(&link, "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    /// The user `daemon`, as which no test runs.
    const ANOTHER: u32 = 1;

    fn write(place: io::Result<(OpenFolder, OsString)>, text: &str) -> io::Result<()> {
        let (folder, name) = place?;
        folder.replace(&name, |file| file.write_all(text.as_bytes()))
    }

    /// A folder with `victim`, in it `all`, where anybody may write.
    fn folder_for_all() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let all = folder.path().join("all");
        std::fs::create_dir(&all).unwrap();
        std::fs::set_permissions(&all, Permissions::from_mode(0o1777)).unwrap();
        std::fs::write(folder.path().join("victim"), "old").unwrap();
        (folder, all)
    }

    /// Gives a file, or a link, to another user; a skip where that needs root.
    fn give_away(path: &Path) -> bool {
        let given = lchown(path, Some(ANOTHER), Some(ANOTHER));
        given.inspect_err(|error| eprintln!("skipped: cannot give a file away: {error}")).is_ok()
    }

    fn read(path: impl AsRef<Path>) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn links_of_the_user_s_own_are_followed_and_replaced_where_the_name_is_not_the_user_s() {
        let (folder, all) = folder_for_all();
        let victim = folder.path().join("victim");
        symlink("../victim", all.join("one")).unwrap();
        symlink("one", all.join("two")).unwrap();
        symlink(folder.path().join("all"), folder.path().join("here")).unwrap();
        let named = folder.path().join("here/./../here/two");
        write(OpenFolder::parent_of_target(&named), "new").unwrap();
        assert_eq!(read(&victim), "new");
        // The last link alone is one that zc would have named.
        write(OpenFolder::parent_of(&named), "own").unwrap();
        assert_eq!(read(&victim), "new");
        assert_eq!(read(all.join("two")), "own");
        assert!(all.join("two").symlink_metadata().unwrap().is_file());
        symlink("loop", all.join("loop")).unwrap();
        let error = write(OpenFolder::parent_of_target(&all.join("loop")), "").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn another_user_s_link_is_not_followed_from_a_folder_where_anybody_may_write() {
        let (folder, all) = folder_for_all();
        let victim = folder.path().join("victim");
        symlink(&victim, all.join("x")).unwrap();
        symlink(folder.path(), all.join("d")).unwrap();
        if !give_away(&all.join("x")) || !give_away(&all.join("d")) {
            return;
        }
        for path in [all.join("x"), all.join("d/victim"), all.join("d/new/er")] {
            let error = write(OpenFolder::parent_of_target(&path), "new").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path:?}: {error}");
        }
        assert!(OpenFolder::make(&all.join("d/new")).is_err());
        assert_eq!((read(&victim), folder.path().join("new").exists()), ("old".to_owned(), false));
        // The kernel's rule: the folder's owner may have links there, and each who may write in a
        // folder that is not for all.
        lchown(&all, Some(ANOTHER), None).unwrap();
        write(OpenFolder::parent_of_target(&all.join("x")), "new").unwrap();
        lchown(&all, Some(0), None).unwrap();
        std::fs::set_permissions(&all, Permissions::from_mode(0o755)).unwrap();
        write(OpenFolder::parent_of_target(&all.join("d/victim")), "newer").unwrap();
        assert_eq!(read(&victim), "newer");
    }

    #[test]
    fn another_user_s_file_is_not_replaced_in_a_folder_where_anybody_may_write() {
        let (_folder, all) = folder_for_all();
        std::fs::write(all.join("theirs"), "old").unwrap();
        if !give_away(&all.join("theirs")) {
            return;
        }
        for place in [OpenFolder::parent_of, OpenFolder::parent_of_target] {
            let error = write(place(&all.join("theirs")), "new").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        }
        assert_eq!(read(all.join("theirs")), "old");
        assert_eq!(std::fs::read_dir(&all).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn no_part_of_an_inner_path_is_a_link_or_leads_out() {
        let (folder, all) = folder_for_all();
        let open = OpenFolder::open(&all).unwrap();
        write(open.inner(Path::new("day/run.json")), "run").unwrap();
        assert_eq!(read(all.join("day/run.json")), "run");
        symlink(folder.path(), all.join("link")).unwrap();
        for path in ["link/victim", "../victim", "/victim", ".."] {
            assert!(write(open.inner(Path::new(path)), "new").is_err(), "{path}");
        }
        assert_eq!(read(folder.path().join("victim")), "old");
    }

    #[test]
    fn an_older_file_stays_until_the_new_one_is_whole_and_its_mode_is_kept_without_rights() {
        let (_folder, all) = folder_for_all();
        let (open, name) = (OpenFolder::open(&all).unwrap(), OsStr::new("x"));
        std::fs::write(all.join("x"), "old").unwrap();
        std::fs::set_permissions(all.join("x"), Permissions::from_mode(0o4604)).unwrap();
        let failed =
            open.replace(name, |file| file.write_all(b"n").and(Err(ErrorKind::Other.into())));
        assert!(failed.is_err());
        assert_eq!(
            (read(all.join("x")), std::fs::read_dir(&all).unwrap().count()),
            ("old".into(), 1)
        );
        open.replace(name, |file| file.write_all(b"new")).unwrap();
        assert_eq!(all.join("x").metadata().unwrap().mode() & 0o7777, 0o604);
        let mut text = String::new();
        open.open_file(name, false).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "new");
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let (_folder, all) = folder_for_all();
        let open = OpenFolder::open(&all).unwrap();
        rustix::fs::mkfifoat(CWD, all.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
        symlink("../victim", all.join("link")).unwrap();
        for name in ["fifo", "link", "none"] {
            for write in [false, true] {
                assert!(open.open_file(OsStr::new(name), write).is_err(), "{name}");
            }
        }
        assert!(OpenFolder::parent_of_target(Path::new("/")).is_err());
    }
}
