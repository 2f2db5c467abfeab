//! `zc run --via` from outside: through a command on this machine, and, as root, through ssh and
//! `ip netns exec` between two network namespaces in place of two machines. The results are not
//! checked, as the ends share their CPUs. The tests check that it reaches the far end, that its
//! errors name the cause, and that nothing is left at the far end, however the near end ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use zc_kernel::spawn;

use crate::support::{
    Bounded as _, LIMIT, NOTHING_KEPT, Running, ZC, assert_ended, blocks_of, blocks_saved,
    interrupted_when, measuring, refused, stderr, until, wait_for_blocks, zc_in,
};

const NEAR: &str = "198.18.0.1";
const FAR: &str = "198.18.0.2";
const PORT: &str = "2200";

/// A run that ends by itself, with a block or, on a slow machine, without.
const ENDS: [&str; 2] = ["--budget", "2s"];
/// A run that is ended.
const LONG: [&str; 2] = ["--budget", "600s"];

/// A command that finds this zc, which may not be in the default place.
fn path_with_zc() -> String {
    format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", Path::new(ZC).parent().unwrap().display())
}

/// Options of every run here, but for its budget.
const OPTIONS: [&str; 4] = ["--paths", "sendfile", "--out", "run.json"];

/// Processes called `name` for which `is_meant` holds.
fn processes(name: &str, is_meant: impl Fn(i32) -> bool) -> Vec<i32> {
    let numbers = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let called = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    numbers.filter(called).filter(|&pid| is_meant(pid)).collect()
}

fn arguments(pid: i32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
        .replace('\0', " ")
}

#[track_caller]
fn assert_ends(pid: i32) {
    // No such process is the end as well.
    let Ok(ended) = spawn::pidfd(pid) else { return };
    assert_eq!(
        spawn::wait_readable(&[ended.as_fd()], Some(LIMIT)).unwrap(),
        [true],
        "{} is still there",
        arguments(pid)
    );
}

/// Two network namespaces that nothing but their holders keep, with a veth pair between them and an
/// sshd in the far one. It all goes when this is dropped, or this process ends.
struct Hosts {
    folder: tempfile::TempDir,
    near: Running,
    far: Running,
}

impl Hosts {
    /// `None`, with the reason on stderr, where that is not possible.
    fn new() -> Option<Self> {
        let needs = ["/usr/sbin/sshd", "/usr/bin/ssh-keygen", "/usr/bin/nsenter"];
        if zc_kernel::process::euid() != 0 {
            eprintln!("skipped: namespaces and an sshd in one of them take root");
            return None;
        }
        if let Some(missing) = needs.iter().find(|path| !Path::new(path).exists()) {
            eprintln!("skipped: {missing} is not here (apt-get install openssh-server)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
        for key in ["host", "user", "other"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(file(key))
                .finish();
            assert!(made.unwrap().status.success());
        }
        std::fs::write(file("known"), format!("[{FAR}]:{PORT} {}", text("host.pub"))).unwrap();
        std::fs::write(file("authorized"), text("user.pub")).unwrap();
        std::fs::set_permissions(file("authorized"), std::fs::Permissions::from_mode(0o600))
            .unwrap();
        let at = folder.path().display();
        let config = format!(
            "ListenAddress 0.0.0.0:{PORT}\nHostKey {at}/host\nAuthorizedKeysFile \
             {at}/authorized\nStrictModes no\nPidFile none\n\
             UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication \
             no\nPermitRootLogin yes\nPrintMotd no\nSetEnv PATH={}\n",
            path_with_zc()
        );
        std::fs::write(file("sshd_config"), config).unwrap();
        // Where sshd and `ip netns` want to have directories there is a file system of their own.
        // When stdin ends, so does the holder, and what it has started.
        let hold = |then: &str| {
            let script = format!(
                "mount -t tmpfs tmpfs /run && mkdir /run/sshd && ip link set lo up && echo ready \
                 && {then}"
            );
            let mut holder = Command::new("unshare");
            holder
                .args(["--net", "--mount", "sh", "-c", &script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let mut holder = holder.stderr(Stdio::piped()).start().unwrap();
            let mut line = String::new();
            BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
            holder
        };
        let near = hold("exec cat");
        // sshd makes its address its own although it is not there yet: 0.0.0.0 is all that there
        // will be.
        let far = hold(&format!("/usr/sbin/sshd -D -e -f {at}/sshd_config & cat; kill $!; wait"));
        let mut hosts = Self { folder, near, far };
        let far = hosts.far.id().to_string();
        hosts.ip(&["link", "add", "near", "type", "veth", "peer", "name", "far", "netns", &far]);
        for (end, pid, address) in [("near", hosts.near.id(), NEAR), ("far", hosts.far.id(), FAR)] {
            for words in [
                &["addr", "add", &format!("{address}/30"), "dev", end][..],
                &["link", "set", end, "up"],
            ] {
                let mut ip = Command::new("nsenter");
                let status = ip.args(["-t", &pid.to_string(), "-n", "ip"]).args(words).status();
                assert!(status.unwrap().success());
            }
        }
        let mut lines = BufReader::new(hosts.far.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("Server listening on") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "sshd has ended");
        }
        // It says more later, and must not find the pipe closed.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Some(hosts)
    }

    fn ip(&self, words: &[&str]) {
        let status = self.in_near("ip").args(words).status().unwrap();
        assert!(status.success(), "ip {words:?}");
    }

    fn in_near(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.near.id().to_string(), "-n", "-m"]).arg(program);
        command.stdin(Stdio::null());
        command
    }

    /// `zc run` in the near namespace. nsenter becomes it.
    fn run(&self, via: &str) -> Command {
        self.run_by(Path::new(ZC), via)
    }

    /// The same by another zc.
    fn run_by(&self, zc: &Path, via: &str) -> Command {
        // nsenter -m leaves the working directory behind.
        let mut command = self.in_near("env");
        command.arg("-C").arg(self.folder.path()).arg(zc).args(["run", "--via", via]).args(OPTIONS);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn ssh(&self, key: &str, known: &str) -> String {
        let at = self.folder.path().display();
        format!(
            "ssh -p {PORT} -i '{at}/{key}' -o IdentitiesOnly=yes -o \
             'UserKnownHostsFile={at}/{known}' -o GlobalKnownHostsFile=none \
             -o StrictHostKeyChecking=yes -o BatchMode=yes root@{FAR}"
        )
    }

    fn zcs_at_the_far_end(&self) -> Vec<i32> {
        let namespace = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let far = namespace(self.far.id());
        processes("zc", |pid| {
            namespace(pid as u32) == far && arguments(pid).contains("serve --stdio")
        })
    }

    fn ssh_of(&self, near: u32) -> i32 {
        until("ssh runs", || {
            processes("ssh", |pid| parents(pid).contains(&(near as i32))).first().copied()
        })
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for holder in [&mut self.near, &mut self.far] {
            drop(holder.stdin.take());
            drop(holder.wait());
        }
    }
}

/// The parent of a process, its parent, and so on.
fn parents(pid: i32) -> Vec<i32> {
    let parent = |pid: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    std::iter::successors(parent(pid), |&pid| parent(pid)).take_while(|&pid| pid > 0).collect()
}

/// The run that was saved, as text: a whole document with a block at least.
#[track_caller]
fn saved(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let (run, broken) = zc_run::parse(&text).unwrap();
    assert_eq!(broken, 0, "the file is a whole document");
    assert!(!run.blocks.is_empty());
    text
}

/// Whether no data could go to a far end on this machine, which is said on stderr too.
fn has_no_address(said: &str) -> bool {
    let has_none = said.contains("[far-end-without-address]");
    if has_none {
        eprintln!("skipped: this machine has no address but those of the loopback interface");
    }
    has_none
}

#[test]
fn a_command_on_this_machine_brings_a_far_end_about_and_it_leaves_with_the_run() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // The mark that identifies this far end.
    let via = format!("env ZC_TEST_MARK={} PATH={}", folder.path().display(), path_with_zc());
    let run = || {
        let mut run = zc_in(folder.path(), &["run", "--via", &via]);
        run.args(OPTIONS);
        run
    };
    let output = run().args(ENDS).finish().unwrap();
    if has_no_address(&stderr(&output)) {
        return;
    }
    assert_ended(&output);
    let marked = |pid: i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment)
            .contains(&format!("ZC_TEST_MARK={}", folder.path().display()))
    };
    assert_eq!(processes("zc", marked), [0; 0]);
    // The same when it is killed.
    drop(std::fs::remove_file(folder.path().join("run.json")));
    let mut command = run();
    let mut run = command.args(LONG).stdout(Stdio::null()).stderr(Stdio::null()).start().unwrap();
    wait_for_blocks(folder.path(), &mut run, 1);
    assert!(saved(folder.path()).contains("\"remote\""));
    let far = processes("zc", marked);
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(!far.is_empty());
    far.into_iter().for_each(assert_ends);
}

/// A far end on this machine whose only zc is broken. Everybody may write to the folder of the
/// client's own file, and no stat(1) tells the far end that it is the same file there: it is not
/// run.
struct WithoutZc(tempfile::TempDir);

impl WithoutZc {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A child makes the programs: were they open for writing in this process, the children of
        // other tests could inherit that, and the programs not be run (ETXTBSY). zc is
        // stripped, so that less is carried.
        let make = "mkdir bin tmp && cp \"$0\" zc && { strip zc 2>/dev/null || :; } && \
                    printf '#!/bin/sh\\nexit 1\\n' | tee bin/zc >bin/stat && chmod 777 . bin/*";
        let mut shell = Command::new("sh");
        let made = shell.args(["-c", make, ZC]).current_dir(folder.path()).finish().unwrap();
        assert!(made.status.success(), "{}", stderr(&made));
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command that leads to it.
    fn environment(&self) -> String {
        let at = self.path().display();
        format!("env -i HOME={at} TMPDIR={at}/tmp ZC_TEST_MARK={at} PATH={at}/bin:/usr/bin:/bin")
    }

    /// `zc run` to that far end, by the copy of zc.
    fn run(&self, more: &[&str]) -> Command {
        let via = self.environment();
        let mut command = Command::new(self.path().join("zc"));
        command.args(["run", "--via", &via]).args(more).args(OPTIONS);
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// The far ends that run.
    fn servers(&self) -> Vec<i32> {
        let mark = format!("ZC_TEST_MARK={}", self.path().display());
        processes("zc", |pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&mark)
        })
    }

    #[track_caller]
    fn assert_empty(&self) {
        let mut entries = std::fs::read_dir(self.path().join("tmp")).unwrap();
        assert!(entries.next().is_none(), "something is left");
    }
}

#[test]
fn zc_is_carried_to_a_far_end_without_one_and_nothing_of_it_is_left() {
    let _turn = measuring();
    let host = WithoutZc::new();
    // The program under test may need libraries, which this far end has.
    let output = interrupted_when("a block is saved", host.run(&[]).args(LONG), || {
        blocks_saved(host.path()) > 0
    });
    let said = stderr(&output);
    assert!(said.contains("zc is carried to the far end"), "{said}");
    assert!(said.contains(&format!(" MB to \"{}/tmp\"", host.path().display())), "{said}");
    host.assert_empty();
    if has_no_address(&said) {
        return;
    }
    assert!(matches!(output.status.code(), Some(130 | NOTHING_KEPT)), "{said}");
    let (run, _) = zc_run::parse(&saved(host.path())).unwrap();
    let note = run.header.warnings.iter().find(|warning| warning.name == "carried").unwrap();
    assert!(note.text.starts_with("zc is carried to the far end"), "{note:?}");
    assert_eq!(host.servers(), [0; 0]);
    // The same when it is killed.
    std::fs::remove_file(host.path().join("run.json")).unwrap();
    let mut command = host.run(&[]);
    let mut run = command.args(LONG).stdout(Stdio::null()).stderr(Stdio::null()).start().unwrap();
    wait_for_blocks(host.path(), &mut run, 1);
    let servers = host.servers();
    assert_eq!(servers.len(), 1, "it is called zc");
    host.assert_empty();
    run.kill().unwrap();
    run.wait().unwrap();
    servers.into_iter().for_each(assert_ends);
    host.assert_empty();
}

#[test]
fn what_is_not_carried_says_why_and_what_to_do() {
    let _turn = measuring();
    let host = WithoutZc::new();
    for (more, code, id) in [
        (&["--no-carry"][..], 6, "far-end-zc-broken"),
        (&["--carry", "bin/zc"], 3, "not-an-elf-file"),
        (&["--carry", "none"], 3, "cannot-read-file"),
        (&["--carry", "zc", "--no-carry"], 2, "options-conflict"),
    ] {
        let output = host.run(more).args(ENDS).finish().unwrap();
        assert!(!host.path().join("run.json").exists());
        assert_eq!(refused(&output, code), id);
        assert!(code != 6 || stderr(&output).contains("--no-carry"), "{}", stderr(&output));
    }
    host.assert_empty();
}

#[test]
fn what_goes_wrong_on_the_way_is_a_sentence_with_what_helps() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    for (via, names) in
        [("/nonexistent/ssh host", "\"/nonexistent/ssh host\""), ("true", "\"true\"")]
    {
        let output =
            zc_in(folder.path(), &["run", "--via", via]).args(OPTIONS).args(ENDS).finish().unwrap();
        assert_eq!(refused(&output, 6), "command-ended");
        assert!(stderr(&output).contains(names), "{}", stderr(&output));
        assert!(!folder.path().join("run.json").exists());
    }
}

#[test]
fn a_far_end_that_is_gone_before_the_first_block_is_no_failure_of_the_reference() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // The stream to the far end breaks when it is first asked for flows.
    let via = format!("sed -u '/\"ask\":\"flows\"/Q' | env PATH={}", path_with_zc());
    let output =
        zc_in(folder.path(), &["run", "--via", &via]).args(OPTIONS).args(LONG).finish().unwrap();
    if has_no_address(&stderr(&output)) {
        return;
    }
    assert_eq!(refused(&output, 6), "far-end-gone");
}

#[test]
fn a_run_through_ssh_goes_over_the_link_to_the_other_host() {
    let _turn = measuring();
    let Some(hosts) = Hosts::new() else { return };
    blocks_of(hosts.folder.path(), &mut hosts.run(&hosts.ssh("user", "known")), 1);
    assert!(saved(hosts.folder.path()).contains(&format!("\"{FAR}:")), "data went another way");
    assert_eq!(hosts.zcs_at_the_far_end(), [0; 0]);
}

#[test]
fn zc_is_carried_through_ssh() {
    let _turn = measuring();
    let Some(hosts) = Hosts::new() else { return };
    let host = WithoutZc::new();
    let zc = host.path().join("zc");
    let via = format!("{} {}", hosts.ssh("user", "known"), host.environment());
    let mut run = hosts.run_by(&zc, &via);
    let output = blocks_of(hosts.folder.path(), run.arg("--carry").arg(&zc), 1);
    assert!(stderr(&output).contains("zc is carried to the far end"), "{}", stderr(&output));
    let text = saved(hosts.folder.path());
    assert!(text.contains(&format!("\"{FAR}:")), "data went another way");
    host.assert_empty();
    assert_eq!(hosts.zcs_at_the_far_end(), [0; 0]);
}

#[test]
fn a_run_through_ip_netns_exec_is_as_good() {
    let _turn = measuring();
    let Some(hosts) = Hosts::new() else { return };
    hosts.ip(&["netns", "attach", "other", &hosts.far.id().to_string()]);
    let via = format!("env PATH={} ip netns exec other", path_with_zc());
    blocks_of(hosts.folder.path(), &mut hosts.run(&via), 1);
    assert!(saved(hosts.folder.path()).contains(&format!("\"{FAR}:")), "data went another way");
    assert_eq!(hosts.zcs_at_the_far_end(), [0; 0]);
}

#[test]
fn ssh_that_is_refused_or_does_not_know_the_host_is_an_error_with_a_hint() {
    let _turn = measuring();
    let Some(hosts) = Hosts::new() else { return };
    for (key, known, message) in [
        ("other", "known", "Permission denied (publickey)."),
        ("user", "unknown", "Host key verification failed."),
    ] {
        let output = hosts.run(&hosts.ssh(key, known)).args(ENDS).finish().unwrap();
        assert_eq!(refused(&output, 6), "command-ended");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

#[test]
fn the_far_end_leaves_when_the_near_end_is_killed() {
    let _turn = measuring();
    let Some(hosts) = Hosts::new() else { return };
    let mut run = hosts.run(&hosts.ssh("user", "known")).args(LONG).start().unwrap();
    wait_for_blocks(hosts.folder.path(), &mut run, 1);
    let (far, ssh) = (hosts.zcs_at_the_far_end(), hosts.ssh_of(run.id()));
    run.kill().unwrap();
    assert_eq!(run.wait().unwrap().signal(), Some(9));
    assert_eq!(far.len(), 1);
    assert_ends(far[0]);
    assert_ends(ssh);
}

#[test]
fn when_ssh_is_killed_both_ends_leave_and_what_was_measured_is_kept() {
    let _turn = measuring();
    let Some(hosts) = Hosts::new() else { return };
    let mut run = hosts.run(&hosts.ssh("user", "known")).args(LONG).start().unwrap();
    wait_for_blocks(hosts.folder.path(), &mut run, 1);
    let (far, ssh) = (hosts.zcs_at_the_far_end(), hosts.ssh_of(run.id()));
    spawn::kill(ssh, 9).unwrap();
    assert_ends(far[0]);
    let mut said = String::new();
    run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(6), "{said}");
    assert!(said.contains("error: "), "{said}");
    saved(hosts.folder.path());
}

#[test]
fn ctrl_c_does_not_reach_ssh_and_the_run_ends_in_order() {
    let _turn = measuring();
    let Some(hosts) = Hosts::new() else { return };
    let mut run = hosts.run(&hosts.ssh("user", "known")).args(LONG).start().unwrap();
    wait_for_blocks(hosts.folder.path(), &mut run, 1);
    let (far, ssh) = (hosts.zcs_at_the_far_end(), hosts.ssh_of(run.id()));
    let group = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(2).unwrap().to_owned()
    };
    assert_ne!(group(ssh), group(run.id() as i32), "the terminal signals the whole group");
    spawn::kill(run.id() as i32, 2).unwrap();
    let mut said = String::new();
    run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{said}");
    saved(hosts.folder.path());
    assert_ends(far[0]);
    assert_ends(ssh);
}
