//! zc under the limits of a container: it works, or it ends with a sentence.

use super::support::cgroup::MemoryCgroup;
use super::support::{Bounded as _, measuring};

const MIB: u64 = 1 << 20;

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
