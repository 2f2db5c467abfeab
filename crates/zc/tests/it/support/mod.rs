//! Shared by the tests: how the program is started, how a saved run is read, how long anything is
//! waited for, and the lock that keeps tests that measure from running at the same time.

pub(crate) mod at_once;
pub(crate) mod cgroup;
pub(crate) mod measuring;
pub(crate) mod running;
pub(crate) mod slurm_rig;

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use zc_run::{Run, SendPath};
use zc_testkit::synthetic::{Synthetic, TrueCell};

pub(crate) use at_once::at_once;
pub(crate) use measuring::measuring;
pub(crate) use running::{Bounded, LIMIT, Running, until};

/// The program under test.
pub(crate) const ZC: &str = env!("CARGO_BIN_EXE_zc");

/// A PATH on which the program under test comes first: a command of `--via` or of a scheduler finds
/// that one, whatever zc is installed, or none.
pub(crate) fn path_with_zc() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", Path::new(ZC).parent().unwrap().display())
}

/// `zc` with these arguments, nothing on stdin, text of 120 columns, and no setting of the terminal
/// that the tests run in.
pub(crate) fn zc(args: &[&str]) -> Command {
    let mut command = Command::new(ZC);
    command.args(args).stdin(Stdio::null()).env("PATH", path_with_zc());
    command.env("COLUMNS", "120").env_remove("CLICOLOR_FORCE");
    command
}

/// The same in a folder.
pub(crate) fn zc_in(folder: &Path, args: &[&str]) -> Command {
    let mut command = zc(args);
    command.current_dir(folder);
    command
}

/// The words of a line; single quotes keep blanks.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Output of a program as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The stderr of a program.
pub(crate) fn stderr(output: &Output) -> String {
    text(&output.stderr)
}

/// A saved run of five synthetic blocks, as `zc run` would have written it.
pub(crate) fn saved_run() -> String {
    zc_run::run_lines(&Synthetic { blocks: 5, ..Synthetic::default() }.run())
}

/// A run to compare: `read+send`, `sendfile` at `factor` times its cost, and a third path.
pub(crate) fn three_paths(seed: u64, factor: f64, third: TrueCell) -> Run {
    let reference = TrueCell::new(SendPath::ReadSend, 500.0, 400.0);
    let control = reference.control();
    let sendfile = TrueCell::new(SendPath::Sendfile, 180.0 * factor, 390.0 * factor);
    let world = Synthetic {
        cells: vec![reference, sendfile, third, control],
        seed,
        blocks: 80,
        noise: 0.03,
        block_drift: 0.002,
        ..Synthetic::default()
    };
    let mut run = world.run();
    run.header.started_at = format!("2026-11-21T12:00:{seed:02}Z");
    run
}

/// The run that must have been saved whole, as `run.json`.
#[track_caller]
pub(crate) fn saved(folder: &Path) -> Run {
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let (run, broken) = zc_run::parse(&text).unwrap();
    assert_eq!(broken, 0, "the file is a whole document");
    run
}

/// Waits until the run saved in `folder` holds so many blocks; panics when `zc` ends before.
#[track_caller]
pub(crate) fn wait_for_blocks(folder: &Path, zc: &mut Running, blocks: usize) {
    until("a block is saved", || {
        if blocks_saved(folder) >= blocks {
            return Some(());
        }
        if let Some(status) = zc.try_wait().unwrap() {
            let mut said = String::new();
            if let Some(mut stderr) = zc.stderr.take() {
                drop(std::io::Read::read_to_string(&mut stderr, &mut said));
            }
            assert!(
                blocks_saved(folder) >= blocks,
                "zc ended ({status}) before block {blocks}: {said}"
            );
        }
        None
    });
}

/// The id of the error with which a program ended that printed no result.
#[track_caller]
pub(crate) fn refused(output: &Output, code: i32) -> String {
    assert_eq!(text(&output.stdout), "", "{}", stderr(output));
    failed(output, code)
}

/// The id of the error with which a program ended: tests tell causes apart by it, and look in
/// stderr only for names of this run. A sentence with the id is its last line but for a hint.
#[track_caller]
pub(crate) fn failed(output: &Output, code: i32) -> String {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let error = said.lines().rfind(|line| !line.starts_with("hint: ")).unwrap_or_default();
    let sentence = error.strip_prefix("error: ").and_then(|rest| rest.strip_suffix(']'));
    let parts = sentence.and_then(|rest| rest.rsplit_once(" ["));
    parts
        .unwrap_or_else(|| panic!("it does not end with a sentence and its id: {said}"))
        .1
        .to_owned()
}

/// Whether a run of a server ended before its first block because other programs had the CPUs, and
/// the load generator could not keep to its rate.
pub(crate) fn asks_too_slowly(output: &Output) -> bool {
    let said = stderr(output);
    let is = ["[rate-not-kept]", "[rate-too-high]"].iter().any(|id| said.contains(id));
    if is {
        eprintln!("skipped: something else uses this machine");
    }
    is
}

/// The code of a run of which no block counts, which other programs decide.
pub(crate) const NOTHING_KEPT: i32 = 13;

/// A run has ended by itself, with a result or because other programs left it none.
#[track_caller]
pub(crate) fn assert_ended(output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | NOTHING_KEPT)), "{}", stderr(output));
}

/// Output of a run without a budget of its own that is ended, as by Ctrl-C, once it has saved so
/// many blocks: its budget is not too short for them, however busy the machine is, and is not
/// waited for.
#[track_caller]
pub(crate) fn blocks_of(folder: &Path, zc: &mut Command, blocks: usize) -> Output {
    zc.args(["--budget", "600s"]);
    let output = interrupted_when("enough blocks are saved", zc, || blocks_saved(folder) >= blocks);
    assert!(
        matches!(output.status.code(), Some(0 | NOTHING_KEPT | 130))
            && blocks_saved(folder) >= blocks,
        "{} with {} of {blocks} blocks: {}",
        output.status,
        blocks_saved(folder),
        stderr(&output)
    );
    output
}

/// Output of a program that is ended, as by Ctrl-C, once `ready` says so, or that ends by itself.
#[track_caller]
pub(crate) fn interrupted_when(what: &str, zc: &mut Command, ready: impl Fn() -> bool) -> Output {
    let mut zc = zc.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    until(what, || (ready() || zc.try_wait().unwrap().is_some()).then_some(()));
    // It may have ended by itself.
    let _ = rustix::process::kill_process(
        rustix::process::Pid::from_child(&zc),
        rustix::process::Signal::INT,
    );
    zc.wait_with_output().unwrap()
}

/// The exit code with which a script of a test says that it cannot run here.
pub(crate) const NOT_HERE: i32 = 77;

/// Output of a shell script in `folder` while a file system of so many bytes (`8k`) is mounted on
/// it; `None`, and a skip, where that cannot be.
pub(crate) fn on_small_disk(folder: &Path, size: &str, script: &str) -> Option<Output> {
    with_mounted(&format!("mount -t tmpfs -o size={size} tmpfs . && cd \"$PWD\""), folder, script)
}

/// Whether this machine has costs; if not, a skip.
pub(crate) fn has_costs() -> bool {
    let emulated = zc_rig::meter::is_emulated();
    if emulated {
        eprintln!("skipped: the CPU of this machine is emulated, so zc shows no cost here");
    }
    !emulated
}

/// Output of a shell script in `folder` while /proc/cpuinfo says that the CPU is emulated; `None`,
/// and a skip, where that cannot be.
pub(crate) fn on_emulated_cpu(folder: &Path, script: &str) -> Option<Output> {
    std::fs::write(folder.join("cpuinfo"), "model name\t: QEMU TCG CPU version 2.5+\n").unwrap();
    with_mounted("mount --bind cpuinfo /proc/cpuinfo", folder, script)
}

/// Output of a shell script in `folder` while /dev/kvm can be opened and /proc/cpuinfo says that
/// the CPU has virtualization; `None`, and a skip, where that cannot be.
pub(crate) fn with_kvm(folder: &Path, script: &str) -> Option<Output> {
    std::fs::write(folder.join("cpuinfo"), "flags\t\t: fpu vmx\n").unwrap();
    let devices = "mkdir -p dev && : >dev/kvm && ln -sfn /proc/self/fd dev/fd &&
        for it in null zero full urandom; do : >dev/$it && mount --bind /dev/$it dev/$it; done &&
        mount --rbind dev /dev && mount --bind cpuinfo /proc/cpuinfo";
    with_mounted(devices, folder, script)
}

/// Output of a shell script in `folder` after the line `mount` has mounted something; `None`, and a
/// skip, where that cannot be. It is mounted in a namespace of its own, so that it goes with the
/// script; without root, in one of a user namespace.
fn with_mounted(mount: &str, folder: &Path, script: &str) -> Option<Output> {
    let script = format!("{{ {mount}; }} || exit {NOT_HERE}; {script}");
    let mut unshare = Command::new("unshare");
    unshare.arg(if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" });
    unshare.args(["sh", "-c", &script]).current_dir(folder).stdin(Stdio::null());
    let Ok(output) = unshare.finish() else {
        eprintln!("skipped: there is no unshare(1) here");
        return None;
    };
    // The script's own code, or that of an unshare(1) that could not even start the shell.
    let said = stderr(&output);
    if output.status.code() == Some(NOT_HERE) || said.starts_with("unshare: ") {
        eprintln!("skipped: a file system cannot be mounted here: {}", said.trim_end());
        return None;
    }
    Some(output)
}

/// The id of the error where other programs took all CPU time from zc's soakers.
pub(crate) const STARVED: &str = "[soaker-starved]";

/// Attempts to measure on a machine that other programs use. Tests of the rigs run at the same time
/// and end soon; what still takes all CPU time at the second attempt would do so at the fifth.
const ATTEMPTS: usize = 2;

/// Runs a program, again while the result is as `disturbed` says, [`ATTEMPTS`] times at most.
pub(crate) fn undisturbed(run: impl Fn() -> Output, disturbed: impl Fn(&Output) -> bool) -> Output {
    (1..ATTEMPTS).map(|_| run()).find(|output| !disturbed(output)).unwrap_or_else(&run)
}

/// Whether soakers found no CPU time at all, which other programs decide: the result of zc is
/// missing then, and nothing else is.
pub(crate) fn is_starved(said: &str) -> bool {
    let is_starved = said.contains(STARVED);
    if is_starved {
        eprintln!("skipped: something else uses this machine");
    }
    is_starved
}

/// Number of blocks that the run saved in `folder` holds so far.
pub(crate) fn blocks_saved(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("run.json"))
        .unwrap_or_default()
        .matches("{\"index\":")
        .count()
}

/// The link that was asked for does not exist on this host.
pub(crate) fn link_is_unavailable(output: &Output) -> bool {
    output.status.code() == Some(4) && stderr(output).contains("[link-unavailable]")
}

/// The next connection, on which no read or write waits for ever.
#[track_caller]
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let stream = until("a connection arrives", || match listener.accept() {
        Ok((stream, _)) => Some(stream),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
        Err(error) => panic!("accept: {error}"),
    });
    stream.set_nonblocking(false).unwrap();
    bounded(stream)
}

/// A connection on which no read or write waits for ever.
#[track_caller]
pub(crate) fn connect(port: u16) -> TcpStream {
    bounded(TcpStream::connect(("127.0.0.1", port)).unwrap())
}

fn bounded(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}
