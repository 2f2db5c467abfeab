//! Known loads under `zc soak -- COMMAND` and `zc soak --pid N`: how many of its intervals hold
//! what the load used by its own clock, quiet and beside another load.
//!
//! `cargo bench --bench soak_truth` prints a Markdown table, from runs in random order. A load is
//! this program as a burner: it uses a share of a CPU, in cycles of 2 or 100 ms that a timer
//! begins. The timer's interrupt and the switch to the burner are charged to what they interrupt,
//! so a cycle costs more than the burner's clock shows: by as much as it does in a burner of 0 %. A
//! second column has intervals that hold both.
//!
//! Environment: `ZC_ROUNDS` (default 10), of all loads each; `ZC_SECONDS` of one execution (default
//! 0.4) or ten windows of a service.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{only_asked_to_start, setting};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use serde_json::Value;
use zc_kernel::clock;

/// Shares of a CPU in per cent.
const DUTIES: [u32; 4] = [0, 10, 25, 50];

/// Lengths of a cycle in ms.
const CYCLES_MS: [u32; 2] = [2, 100];

/// The load beside the one that is measured: its share in per cent and its cycle in ms.
const BESIDE: (u32, u32) = (25, 10);

/// A load to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    is_service: bool,
    is_beside: bool,
    cycle_ms: u32,
    duty: u32,
}

/// One interval, in CPUs.
struct Found {
    cpus: f64,
    half_width: f64,
    truth: f64,
    cycles_per_s: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, is_burner, duty, cycle_ms, seconds, log] = &*arguments
        && is_burner == "burn"
    {
        let number = |text: &String| text.parse::<f64>().expect("a number");
        return burn(number(duty) / 100.0, number(cycle_ms), number(seconds), Path::new(log));
    }
    if only_asked_to_start() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench {
        zc: PathBuf::from(env!("CARGO_BIN_EXE_zc")),
        own: std::env::current_exe().expect("this program"),
        folder: folder.path().to_owned(),
        seconds: setting("ZC_SECONDS", 0.4),
    };
    let mut cases = Vec::new();
    for is_service in [false, true] {
        for is_beside in [false, true] {
            for cycle_ms in CYCLES_MS {
                cases.extend(DUTIES.map(|duty| Case { is_service, is_beside, cycle_ms, duty }));
            }
        }
    }
    let mut found: BTreeMap<Case, Vec<Found>> = BTreeMap::new();
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    for round in 0..setting("ZC_ROUNDS", 10_usize) {
        cases.shuffle(&mut random);
        for case in &cases {
            match bench.measure(*case) {
                Some(more) => found.entry(*case).or_default().push(more),
                None => eprintln!("round {round}: {case:?} has no interval"),
            }
        }
        eprintln!("round {round}");
    }
    print!("{}", table(&found));
}

fn table(found: &BTreeMap<Case, Vec<Found>>) -> String {
    let mut text = String::from(
        "| by | beside | load | intervals | hold its clock | hold it and its wake-ups | \
         half-width, CPUs | beyond its clock, CPUs |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (case, all) in found {
        let null = found.get(&Case { duty: 0, ..*case });
        let wake_up =
            null.map_or(0.0, |null| mean(null, |it| (it.cpus - it.truth) / it.cycles_per_s));
        let hold = |truth: &dyn Fn(&Found) -> f64| {
            all.iter().filter(|it| (it.cpus - truth(it)).abs() <= it.half_width).count()
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} %, {} ms | {} | {} | {} | {:.4} | {:+.4} |",
            if case.is_service { "--pid" } else { "-- COMMAND" },
            if case.is_beside { "25 %, 10 ms" } else { "nothing" },
            case.duty,
            case.cycle_ms,
            all.len(),
            hold(&|it| it.truth),
            hold(&|it| it.truth + wake_up * it.cycles_per_s),
            mean(all, |it| it.half_width),
            mean(all, |it| it.cpus - it.truth),
        );
    }
    text
}

fn mean(all: &[Found], of: impl Fn(&Found) -> f64) -> f64 {
    all.iter().map(of).sum::<f64>() / all.len() as f64
}

/// Uses a share of a CPU for a while. Writes when each cycle ended, and its CPU time by then.
fn burn(duty: f64, cycle_ms: f64, seconds: f64, log: &Path) {
    let cycle_ns = (cycle_ms * 1e6) as u64;
    let mut at_ns = clock::monotonic_ns();
    let until_ns = at_ns + (seconds * 1e9) as u64;
    let mut text = String::new();
    while at_ns < until_ns {
        let busy_until_ns = at_ns + (duty * cycle_ns as f64) as u64;
        while clock::monotonic_ns() < busy_until_ns {}
        at_ns += cycle_ns;
        let _ = writeln!(text, "{} {}", clock::monotonic_ns(), clock::process_cpu_ns());
        clock::sleep_until(at_ns);
    }
    std::fs::write(log, text).expect("the log of a burner");
}

struct Bench {
    zc: PathBuf,
    own: PathBuf,
    folder: PathBuf,
    seconds: f64,
}

impl Bench {
    fn measure(&self, case: Case) -> Option<Found> {
        let beside = case
            .is_beside
            .then(|| self.burner(BESIDE.0, BESIDE.1, 3600.0, "beside").spawn().expect("a burner"));
        let found = if case.is_service { self.service(case) } else { self.command(case) };
        if let Some(beside) = beside {
            end(beside);
        }
        found
    }

    fn burner(&self, duty: u32, cycle_ms: u32, seconds: f64, log: &str) -> Command {
        let mut command = Command::new(&self.own);
        command.args(["burn", &duty.to_string(), &cycle_ms.to_string(), &seconds.to_string()]);
        command.arg(self.folder.join(log));
        command
    }

    fn command(&self, case: Case) -> Option<Found> {
        let burner = self.burner(case.duty, case.cycle_ms, self.seconds, "log");
        let result = self.folder.join("result");
        drop(std::fs::remove_file(&result));
        let mut soak = Command::new(&self.zc);
        soak.args(["soak", "--json", "--runs", "8", "--output"]).arg(&result).arg("--");
        soak.arg(burner.get_program()).args(burner.get_args());
        soak.stderr(Stdio::null()).status().expect("zc");
        let document: Value = serde_json::from_slice(&std::fs::read(result).ok()?).ok()?;
        let cost = &document["cost"];
        let elapsed_s = cost["elapsed_s"]["value"].as_f64()?;
        Some(Found {
            cpus: cost["cpu_s"]["value"].as_f64()? / elapsed_s,
            half_width: cost["cpu_s"]["half_width"].as_f64()? / elapsed_s,
            truth: (cost["user_cpu_s"].as_f64()? + cost["system_cpu_s"].as_f64()?) / elapsed_s,
            cycles_per_s: 1e3 / f64::from(case.cycle_ms),
        })
    }

    fn service(&self, case: Case) -> Option<Found> {
        let seconds = 10.0 * self.seconds;
        // Its log is written as it ends, once zc has looked.
        let mut burner =
            self.burner(case.duty, case.cycle_ms, seconds + 6.0, "log").spawn().expect("a burner");
        let output = Command::new(&self.zc)
            .args(["soak", "--json", "--raw", "--pid", &burner.id().to_string()])
            .args(["--period", &format!("{}ms", (self.seconds * 1e3) as u64)])
            .args(["--for", &format!("{}ms", (seconds * 1e3) as u64)])
            .stderr(Stdio::null())
            .output()
            .expect("zc");
        burner.wait().expect("a burner");
        let document: Value = serde_json::from_slice(&output.stdout).ok()?;
        let cost = &document["cost"];
        let log = log(&self.folder.join("log"));
        let (mut used_ns, mut elapsed_ns) = (0.0, 0.0);
        for window in document["seen"]["windows"].as_array()? {
            let at_ns = |edge: &str| window["window"][edge]["soak"]["at_ns"].as_f64();
            let (opened_ns, closed_ns) = (at_ns("opened")?, at_ns("closed")?);
            used_ns += used_by(&log, closed_ns)? - used_by(&log, opened_ns)?;
            elapsed_ns += closed_ns - opened_ns;
        }
        Some(Found {
            cpus: cost["cpus"]["value"].as_f64()?,
            half_width: cost["cpus"]["half_width"].as_f64()?,
            truth: used_ns / elapsed_ns,
            cycles_per_s: 1e3 / f64::from(case.cycle_ms),
        })
    }
}

fn end(mut child: Child) {
    drop(child.kill());
    drop(child.wait());
}

/// When cycles of a burner ended, and its CPU time by then.
fn log(path: &Path) -> Vec<(f64, f64)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let (at, used) = line.split_once(' ')?;
        Some((at.parse().ok()?, used.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// CPU time of a burner by `at_ns`. It is busy up to the end of the cycle's share, and sleeps from
/// there to the end of the cycle.
fn used_by(log: &[(f64, f64)], at_ns: f64) -> Option<f64> {
    let next = log.iter().position(|(end_ns, _)| *end_ns >= at_ns)?;
    let ((_, before), (end_ns, after)) = (log[next.checked_sub(1)?], log[next]);
    Some((after - (end_ns - at_ns)).max(before))
}
