//! Counts of the kernel's client for a mount.

use std::fs;

use zc_run::NfsOperation;

/// READs or WRITEs that were sent so far for the mount at `at`, repeated ones once: operations READ
/// and READ_PLUS, by which newer clients of version 4.2 read, or WRITE of /proc/self/mountstats.
/// `None`: there is no such mount.
///
/// Reference: Linux, fs/nfs/super.c (`nfs_show_stats`), net/sunrpc/stats.c.
pub(super) fn calls(at: &str, operation: NfsOperation) -> Option<u64> {
    let names: &[&str] = match operation {
        NfsOperation::Read => &["READ", "READ_PLUS"],
        NfsOperation::Write | NfsOperation::WriteSync => &["WRITE"],
    };
    calls_of(&fs::read_to_string("/proc/self/mountstats").ok()?, at, names)
}

fn calls_of(stats: &str, at: &str, names: &[&str]) -> Option<u64> {
    let of_name = |line: &str| {
        let (name, numbers) = line.trim_start().split_once(": ")?;
        names.contains(&name).then(|| numbers.split(' ').next()?.parse::<u64>().ok())?
    };
    Some(of_mount(stats, at)?.filter_map(of_name).sum())
}

/// Bytes that WRITEs have taken to the server so far for the mount at `at`: the sixth number of its
/// line `bytes`.
pub(super) fn written_bytes(at: &str) -> Option<u64> {
    written_of(&fs::read_to_string("/proc/self/mountstats").ok()?, at)
}

fn written_of(stats: &str, at: &str) -> Option<u64> {
    let numbers = of_mount(stats, at)?.find_map(|line| line.trim_start().strip_prefix("bytes:"))?;
    numbers.split_whitespace().nth(5)?.parse().ok()
}

/// The lines of a mount.
fn of_mount<'s>(stats: &'s str, at: &str) -> Option<impl Iterator<Item = &'s str>> {
    let device = |line: &'s str| line.strip_prefix("device ");
    let mut lines = stats
        .lines()
        .skip_while(move |line| device(line).is_none_or(|rest| rest.split(' ').nth(3) != Some(at)));
    lines.next()?;
    Some(lines.take_while(move |line| device(line).is_none()))
}

/// Bytes of a READ or WRITE that client and server agreed on for the mount at `at`: `rsize` or
/// `wsize` of /proc/self/mounts.
pub(super) fn largest(at: &str, operation: NfsOperation) -> Option<u64> {
    let name = match operation {
        NfsOperation::Read => "rsize=",
        NfsOperation::Write | NfsOperation::WriteSync => "wsize=",
    };
    number_of(&fs::read_to_string("/proc/self/mounts").ok()?, at, name)
}

fn number_of(mounts: &str, at: &str, name: &str) -> Option<u64> {
    let mount = mounts.lines().rev().find(|line| line.split(' ').nth(1) == Some(at))?;
    let options = mount.split(' ').nth(3)?.split(',');
    options.filter_map(|option| option.strip_prefix(name)).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_those_of_one_mount_by_either_operation() {
        let stats = "device rootfs mounted on / with fstype rootfs\n\
                     device 10.0.0.1:/ mounted on /run/zc/0 with fstype nfs4 statvers=1.1\n\
                     \topts:\tro,vers=4.2,rsize=65536\n\
                     \tbytes:\t1 2 3 4 5 66 7 8 \n\tper-op statistics\n\
                     \t        NULL: 1 1 0 44 24 0 0 0 0\n\
                     \t        READ: 3 4 0 600 200 0 0 0 0\n\
                     \t       WRITE: 7 7 0 600 200 0 0 0 0\n\
                     \t   READ_PLUS: 128 128 0 600 200 0 0 0 0\n\
                     device 10.0.0.1:/ mounted on /run/zc/1 with fstype nfs4 statvers=1.1\n\
                     \t        READ: 1000 1000 0 600 200 0 0 0 0\n";
        let reads = |at| calls_of(stats, at, &["READ", "READ_PLUS"]);
        assert_eq!(reads("/run/zc/0"), Some(131));
        assert_eq!(reads("/run/zc/1"), Some(1000));
        assert_eq!(reads("/run/zc"), None);
        assert_eq!(reads("/"), Some(0));
        assert_eq!(calls_of(stats, "/run/zc/0", &["WRITE"]), Some(7));
        let written = ["/run/zc/0", "/run/zc/1", "/run"].map(|at| written_of(stats, at));
        assert_eq!(written, [Some(66), None, None]);
    }

    #[test]
    fn the_size_that_was_agreed_on_is_that_of_the_mount() {
        let mounts = "zc /run tmpfs rw 0 0\n\
                      10.0.0.1:/ /run/zc/0 nfs4 ro,vers=4.2,rsize=4096,wsize=1048576 0 0\n\
                      10.0.0.1:/ /run/zc/01 nfs4 ro,rsize=65536 0 0\n";
        assert_eq!(number_of(mounts, "/run/zc/0", "rsize="), Some(4096));
        assert_eq!(number_of(mounts, "/run/zc/0", "wsize="), Some(1 << 20));
        assert_eq!(number_of(mounts, "/run/zc/01", "rsize="), Some(65_536));
        assert_eq!(number_of(mounts, "/run", "rsize="), None);
        assert_eq!(number_of(mounts, "/run/zc/2", "rsize="), None);
    }
}
