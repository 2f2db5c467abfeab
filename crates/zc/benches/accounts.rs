//! Compares the cost of a byte by other programs' own accounts with that by the soakers. Every peer
//! runs twice in a round: once alone, for its usual account, and once under `zc soak`. There its
//! own account is taken too, which separates the effect of soakers on the traffic from what an
//! account misses. Not that of netperf, which reads /proc/stat and counts soakers as load. `zc run`
//! runs with the path that does the same: its own account is getrusage in unsoaked controls and in
//! the windows of the cost.
//!
//! `cargo bench --bench accounts` prints a Markdown table, from rounds in random order. Programs
//! that are not on the PATH are left out (`ZC_PEERS` may name folders to look in first).
//! Environment: `ZC_PAIRS` (default 11), `ZC_SECONDS` a run (default 1).
//!
//! All run on loopback, the sender on one CPU and the receiver on another, 64 KiB per call, one hot
//! file. iperf3 is held at the rate that zc measures at; netperf and neper have no such option by
//! default and run as fast as they can.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::programs::{find, free_port, start, start_iperf3, stop};
use common::{BUFFER, files, median, only_asked_to_start, setting, sorted};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use serde_json::Value;
use zc_rig::trial;

/// Rate of iperf3 and zc: 800 MB/s.
const RATE: (&str, &str) = ("6400M", "800MB/s");

fn main() {
    if only_asked_to_start() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sender, receiver) = trial::choose_cpus(&trial::allowed_cpus().expect("CPUs"));
    let bench = Bench {
        zc: PathBuf::from(env!("CARGO_BIN_EXE_zc")),
        hot: files(folder.path(), 1, BUFFER).remove(0),
        larger: files(folder.path(), 1, 16 * BUFFER).remove(0),
        folder: folder.path().to_owned(),
        seconds: setting("ZC_SECONDS", 1_u64),
        sender,
        receiver,
    };
    let mut rows: Vec<(Peer, Vec<Account>)> =
        Peer::ALL.iter().map(|peer| (*peer, Vec::new())).collect();
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    for round in 0..setting("ZC_PAIRS", 11_usize) {
        rows.shuffle(&mut random);
        for (peer, found) in &mut rows {
            match bench.account(*peer) {
                Some(account) => found.push(account),
                None => eprintln!("round {round}: {} did not run", peer.name()),
            }
        }
    }
    println!(
        "| program | Gbit/s alone, with soakers | own account alone, us/KB | own account with \
         soakers | by the soakers | \
         alone / soakers, median and range | with / soakers, median and range \
         |\n|---|---|---|---|---|---|---|"
    );
    rows.sort_by_key(|(peer, _)| Peer::ALL.iter().position(|other| other == peer));
    for (peer, found) in rows.iter().filter(|(_, found)| !found.is_empty()) {
        let of = |value: fn(&Account) -> f64| sorted(found.iter().map(value));
        let ratio = |own: fn(&Account) -> Option<f64>| {
            let ratios = sorted(
                found.iter().filter_map(|account| Some(own(account)? / account.soaked_us_per_kb)),
            );
            match &ratios[..] {
                [] => "-".to_owned(),
                [least, .., most] => format!("{:.2} ({least:.2} ... {most:.2})", median(&ratios)),
                [one] => format!("{one:.2}"),
            }
        };
        let soaked = sorted(found.iter().filter_map(|account| account.own_soaked_us_per_kb));
        println!(
            "| {} | {:.1}, {:.1} | {:.3} | {} | {:.3} | {} | {} |",
            peer.name(),
            median(&of(|account| account.bytes_per_s)) * 8e-9,
            median(&of(|account| account.soaked_bytes_per_s)) * 8e-9,
            median(&of(|account| account.own_us_per_kb)),
            if soaked.is_empty() { "-".to_owned() } else { format!("{:.3}", median(&soaked)) },
            median(&of(|account| account.soaked_us_per_kb)),
            ratio(|account| Some(account.own_us_per_kb)),
            ratio(|account| account.own_soaked_us_per_kb),
        );
    }
}

/// A program and how it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Iperf3,
    Iperf3Sendfile,
    NetperfStream,
    NetperfSendfile,
    Neper,
    ZcWrite,
    ZcSendfile,
}

impl Peer {
    const ALL: [Self; 7] = [
        Self::Iperf3,
        Self::Iperf3Sendfile,
        Self::NetperfStream,
        Self::NetperfSendfile,
        Self::Neper,
        Self::ZcWrite,
        Self::ZcSendfile,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Iperf3 => "iperf3 -b 6400M (getrusage of both ends)",
            Self::Iperf3Sendfile => "iperf3 -Z -b 6400M (getrusage of both ends)",
            Self::NetperfStream => "netperf -c -C TCP_STREAM (/proc/stat)",
            Self::NetperfSendfile => "netperf -c -C TCP_SENDFILE (/proc/stat)",
            Self::Neper => "neper tcp_stream (getrusage of both ends)",
            Self::ZcWrite => "zc, mmap+write (getrusage of both ends)",
            Self::ZcSendfile => "zc, sendfile (getrusage of both ends)",
        }
    }
}

/// The cost of a program by its own account and by the soakers: CPU of both ends, microseconds per
/// 1024 bytes.
struct Account {
    /// Without soakers.
    bytes_per_s: f64,
    /// With soakers.
    soaked_bytes_per_s: f64,
    /// Without soakers.
    own_us_per_kb: f64,
    /// With soakers; `None` if it counts them as load.
    own_soaked_us_per_kb: Option<f64>,
    soaked_us_per_kb: f64,
}

impl Account {
    fn without_own_soaked(self) -> Self {
        Self { own_soaked_us_per_kb: None, ..self }
    }
}

/// One run of a peer.
struct Seen {
    bytes: f64,
    elapsed_s: f64,
    /// CPU seconds of both ends, by its own account.
    own_s: f64,
    /// CPU seconds of the whole machine, by the soakers, where they were at work.
    soaked_s: Option<f64>,
}

struct Bench {
    zc: PathBuf,
    folder: PathBuf,
    hot: PathBuf,
    larger: PathBuf,
    seconds: u64,
    sender: usize,
    receiver: usize,
}

impl Bench {
    fn account(&self, peer: Peer) -> Option<Account> {
        match peer {
            Peer::Iperf3 => self.both(|soaked| self.iperf3(&[], soaked)),
            Peer::Iperf3Sendfile => self.both(|soaked| self.iperf3(&["-Z"], soaked)),
            Peer::NetperfStream => {
                let run = |soaked| self.netperf("TCP_STREAM", &self.hot, &["-K", "cubic"], soaked);
                self.both(run).map(Account::without_own_soaked)
            }
            // TCP_SENDFILE has no -K, and refuses a file that is not larger than all its buffers
            // together.
            Peer::NetperfSendfile => {
                let run = |soaked| self.netperf("TCP_SENDFILE", &self.larger, &[], soaked);
                self.both(run).map(Account::without_own_soaked)
            }
            Peer::Neper => self.both(|soaked| self.neper(soaked)),
            Peer::ZcWrite => self.zc("mmap+write"),
            Peer::ZcSendfile => self.zc("sendfile"),
        }
    }

    /// A peer by both accounts: `run` runs it, under the soakers or not.
    fn both(&self, run: impl Fn(bool) -> Option<Seen>) -> Option<Account> {
        let (alone, soaked) = (run(false)?, run(true)?);
        let us_per_kb = |seconds: f64, seen: &Seen| seconds * 1e6 / (seen.bytes / 1024.0);
        Some(Account {
            bytes_per_s: alone.bytes / alone.elapsed_s,
            soaked_bytes_per_s: soaked.bytes / soaked.elapsed_s,
            own_us_per_kb: us_per_kb(alone.own_s, &alone),
            own_soaked_us_per_kb: Some(us_per_kb(soaked.own_s, &soaked)),
            soaked_us_per_kb: us_per_kb(soaked.soaked_s?, &soaked),
        })
    }

    /// Runs a client, under the soakers or not: what it printed, and the CPU seconds that the whole
    /// machine spent on it.
    fn client(&self, client: &mut Command, soaked: bool) -> Option<(String, Option<f64>)> {
        if !soaked {
            let output = client.stderr(Stdio::null()).output().ok()?;
            return Some((String::from_utf8_lossy(&output.stdout).into_owned(), None));
        }
        let account = self.folder.join("account.json");
        let _ = std::fs::remove_file(&account);
        let mut soak = Command::new(&self.zc);
        soak.args(["soak", "--json", "--output"])
            .arg(&account)
            .arg("--")
            .arg(client.get_program())
            .args(client.get_args());
        let output = soak.stderr(Stdio::null()).output().ok()?;
        let account: Value = serde_json::from_slice(&std::fs::read(&account).ok()?).ok()?;
        let soaked_s = account["cost"]["soaked_cpu_s"]["value"].as_f64()?;
        Some((String::from_utf8_lossy(&output.stdout).into_owned(), Some(soaked_s)))
    }

    fn iperf3(&self, flags: &[&str], soaked: bool) -> Option<Seen> {
        let (iperf3, port) = (find("iperf3")?, free_port());
        let server = start_iperf3(&iperf3, &port, self.receiver);
        let mut client = Command::new(&iperf3);
        client.args([
            "-c",
            "127.0.0.1",
            "-p",
            &port,
            "-A",
            &self.sender.to_string(),
            "-t",
            &self.seconds.to_string(),
        ]);
        client.args(["-l", "64K", "-C", "cubic", "-b", RATE.0, "-J"]).args(flags);
        let seen = self.client(&mut client, soaked);
        stop(server);
        let (text, soaked_s) = seen?;
        let end = &serde_json::from_str::<Value>(&text).ok()?["end"];
        let received = |what: &str| end["sum_received"][what].as_f64();
        let (bytes, elapsed_s) = (received("bytes")?, received("seconds")?);
        let share = |end_of: &str| end["cpu_utilization_percent"][end_of].as_f64();
        let own_s = (share("host_total")? + share("remote_total")?) / 100.0 * elapsed_s;
        Some(Seen { bytes, elapsed_s, own_s, soaked_s })
    }

    fn netperf(&self, test: &str, file: &Path, flags: &[&str], soaked: bool) -> Option<Seen> {
        let (netperf, netserver, port) = (find("netperf")?, find("netserver")?, free_port());
        let server =
            start(Command::new(&netserver).args(["-D", "-4", "-L", "127.0.0.1", "-p", &port]));
        let mut client = Command::new(&netperf);
        client.args([
            "-4",
            "-H",
            "127.0.0.1",
            "-p",
            &port,
            "-t",
            test,
            "-l",
            &self.seconds.to_string(),
            "-P",
            "0",
        ]);
        client
            .args(["-c", "-C", "-T", &format!("{},{}", self.sender, self.receiver), "-F"])
            .arg(file);
        client.args(["--", "-m", "64K", "-M", "64K"]).args(flags);
        let seen = self.client(&mut client, soaked);
        stop(server);
        let (text, soaked_s) = seen?;
        // recv socket, send socket, message, seconds, 10^6 bit/s, % local, % remote, us/KB local,
        // us/KB remote. Both ends are this machine, and each is charged all of it: one of them is
        // what both cost.
        let columns: Vec<f64> =
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [.., elapsed_s, megabit_per_s, _, _, local_us_per_kb, _] = columns[..] else {
            return None;
        };
        let bytes = megabit_per_s * 1e6 / 8.0 * elapsed_s;
        Some(Seen { bytes, elapsed_s, own_s: local_us_per_kb * bytes / 1024.0 / 1e6, soaked_s })
    }

    fn neper(&self, soaked: bool) -> Option<Seen> {
        let (neper, control, data) = (find("tcp_stream")?, free_port(), free_port());
        let seconds = self.seconds.to_string();
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
        let pinned = |cpu: usize| {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string()]).arg(&neper).args(common);
            command
        };
        let server =
            pinned(self.receiver).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        std::thread::sleep(Duration::from_millis(300)); // it does not say when it listens
        let seen = self.client(pinned(self.sender).args(["-c", "-H", "127.0.0.1"]), soaked);
        let received = server.wait_with_output().ok()?;
        let (sent, soaked_s) = seen?;
        let received = String::from_utf8_lossy(&received.stdout).into_owned();
        let of = |text: &str, key: &str| -> Option<f64> {
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?
                .trim()
                .parse()
                .ok()
        };
        let used = |text: &str, what: &str| {
            Some(of(text, &format!("{what}_end"))? - of(text, &format!("{what}_start"))?)
        };
        let cpu = |text: &str| Some(used(text, "utime")? + used(text, "stime")?);
        let bytes_per_s = of(&received, "throughput")? * 1e6 / 8.0;
        let elapsed_s = self.seconds as f64;
        Some(Seen {
            bytes: bytes_per_s * elapsed_s,
            elapsed_s,
            own_s: cpu(&sent)? + cpu(&received)?,
            soaked_s,
        })
    }

    fn zc(&self, path: &str) -> Option<Account> {
        let saved = self.folder.join("run.json");
        let _ = std::fs::remove_file(&saved);
        let output = Command::new(&self.zc)
            .args([
                "run", "--json", "--link", "loopback", "--paths", path, "--rate", RATE.1,
                "--budget", "6s", "--out",
            ])
            .arg(&saved)
            .arg("--files")
            .arg(&self.hot)
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let run: Value = serde_json::from_slice(&output.stdout).ok()?;
        let cell =
            run["estimates"]["cells"].as_array()?.iter().find(|cell| cell["label"] == path)?;
        let both = |cost: &Value| {
            Some(cost["both"]["value"].as_f64().or_else(|| cost["both"].as_f64())? * 1024.0 / 1e6)
        };
        let (traffic, others) = (&cell["traffic"], &cell["others"]);
        let bytes_per_s = traffic["bytes"].as_f64()? * 1e9 / traffic["elapsed_ns"].as_f64()?;
        Some(Account {
            bytes_per_s, // unsoaked controls are paced like the windows of the cost
            soaked_bytes_per_s: bytes_per_s,
            own_us_per_kb: both(&others["getrusage_unsoaked_control"]["cost_us_per_mb"])?,
            own_soaked_us_per_kb: both(&others["getrusage_soaked"]["cost_us_per_mb"]),
            soaked_us_per_kb: both(&cell["cost_us_per_mb"])?,
        })
    }
}
