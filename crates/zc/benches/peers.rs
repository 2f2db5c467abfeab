//! Measures zc's own overhead: the top speed of every send path compared with a minimal loop over
//! the same path, and with iperf3, netperf and neper where they have the path. Interleaved, in
//! random order; the ratio is Hodges and Lehmann's estimate over pairs, with Wilcoxon's 95 %
//! interval.
//!
//! `cargo bench --bench peers` prints a Markdown table. Programs that are not on the PATH are left
//! out (`ZC_PEERS` may name folders to look in first). Environment: `ZC_PAIRS` (default 11),
//! `ZC_SECONDS` a measurement (default 0.4).
//!
//! All run on loopback, same CPUs, 64 KiB buffers, cubic, and a receiver that does recv(2) into 64
//! KiB; with `--skip-rx-copy` (iperf3 3.17) into 128 KiB, discarded by MSG_TRUNC. The minimal loops
//! walk the same 63 files as zc. The peers resend one hot buffer, so for the comparison with them
//! zc sends a file set of one file of that size: `mmap+write` is then a write from hot memory, as
//! theirs is, and `sendfile` their sendfile.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::programs::{find, free_port, start, start_iperf3, stop};
use common::{BUFFER, cell, files, median, only_asked_to_start, setting, sorted};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use zc_rig::trial::{self, Rig};
use zc_run::{Cell, LinkKind, RecvPath, SendPath, Timing, Trial, TrialKind};
use zc_stats::{hodges_lehmann, wilcoxon_interval};

fn main() {
    if only_asked_to_start() {
        return;
    }
    let pairs = setting("ZC_PAIRS", 11_usize);
    let seconds = setting("ZC_SECONDS", 0.4);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let set = files(folder.path(), 63, 350_000);
    let hot = files(folder.path(), 1, BUFFER);
    let cpus = trial::choose_cpus(&trial::allowed_cpus().expect("CPUs"));

    println!(
        "| path | zc Gbit/s | other | Gbit/s | zc / other | 95 % interval |\n\
         |---|---|---|---|---|---|"
    );
    let mut walking = rig(&set, seconds);
    trial::touch_memory(cpus.0, Duration::MAX);
    let minimal = built_here("examples/minimal");
    let others = [SendPath::TlsWrite, SendPath::UdpSend, SendPath::UdpSendmmsg, SendPath::UdpGso];
    for path in SendPath::basic().chain(others) {
        let other = || minimal_speed(&minimal, path, seconds, cpus, &set);
        let cell = match path {
            // What is encrypted is dropped, and of datagrams the receiver is not at issue.
            SendPath::TlsWrite => Cell::of_paths(path, RecvPath::RecvTrunc),
            _ if path.form().is_datagrams() => Cell::of_paths(path, RecvPath::UdpRecvmsg),
            _ => cell(path),
        };
        compare(&cell, "minimal loop", pairs, &mut walking, &other);
    }
    drop(walking);
    let mut hot_rig = rig(&hot, seconds);
    trial::touch_memory(cpus.0, Duration::MAX);
    let larger = files(folder.path(), 1, 16 * BUFFER).remove(0);
    for (cell, name, speed) in peers(seconds, cpus, &hot, &larger) {
        compare(&cell, &name, pairs, &mut hot_rig, &*speed);
    }
    drop(hot_rig);
    if let Some(iperf3) = find("iperf3") {
        let mut rig = rig(&files(folder.path(), 1, 2 * BUFFER), seconds);
        trial::touch_memory(cpus.0, Duration::MAX);
        let flags = &["-l", "128K", "--skip-rx-copy"];
        let speed = iperf3_speed(&iperf3, flags, &whole_seconds(seconds), cpus);
        compare(&discarded(), "iperf3 -l 128K --skip-rx-copy", pairs, &mut rig, &*speed);
    }
}

/// Measures pairs in random order and prints a row.
fn compare(cell: &Cell, name: &str, pairs: usize, rig: &mut Rig, other: &dyn Fn() -> Option<f64>) {
    let path = &cell.label;
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let mut found = Vec::new();
    for _ in 0..pairs {
        let mut order = [true, false];
        order.shuffle(&mut random);
        let (mut ours, mut theirs) = (None, None);
        for zc in order {
            if zc { ours = speed(rig, cell) } else { theirs = other() }
        }
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => found.push((ours, theirs)),
            (None, _) => return println!("| {path} | cannot run here | {name} | | | |"),
            (_, None) => return println!("| {path} | | {name} | did not run | | |"),
        }
    }
    let logs: Vec<f64> = found.iter().map(|(ours, theirs)| (ours / theirs).ln()).collect();
    let ratio = hodges_lehmann(&logs).map_or(f64::NAN, f64::exp);
    let interval = wilcoxon_interval(&logs, 0.95).map_or_else(
        || "too few pairs".to_owned(),
        |interval| format!("{:.3} to {:.3}", interval.low.exp(), interval.high.exp()),
    );
    println!(
        "| {path} | {:.1} | {name} | {:.1} | {ratio:.3} | {interval} |",
        median(&sorted(found.iter().map(|pair| pair.0))) * 8e-9,
        median(&sorted(found.iter().map(|pair| pair.1))) * 8e-9,
    );
}

/// Bytes per second of a cell at top speed: those that arrived, and of datagrams, of which some are
/// lost then, those that were sent.
fn speed(rig: &mut Rig, cell: &Cell) -> Option<f64> {
    if !cell.transfer.is_of_datagrams() {
        return rig.top_speed(cell).ok();
    }
    let Trial { opened, closed, .. } = rig.run(cell, TrialKind::TopSpeed).ok()?;
    let elapsed_ns = closed.soak.at_ns - opened.soak.at_ns;
    Some((closed.sent.bytes - opened.sent.bytes) as f64 * 1e9 / elapsed_ns as f64)
}

fn rig(files: &[PathBuf], seconds: f64) -> Rig {
    let unsoaked_ns = (seconds * 1e9) as u64;
    let timing = Timing { warmup_ns: 100_000_000, window_ns: unsoaked_ns, idle_ns: 0, unsoaked_ns };
    common::rig(LinkKind::Loopback, files, Default::default(), timing)
}

/// `target/release/NAME`, in the folder above this bench's `target/release/deps/peers-...`.
fn built_here(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("own name");
    own.parent().and_then(Path::parent).expect("target folder").join(name)
}

fn minimal_speed(
    program: &Path,
    path: SendPath,
    seconds: f64,
    cpus: (usize, usize),
    files: &[PathBuf],
) -> Option<f64> {
    let output = Command::new(program)
        .args([
            path.name(),
            &seconds.to_string(),
            &BUFFER.to_string(),
            &cpus.0.to_string(),
            &cpus.1.to_string(),
        ])
        .args(files)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

/// The peers measure whole seconds.
fn whole_seconds(seconds: f64) -> String {
    (seconds.ceil() as u64).max(1).to_string()
}

type Speed = Box<dyn Fn() -> Option<f64>>;

/// Speed of iperf3 with these flags; it uses the same CUBIC and the same two CPUs as zc.
fn iperf3_speed(
    iperf3: &Path,
    flags: &'static [&str],
    seconds: &str,
    (sender, receiver): (usize, usize),
) -> Speed {
    let (iperf3, seconds) = (iperf3.to_path_buf(), seconds.to_owned());
    Box::new(move || {
        let port = free_port();
        let server = start_iperf3(&iperf3, &port, receiver);
        let is_udp = flags.contains(&"-u");
        let output = Command::new(&iperf3)
            .args(["-c", "127.0.0.1", "-p", &port, "-A", &sender.to_string(), "-t", &seconds])
            .args(if is_udp { &["-J"][..] } else { &["-C", "cubic", "-J"] })
            .args(flags)
            .output()
            .ok();
        stop(server);
        let json: serde_json::Value = serde_json::from_slice(&output?.stdout).ok()?;
        // Of datagrams, those that were sent.
        let sum = if is_udp { "sum" } else { "sum_received" };
        Some(json["end"][sum]["bits_per_second"].as_f64()? / 8.0)
    })
}

/// A sender of 128 KiB a call, and a receiver that discards as much at a time without copying it.
fn discarded() -> Cell {
    let mut cell = Cell::of_paths(SendPath::MmapWrite, RecvPath::RecvTrunc);
    let bytes = Some(2 * BUFFER);
    (cell.levels.message_bytes, cell.levels.recv_buffer_bytes) = (bytes, bytes);
    cell.label = "mmap+write into recv-trunc, 128k".to_owned();
    cell
}

/// The peers that are there, and the path of zc that does what they do.
fn peers(
    seconds: f64,
    cpus: (usize, usize),
    hot: &[PathBuf],
    larger: &Path,
) -> Vec<(Cell, String, Speed)> {
    let (sender, receiver) = cpus;
    let seconds = whole_seconds(seconds);
    let mut all: Vec<(Cell, String, Speed)> = Vec::new();
    if let Some(iperf3) = find("iperf3") {
        for (path, flags) in [
            (SendPath::MmapWrite, &["-l", "64K"][..]),
            (SendPath::Sendfile, &["-l", "64K", "-Z"]),
            (SendPath::UdpSend, &["-u", "-b", "0", "-l", "1200"]),
        ] {
            all.push((
                cell(path),
                format!("iperf3 {}", flags.join(" ")),
                iperf3_speed(&iperf3, flags, &seconds, cpus),
            ));
        }
    }
    if let (Some(netperf), Some(netserver)) = (find("netperf"), find("netserver")) {
        for (path, test) in
            [(SendPath::MmapWrite, "TCP_STREAM"), (SendPath::Sendfile, "TCP_SENDFILE")]
        {
            let (netperf, netserver, seconds) =
                (netperf.clone(), netserver.clone(), seconds.clone());
            // TCP_SENDFILE refuses a file that is not larger than all its buffers together.
            let file = if test == "TCP_SENDFILE" { larger.to_path_buf() } else { hot[0].clone() };
            all.push((
                cell(path),
                format!("netperf {test}"),
                Box::new(move || {
                    let port = free_port();
                    let server = start(Command::new(&netserver).args([
                        "-D",
                        "-4",
                        "-L",
                        "127.0.0.1",
                        "-p",
                        &port,
                    ]));
                    let output = Command::new(&netperf)
                        .args([
                            "-4",
                            "-H",
                            "127.0.0.1",
                            "-p",
                            &port,
                            "-t",
                            test,
                            "-l",
                            &seconds,
                            "-P",
                            "0",
                        ])
                        .args(["-T", &format!("{sender},{receiver}"), "-F"])
                        .arg(&file)
                        .args(["--", "-m", "64K", "-M", "64K"])
                        // TCP_SENDFILE has no -K: it takes the host's default, which should be
                        // cubic then.
                        .args(if test == "TCP_STREAM" { &["-K", "cubic"][..] } else { &[] })
                        .output()
                        .ok();
                    stop(server);
                    let text = String::from_utf8_lossy(&output?.stdout).into_owned();
                    let megabit: f64 = text.split_whitespace().last()?.parse().ok()?;
                    Some(megabit * 1e6 / 8.0)
                }),
            ));
        }
    }
    if let Some(neper) = find("tcp_stream") {
        for (path, flags) in [(SendPath::MmapWrite, &[][..]), (SendPath::MsgZerocopy, &["-Z"][..])]
        {
            let (neper, seconds) = (neper.clone(), seconds.clone());
            let name = format!("neper tcp_stream {}", flags.join(" "));
            all.push((
                cell(path),
                name.trim().to_owned(),
                Box::new(move || {
                    let (control, data) = (free_port(), free_port());
                    let common = [
                        "-B",
                        "65536",
                        "-l",
                        &seconds,
                        "-C",
                        &control,
                        "-P",
                        &data,
                        "--congestion-control",
                        "cubic",
                        "--nolog",
                    ];
                    let taskset = |cpu: usize| {
                        let mut command = Command::new("taskset");
                        command.args(["-c", &cpu.to_string()]).arg(&neper).args(common);
                        command
                    };
                    let server = taskset(receiver)
                        .stdout(Stdio::piped())
                        .stderr(Stdio::null())
                        .spawn()
                        .ok()?;
                    // It does not say when it listens.
                    std::thread::sleep(Duration::from_millis(300));
                    let client =
                        taskset(sender).args(["-c", "-H", "127.0.0.1"]).args(flags).output().ok();
                    let output = server.wait_with_output().ok()?;
                    client?;
                    let text = String::from_utf8_lossy(&output.stdout).into_owned();
                    let megabit = text.lines().find_map(|line| line.strip_prefix("throughput="))?;
                    Some(megabit.trim().parse::<f64>().ok()? * 1e6 / 8.0)
                }),
            ));
        }
    }
    all
}
