//! `zc run nfs`. The cost of a READ is not checked: this machine may be busy.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::remote::{Wire, asked, has_only, zc_on};
use crate::requests::has_a_block;
use crate::server::trials;
use crate::support::{
    Bounded as _, Running, ZC, assert_ended, failed, measuring, path_with_zc, refused, saved,
    stderr, text, until, wait_for_blocks, zc_in,
};
use zc_run::{NfsServer, NfsVersion, Run, Support};

/// A run of short blocks, which goes on until it is stopped.
const RUN: [&str; 10] =
    ["run", "nfs", "--budget", "600s", "--window", "10ms", "--idle", "10ms", "--out", "run.json"];

/// A run that goes on until it is stopped; `None` where its programs or rights are not here.
fn nfs(folder: &Path, words: &[&str]) -> Option<Command> {
    let has = |program: &str| {
        ["/usr/bin", "/usr/sbin"].iter().any(|place| Path::new(place).join(program).exists())
    };
    if !has("ganesha.nfsd") || !has("cc") || !Path::new("/usr/include/nfsc/libnfs.h").exists() {
        eprintln!("skipped: no nfs-ganesha, libnfs or C compiler");
        return None;
    }
    if zc_kernel::process::euid() != 0 {
        eprintln!("skipped: nfs-ganesha needs root");
        return None;
    }
    let mut command = zc_in(folder, &RUN);
    command.args(words);
    Some(command)
}

/// An nfs-ganesha in namespaces of its own, which exports a file of 2 MiB by version 4. It ends
/// with this.
struct Server(Running);

/// An address of the network namespace of a [`Server`], which is not one of loopback.
const ADDRESS: &str = "10.83.7.1";

impl Server {
    fn start(folder: &Path) -> Self {
        Self::start_in(&["--net", "--mount"], folder)
    }

    /// Starts it in these new namespaces.
    fn start_in(namespaces: &[&str], folder: &Path) -> Self {
        let config = r#"NFS_KRB5 { Active_krb5 = false; }
NFS_CORE_PARAM {
    NFS_Protocols = 4; Mount_Path_Pseudo = true; Enable_NLM = false; Enable_RQUOTA = false;
    Enable_UDP = false; Plugins_Dir = "/usr/lib/x86_64-linux-gnu/ganesha";
}
NFSv4 { Graceless = true; RecoveryBackend = fs; Minor_Versions = 0; }
EXPORT_DEFAULTS { SecType = sys; Squash = No_Root_Squash; Access_Type = RO; PrivilegedPort = false; }
EXPORT { Export_Id = 1; Path = /run/export; Pseudo = /data; Protocols = 4; FSAL { Name = VFS; } }
"#;
        std::fs::write(folder.join("ganesha.conf"), config).unwrap();
        let script =
            "ip link set lo up && ip address add $0/32 dev lo && mount -t tmpfs zc /run && \
             mount -t tmpfs zc /var/lib &&
            mkdir -p /run/ganesha /run/export /var/lib/nfs/ganesha && \
             mount -t tmpfs zc /run/export &&
            head -c 2097152 /dev/urandom >/run/export/file &&
            exec ganesha.nfsd -F -L STDERR -N NIV_CRIT -f ganesha.conf -p /run/ganesha.pid";
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", script, ADDRESS]).current_dir(folder);
        let server = Self(command.stdin(Stdio::null()).stderr(Stdio::null()).start().unwrap());
        // 0801 is port 2049, and 0A that it listens.
        until("nfs-ganesha listens", || {
            let sockets = ["tcp", "tcp6"].map(|name| {
                let place = format!("/proc/{}/net/{name}", server.0.id());
                std::fs::read_to_string(place).unwrap_or_default()
            });
            let listens = |line: &str| line.contains(":0801 ") && line.contains(" 0A ");
            sockets.concat().lines().any(listens).then_some(())
        });
        server
    }

    /// `zc run nfs` where the server is.
    fn run(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.0.id().to_string()]).current_dir(folder);
        command.arg(ZC).env("PATH", path_with_zc());
        command.args(["run", "nfs", "--budget", "600s", "--out", "run.json"]).args(words);
        command.stdin(Stdio::null());
        command
    }
}

/// The process of nfs-ganesha below `zc`.
fn ganesha_of(zc: u32) -> Option<i32> {
    below(zc, |pid| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim_end() == "ganesha.nfsd"
    })
}

/// A process below `zc` that `is` it.
fn below(zc: u32, is: impl Fn(i32) -> bool) -> Option<i32> {
    let parent = |pid: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let is_below =
        |pid: i32| std::iter::successors(Some(pid), |pid| parent(*pid)).any(|pid| pid == zc as i32);
    let pids = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| is_below(*pid)).find(|pid| is(*pid))
}

/// Checks that a run has these cells, that each has a trial, that none has failed (what the server
/// read or wrote is checked in each), and that what came is whole calls.
fn assert_whole_trials(run: &Run, expected: &[&str]) {
    let plan = &run.header.plan;
    let labels: Vec<&str> = plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(labels, expected);
    assert_none_failed(run);
    let mut seen = BTreeSet::new();
    for trial in trials(run) {
        let cell = plan.cells.iter().find(|cell| cell.label == trial.cell).unwrap();
        let bytes = cell.levels.message_bytes.unwrap() as u64;
        assert!(trial.whole_bytes > 0 && trial.whole_bytes % bytes == 0, "{}", trial.cell);
        seen.insert(trial.cell.as_str());
    }
    assert_eq!(seen.len(), plan.cells.len(), "each cell has a trial: {seen:?}");
}

fn assert_none_failed(run: &Run) {
    let failed: Vec<_> = run.blocks.iter().flat_map(|block| &block.failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn each_version_is_read_by_each_size_and_both_ends_count_the_same_bytes() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let words = ["--vers", "3,4.0,4.2", "--rsize", "64k,1m", "--seed", "1"];
    let Some(mut command) = nfs(folder.path(), &words) else { return };
    if !has_a_block(folder.path(), &mut command) {
        return;
    }
    let run = saved(folder.path());
    let plan = &run.header.plan;
    let expected = [
        "64k nfs-v3",
        "64k nfs-v4.0",
        "64k sendfile",
        "1m nfs-v3",
        "1m nfs-v4.0",
        "1m sendfile",
        "64k nfs-v3 (A/A)",
        "64k nfs-v3 (+burn)",
    ];
    assert_whole_trials(&run, &expected);
    let nfs = plan.traffic.nfs().unwrap();
    assert!(nfs.server_version.contains("Ganesha"), "{nfs:?}");
    assert_eq!(nfs.file_bytes, plan.files.total_bytes);
    let versions: Vec<NfsVersion> = nfs.mounts.iter().map(|mount| mount.call.version).collect();
    assert_eq!(versions, [NfsVersion::V3, NfsVersion::V40]);
    assert!(nfs.mounts.iter().all(|mount| mount.largest == 1 << 20), "{nfs:?}");
    let row = &run.header.unavailable[0];
    assert_eq!(row.name, "nfs-v4.2");
    assert!(matches!(&row.support, Support::No(no) if no.reason.contains("libnfs")), "{row:?}");
    let shown = shown_of(folder.path(), &[]);
    assert!(shown.contains("read by libnfs, up to 4 READs at a time"), "{shown}");
    assert!(shown.contains("libnfs speaks the versions 3 and 4.0"), "{shown}");
}

#[test]
fn writes_of_both_kinds_reach_the_server_s_file() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let words = ["--vers", "3", "--write", "async,sync", "--rsize", "64k", "--seed", "1"];
    let Some(mut command) = nfs(folder.path(), &words) else { return };
    if !has_a_block(folder.path(), &mut command) {
        return;
    }
    let expected = [
        "64k nfs-v3-write",
        "64k nfs-v3-write-sync",
        "64k nfs-v3-write (A/A)",
        "64k nfs-v3-write (+burn)",
    ];
    assert_whole_trials(&saved(folder.path()), &expected);
    let shown = shown_of(folder.path(), &[]);
    assert!(shown.contains("written by libnfs, up to 4 WRITEs at a time"), "{shown}");
}

#[test]
fn a_server_that_is_there_is_read_and_what_it_has_not_is_named() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    if nfs(folder.path(), &[]).is_none() {
        return;
    }
    let server = Server::start(folder.path());
    // It has no version 3, which is a row.
    let there = ["--nfs-file", "127.0.0.1:/data/file", "--vers", "3,4.0"];
    let mut command = server.run(folder.path(), &[&there[..], &["--rsize", "4k,64k"]].concat());
    if has_a_block(folder.path(), &mut command) {
        let run = saved(folder.path());
        let nfs = run.header.plan.traffic.nfs().unwrap();
        assert!(nfs.shares_machine);
        assert_eq!(run.header.unavailable[0].name, "nfs-v3");
        assert_eq!((nfs.server, nfs.file_bytes), (NfsServer::External, 2 << 20));
        assert!(run.header.warnings.iter().any(|each| each.name == "nfs-server-here"));
        assert_none_failed(&run);
        let shown = shown_of(folder.path(), &["-v"]);
        assert!(shown.contains("2097152 bytes of the file"), "{shown}");
    }
    let _ = std::fs::remove_file(folder.path().join("run.json"));
    // libnfs 4 by itself resolves no address in brackets.
    let words = ["--nfs-file", "[::1]:/data/file", "--vers", "4.0", "--rsize", "4k"];
    if !Path::new("/proc/sys/net/ipv6").exists() {
        eprintln!("skipped: this kernel has no IPv6");
    } else {
        if has_a_block(folder.path(), &mut server.run(folder.path(), &words)) {
            assert_none_failed(&saved(folder.path()));
        }
        let words = ["ip", "-6", "address", "add", "fe80::7/64", "dev", "lo"];
        let mut ip = Command::new("nsenter");
        ip.args(["--net", "--target", &server.0.id().to_string()]).args(words);
        assert!(ip.finish().unwrap().status.success());
        let words = ["--nfs-file", "[fe80::7%lo]:/data/file", "--vers", "4.0"];
        let _ = std::fs::remove_file(folder.path().join("run.json"));
        let output = server.run(folder.path(), &words).finish().unwrap();
        assert_eq!(refused(&output, 6), "nfs-client-failed");
    }
    let _ = std::fs::remove_file(folder.path().join("run.json"));
    for file in ["127.0.0.1:/data/nothing", "127.0.0.1:/nowhere/file"] {
        let words = ["--nfs-file", file, "--vers", "4.0"];
        let output = server.run(folder.path(), &words).finish().unwrap();
        assert_eq!(refused(&output, 6), "nfs-client-failed");
    }
    // It hangs.
    let mut zc = server.run(folder.path(), &[&there[..], &["--rsize", "4k"]].concat());
    let mut zc = zc.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    wait_for_blocks(folder.path(), &mut zc, 1);
    zc_kernel::spawn::kill(server.0.id() as i32, rustix::process::Signal::STOP.as_raw()).unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 6), "nfs-client-failed");
}

/// `zc show` of the saved run, on one line.
fn shown_of(folder: &Path, options: &[&str]) -> String {
    let words = [&["show", "run.json"], options].concat();
    let shown = zc_in(folder, &words).finish().unwrap();
    assert_ended(&shown);
    text(&shown.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_server_is_read_from_another_machine_and_all_cpus_of_this_one_are_its_cost() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    if nfs(folder.path(), &[]).is_none() {
        return;
    }
    // In a thread of its own: a namespace belongs to a thread.
    let test = std::thread::spawn(move || {
        let folder = folder.path();
        let [near_cpu, far_cpu, ..] = zc_kernel::sched::allowed_cpus().unwrap()[..] else {
            return eprintln!("skipped: two machines need two CPUs");
        };
        let Some(wire) = Wire::new() else { return };
        let _server = Server::start_in(&["--mount"], folder);
        let via = wire.via(folder, far_cpu);
        let words = ["run", "nfs", "--nfs-file", "10.83.0.1:/data/file", "--vers", "4.0", "--via"];
        let mut command = zc_on(near_cpu, folder, &[&words[..], &[&via]].concat());
        command.args(["--rsize", "4k,64k", "--rate", "4MB/s", "--budget", "600s"]);
        assert!(has_a_block(folder, &mut command));
        let run = saved(folder);
        let plan = &run.header.plan;
        let nfs = plan.traffic.nfs().unwrap();
        assert_eq!((&nfs.client_at, nfs.shares_machine), (&Some(via), false));
        assert_eq!((nfs.server, nfs.file_bytes), (NfsServer::External, 2 << 20));
        assert_eq!(plan.fixed.soaked_cpus, [near_cpu]);
        assert!(plan.is_of_a_server() && !plan.is_of_a_client());
        assert!(!run.header.warnings.iter().any(|each| each.name == "load-here"));
        assert_none_failed(&run);
        assert!(asked(&run) > 0);
        // 4 MB/s of 64k are 61 READs per second, in windows of a fraction of one.
        for trial in trials(&run).filter(|trial| trial.cell == "64k nfs-v4.0") {
            assert!(trial.whole_bytes > 0 && trial.whole_bytes % 65_536 == 0, "{trial:?}");
            assert_eq!(trial.closed.receiver.cpu_ns, 0, "the client's account is not here");
        }
        let shown = shown_of(folder, &[]);
        assert!(shown.contains(", the server's side; "), "{shown}");
        let shown = shown + &shown_of(folder, &["-v"]);
        for words in
            ["every figure is the server's", "read by libnfs at nsenter", "client at nsenter"]
        {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(!shown.contains("the sender") && !shown.contains("both ends"), "{shown}");
    });
    test.join().unwrap();
}

#[test]
fn a_command_that_leads_to_this_machine_is_told_and_the_end_of_what_it_started_ends_the_run() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    if nfs(folder.path(), &[]).is_none() {
        return;
    }
    let server = Server::start(folder.path());
    let file = format!("{ADDRESS}:/data/file");
    let there = ["--nfs-file", &file, "--vers", "4.0", "--rsize", "64k", "--via", "env"];
    let mut zc = server.run(folder.path(), &there);
    let mut zc = zc.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    wait_for_blocks(folder.path(), &mut zc, 1);
    let serves = |pid: i32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.ends_with("serve\0--stdio\0--nfs\0")
    };
    let reads = |pid: i32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim_end() == "reader"
    };
    let far = below(zc.id(), serves).expect("the far end is below zc");
    let reader = below(zc.id(), reads).expect("the far end has a reader");
    // CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_SYS_ADMIN, CAP_SYS_RESOURCE and
    // CAP_BPF.
    let keeps = [10, 12, 14, 21, 24, 39].iter().fold(0, |bits, number| bits | 1 << number);
    has_only(keeps, far as u32);
    has_only(keeps, reader as u32);
    zc_kernel::spawn::kill(far, 9).unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 6), "far-end-gone");
    let is_gone = || !Path::new(&format!("/proc/{reader}")).exists();
    until("the reader has ended", || is_gone().then_some(()));
    let run = saved(folder.path());
    let nfs = run.header.plan.traffic.nfs().unwrap();
    assert_eq!((nfs.client_at.as_deref(), nfs.shares_machine), (Some("env"), true));
    assert!(run.header.warnings.iter().any(|each| each.name == "load-here"));
    let shown = shown_of(folder.path(), &[]);
    assert!(shown.contains(", both ends on this machine; "), "{shown}");
    let shown = shown + &shown_of(folder.path(), &["-v"]);
    assert!(shown.contains("both ends are on one machine"), "{shown}");
    assert!(!shown.contains("the sender") && !shown.contains("'s side"), "{shown}");

    // What the far end says of the server is said here.
    let _ = std::fs::remove_file(folder.path().join("run.json"));
    let nothing = format!("{ADDRESS}:/data/nothing");
    let words = ["--nfs-file", &nothing, "--vers", "4.0", "--via", "env"];
    let output = server.run(folder.path(), &words).finish().unwrap();
    assert_eq!(refused(&output, 6), "nfs-client-failed");
    assert!(stderr(&output).contains("at the far end"), "{}", stderr(&output));

    // The server hangs, for which the client waits 10 s, and the run is gone.
    zc_kernel::spawn::kill(server.0.id() as i32, rustix::process::Signal::STOP.as_raw()).unwrap();
    let mut zc = server.run(folder.path(), &there);
    let mut zc = zc.stdout(Stdio::null()).stderr(Stdio::null()).start().unwrap();
    let reader = until("the far end has a reader", || below(zc.id(), reads));
    let far = below(zc.id(), serves).unwrap();
    until("the client is connected", || {
        let sockets = std::fs::read_to_string(format!("/proc/{reader}/net/tcp")).unwrap();
        sockets.contains(":0801 01 ").then_some(())
    });
    zc.kill().unwrap();
    zc.wait().unwrap();
    let began = Instant::now();
    let are_gone = || [far, reader].iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists());
    until("the far end has ended", || are_gone().then_some(()));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_is_not_there_and_a_copy_that_is_too_large_are_sentences() {
    let folder = tempfile::tempdir().unwrap();
    if !Path::new("/usr/include/nfsc/libnfs.h").exists() {
        return eprintln!("skipped: no libnfs");
    }
    let run = ["run", "nfs", "--budget", "20s"];
    let words = [&run[..], &["--nfs-file", "127.0.0.1:/data/file"]].concat();
    let output = zc_in(folder.path(), &words).finish().unwrap();
    assert_eq!(refused(&output, 6), "nfs-client-failed");
    assert!(stderr(&output).contains("hint: whether 127.0.0.1 "), "{}", stderr(&output));
    let large = folder.path().join("large");
    std::fs::File::create(&large).unwrap().set_len(1 << 42).unwrap();
    let Some(mut command) = nfs(folder.path(), &["--files", "large"]) else { return };
    let output = command.finish().unwrap();
    assert_eq!(refused(&output, 4), "too-little-memory");
    assert!(stderr(&output).contains(" 6597070 MB"), "{}", stderr(&output));
}

#[test]
fn files_of_the_user_s_are_served_as_one_and_long_reads_of_short_files_are_refused() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), vec![1; 100_000]).unwrap();
    std::fs::write(folder.path().join("b"), vec![2; 70_001]).unwrap();
    let words = ["--vers", "4.0", "--files", "a", "b", "--rsize"];
    let Some(mut command) = nfs(folder.path(), &words) else { return };
    let output = command.args(["64k,128k"]).finish().unwrap();
    assert_eq!(refused(&output, 3), "file-too-short");
    let said = stderr(&output);
    assert!(said.contains(" 131072 ") && said.contains(" 100000"), "{said}");
    let mut command = nfs(folder.path(), &[&words[..], &["16k"]].concat()).unwrap();
    if has_a_block(folder.path(), &mut command) {
        assert_eq!(saved(folder.path()).header.plan.traffic.nfs().unwrap().file_bytes, 170_001);
    }
}

#[test]
fn a_server_that_is_killed_ends_the_run_and_a_zc_that_is_killed_leaves_nothing() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let words = ["--vers", "3", "--rsize", "64k"];
    let Some(mut command) = nfs(folder.path(), &words) else { return };
    let mounts = || std::fs::read_to_string("/proc/self/mounts").unwrap();
    let before = mounts();
    let mut zc = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    wait_for_blocks(folder.path(), &mut zc, 1);
    let ganesha = ganesha_of(zc.id()).expect("it serves");
    zc_kernel::spawn::kill(ganesha, 9).unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 6), "program-ended");
    assert!(!saved(folder.path()).blocks.is_empty(), "what was measured is saved");

    std::fs::remove_file(folder.path().join("run.json")).unwrap();
    let mut command = nfs(folder.path(), &words).unwrap();
    let mut zc = command.stdout(Stdio::null()).stderr(Stdio::piped()).start().unwrap();
    wait_for_blocks(folder.path(), &mut zc, 1);
    let ganesha = ganesha_of(zc.id()).expect("it serves");
    zc.kill().unwrap();
    zc.wait().unwrap();
    let is_gone = || !Path::new(&format!("/proc/{ganesha}")).exists();
    until("the server has ended", || is_gone().then_some(()));
    assert_eq!(mounts(), before);
}

#[test]
fn a_reader_that_is_none_is_named() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut command) = nfs(folder.path(), &["--nfs-reader", "/bin/true"]) else { return };
    let output = command.finish().unwrap();
    assert_eq!(refused(&output, 6), "program-ended");
    let mut command = nfs(folder.path(), &["--nfs-reader", "/nowhere/reader"]).unwrap();
    let output = command.finish().unwrap();
    assert_eq!(refused(&output, 6), "program-not-started");
    assert!(stderr(&output).contains("/nowhere/reader"), "{}", stderr(&output));
}

/// The lab measures with both, under kernels that have them.
#[test]
fn what_this_kernel_has_not_of_nfs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let modules = std::fs::read_dir("/lib/modules").map_or(0, Iterator::count);
    let systems = std::fs::read_to_string("/proc/filesystems").unwrap();
    for (words, name) in [(["--nfs-server", "knfsd"], "nfsd"), (["--nfs-client", "kernel"], "nfs")]
    {
        if modules > 0 || systems.lines().any(|line| line.ends_with(&format!("\t{name}"))) {
            eprintln!("skipped: this kernel may have {name}");
            continue;
        }
        let words = [&["run", "nfs", "--budget", "20s"], &words[..]].concat();
        let output = zc_in(folder.path(), &words).finish().unwrap();
        let id = refused(&output, 4);
        // As another user, or without nfs-ganesha, that of the server is told first.
        assert!(id == "nfs-server-unavailable" || name == "nfs" && id == "nfs-client-unavailable");
        assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
    }
}

#[test]
fn without_root_there_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    if zc_kernel::process::euid() == 0 {
        return eprintln!("skipped: this is root");
    }
    let output = zc_in(folder.path(), &["run", "nfs", "--budget", "20s"]).finish().unwrap();
    assert_eq!(refused(&output, 4), "nfs-server-unavailable");
}
