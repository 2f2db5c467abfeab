//! zc under the limits of a container: it works, or it ends with a sentence.

use std::process::{Command, Output};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use zc_run::LinkKind;

use super::support::cgroup::Cgroup;
use super::support::{
    Bounded as _, ZC, blocks_of, measuring, refused, saved, saved_run, stderr, zc_in,
};

const MIB: u64 = 1 << 20;

#[test]
fn in_a_small_memory_cgroup_a_run_works_or_ends_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.json");
    let out = out.to_str().unwrap();
    let args = ["run", "--paths", "splice", "--budget", "2s", "--out", out];
    for (bytes, code) in [(64 * MIB, 4), (256 * MIB, 0)] {
        let cgroup = match Cgroup::of_memory(bytes) {
            Ok(cgroup) => cgroup,
            Err(error) => return eprintln!("skipped: no memory cgroup can be made: {error}"),
        };
        let _measuring = measuring();
        let ended = cgroup.zc(&args).finish().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        // Too little time, or a busy machine, is not what is tested.
        let busy = code == 0 && ended.status.code() == Some(13);
        assert!(ended.status.code() == Some(code) || busy, "{:?}\n{stderr}", ended.status);
        assert_eq!(stderr.contains("[too-little-memory]"), code != 0, "{stderr}");
    }
}

/// Output of a program for which a system call fails with this error; `None`, and a skip, where
/// this machine has no seccomp filters.
fn without(call: libc::c_long, errno: i32, command: &mut Command) -> Option<Output> {
    let filter = || -> Result<BpfProgram, Box<dyn std::error::Error>> {
        let rules = [(call, Vec::new())].into();
        let fails = SeccompAction::Errno(errno as u32);
        let arch = std::env::consts::ARCH.try_into()?;
        Ok(SeccompFilter::new(rules, SeccompAction::Allow, fails, arch)?.try_into()?)
    };
    // A filter is a thread's, and of the programs that it starts.
    std::thread::scope(|scope| {
        let run = || match filter().and_then(|filter| Ok(seccompiler::apply_filter(&filter)?)) {
            Ok(()) => Some(command.finish().unwrap()),
            Err(error) => {
                eprintln!("skipped: no seccomp filter: {error}");
                None
            }
        };
        scope.spawn(run).join().unwrap()
    })
}

#[test]
fn where_threads_may_not_be_bound_to_cpus_it_is_exit_code_4() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = zc_kernel::sched::allowed_cpus().unwrap()[0].to_string();
    for errno in [libc::EPERM, libc::EINVAL] {
        for args in [
            &["run", "--link", "loopback", "--paths", "sendfile"][..],
            &["soak", "--count", "1"],
            &["soak", "--count", "1", "--cpus", &cpu],
            &["zcs", "-p0", "-B", &cpu],
        ] {
            let mut zc = zc_in(folder.path(), args);
            let Some(output) = without(libc::SYS_sched_setaffinity, errno, &mut zc) else { return };
            assert_eq!(refused(&output, 4), "cannot-bind-to-cpu", "{args:?}");
        }
    }
}

#[test]
fn a_stack_of_64_kib_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.json"), saved_run()).unwrap();
    let in_folder = |limit: &str, words: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{limit} exec \"$0\" {words}"), ZC]);
        shell.current_dir(folder.path()).stdin(std::process::Stdio::null()).finish().unwrap()
    };
    for words in [
        "show run.json",
        "report run.json --html",
        "compare run.json run.json",
        "calibrate run.json",
        "plan paths",
        "schema run",
        "doctor",
        "run --like none.json",
        "--help",
        "zcs -h",
    ] {
        let (usual, small) = (in_folder("", words), in_folder("ulimit -s 64;", words));
        // Whether a machine is fit to measure may change from one moment to the next.
        let code =
            |output: &Output| output.status.code().filter(|code| words != "doctor" || *code != 12);
        let is_same = code(&small).unwrap_or(0) == code(&usual).unwrap_or(0);
        assert!(is_same, "{words}: {:?}, {:?}: {}", small.status, usual.status, stderr(&small));
        assert!(words == "doctor" || small.stdout == usual.stdout, "{words}");
    }
}

#[test]
fn a_run_measures_on_a_stack_of_64_kib() {
    let _measuring = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    let run = "ulimit -s 64; exec \"$0\" run --paths sendfile --out run.json \"$@\"";
    shell.args(["-c", run, ZC]).current_dir(folder.path()).stdin(std::process::Stdio::null());
    blocks_of(folder.path(), &mut shell, 1);
    // It could make namespaces, for which a process needs to have one thread.
    let may = zc_in(folder.path(), &["doctor"]).finish().unwrap();
    let may = String::from_utf8(may.stdout).unwrap();
    let link = saved(folder.path()).header.link;
    let has_namespaces = may.lines().any(|line| line.contains("veth") && line.contains("yes"));
    assert!(!has_namespaces || link.kind != LinkKind::Loopback, "{:?}", link.passed_over);
}
