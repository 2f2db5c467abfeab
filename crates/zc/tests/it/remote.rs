//! `zc serve` and `zc run --remote`: over 127.0.0.1 without privileges, and as root in two network
//! namespaces, the far one with another boot id and another CPU, so that it looks like another
//! machine. Also far ends other than zc. The results are not checked: other tests run at the same
//! time.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{ChildStderr, Command, Output, Stdio};

use zc_kernel::netlink::Devices;
use zc_kernel::netns::NetNs;
use zc_run::{EndReason, LinkKind, PeerKind, Run, Slot};

use crate::rights::status_field;
use crate::server::{Elsewhere, SHORT};
use crate::support::{
    Bounded as _, NOTHING_KEPT, Running, ZC, blocks_of, failed, interrupted_when, measuring,
    refused, saved, stderr, text, wait_for_blocks, zc, zc_in,
};

/// A server that waits for a client.
struct Far {
    child: Running,
    says: BufReader<ChildStderr>,
}

impl Far {
    fn start(words: &[&str]) -> Self {
        let mut command = zc(&["serve"]);
        command.args(words);
        Self::started_by(command)
    }

    fn started_by(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).start().unwrap();
        let says = BufReader::new(child.stderr.take().unwrap());
        Self { child, says }
    }

    /// Its next line that contains `what`.
    #[track_caller]
    fn hear(&mut self, what: &str) -> String {
        let mut line = String::new();
        while !line.contains(what) {
            line.clear();
            assert!(
                self.says.read_line(&mut line).unwrap() > 0,
                "it ended without a word of \"{what}\""
            );
        }
        line
    }

    /// Address on which it listens.
    fn address(&mut self) -> String {
        let line = self.hear("listening on ");
        line["listening on ".len()..].split(';').next().unwrap().to_owned()
    }

    /// Its next one-time token.
    fn token(&mut self) -> String {
        self.hear("--token ").trim().rsplit(' ').next().unwrap().to_owned()
    }
}

fn near(folder: &Path, words: &[&str]) -> Command {
    let mut command = zc_in(folder, &["run"]);
    command.args(words).args(["--out", "run.json"]);
    command
}

/// The saved run, once it has this many blocks.
#[track_caller]
fn measured(folder: &Path, words: &[&str], blocks: usize) -> (Run, Output) {
    let output = blocks_of(folder, &mut near(folder, &[words, &["-v"]].concat()), blocks);
    (the_run(folder, &output), output)
}

#[track_caller]
fn the_run(folder: &Path, output: &Output) -> Run {
    assert!(
        matches!(output.status.code(), Some(0 | NOTHING_KEPT | 130)),
        "{}",
        text(&output.stderr)
    );
    let run = saved(folder);
    assert!(!run.blocks.is_empty());
    assert_eq!(run.header.plan.fixed.link, LinkKind::Remote);
    run
}

/// Checks that every slot of every whole block has the far end's readings. Other programs may have
/// had the CPUs for a whole trial, so bytes are required of the run and not of each trial.
#[track_caller]
fn read_at_both_ends(run: &Run) {
    let mut seen = [0_u64; 4];
    for block in &run.blocks {
        for slot in &block.slots {
            let (near, far) = match slot {
                Slot::Idle(window) => (&window.closed, window.remote.as_ref()),
                Slot::Trial(trial) => (&trial.closed, trial.remote.as_ref()),
            };
            let far = far.expect("a window at the far end");
            assert!(far.closed.soak.at_ns > far.opened.soak.at_ns);
            assert!(far.closed.process_cpu_ns >= far.opened.process_cpu_ns);
            if let Slot::Trial(trial) = slot {
                assert!(trial.kind != zc_run::TrialKind::Paced || trial.whole_bytes == 0);
                assert!(near.received.bytes > 0, "at least the greeting");
                let far = &far.closed;
                let delivered = far.delivered.expect("packets that TCP got at the far end");
                assert!(delivered.packets > 0 && delivered.segs_in > 0, "{delivered:?}");
                let received = [far.received.bytes, far.received.calls];
                let new = [trial.whole_bytes, received[0], received[1], far.receiver.cpu_ns];
                seen = std::array::from_fn(|what| seen[what] + new[what]);
            }
        }
    }
    assert!(
        seen.iter().all(|count| *count > 0),
        "bytes sent; bytes, calls and CPU time of the receivers: {seen:?}"
    );
}

#[test]
fn both_ends_on_one_machine_know_it_and_need_no_token_over_loopback() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
    let words = ["--paths", "sendfile", "--remote", &far.address()];
    let output = blocks_of(folder.path(), &mut near(folder.path(), &words), 2);
    let run = the_run(folder.path(), &output);
    read_at_both_ends(&run);
    let remote = run.header.remote.unwrap();
    assert_eq!(remote.kind, PeerKind::Zc);
    let machine = remote.machine.unwrap();
    assert!(machine.same_machine && machine.soaked_cpus.is_empty());
    let device = machine.device.as_ref().unwrap();
    assert!(device.mtu_bytes > 0 && !device.settings.is_empty(), "{device:?}");
    assert!(
        run.header
            .probes
            .iter()
            .any(|probe| matches!(probe, zc_run::Probe::Proof { cell, .. } if cell == "sendfile")),
        "the bytes were proven at the far end"
    );
    assert!(text(&output.stdout).contains("both ends on this machine"), "{}", text(&output.stdout));
    assert!(far.hear("session has ended").contains("127.0.0.1:"));
}

/// Checks that every thread of a process has given up all capabilities of this one but `keep`, and
/// those that programs could give it.
#[track_caller]
pub(crate) fn has_only(keep: u64, process: u32) {
    let of = |status: &str, name: &str| {
        u64::from_str_radix(&status_field(status, name), 16).unwrap_or_else(|_| panic!("{name}"))
    };
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    // A thread may have ended meanwhile.
    let statuses =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
    let statuses: Vec<String> = statuses.collect();
    assert!(!statuses.is_empty());
    let may_bound = of(&own, "CapEff:") & 1 << 8 != 0; // CAP_SETPCAP
    for status in statuses {
        for name in ["CapEff:", "CapPrm:"] {
            assert_eq!(of(&status, name), of(&own, name) & keep, "{name} {status}");
        }
        let bound = if may_bound { of(&own, "CapBnd:") & keep } else { of(&own, "CapBnd:") };
        assert_eq!(of(&status, "CapBnd:"), bound, "{status}");
        assert_eq!((of(&status, "CapInh:"), of(&status, "CapAmb:")), (0, 0));
        assert_eq!(of(&status, "NoNewPrivs:"), 1);
    }
}

#[test]
fn every_thread_at_both_ends_has_only_the_capabilities_that_measuring_needs() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let bits = |numbers: &[u32]| numbers.iter().fold(0, |bits, number| bits | 1 << number);
    // linux/capability.h; docs/protocol.md lists them with their reasons.
    let (net_bind_service, net_admin, ipc_lock, sys_resource) = (10, 12, 14, 24);
    let (dac_override, dac_read_search, perfmon, bpf) = (1, 2, 38, 39);
    let serving = bits(&[net_admin, net_bind_service, ipc_lock, sys_resource, bpf]);
    let towards = bits(&[dac_override, dac_read_search, net_admin, ipc_lock, sys_resource]);
    let towards = towards | bits(&[perfmon, bpf]);

    let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
    let address = far.address();
    has_only(serving, far.child.id());
    let words = ["--paths", "sendfile", "--budget", "600s", "--remote", &address];
    let mut near = near(folder.path(), &words);
    let mut near = near.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    // Soakers, receivers and senders have been started.
    wait_for_blocks(folder.path(), &mut near, 1);
    has_only(serving, far.child.id());
    has_only(towards, near.id());
    let interrupt = rustix::process::Signal::INT;
    rustix::process::kill_process(rustix::process::Pid::from_child(&near), interrupt).unwrap();
    let output = near.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
}

#[test]
fn every_receive_path_takes_the_bytes_at_the_far_end_too() {
    let _turn = measuring();
    let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
    let address = far.address();
    for (send, recv) in [
        ("splice", "splice"),
        ("splice", "recv-trunc:128k"),
        ("splice", "zerocopy-receive"),
        ("tls-write", "tls-recv"),
        ("tls-write", "recv-trunc"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words = ["--paths", send, "--recv", recv, "--flows", "3", "--remote", &address];
        let (run, _) = measured(folder.path(), &words, 2);
        read_at_both_ends(&run);
    }
}

#[test]
fn a_path_that_cannot_run_at_the_far_end_is_a_sentence() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
    let address = far.address();
    let words =
        ["--paths", "sendfile", "--flows", "256", "--recv", "recv:32m", "--remote", &address];
    let output = near(folder.path(), &words).finish().unwrap();
    assert_eq!(refused(&output, 1), "reference-unavailable");
    assert!(!folder.path().join("run.json").exists(), "there is nothing to save");
}

#[test]
fn a_token_does_not_stay_in_the_command_line_and_may_come_from_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    // Somebody who says nothing, so that the client waits.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap().to_string();
    let word = "a token that is long enough";
    let mut client = near(folder.path(), &["--remote", &address, "--token", word])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let has_called = mute.accept();
    let line = std::fs::read(format!("/proc/{}/cmdline", client.id())).unwrap();
    client.kill().unwrap();
    client.wait().unwrap();
    has_called.unwrap();
    let line = String::from_utf8(line).unwrap();
    assert!(line.contains("--token") && !line.contains(word), "{line}");

    let secret = folder.path().join("token");
    std::fs::write(&secret, format!("{word}\n")).unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut far =
        Far::start(&["--listen", "127.0.0.2:0", "--token-file", secret.to_str().unwrap()]);
    let address = far.address();
    for (word, id) in [("", "token-missing"), ("another that is long enough", "token-refused")] {
        let mut command = near(folder.path(), &["--remote", &address]);
        assert_eq!(refused(&command.env("ZC_TOKEN", word).finish().unwrap(), 6), id);
    }
}

#[test]
fn a_token_that_others_may_read_is_refused_unless_the_service_manager_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("token");
    std::fs::write(&secret, "a token that is long enough\n").unwrap();
    // As an access list for the service's user shows.
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let words = ["serve", "--listen", "127.0.0.2:0", "--token-file", secret.to_str().unwrap()];
    let elsewhere = tempfile::tempdir().unwrap();
    for credentials in [None, Some("".as_ref()), Some(elsewhere.path())] {
        let mut command = zc(&words);
        command.env_remove("CREDENTIALS_DIRECTORY");
        command.envs(credentials.map(|folder| ("CREDENTIALS_DIRECTORY", folder)));
        let output = command.finish().unwrap();
        assert_eq!(refused(&output, 3), "token-file-readable-by-others");
        assert!(stderr(&output).contains("0640"), "{}", stderr(&output));
    }
    let mut command = zc(&words);
    command.env("CREDENTIALS_DIRECTORY", folder.path());
    assert!(Far::started_by(command).address().starts_with("127.0.0.2:"));
}

#[test]
fn a_one_time_token_opens_one_session_and_is_not_saved() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // 127.0.0.2 is loopback too, so a token is required only if the server has one.
    let secret = folder.path().join("token");
    std::fs::write(&secret, "a token that is long enough\n").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut far =
        Far::start(&["--listen", "127.0.0.2:0", "--token-file", secret.to_str().unwrap()]);
    let address = far.address();
    for (words, id) in [
        (vec!["--remote", &address], "token-missing"),
        (vec!["--remote", &address, "--token", "another that is long enough"], "token-refused"),
    ] {
        assert_eq!(refused(&near(folder.path(), &words).finish().unwrap(), 6), id);
    }
    let words =
        ["--paths", "sendfile", "--remote", &address, "--token", "a token that is long enough"];
    let (run, _) = measured(folder.path(), &words, 1);
    assert!(
        !run.header.command.iter().any(|word| word.contains("long enough")),
        "{:?}",
        run.header.command
    );

    let mut far = Far::start(&["--listen", "0.0.0.0:0"]);
    let port = far.address().rsplit_once(':').unwrap().1.to_owned();
    let token = far.token();
    let address = format!("127.0.0.1:{port}");
    let words = ["--paths", "sendfile", "--remote", &address, "--token", &token];
    let again = tempfile::tempdir().unwrap();
    measured(again.path(), &words, 1);
    let third = tempfile::tempdir().unwrap();
    assert_eq!(refused(&near(third.path(), &words).finish().unwrap(), 6), "token-refused");
    assert_ne!(far.token(), token);
}

#[test]
fn a_second_client_gets_the_error_that_the_server_is_busy() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
    let address = far.address();
    let words = ["--budget", "60s", "--paths", "sendfile", "--remote", &address];
    let mut first =
        near(folder.path(), &words).stdout(Stdio::null()).stderr(Stdio::null()).start().unwrap();
    far.hear("a session begins");
    let second = tempfile::tempdir().unwrap();
    assert_eq!(refused(&near(second.path(), &words).finish().unwrap(), 6), "far-end-busy");
    first.kill().unwrap();
    first.wait().unwrap();
    // After a client was killed, the server serves the next one.
    far.hear("session has ended");
    let third = tempfile::tempdir().unwrap();
    measured(third.path(), &["--paths", "sendfile", "--remote", &address], 1);
}

#[test]
fn a_far_end_that_is_killed_in_the_middle_ends_the_run_with_what_was_measured() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
    let words = ["--budget", "120s", "--paths", "sendfile", "--remote", &far.address()];
    let mut run =
        near(folder.path(), &words).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    wait_for_blocks(folder.path(), &mut run, 2);
    drop(far);
    let output = run.wait_with_output().unwrap();
    assert_eq!(failed(&output, 6), "far-end-gone");
    assert!(text(&output.stdout).contains("read+send"), "what is known is printed");
    let run = saved(folder.path());
    assert!(matches!(run.end.unwrap().reason, EndReason::Failed { .. }));
}

#[test]
fn a_far_end_that_is_stopped_says_so_to_the_other() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
    let words = ["--budget", "120s", "--paths", "sendfile", "--remote", &far.address()];
    let run =
        near(folder.path(), &words).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    far.hear("a session begins");
    zc_kernel::spawn::kill(far.child.id() as i32, libc_sigterm()).unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(1 | 6)), "{}", text(&output.stderr));
    assert_eq!(far.child.wait().unwrap().code(), Some(0));
}

fn libc_sigterm() -> i32 {
    15
}

#[test]
fn a_sink_takes_bytes_and_the_sender_s_cost_is_all_there_is() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("discard://{}", sink.local_addr().unwrap());
    // It ends with the test's process.
    std::thread::spawn(move || {
        for socket in sink.incoming() {
            std::thread::spawn(move || discard(socket.unwrap()));
        }
    });
    let (run, output) = measured(folder.path(), &["--paths", "sendfile", "--remote", &address], 2);
    let remote = run.header.remote.as_ref().unwrap();
    assert_eq!((remote.kind, &remote.machine), (PeerKind::Discard, &None));
    assert!(
        text(&output.stdout).contains("the receiver was not measured"),
        "{}",
        text(&output.stdout)
    );
}

fn discard(mut socket: TcpStream) {
    let mut buffer = vec![0; 1 << 18];
    while socket.read(&mut buffer).is_ok_and(|len| len > 0) {}
}

#[test]
fn an_unmodified_iperf3_server_is_a_far_end() {
    let _turn = measuring();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let Ok(server) = Command::new("iperf3")
        .args(["-s", "-p", &free])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .start()
    else {
        eprintln!("skipped: no iperf3");
        return;
    };
    let mut server = Far::from_child(server);
    let folder = tempfile::tempdir().unwrap();
    // zc waits for it as between two tests.
    let address = format!("iperf3://127.0.0.1:{free}");
    let (run, _) = measured(folder.path(), &["--paths", "sendfile", "--remote", &address], 2);
    assert!(server.child.try_wait().unwrap().is_none(), "it serves on");
    let reports = run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
        Slot::Trial(trial) => {
            Some((trial.whole_bytes, trial.remote_report.expect("what the server says")))
        }
        Slot::Idle(_) => None,
    });
    let reports: Vec<_> = reports.collect();
    assert!(!reports.is_empty());
    for (sent, report) in reports {
        assert!(
            report.received_bytes <= sent && report.received_bytes > sent / 2,
            "{sent} {report:?}"
        );
        assert!(report.seconds > 0.0 && report.cpu_percent >= 0.0);
    }
}

impl Far {
    /// A server of another program that does not answer.
    fn from_child(child: Running) -> Self {
        let mut echo = Command::new("true").stderr(Stdio::piped()).start().unwrap();
        let says = BufReader::new(echo.stderr.take().unwrap());
        echo.wait().unwrap();
        Self { child, says }
    }
}

/// Two connected namespaces. This thread is in the near one, and the far one is entered through a
/// file descriptor. Both end with the test.
pub(crate) struct Wire {
    far: NetNs,
}

impl Wire {
    pub(crate) fn new() -> Option<Self> {
        let Ok(far) = NetNs::unshare() else {
            eprintln!("skipped: needs CAP_SYS_ADMIN");
            return None;
        };
        let far_devices = Devices::open().unwrap();
        far_devices.bring_up(far_devices.find("lo").unwrap().index).unwrap();
        NetNs::unshare().unwrap();
        let near_devices = Devices::open().unwrap();
        near_devices.bring_up(near_devices.find("lo").unwrap().index).unwrap();
        near_devices.make_veth("near0", "far0", far.as_fd()).unwrap();
        for (devices, name, last) in [(&near_devices, "near0", 1), (&far_devices, "far0", 2)] {
            let index = devices.find(name).unwrap().index;
            devices.add_address(index, Ipv4Addr::new(10, 83, 0, last).into(), 24).unwrap();
            devices.bring_up(index).unwrap();
        }
        Some(Self { far })
    }

    /// A command for --via to the far one, with another boot id, so that it looks like another
    /// machine, and on this CPU.
    pub(crate) fn via(&self, folder: &Path, far_cpu: usize) -> String {
        let mut boot_id = File::create(folder.join("boot_id")).unwrap();
        boot_id.write_all(b"00000000-0000-0000-0000-000000000001\n").unwrap();
        let far = std::os::fd::AsRawFd::as_raw_fd(&self.far.as_fd());
        let place = std::fs::read_link(format!("/proc/self/fd/{far}")).unwrap();
        assert!(place.to_string_lossy().starts_with("net:"));
        // The last argument is the shell that --via adds.
        format!(
            "nsenter --net=/proc/{}/fd/{far} unshare --mount sh -c 'mount --bind {} \
             /proc/sys/kernel/random/boot_id && \
             exec env PATH=\"{}:$PATH\" taskset -c {far_cpu} \"$0\"'",
            std::process::id(),
            folder.join("boot_id").display(),
            // The program is not looked for in folders that every user can write to, such as a
            // checkout below /tmp.
            Path::new(ZC).parent().unwrap().display()
        )
    }
}

/// `zc` on this CPU alone.
pub(crate) fn zc_on(cpu: usize, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), ZC]).args(words).args(["--out", "run.json"]);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Two states of a server, at a name of this machine.
fn states(server: &Elsewhere, host: &str) -> [String; 2] {
    [("one", 0), ("two", 1)]
        .map(|(state, at)| format!("{state}=http://{host}:{}/", server.ports[at]))
}

/// The requests of a run's windows.
pub(crate) fn asked(run: &Run) -> u64 {
    let of = |slot: &Slot| match slot {
        Slot::Trial(trial) => trial.closed.sent.calls - trial.opened.sent.calls,
        Slot::Idle(_) => 0,
    };
    run.blocks.iter().flat_map(|block| &block.slots).map(of).sum()
}

#[test]
fn a_server_is_asked_from_another_machine_and_all_cpus_of_this_one_are_its_cost() {
    let _turn = measuring();
    // In a thread of its own: a namespace belongs to a thread.
    let test = std::thread::spawn(|| {
        let [near_cpu, far_cpu, ..] = zc_kernel::sched::allowed_cpus().unwrap()[..] else {
            return eprintln!("skipped: two machines need two CPUs");
        };
        let (Some(wire), Some(server)) = (Wire::new(), Elsewhere::start()) else { return };
        let folder = server.folder.path();
        let via = wire.via(folder, far_cpu);
        let asking = |host: &str| {
            let [one, two] = states(&server, host);
            let words = ["run", "server", "--state", &one, "--state", &two, "--via", &via];
            let mut command = zc_on(near_cpu, folder, &words);
            command.args(["--requests", "100/s", "--connections", "2"]).args(SHORT);
            command
        };
        let output = blocks_of(folder, &mut asking("10.83.0.1"), 2);
        let run = the_run(folder, &output);
        let plan = &run.header.plan;
        assert_eq!(plan.fixed.soaked_cpus, [near_cpu]);
        let asked_of = plan.traffic.server().unwrap();
        assert_eq!((&asked_of.load_from, &asked_of.serve), (&Some(via.clone()), &None));
        assert!(!run.header.warnings.iter().any(|warning| warning.name == "load-here"));
        assert!(asked(&run) > 0);
        let shown = zc_in(folder, &["show", "-v", "run.json"]).finish().unwrap();
        let table = text(&shown.stdout);
        // A busy machine leaves no cost to print, but what a cost would be of is told all the same.
        assert!(table.contains("what all CPUs of the server's machine lost"), "{table}");

        // The far end cannot know what this machine calls localhost.
        std::fs::remove_file(folder.join("run.json")).unwrap();
        let output = asking("localhost").finish().unwrap();
        assert_eq!(refused(&output, 2), "server-unreachable-from-far-end");
        assert!(stderr(&output).contains("\"http://localhost:"), "{}", stderr(&output));
    });
    test.join().unwrap();
}

#[test]
fn a_far_end_asks_the_machine_that_controls_it_and_says_if_it_is_this_one() {
    let _turn = measuring();
    let test = std::thread::spawn(move || {
        let (Some(_wire), Some(server)) = (Wire::new(), Elsewhere::start()) else { return };
        let folder = server.folder.path();
        let mut far = Far::start(&["--listen", "127.0.0.1:0"]);
        let address = far.address();
        let ask = |far: &str, [one, two]: [String; 2], more: &[&str]| {
            let words = ["server", "--state", &one, "--state", &two, "--remote", far];
            let mut command = near(folder, &words);
            command.args(["--requests", "100/s"]).args(more);
            command
        };
        let local = || states(&server, "localhost");
        let output = blocks_of(folder, &mut ask(&address, local(), &["-v"]), 1);
        let run = the_run(folder, &output);
        let load_from = run.header.plan.traffic.server().unwrap().load_from.as_deref();
        assert_eq!(load_from, Some("127.0.0.1"));
        assert!(text(&output.stdout).contains("the load runs on this machine too"));
        std::fs::remove_file(folder.join("run.json")).unwrap();

        for (far, states, more, id) in [
            (&*address, states(&server, "10.83.0.1"), &[][..], "foreign-target"),
            (&address, states(&server, "10.83.0.2"), &[], "server-elsewhere"),
            (&address, local(), &["--serve", "true"], "server-unreachable-from-far-end"),
            (&address, local(), &["--cacert", "x.pem"], "cacert-with-remote"),
            ("iperf3://127.0.0.1", local(), &[], "far-end-not-zc"),
        ] {
            assert_eq!(refused(&ask(far, states, more).finish().unwrap(), 2), id);
        }
    });
    test.join().unwrap();
}

#[test]
fn an_address_with_a_zone_works_wherever_one_is_taken() {
    let _turn = measuring();
    // In a thread of its own: a namespace belongs to a thread.
    let test = std::thread::spawn(|| {
        if NetNs::unshare().is_err() {
            return eprintln!("skipped: needs CAP_SYS_ADMIN");
        }
        let devices = Devices::open().unwrap();
        let lo = devices.find("lo").unwrap().index;
        devices.bring_up(lo).unwrap();
        if let Err(error) = devices.add_address(lo, "fe80::1".parse().unwrap(), 64) {
            return eprintln!("skipped: no IPv6 here: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "a token of some length\n").unwrap();
        std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
        let token = ["--token-file", token.to_str().unwrap()];
        let mut far = Far::start(&[&["--listen", "[fe80::1%lo]:0"], &token[..]].concat());
        let port = |address: &str| address.rsplit(':').next().unwrap().to_owned();
        let remote = format!("[fe80::1%lo]:{}", port(&far.address()));
        let words = [&["--paths", "sendfile", "--remote", &remote], &token[..]].concat();
        let (run, _) = measured(folder.path(), &words, 1);
        let address = &run.header.remote.as_ref().unwrap().address;
        assert!(address.starts_with(&format!("[fe80::1%{lo}]:")), "{address}");
        assert_eq!(run.header.link.device, "lo");

        let server = TcpListener::bind(format!("[fe80::1%{lo}]:0")).unwrap();
        let url = format!("http://[fe80::1%25lo]:{}/", server.local_addr().unwrap().port());
        // The first request is one by way of trial.
        let serving = std::thread::spawn(move || {
            let answer = |_| {
                let (mut connection, _) = server.accept().unwrap();
                let mut asked = vec![0; 4096];
                let length = connection.read(&mut asked).unwrap();
                connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
                text(&asked[..length])
            };
            [0, 1].map(answer)
        });
        let words = ["http", &url, "--requests", "1", "--connections", "1", "--close"];
        let output = zc(&words).args(["--source", "fe80::1%lo"]).finish().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        for asked in serving.join().unwrap() {
            assert!(asked.contains("\r\nHost: [fe80::1]:"), "{asked}");
        }
    });
    test.join().unwrap();
}

#[test]
fn two_machines_have_a_cost_each() {
    let _turn = measuring();
    // In a thread of its own: a namespace belongs to a thread.
    std::thread::spawn(|| {
        let [near_cpu, far_cpu, ..] = zc_kernel::sched::allowed_cpus().unwrap()[..] else {
            return eprintln!("skipped: two machines need two CPUs");
        };
        let Some(wire) = Wire::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let via = wire.via(folder.path(), far_cpu);
        let words = ["run", "-v", "--paths", "sendfile", "--via", &via];
        let mut command = zc_on(near_cpu, folder.path(), &words);
        let output = blocks_of(folder.path(), &mut command, 2);
        let run = the_run(folder.path(), &output);
        read_at_both_ends(&run);
        let remote = run.header.remote.as_ref().unwrap();
        let machine = remote.machine.as_ref().unwrap();
        assert!(!machine.same_machine);
        assert_eq!(
            (machine.soaked_cpus.as_slice(), run.header.plan.fixed.soaked_cpus.as_slice()),
            (&[far_cpu][..], &[near_cpu][..])
        );
        assert!(remote.address.starts_with("10.83.0.2:"), "{}", remote.address);
        // Dropped blocks have costs too; this test does not require that blocks count.
        let index = zc_analysis::PlanIndex::new(&run.header.plan);
        let blocks: Vec<_> = run.blocks.iter().collect();
        let costs = zc_analysis::costs::trial_costs(&blocks, &run.header, &index);
        let costs: Vec<_> = costs.into_iter().flatten().flatten().collect();
        let all_dropped = run.blocks.iter().all(|block| block.dropped.is_some());
        if costs.is_empty() && all_dropped {
            eprintln!(
                "skipped: something else uses this machine: soakers counted nothing in any \
                block"
            );
        }
        assert!(!costs.is_empty() || all_dropped);
        assert!(
            costs
                .iter()
                .all(|cost| cost.gross.sender_ns.is_some() && cost.gross.receiver_ns.is_some())
        );
        assert!(text(&output.stdout).contains("far machine"), "{}", text(&output.stdout));
    })
    .join()
    .unwrap();
}

/// A port of this machine that is not in use.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn ends_that_start_in_any_order_leave_the_run_on_stdout_and_no_server() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let mut near = zc_in(folder.path(), &["run", "--paths", "sendfile", "--budget", "3s"]);
    near.args(["--remote", &at, "--wait-for-remote", "1min", "--out", "-"]);
    let mut near = near.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    let mut says = BufReader::new(near.stderr.take().unwrap());
    let mut line = String::new();
    says.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for the far end: cannot connect to"), "{line}");
    // One who connects and leaves is no session.
    let mut far = Far::start(&["--listen", &at, "--once"]);
    far.hear("listening on ");
    drop(TcpStream::connect(&at).unwrap());
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        says.read_to_string(&mut said).unwrap();
        said
    });
    let output = near.wait_with_output().unwrap();
    let said = said.join().unwrap();
    assert!(matches!(output.status.code(), Some(0 | NOTHING_KEPT)), "{said}");
    let saved = text(&output.stdout);
    let (run, _) = zc_run::parse(&saved).unwrap();
    assert!(!run.blocks.is_empty() && run.end.is_some(), "{said}");
    assert_eq!(zc_run::run_lines(&run), saved, "the lines that a file would hold");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file is made");
    assert_eq!(far.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_far_end_that_never_comes_is_waited_for_as_long_as_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let words = ["run", "--remote", &at, "--wait-for-remote", "1s"];
    let output = zc_in(folder.path(), &words).finish().unwrap();
    assert_eq!(refused(&output, 6), "cannot-connect");
    let said = stderr(&output);
    assert!(said.contains(&at) && said.contains(" 1 s "), "{said}");
    let words = ["run", "--wait-for-remote", "1s", "--remote", "no-such-host.invalid"];
    let output = zc_in(folder.path(), &words).finish().unwrap();
    assert_eq!(refused(&output, 6), "cannot-find-host");
    assert!(stderr(&output).contains("\"no-such-host.invalid\""), "{}", stderr(&output));
    let mut waits = zc_in(folder.path(), &["run", "--remote", &at, "--wait-for-remote", "1min"]);
    let began = std::time::Instant::now();
    let output = interrupted_when("it waits", &mut waits, || began.elapsed().as_millis() > 500);
    assert_eq!(refused(&output, 130), "interrupted");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
