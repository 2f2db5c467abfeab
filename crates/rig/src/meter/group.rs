//! Scheduling groups: how a process of soakers ranks below the threads of other sessions and
//! cgroups.
//!
//! SCHED_IDLE and nice values rank a thread only inside its own group; between groups the groups'
//! weights decide (sched(7), "The autogroup feature"; `cpu.idle` in
//! Documentation/admin-guide/cgroup-v2.rst). So the group itself has to be lowered. The best is a
//! cgroup with `cpu.idle` directly under the top of the hierarchy, which takes the right to create
//! one. The next best is a session of its own, whose autogroup any user may lower to nice 19.
//!
//! The cgroup always has the same name. So two zc share it, and one that was left behind (by a
//! SIGKILL of the process in it) is used and removed by the next zc.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zc_kernel::spawn;
use zc_run::{Error, Result, SoakerRank};

/// Name of the soakers' cgroup.
const SOAKERS: &str = "zc-soakers";
/// Name of the competing process's cgroup.
const COMPETITORS: &str = "zc-competitors";
/// The file of a group by which single threads are moved into it. Only version 1 of the cgroups has
/// it (Documentation/admin-guide/cgroup-v1/cgroups.rst).
const TASKS: &str = "tasks";
/// Attempts when another zc removes the folder at the same moment, or when the kernel says that the
/// nice value of an autogroup was set less than 100 ms ago.
const TRIES: u32 = 5;

/// The group of this process. When dropped, the process goes back to the group it came from.
#[derive(Debug)]
pub(super) struct Group {
    moved: Option<Moved>,
    rank: SoakerRank,
}

#[derive(Debug)]
struct Moved {
    place: Place,
    into: PathBuf,
    /// Whether the process as a whole is in the group, and not only the threads that it took in.
    whole: bool,
}

impl Group {
    /// Ranks this process, which must not have other threads yet, below all others as far as this
    /// user may. Where threads can be moved one by one, only those rank there that are
    /// [taken in](Self::take_in): this one has to answer, and would wait for its CPU for seconds.
    pub(super) fn lowest() -> Self {
        leave_session();
        let texts = Texts::read();
        if let Some(moved) = texts.places().iter().find_map(|place| place.enter(SOAKERS, true)) {
            let rank = SoakerRank::Cgroup { path: moved.into.display().to_string() };
            return Self { moved: Some(moved), rank };
        }
        let rank = match lower_autogroup() {
            Ok(()) if texts.in_top_group() => SoakerRank::Autogroup,
            Ok(()) => SoakerRank::Class {
                reason:
                    "this process is in a cgroup with the cpu controller, where autogroups do not \
                     count, and may not make one with cpu.idle"
                        .to_owned(),
            },
            Err(reason) => SoakerRank::Class { reason },
        };
        Self { moved: None, rank }
    }

    /// Puts this process into a session of its own and, if this user may, a cgroup of its own, at
    /// normal weight. The second value says whether it is in such a cgroup.
    pub(super) fn competitor() -> (Self, bool) {
        leave_session();
        let moved = Texts::read().places().iter().find_map(|place| place.enter(COMPETITORS, false));
        let other_cgroup = moved.is_some();
        (Self { moved, rank: SoakerRank::Autogroup }, other_cgroup)
    }

    /// Its rank among other processes.
    pub(super) fn rank(&self) -> &SoakerRank {
        &self.rank
    }

    /// Puts a thread of this process into the group, if it is not there with all others.
    ///
    /// # Errors
    /// It may not be moved.
    pub(super) fn take_in(&self, tid: i32) -> Result<()> {
        let Some(Moved { place, into, whole: false }) = &self.moved else { return Ok(()) };
        place
            .fill(into, true, |into| write_existing(&into.join(TASKS), &tid.to_string()))
            .map_err(|error| Error::os("put a soaker into a cgroup of its own", error))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(moved) = &self.moved {
            // Returns to the previous group and removes the folder. That fails with EBUSY when
            // another zc is in it, which will remove it.
            drop(fs::write(moved.place.own.join("cgroup.procs"), "0"));
            drop(fs::remove_dir(&moved.into));
        }
    }
}

/// Moves another process into the group that this one is in, if this user may, so that it ends at
/// once: in a group below all others it may wait for seconds until it hears that it should.
pub(super) fn lift(pid: i32) {
    if let Some((_, own)) = Texts::read().hierarchy() {
        drop(write_existing(&own.join("cgroup.procs"), &pid.to_string()));
    }
}

/// Starts a session. A child that has just been created leads no process group, so this cannot
/// fail; if it does, the probe of what the soakers take shows it.
fn leave_session() {
    drop(spawn::new_session());
}

fn lower_autogroup() -> std::result::Result<(), String> {
    let enabled =
        fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").unwrap_or_default();
    if enabled.trim() != "1" {
        return Err("this kernel has no autogroups, or they are switched off".to_owned());
    }
    for _ in 0..TRIES {
        match fs::write("/proc/self/autogroup", "19") {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(100))
            }
            other => {
                return other.map_err(|error| {
                    format!("the nice value of its autogroup cannot be set: {error}")
                });
            }
        }
    }
    Err("the nice value of its autogroup cannot be set: another process keeps setting it"
        .to_owned())
}

/// The two files that show where cgroups are.
struct Texts {
    mountinfo: String,
    cgroup: String,
}

/// A folder in which a cgroup may be created, and the folder of the cgroup that this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    parent: PathBuf,
    own: PathBuf,
}

impl Texts {
    fn read() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self { mountinfo: read("/proc/self/mountinfo"), cgroup: read("/proc/self/cgroup") }
    }

    /// Places to create a group in: under the top of the hierarchy, otherwise under this process's
    /// own group.
    fn places(&self) -> Vec<Place> {
        let Some((top, own)) = self.hierarchy() else { return Vec::new() };
        let mut places = vec![Place { parent: top.clone(), own: own.clone() }];
        if own != top {
            places.push(Place { parent: own.clone(), own });
        }
        places
    }

    /// Whether this process is in the top group of the hierarchy that has the cpu controller:
    /// autogroups count only there.
    fn in_top_group(&self) -> bool {
        match self.hierarchy() {
            // In a cgroup namespace the visible top may not be the real one, which has no weight.
            Some((top, own)) => own == top && !top.join("cpu.weight").exists(),
            None => true,
        }
    }

    /// The mount point of the hierarchy with the cpu controller, and the folder of this process's
    /// group in it.
    fn hierarchy(&self) -> Option<(PathBuf, PathBuf)> {
        let v1 = |options: &str| options.split(',').any(|option| option == "cpu");
        let (mount, group) = match self.mount("cgroup", v1) {
            Some(mount) => (mount, self.own(v1)?),
            None => (self.mount("cgroup2", |_| true)?, self.own(str::is_empty)?),
        };
        let mount = PathBuf::from(mount);
        let own = mount.join(group.trim_start_matches('/'));
        Some((mount, own))
    }

    /// proc_pid_mountinfo(5): `36 25 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu`.
    fn mount(&self, kind: &str, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        self.mountinfo.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let found = after.next()? == kind && wanted(after.nth(1)?);
            found.then(|| before.split(' ').nth(4)).flatten()
        })
    }

    /// cgroups(7): `4:cpu,cpuacct:/some/group`, and `0::/some/group` for version 2.
    fn own(&self, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        self.cgroup.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            wanted(parts.next()?).then(|| parts.next()).flatten()
        })
    }
}

impl Place {
    /// Creates the group `name` here and moves this process into it, unless it is to be `idle` and
    /// can take in single threads. `None` when this user may not, or when the group has no
    /// `cpu.idle` and `idle` is wanted; nothing is left behind then.
    fn enter(&self, name: &str, idle: bool) -> Option<Moved> {
        let into = self.parent.join(name);
        let mut whole = true;
        let entered = self.fill(&into, idle, |into| {
            whole = !(idle && into.join(TASKS).exists());
            if whole { write_existing(&into.join("cgroup.procs"), "0") } else { Ok(()) }
        });
        if entered.is_err() {
            drop(fs::remove_dir(&into));
            return None;
        }
        Some(Moved { place: self.clone(), into, whole })
    }

    /// Creates the group if it is not there, and lets `put` move something into it. Another zc may
    /// remove the folder after its creation and before the move: then it begins again.
    fn fill(
        &self,
        into: &Path,
        idle: bool,
        mut put: impl FnMut(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        for _ in 1..TRIES {
            match self.create(into, idle).and_then(|()| put(into)) {
                Err(error) if is_gone(&error) && self.parent.exists() => {}
                done => return done,
            }
        }
        self.create(into, idle).and_then(|()| put(into))
    }

    fn create(&self, into: &Path, idle: bool) -> io::Result<()> {
        match fs::create_dir(into) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !into.join("cpu.idle").exists() {
            // No cpu controller for children of this group. Enabling it would change the host for
            // others.
            return Err(io::ErrorKind::Unsupported.into());
        }
        if idle { write_existing(&into.join("cpu.idle"), "1") } else { Ok(()) }
    }
}

/// Whether a folder of cgroups was removed: before one of its files was opened (ENOENT), or between
/// that and writing to it (ENODEV).
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

/// Unlike `fs::write`, does not try to create a missing file.
fn write_existing(path: &Path, text: &str) -> io::Result<()> {
    io::Write::write_all(&mut fs::OpenOptions::new().write(true).open(path)?, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(mountinfo: &str, cgroup: &str) -> Texts {
        Texts { mountinfo: mountinfo.to_owned(), cgroup: cgroup.to_owned() }
    }

    const V1: &str = "\
24 1 0:22 / /proc rw shared:1 - proc proc rw
30 29 0:26 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
31 29 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
40 29 0:35 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const V2: &str =
        "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn cgroup_v1_is_used_where_it_has_the_cpu_controller() {
        let top = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct");
        let texts = texts(V1, "5:memory:/m\n3:cpu,cpuacct:/a/b\n2:cpuset:/\n0::/u\n");
        let own = top.join("a/b");
        let places = [
            Place { parent: top.clone(), own: own.clone() },
            Place { parent: own.clone(), own: own.clone() },
        ];
        assert_eq!(texts.places(), places);
        assert!(!texts.in_top_group());
    }

    #[test]
    fn cgroup_v2_is_used_where_v1_is_not() {
        let texts = texts(V2, "0::/user.slice/user-1000.slice/session-3.scope\n");
        assert_eq!(texts.places()[0].parent, Path::new("/sys/fs/cgroup"));
        assert_eq!(
            texts.places()[1].parent,
            Path::new("/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope")
        );
    }

    #[test]
    fn a_process_in_the_top_group_has_one_place() {
        assert_eq!(texts(V1, "1:cpu,cpuacct:/\n").places().len(), 1);
    }

    #[test]
    fn without_cgroups_there_is_no_place() {
        for (mountinfo, cgroup) in
            [("", ""), (V1, ""), ("", "0::/\n"), ("rubbish\n - \n", ":\n::\n")]
        {
            assert_eq!(texts(mountinfo, cgroup).places(), []);
        }
        assert!(texts("", "").in_top_group());
    }

    #[test]
    fn a_folder_that_is_no_cgroup_is_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { parent: folder.path().to_owned(), own: folder.path().to_owned() };
        assert!(place.enter(SOAKERS, true).is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere =
            Place { parent: folder.path().join("not there"), own: folder.path().to_owned() };
        assert!(nowhere.enter(SOAKERS, true).is_none());
    }

    #[test]
    fn a_group_that_another_zc_removes_meanwhile_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { parent: folder.path().to_owned(), own: folder.path().to_owned() };
        let into = folder.path().join(SOAKERS);
        fs::create_dir(&into).unwrap();
        fs::write(into.join("cpu.idle"), "").unwrap();
        for gone in [rustix::io::Errno::NOENT, rustix::io::Errno::NODEV] {
            let mut tries = 0;
            let put = |_: &Path| {
                tries += 1;
                if tries < 3 { Err(gone.into()) } else { Ok(()) }
            };
            place.fill(&into, true, put).unwrap();
            assert_eq!(tries, 3);
        }
        let denied = |_: &Path| Err(rustix::io::Errno::PERM.into());
        assert!(place.fill(&into, true, denied).is_err());
    }
}
