//! Finds the rates of earlier runs in the folder of a new one, so that the new one can be compared
//! with them. Only headers are read, of regular files that belong to this user.

use std::cmp::Reverse;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::OFlags;
use zc_measure::session::{EarlierRates, is_stdout};

use super::{archive, like};

/// Files of the folder that are looked at, the newest first.
const MOST_FILES: usize = 64;

/// Entries of the folder beyond which it is taken for something else than a folder of runs.
const MOST_ENTRIES: usize = 10_000;

/// Earlier runs of an experiment on this host, in the folder in which `out` will be, whose rates zc
/// chose; the newest first. Files that cannot be read are skipped.
pub(super) fn rates(out: &Path, experiment: &str) -> Vec<EarlierRates> {
    if is_stdout(out) {
        return Vec::new();
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = folder.unwrap_or(Path::new(".")).read_dir() else { return Vec::new() };
    let is_run = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        archive::stem(&name) != name
    };
    let mut files: Vec<(SystemTime, String, File)> = Vec::new();
    for path in entries.take(MOST_ENTRIES).flatten().map(|entry| entry.path()) {
        if is_run(&path)
            && let Some((written, file)) = own(&path)
            && let Some(name) = path.file_name()
        {
            files.push((written, name.to_string_lossy().into_owned(), file));
            files.sort_by_key(|(written, ..)| Reverse(*written));
            files.truncate(MOST_FILES);
        }
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let of_file = |(_, name, file): (SystemTime, String, File)| {
        let header = zc_run::header(file).ok()?;
        let is_like = header.plan.experiment == experiment
            && header.host.hostname == host
            && header.plan.fixed.rate_chosen;
        let rates = like::rates(&header);
        is_like.then_some(EarlierRates { file: name, link: header.link.kind, rates })
    };
    files.into_iter().filter_map(of_file).collect()
}

/// Opens a regular file that belongs to this user, and says when it was written.
fn own(path: &Path) -> Option<(SystemTime, File)> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    (metadata.is_file() && is_own).then_some(())?;
    Some((metadata.modified().ok()?, file))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use zc_run::Run;
    use zc_testkit::synthetic::Synthetic;

    /// Saves a run of this host whose rate zc chose, but for what `change` makes of it; each is
    /// newer than the one before.
    fn save(folder: &Path, name: &str, age: u64, change: impl FnOnce(&mut Run)) {
        let mut run = Synthetic { blocks: 1, ..Synthetic::default() }.run();
        run.header.plan.experiment = "paths".to_owned();
        run.header.host.hostname =
            rustix::system::uname().nodename().to_string_lossy().into_owned();
        run.header.plan.fixed.rate_chosen = true;
        change(&mut run);
        let path = folder.join(name);
        std::fs::write(&path, zc_run::run_lines(&run)).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }

    #[test]
    fn rates_that_zc_chose_on_this_host_are_found_the_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), "old.json", 60, |_| ());
        save(folder.path(), "new.json", 10, |run| run.header.plan.fixed.rate_bytes_per_s = 7e6);
        save(folder.path(), "of-another-host.json", 5, |run| {
            run.header.host.hostname.push('x');
        });
        save(folder.path(), "given.json", 4, |run| run.header.plan.fixed.rate_chosen = false);
        save(folder.path(), "sizes.json", 3, |run| {
            run.header.plan.experiment = "sizes".to_owned();
        });
        save(folder.path(), "run.txt", 2, |_| ());
        std::fs::write(folder.path().join("no-run.json"), "{\"zc_run\":4}").unwrap();
        std::os::unix::fs::symlink("new.json", folder.path().join("link.json")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            folder.path().join("fifo.json"),
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        )
        .unwrap();
        let found = rates(&folder.path().join("out.json"), "paths");
        let files: Vec<&str> = found.iter().map(|run| run.file.as_str()).collect();
        assert_eq!(files, ["new.json", "old.json"]);
        assert!(found[0].rates.values().all(|rate| *rate == 7e6), "{found:?}");
        assert!(rates(Path::new("-"), "paths").is_empty());
        assert!(rates(Path::new("/nonexistent/out.json"), "paths").is_empty());
    }
}
