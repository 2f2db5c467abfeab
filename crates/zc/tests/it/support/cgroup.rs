//! Cgroups of tests: with less memory, or with less CPU time.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ZC;

/// A cgroup of a test's own, removed when it is dropped.
pub(crate) struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes a cgroup with this memory limit, beside those at the top.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub(crate) fn of_memory(bytes: u64) -> io::Result<Self> {
        let bytes = bytes.to_string();
        Self::limited(&[
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", &bytes),
            ("/sys/fs/cgroup", "memory.max", &bytes),
        ])
    }

    /// Makes one that may use so many hundredths of a CPU.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub(crate) fn of_cpu(hundredths: u64) -> io::Result<Self> {
        let quota_us = (hundredths * 1000).to_string();
        Self::limited(&[
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", &quota_us),
            ("/sys/fs/cgroup", "cpu.max", &format!("{quota_us} 100000")),
        ])
    }

    /// Makes one below the first of the mounts that has such a limit.
    fn limited(versions: &[(&str, &str, &str)]) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for (mount, limit, value) in versions {
            let name = format!("zc-test-{}-{number}", std::process::id());
            let folder = PathBuf::from(mount).join(name);
            match std::fs::create_dir(&folder) {
                Ok(()) => {
                    let cgroup = Self(folder);
                    match std::fs::write(cgroup.0.join(limit), value) {
                        Ok(()) => return Ok(cgroup),
                        Err(error) => last = error,
                    }
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// `zc` in it, with these arguments.
    pub(crate) fn zc(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(self.0.join("cgroup.procs"))
            .arg(ZC)
            .args(args)
            .stdin(std::process::Stdio::null());
        command
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0); // it fails while processes are in it
    }
}
