//! CPU time of everything that runs on this machine, by the clocks of the top-level cgroups.
//!
//! A cgroup's `usage_usec` is the sum of the clocks of its tasks, ended ones included, and
//! everybody may read it (Documentation/admin-guide/cgroup-v2.rst, "CPU"). The top itself has tick
//! counts in that file, so that what runs there, as kernel threads do, is not in the sum. A task
//! that is running has what it used until its CPU's last tick.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The cgroups directly below the top.
#[derive(Debug)]
pub struct TopCgroups {
    top: PathBuf,
    /// Their `cpu.stat`.
    files: Vec<File>,
    /// Links to the top's folder, one for each folder in it.
    links: u64,
}

impl TopCgroups {
    /// Opens them. `None` where cgroups of version 2 are not mounted, where their top is that of a
    /// container, and where this process is at the top, as its peers may be.
    pub fn open() -> Option<Self> {
        Self::open_below(Path::new("/"))
    }

    fn open_below(root: &Path) -> Option<Self> {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let own = read("proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
        let mountinfo = read("proc/self/mountinfo")?;
        let top = root.join(mountinfo.lines().find_map(mounted_top)?);
        // Every cgroup but the top of the machine has it.
        if own == "/" || top.join("cgroup.events").exists() {
            return None;
        }
        let mut cgroups = Self { top, files: Vec::new(), links: 0 };
        cgroups.find()?;
        (!cgroups.files.is_empty()).then_some(cgroups)
    }

    /// CPU time of all of them so far. `None` when one cannot be read, or was removed with what it
    /// had counted.
    pub fn cpu_ns(&mut self) -> Option<u64> {
        let links = std::fs::metadata(&self.top).ok()?.nlink();
        let is_same = links == self.links;
        let total = self.total_ns().filter(|_| is_same);
        if total.is_some() {
            return total;
        }
        let had = self.links;
        self.find()?;
        if links > had { self.total_ns() } else { None }
    }

    fn find(&mut self) -> Option<()> {
        self.links = std::fs::metadata(&self.top).ok()?.nlink();
        let folders = std::fs::read_dir(&self.top).ok()?.flatten();
        let files = folders.filter_map(|folder| File::open(folder.path().join("cpu.stat")).ok());
        self.files = files.collect();
        Some(())
    }

    fn total_ns(&self) -> Option<u64> {
        self.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(usage_ns(file)?))
    }
}

/// The place of the top of the cgroups of version 2, from a line of proc_pid_mountinfo(5):
/// `36 25 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw`.
fn mounted_top(line: &str) -> Option<&str> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (folder, place) = (mount.next()?, mount.next()?);
    (folder == "/" && kind.starts_with("cgroup2 ")).then(|| place.trim_start_matches('/'))
}

/// The first line of `cpu.stat` is `usage_usec 123456`.
fn usage_ns(file: &File) -> Option<u64> {
    let mut text = [0; 64];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = str::from_utf8(&text[..length]).ok()?;
    text.lines().next()?.strip_prefix("usage_usec ")?.parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    const MOUNT: (&str, &str) =
        ("proc/self/mountinfo", "36 25 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    const OWN: (&str, &str) = ("proc/self/cgroup", "0::/user.slice/session-1.scope\n");
    const SYSTEM: (&str, &str) =
        ("sys/fs/cgroup/system.slice/cpu.stat", "usage_usec 1200\nuser_usec 700\n");
    const USER: (&str, &str) =
        ("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 34\nuser_usec 30\n");

    #[test]
    fn the_clocks_of_all_top_level_cgroups_are_added_up() {
        let machine = root(&[MOUNT, OWN, SYSTEM, USER]);
        let mut cgroups = TopCgroups::open_below(machine.path()).unwrap();
        assert_eq!(cgroups.cpu_ns(), Some(1_234_000));
        let top = machine.path().join("sys/fs/cgroup");
        std::fs::write(top.join("user.slice/cpu.stat"), "usage_usec 35\n").unwrap();
        assert_eq!(cgroups.cpu_ns(), Some(1_235_000));
        // What is new counts from nothing; what is gone takes its count along.
        std::fs::create_dir(top.join("machine.slice")).unwrap();
        std::fs::write(top.join("machine.slice/cpu.stat"), "usage_usec 5\n").unwrap();
        assert_eq!(cgroups.cpu_ns(), Some(1_240_000));
        std::fs::remove_dir_all(top.join("machine.slice")).unwrap();
        assert_eq!(cgroups.cpu_ns(), None);
        assert_eq!(cgroups.cpu_ns(), Some(1_235_000));
    }

    #[test]
    fn where_they_do_not_hold_all_programs_they_are_not_used() {
        let is_open = |files: &[(&str, &str)]| TopCgroups::open_below(root(files).path()).is_some();
        assert!(is_open(&[MOUNT, OWN, SYSTEM]));
        assert!(!is_open(&[MOUNT, OWN]), "no cgroup");
        assert!(!is_open(&[OWN, SYSTEM]), "not mounted");
        assert!(!is_open(&[MOUNT, ("proc/self/cgroup", "0::/\n"), SYSTEM]), "all at the top");
        let container = ("sys/fs/cgroup/cgroup.events", "populated 1\n");
        assert!(!is_open(&[MOUNT, OWN, SYSTEM, container]), "a container's top");
        let part = ("proc/self/mountinfo", "36 25 0:31 /docker /sys/fs/cgroup rw - cgroup2 a rw\n");
        assert!(!is_open(&[part, OWN, SYSTEM]), "a part of them");
        let version_1 = ("proc/self/cgroup", "4:cpu:/some\n");
        assert!(!is_open(&[MOUNT, version_1, SYSTEM]), "version 1");
    }
}
