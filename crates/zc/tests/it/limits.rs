//! zc under the limits of a container: it works, or it ends with a sentence.

use std::path::PathBuf;
use std::process::Command;

use super::support::{Bounded as _, ZC, measuring};

const MIB: u64 = 1 << 20;

/// A memory cgroup of this test's own, removed when it is dropped.
struct MemoryCgroup(PathBuf);

impl MemoryCgroup {
    /// Makes one beside those at the top.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn of(bytes: u64) -> std::io::Result<Self> {
        let versions =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
        for (mount, limit) in versions {
            let folder = PathBuf::from(mount).join(format!("zc-test-{}", std::process::id()));
            match std::fs::create_dir(&folder) {
                Ok(()) => {
                    let cgroup = Self(folder);
                    match std::fs::write(cgroup.0.join(limit), bytes.to_string()) {
                        Ok(()) => return Ok(cgroup),
                        Err(error) => last = error,
                    }
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// `zc` in it, with these arguments.
    fn zc(&self, args: &[&str]) -> Command {
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

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0); // it fails while processes are in it
    }
}

#[test]
fn in_a_small_memory_cgroup_a_run_works_or_ends_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.json");
    let out = out.to_str().unwrap();
    let args = ["run", "--paths", "splice", "--budget", "4s", "--out", out];
    for (bytes, code) in [(64 * MIB, 4), (256 * MIB, 0)] {
        let cgroup = match MemoryCgroup::of(bytes) {
            Ok(cgroup) => cgroup,
            Err(error) => return eprintln!("skipped: no memory cgroup can be made: {error}"),
        };
        let _measuring = measuring();
        let ended = cgroup.zc(&args).finish().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        // Too little time, or a busy machine, is not what is tested.
        let busy = code == 0 && ended.status.code() == Some(13);
        assert!(ended.status.code() == Some(code) || busy, "{:?}\n{stderr}", ended.status);
        assert_eq!(stderr.contains("a run needs 100 MiB of memory"), code != 0, "{stderr}");
    }
}
