//! The rights that zc refuses, and those that it gives up before it reads what others wrote. The
//! rights that a server gives up are tested in `remote.rs`.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::support::{Bounded as _, ZC, refused, saved_run, stderr, text, until, zc, zc_in};

/// Same as in zc_kernel::privileges.
const NOBODY: u32 = 65_534;

/// Whether this user may give rights away; a skip if not.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: needs root, which has rights to give up");
    }
    is_root
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The first value of a field of /proc/PID/status.
pub(crate) fn status_field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().unwrap_or_default().to_owned()
}

#[test]
fn a_program_whose_file_has_capabilities_is_refused() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o755);
    // linux/capability.h, `struct vfs_cap_data` of revision 2: CAP_NET_BIND_SERVICE (10),
    // effective.
    let words: [u32; 5] = [0x0200_0001, 1 << 10, 0, 0, 0];
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let with_capability = |of: &str, name: &str| {
        let program = folder.path().join(name);
        std::fs::copy(of, &program).unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&program, "security.capability", &value, flags).map(|()| program)
    };
    let cat = match with_capability("/bin/cat", "cat") {
        Ok(cat) => cat,
        Err(error) => return eprintln!("skipped: files here have no capabilities: {error}"),
    };
    let by_nobody = |program: &Path, argument: &str| {
        Command::new(program).arg(argument).uid(NOBODY).gid(NOBODY).finish().unwrap()
    };
    let status = text(&by_nobody(&cat, "/proc/self/status").stdout);
    if status_field(&status, "CapEff:") != format!("{:016x}", 1 << 10) {
        return eprintln!("skipped: files here give no capabilities to who executes them");
    }
    let program = with_capability(ZC, "zc").unwrap();
    let output = by_nobody(&program, "plan");
    assert_eq!(refused(&output, 4), "rights-of-file");
    // Root has them anyway.
    assert!(Command::new(&program).arg("plan").finish().unwrap().status.success());
}

#[test]
fn capabilities_that_a_user_was_given_are_no_reason_to_refuse() {
    if !is_root() {
        return;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.args(["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service", ZC, "plan"]);
    match command.finish() {
        Ok(output) if output.status.success() => {}
        Ok(output) if stderr(&output).contains("error: ") => panic!("{}", stderr(&output)),
        Ok(output) => eprintln!("skipped: setpriv(1): {}", stderr(&output)),
        Err(error) => eprintln!("skipped: no setpriv(1): {error}"),
    }
}

/// A pipe that holds as much as it can, so that who writes to it waits.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'.'; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

#[test]
fn root_reads_saved_runs_in_a_process_without_rights() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (run, out) = (folder.path().join("run.json"), folder.path().join("report.md"));
    let whole = saved_run();
    // Its end is cut off, so that there is a warning, for which the reader waits.
    std::fs::write(&run, &whole[..whole.len() - 100]).unwrap();
    // Neither can be touched by another user.
    set_mode(&run, 0o600);
    chown(folder.path(), Some(1), Some(1)).unwrap();
    set_mode(folder.path(), 0o700);
    // It has a line that cannot be read.
    let log = folder.path().join("access.log");
    std::fs::write(
        &log,
        "192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n-\n",
    )
    .unwrap();
    set_mode(&log, 0o600);
    let (run, out) = (run.to_str().unwrap(), out.to_str().unwrap());
    for command in [
        &["show", run][..],
        &["advise", "--no-costs", log.to_str().unwrap()],
        &["report", run, "--markdown", "-o", out],
        &["compare", run, run, "--markdown", "-o", out],
        &["calibrate", run],
    ] {
        let (mut said, stderr) = full_pipe();
        let mut zc = zc(command).stdout(Stdio::null()).stderr(stderr).start().unwrap();
        let parent = zc.id().to_string();
        let is_child = |status: &String| status_field(status, "PPid:") == parent;
        let reader = until("a process reads the run", || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let mut statuses = processes
                .filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
            statuses.find(is_child)
        });
        // It may be seen before it has given up its rights. Afterwards it waits.
        let folder = Path::new("/proc").join(status_field(&reader, "Pid:"));
        let status = until("it waits for its stderr", || {
            let status = std::fs::read_to_string(folder.join("status")).unwrap();
            let place = std::fs::read_to_string(folder.join("wchan")).unwrap_or_default();
            let waits = match place.as_str() {
                "" | "0" => status_field(&status, "State:") == "S", // this kernel does not tell
                place => place.contains("pipe"),
            };
            waits.then_some(status)
        });
        for name in ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:"] {
            let set = u64::from_str_radix(&status_field(&status, name), 16).unwrap();
            assert_eq!(set, 0, "{command:?}: {name}");
        }
        assert_eq!(status_field(&status, "NoNewPrivs:"), "1");
        assert_eq!(status_field(&status, "Uid:"), NOBODY.to_string());
        std::thread::spawn(move || said.read_to_end(&mut Vec::new()));
        let code = zc.wait().unwrap().code();
        // Neither a run with itself nor a calibration of one run can be compared.
        let expected = if ["compare", "calibrate"].contains(&command[0]) { 14 } else { 0 };
        assert_eq!(code, Some(expected), "{command:?}");
        if command.contains(&out) {
            assert!(!std::fs::read_to_string(out).unwrap().is_empty());
            std::fs::remove_file(out).unwrap();
        }
    }
}

#[test]
fn where_no_process_can_be_had_runs_are_read_without_rights_all_the_same() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.json"), saved_run()).unwrap();
    let mut whole = zc_in(folder.path(), &["show", "run.json"]);
    let whole = whole.finish().unwrap();
    // Without /proc it does not know that it has no other threads.
    let mut unshare = Command::new("unshare");
    let hide = "mount -t tmpfs tmpfs /proc || exit 77; exec \"$0\" show run.json";
    unshare.args(["-m", "sh", "-c", hide, ZC]).current_dir(folder.path()).stdin(Stdio::null());
    unshare.env("COLUMNS", "120");
    match unshare.finish() {
        Ok(output) if output.status.code() == Some(77) => {
            eprintln!("skipped: nothing can be mounted here: {}", stderr(&output));
        }
        Ok(output) => {
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            assert_eq!(output.stdout, whole.stdout);
        }
        Err(error) => eprintln!("skipped: no unshare(1): {error}"),
    }
}

#[test]
fn commands_of_the_user_have_all_rights_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let via = "cat /proc/self/status > status; false";
    let output = zc_in(folder.path(), &["run", "--via", via]).finish().unwrap();
    assert_eq!(refused(&output, 6), "command-ended");
    let command = std::fs::read_to_string(folder.path().join("status")).unwrap();
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    for name in ["NoNewPrivs:", "CapEff:", "CapBnd:"] {
        assert_eq!(status_field(&command, name), status_field(&own, name), "{name}");
    }
}
