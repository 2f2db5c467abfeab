//! The memory that is available: what the machine has without swapping, and what the memory cgroups
//! above this process leave of their limits, beyond which the kernel kills.
//!
//! # References
//! Documentation/filesystems/proc.rst (`MemAvailable`, `/proc/PID/mountinfo`), cgroups(7),
//! Documentation/admin-guide/cgroup-v2.rst, Documentation/admin-guide/cgroup-v1/memory.rst.

use std::path::{Path, PathBuf};

use zc_run::{Error, Result};

/// Memory that a run needs at least: the generated files, their resident copy, the buffers of
/// sockets and rings. A run with all paths was killed by the kernel in a cgroup of 96 MiB and ran
/// in one of 128.
const NEEDED_BYTES: u64 = 100 << 20;

/// Checks that this process has memory for a run, before the kernel kills it in the middle.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): it has not.
pub fn check_enough(available: Option<u64>) -> Result<()> {
    let Some(left) = available.filter(|left| *left < NEEDED_BYTES) else { return Ok(()) };
    Err(Error::unsupported(
        "too-little-memory",
        format!(
            "a run needs {} MiB of memory, and {} are left for it on this machine or in its cgroup",
            NEEDED_BYTES >> 20,
            left >> 20
        ),
    )
    .help("give its cgroup more: systemd-run -p MemoryMax=256M, or docker run --memory 256m"))
}

/// Bytes that are available to this process; `None` if unknown.
pub fn available_bytes() -> Option<u64> {
    available_below(Path::new("/"))
}

/// The same, read from `proc` and the cgroup mounts below `root`: the smaller of `MemAvailable` and
/// what the cgroups leave.
pub fn available_below(root: &Path) -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let machine = read("proc/meminfo").and_then(|meminfo| meminfo_bytes(&meminfo, "MemAvailable"));
    let cgroups = cgroups(root).into_iter().filter_map(|(version, folder)| left(version, &folder));
    machine.into_iter().chain(cgroups).min()
}

/// The lowest limit of the memory cgroups above this process, read below `root`; `None` if no
/// cgroup has one that is below the machine's memory.
pub fn cgroup_limit_below(root: &Path) -> Option<u64> {
    let machine = std::fs::read_to_string(root.join("proc/meminfo")).ok();
    let all = machine.and_then(|meminfo| meminfo_bytes(&meminfo, "MemTotal")).unwrap_or(u64::MAX);
    let limits = cgroups(root).into_iter().filter_map(|(version, folder)| limit(version, &folder));
    limits.min().filter(|limit| *limit < all)
}

/// The folder of this process's cgroup of version 2, read below `root`; `None` where none is
/// mounted.
pub fn cgroup2_below(root: &Path) -> Option<PathBuf> {
    let own = cgroups(root).into_iter().find(|(version, _)| *version == Version::V2);
    own.map(|(_, folder)| folder)
}

/// The folders of the memory cgroups that this process is charged to.
fn cgroups(root: &Path) -> Vec<(Version, PathBuf)> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    match (read("proc/self/cgroup"), read("proc/self/mountinfo")) {
        (Some(cgroup), Some(mountinfo)) => levels(&cgroup, &mountinfo)
            .into_iter()
            .map(|(version, folder)| (version, root.join(folder)))
            .collect(),
        _ => Vec::new(),
    }
}

/// A line of /proc/meminfo, such as `MemTotal`, in bytes.
pub fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The two interfaces of the memory controller. If both are mounted, one of them has no files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The folders of the memory cgroups that this process is charged to, from its own up to the mount,
/// as paths without the leading slash.
fn levels(cgroup: &str, mountinfo: &str) -> Vec<(Version, PathBuf)> {
    let mut levels = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let version = match controllers {
            "" => Version::V2,
            names if names.split(',').any(|name| name == "memory") => Version::V1,
            _ => continue,
        };
        let mounts: Vec<Mount<'_>> =
            mountinfo.lines().filter_map(|line| Mount::parse(line, version)).collect();
        // The mount that the cgroup is below. A cgroup outside of the cgroup namespace is below
        // none: then only the limits from the top of the mount are visible.
        let below = mounts.iter().find_map(|mount| Some((mount, mount.relative(path)?)));
        let Some((mount, relative)) = below.or_else(|| Some((mounts.first()?, Path::new(""))))
        else {
            continue;
        };
        let top = mount.point.trim_start_matches('/');
        levels.extend(relative.ancestors().map(|level| (version, Path::new(top).join(level))));
    }
    levels
}

/// A mounted hierarchy of cgroups.
struct Mount<'a> {
    /// The cgroup that is at the mount point.
    root: &'a str,
    point: &'a str,
}

impl<'a> Mount<'a> {
    /// Parses a line of mountinfo. `None` if it is not a mount of the memory controller with this
    /// interface.
    fn parse(line: &'a str, version: Version) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut kind = kind.split(' ');
        let (kind, options) = (kind.next()?, kind.nth(1)?);
        let ours = match version {
            Version::V1 => kind == "cgroup" && options.split(',').any(|option| option == "memory"),
            Version::V2 => kind == "cgroup2",
        };
        ours.then_some(Self { root, point })
    }

    /// The place of the cgroup `path` below this mount.
    fn relative(&self, path: &'a str) -> Option<&'a Path> {
        let relative = Path::new(path).strip_prefix(self.root).ok()?;
        relative
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)))
            .then_some(relative)
    }
}

/// Bytes left of a cgroup's limit. Memory charged to it is used, except for inactive page cache,
/// which the kernel reclaims first. `None` if there is no limit.
fn left(version: Version, folder: &Path) -> Option<u64> {
    let limit = limit(version, folder)?;
    let (usage, inactive) = match version {
        Version::V1 => (bytes(folder, "memory.usage_in_bytes"), "total_inactive_file"),
        Version::V2 => (bytes(folder, "memory.current"), "inactive_file"),
    };
    let inactive = std::fs::read_to_string(folder.join("memory.stat")).ok().and_then(|stat| {
        let mut fields = stat.lines().filter_map(|line| line.split_once(' '));
        fields.find(|(name, _)| *name == inactive)?.1.trim().parse::<u64>().ok()
    });
    Some(limit.saturating_sub(usage.unwrap_or(0).saturating_sub(inactive.unwrap_or(0))))
}

fn limit(version: Version, folder: &Path) -> Option<u64> {
    match version {
        Version::V1 => bytes(folder, "memory.limit_in_bytes"),
        // Above memory.high nothing is killed, but everything is throttled, so it counts as a
        // limit.
        Version::V2 => {
            let limits = [bytes(folder, "memory.max"), bytes(folder, "memory.high")];
            limits.into_iter().flatten().min()
        }
    }
}

/// The number in a cgroup's file. "max", which is no limit, is none.
fn bytes(folder: &Path, name: &str) -> Option<u64> {
    std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const MEMINFO: &str =
        "MemTotal:        8127984 kB\nMemFree:          123456 kB\nMemAvailable:    6291456 kB\n";
    const V1: &str =
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";
    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n";

    /// Available bytes on a machine with these files.
    fn available(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        available_below(root.path())
    }

    #[test]
    fn the_line_is_found_and_its_unit_is_kib() {
        assert_eq!(available(&[("proc/meminfo", MEMINFO)]), Some(6 << 30));
        assert_eq!(available(&[("proc/meminfo", "MemTotal: 1 kB\n")]), None);
        assert_eq!(available(&[("proc/meminfo", "MemAvailable: lots kB\n")]), None);
        assert_eq!(available(&[]), None);
    }

    #[test]
    fn a_limit_of_version_2_counts_at_every_level_above_the_process() {
        let with = |own: &str, above: &str| {
            available(&[
                ("proc/meminfo", MEMINFO),
                ("proc/self/cgroup", "0::/jobs/one/step\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/jobs/one/step/memory.max", own),
                ("sys/fs/cgroup/jobs/one/memory.max", "max\n"),
                ("sys/fs/cgroup/jobs/memory.max", above),
            ])
        };
        assert_eq!(with("max\n", "max\n"), Some(6 << 30));
        assert_eq!(with("67108864\n", "max\n"), Some(64 * MIB));
        assert_eq!(with("1073741824\n", "268435456\n"), Some(256 * MIB));
        // More than the machine has is no limit.
        assert_eq!(with("99999999999999\n", "max\n"), Some(6 << 30));
    }

    #[test]
    fn charged_memory_is_not_available_except_idle_page_cache() {
        let files = |charged, stat| {
            available(&[
                ("proc/self/cgroup", "0::/one\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/one/memory.max", "104857600\n"),
                ("sys/fs/cgroup/one/memory.current", charged),
                ("sys/fs/cgroup/one/memory.stat", stat),
            ])
        };
        assert_eq!(files("62914560\n", ""), Some(40 * MIB));
        assert_eq!(
            files("62914560\n", "anon 1\nfile 9\ninactive_file 31457280\nactive_file 5\n"),
            Some(70 * MIB)
        );
        assert_eq!(files("209715200\n", "anon 1\n"), Some(0));
    }

    #[test]
    fn the_throttling_level_is_a_limit_too() {
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/memory.max", "104857600\n"),
            ("sys/fs/cgroup/memory.high", "52428800\n"),
        ];
        assert_eq!(available(&files), Some(50 * MIB));
    }

    #[test]
    fn a_limit_of_version_1_counts_at_every_level_above_the_process() {
        let mountinfo = format!("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n{V1}");
        let with = |own: &str, above: &str| {
            available(&[
                ("proc/meminfo", MEMINFO),
                ("proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/jobs/one\n0::/\n"),
                ("proc/self/mountinfo", &mountinfo),
                ("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", own),
                ("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "20971520\n"),
                (
                    "sys/fs/cgroup/memory/jobs/one/memory.stat",
                    "inactive_file 0\ntotal_inactive_file 10485760\n",
                ),
                ("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", above),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ])
        };
        assert_eq!(with("9223372036854771712\n", "9223372036854771712\n"), Some(6 << 30));
        assert_eq!(with("1073741824\n", "9223372036854771712\n"), Some(1014 * MIB));
        assert_eq!(with("1073741824\n", "536870912\n"), Some(512 * MIB));
    }

    #[test]
    fn in_a_container_the_mount_is_the_container_s_own_cgroup() {
        // Version 1 without a cgroup namespace: the mount shows a part of the hierarchy, whose name
        // is that of the host.
        let bound = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let files = |cgroup, limit| {
            available(&[
                ("proc/self/cgroup", cgroup),
                ("proc/self/mountinfo", bound),
                (limit, "104857600\n"),
                // A cgroup of the same name below the container's own is none of its parents.
                ("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "1\n"),
            ])
        };
        let (top, below) = (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "sys/fs/cgroup/memory/x/memory.limit_in_bytes",
        );
        assert_eq!(files("4:memory:/docker/abc\n", top), Some(100 * MIB));
        assert_eq!(files("4:memory:/docker/abc/x\n", below), Some(100 * MIB));
        // A process that was put into the namespace from outside.
        assert_eq!(files("4:memory:/../def\n", top), Some(100 * MIB));
        assert_eq!(files("4:memory:/other\n", top), Some(100 * MIB));
    }

    #[test]
    fn without_a_memory_controller_the_machine_is_the_limit() {
        for (cgroup, mountinfo) in
            [("0::/one\n", ""), ("4:cpu:/one\n", V1), ("", V2), ("nonsense\n::\n", "a - b\n - \n")]
        {
            let files = [
                ("proc/meminfo", MEMINFO),
                ("proc/self/cgroup", cgroup),
                ("proc/self/mountinfo", mountinfo),
            ];
            assert_eq!(available(&files), Some(6 << 30), "{cgroup:?} {mountinfo:?}");
        }
    }

    #[test]
    fn a_run_is_not_begun_in_less_memory_than_it_needs() {
        for enough in [None, Some(NEEDED_BYTES), Some(u64::MAX)] {
            check_enough(enough).unwrap();
        }
        let error = check_enough(Some(52 * MIB)).unwrap_err();
        assert_eq!(error.id, "too-little-memory");
        assert!(error.message.contains("100 MiB") && error.message.contains("52"), "{error}");
    }

    #[test]
    fn this_machine_has_memory_available() {
        assert!(available_bytes().is_none_or(|bytes| bytes > 0));
    }

    proptest! {
        #[test]
        fn no_content_of_these_files_causes_a_panic(
            cgroup in "[0-9:a-z/.,\n]{0,60}",
            mountinfo in "[-0-9a-z/ ,\n]{0,99}",
        ) {
            levels(&cgroup, &mountinfo);
            levels("4:memory:/a\n0::/b\n", &mountinfo);
            levels(&cgroup, &format!("{V1}{V2}"));
        }
    }
}
