//! Symbolic links that give the program the names of the tools of 2001.

use std::path::{Path, PathBuf};

use super::tool::Tool;
use zc_kernel::open_folder::OpenFolder;
use zc_run::{Error, ErrorKind, Result};

/// The link of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The path of the link.
    pub link: PathBuf,
    /// The program that it leads to.
    pub program: PathBuf,
    /// Whether it existed already and led to this program.
    pub was_there: bool,
}

/// Makes a symbolic link to this program in `folder` for each name: those of the tools, and
/// `ttcp-sf`. Nothing is overwritten: all names are checked before the first link is made.
///
/// # Errors
/// A name is taken by something else, or the folder cannot be written.
pub fn install(folder: &Path) -> Result<Vec<Installed>> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize).map_err(|error| {
        Error::os("find the file of this program", error)
            .help("was it removed or rebuilt while it was running?")
    })?;
    if !folder.is_dir() {
        return Err(Error::output(
            "no-such-folder",
            format!("there is no folder \"{}\"", folder.display()),
        )
        .help("create it first, and add it to the PATH"));
    }
    let names = Tool::ALL.into_iter().map(Tool::name).chain(["ttcp-sf"]);
    let planned: Vec<Installed> =
        names.map(|name| look(folder.join(name), &program)).collect::<Result<_>>()?;
    for one in planned.iter().filter(|one| !one.was_there) {
        OpenFolder::parent_of(&one.link)
            .and_then(|(folder, name)| folder.symlink(&one.program, &name))
            .map_err(|error| {
                Error::os(format!("make the link \"{}\"", one.link.display()), error)
                    .id("cannot-create-file")
                    .kind(ErrorKind::Output)
                    .help("choose a folder that may be written")
            })?;
    }
    Ok(planned)
}

fn look(link: PathBuf, program: &Path) -> Result<Installed> {
    let was_there = link.symlink_metadata().is_ok();
    if was_there && !std::fs::canonicalize(&link).is_ok_and(|target| target == program) {
        return Err(Error::output(
            "file-exists",
            format!("\"{}\" exists, and zc does not write over anything", link.display()),
        )
        .help("move it away, or choose another folder"));
    }
    Ok(Installed { link, program: program.to_owned(), was_there })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_made_once_and_nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let first = install(folder.path()).unwrap();
        assert_eq!(first.len(), 6);
        assert!(
            first
                .iter()
                .all(|one| !one.was_there && one.link.canonicalize().unwrap() == one.program)
        );
        assert!(install(folder.path()).unwrap().iter().all(|one| one.was_there));

        let zcc = folder.path().join("zcc");
        std::fs::remove_file(&zcc).unwrap();
        std::fs::remove_file(folder.path().join("zcs")).unwrap();
        std::fs::write(&zcc, b"mine").unwrap();
        let error = install(folder.path()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Output);
        assert!(!folder.path().join("zcs").exists(), "all names are checked before a link is made");
        assert_eq!(std::fs::read(&zcc).unwrap(), b"mine");
        assert!(install(&zcc).is_err());
    }
}
