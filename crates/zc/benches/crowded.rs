//! Checks ratios that were measured beside other programs: whether their intervals hold what is
//! measured a minute earlier and later on the same machine without them.
//!
//! `cargo bench --bench crowded` runs `zc run` beside each kind of other programs, in random order,
//! with a run beside nothing between any two, and prints one row per kind. The truth of that minute
//! is the mean of the runs beside nothing before and after. It has an interval too, so a ratio
//! counts as held where the two differ by no more than the root of the sum of the squares of their
//! half-widths, which 95 % should. A second column tells how many intervals hold the median of all
//! runs of the link beside nothing, which the machine wanders away from and back to. Environment:
//! `ZC_ROUNDS` of all kinds (default 1), `ZC_BUDGET` of a run (default 22s), `ZC_LINKS` (default
//! `veth`; separated by blanks), `ZC_KINDS` (default all), and `ZC_FOLDER`, in which the saved runs
//! stay. Runs that are there already are read, not measured.

mod common;

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{median, only_asked_to_start, setting, sorted};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use zc_analysis::{Estimates, estimate};
use zc_run::parse;

/// Environment variable that makes a process of this bench a load.
const OTHER: &str = "ZC_OTHER";

/// Loads that run beside zc: a name, and the jobs, each in a process of its own.
const KINDS: [(&str, &[&str]); 16] = [
    ("nothing", &[]),
    ("10 %, smooth", &["burn 0.1 0.1"]),
    ("10 %, bursts of 1 ms", &["burn 0.1 1"]),
    ("10 %, bursts of 100 ms", &["burn 0.1 100"]),
    ("25 %, smooth", &["burn 0.25 0.1"]),
    ("25 %, bursts of 1 ms", &["burn 0.25 1"]),
    ("25 %, bursts of 100 ms", &["burn 0.25 100"]),
    ("50 %, smooth", &["burn 0.5 0.1"]),
    ("50 %, bursts of 1 ms", &["burn 0.5 1"]),
    ("50 %, bursts of 100 ms", &["burn 0.5 100"]),
    ("a loop", &["burn 1 1000"]),
    ("a nice-19 loop on each CPU", &["nice"]),
    ("small compilations", &["compile"]),
    ("a writer with fsync", &["fsync"]),
    ("1 Gbit/s over loopback", &["traffic"]),
    ("all at once", &["burn 0.25 1", "nice", "compile", "fsync", "traffic"]),
];

fn main() {
    if let Ok(job) = std::env::var(OTHER) {
        return work(&job);
    }
    if only_asked_to_start() {
        return;
    }
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = std::env::var_os("ZC_FOLDER").map_or(temporary.path().to_owned(), PathBuf::from);
    let links = setting("ZC_LINKS", "veth".to_owned());
    let mut rows = Vec::new();
    for link in links.split_whitespace() {
        let runs = runs(link, &folder);
        for (kind, _) in &KINDS[..] {
            rows.extend(Row::from_runs(link, kind, &runs));
        }
    }
    println!(
        "| link | beside | runs | blocks | ratios that hold the truth of the minute | intervals \
         that hold the median of all | half-width, median | by the truth, median | A/A held | \
         positive held | withheld |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    rows.iter().for_each(Row::print);
    let held = |rows: &mut dyn Iterator<Item = &Row>| {
        rows.fold((0, 0), |(held, of), row| (held + row.held, of + row.ratios))
    };
    let (held, of) = held(&mut rows.iter().filter(|row| row.kind != KINDS[0].0));
    println!("\n{held} of {of} ratios beside others ({:.1} %)", 100.0 * held as f64 / of as f64);
}

/// A run, and the load beside it.
struct Crowded {
    kind: &'static str,
    estimates: Estimates,
}

/// Runs over one link in the order in which they were measured; every second one beside nothing.
fn runs(link: &str, folder: &Path) -> Vec<Crowded> {
    let wanted = setting("ZC_KINDS", String::new());
    let mut random = rand_pcg::Pcg64::seed_from_u64(48);
    let mut order = vec![0];
    for _ in 0..setting("ZC_ROUNDS", 1_usize) {
        let mut round: Vec<usize> = (1..KINDS.len()).collect();
        round
            .retain(|kind| wanted.is_empty() || wanted.split(';').any(|one| one == KINDS[*kind].0));
        round.shuffle(&mut random);
        order.extend(round.into_iter().flat_map(|kind| [kind, 0]));
    }
    let mut runs = Vec::new();
    for (place, kind) in order.into_iter().enumerate() {
        let (name, jobs) = KINDS[kind];
        let saved = folder.join(format!("{link}-{place:03}-{kind:02}.json"));
        if !saved.exists() {
            let others: Vec<Other> = jobs.iter().map(|job| Other::start(job, folder)).collect();
            measure(link, &saved);
            drop(others);
        }
        match std::fs::read_to_string(&saved).ok().and_then(|text| parse(&text).ok()) {
            Some((run, _)) => runs.push(Crowded { kind: name, estimates: estimate(&run) }),
            None => eprintln!("{}: beside {name}: no run", saved.display()),
        }
    }
    runs
}

fn measure(link: &str, saved: &Path) {
    let ran = Command::new(env!("CARGO_BIN_EXE_zc"))
        .args(["run", "--link", link, "--budget", &setting("ZC_BUDGET", "22s".to_owned()), "--out"])
        .arg(saved)
        .env_remove(OTHER)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    eprintln!("{}: {ran:?}", saved.display());
}

/// Results of the runs beside one kind of load.
struct Row {
    link: String,
    kind: &'static str,
    runs: usize,
    blocks: usize,
    ratios: usize,
    held: usize,
    median_held: usize,
    half_widths: Vec<f64>,
    by_truth: Vec<f64>,
    aa_held: usize,
    positive_held: usize,
    withheld: usize,
}

impl Row {
    fn from_runs(link: &str, kind: &'static str, runs: &[Crowded]) -> Option<Self> {
        let own: Vec<usize> = (0..runs.len()).filter(|at| runs[*at].kind == kind).collect();
        let mut row = Self {
            link: link.to_owned(),
            kind,
            runs: own.len(),
            blocks: 0,
            ratios: 0,
            held: 0,
            median_held: 0,
            half_widths: Vec::new(),
            by_truth: Vec::new(),
            aa_held: 0,
            positive_held: 0,
            withheld: 0,
        };
        for at in own {
            let estimates = &runs[at].estimates;
            row.blocks += estimates.blocks.kept;
            row.withheld += usize::from(!estimates.verdict.stands());
            let aa = estimates.control.as_ref().and_then(|control| control.fits);
            let positive = estimates.positive_control.as_ref().and_then(|control| control.fits);
            row.aa_held += usize::from(aa == Some(true));
            row.positive_held += usize::from(positive == Some(true));
            for cell in estimates.cells.iter().filter(|cell| !cell.control && !cell.reference) {
                row.compare(&cell.label, at, runs);
            }
        }
        (row.runs > 0).then_some(row)
    }

    fn compare(&mut self, label: &str, at: usize, runs: &[Crowded]) {
        let found = |run: &Crowded| {
            let cell = run.estimates.cells.iter().find(|cell| cell.label == label)?;
            let ratio = cell.ratio.both?;
            Some((ratio.value.ln(), (1.0 + ratio.half_width?).ln()))
        };
        let Some((own, half)) = found(&runs[at]) else { return };
        // Of itself a run beside nothing says nothing.
        let quiet = |range: &mut dyn Iterator<Item = usize>| -> Vec<(f64, f64)> {
            range
                .filter(|other| *other != at && runs[*other].kind == KINDS[0].0)
                .filter_map(|other| found(&runs[other]))
                .collect()
        };
        let near = quiet(&mut (at.saturating_sub(2)..(at + 3).min(runs.len())));
        if near.is_empty() {
            return;
        }
        let count = near.len() as f64;
        let truth = near.iter().map(|(log, _)| *log).sum::<f64>() / count;
        let half_of_truth = near.iter().map(|(_, half)| half * half).sum::<f64>().sqrt() / count;
        let all = quiet(&mut (0..runs.len()));
        let median_of_all = median(&sorted(all.iter().map(|(log, _)| *log)));
        self.ratios += 1;
        self.held += usize::from((own - truth).abs() <= half.hypot(half_of_truth));
        self.median_held += usize::from((own - median_of_all).abs() <= half);
        self.half_widths.push(half);
        self.by_truth.push((own - truth).exp());
    }

    fn print(&self) {
        let share = |held: usize| {
            format!("{held} of {} ({:.0} %)", self.ratios, 100.0 * held as f64 / self.ratios as f64)
        };
        let middle = |values: &[f64]| {
            if values.is_empty() { f64::NAN } else { median(&sorted(values.iter().copied())) }
        };
        println!(
            "| {} | {} | {} | {} | {} | {} | {:.1} % | {:.3} | {} | {} | {} |",
            self.link,
            self.kind,
            self.runs,
            self.blocks,
            share(self.held),
            share(self.median_held),
            100.0 * middle(&self.half_widths),
            middle(&self.by_truth),
            self.aa_held,
            self.positive_held,
            self.withheld,
        );
    }
}

/// Another program. It ends when this value is dropped.
struct Other(Child);

impl Other {
    fn start(job: &str, folder: &Path) -> Self {
        let this = std::env::current_exe().expect("this program");
        let mut command = Command::new(this);
        command.env(OTHER, job).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("this program once more"))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Works without end.
fn work(job: &str) {
    let words: Vec<&str> = job.split(' ').collect();
    match words[..] {
        ["burn", duty, burst_ms] => {
            burn(duty.parse().expect("a share"), burst_ms.parse().expect("milliseconds"));
        }
        ["nice"] => nice_loops(),
        ["compile"] => compile(),
        ["fsync"] => write_and_sync(),
        ["traffic"] => traffic(),
        _ => panic!("{job}: what is that?"),
    }
}

/// Busy for `burst_ms`, then idle until it was busy for a share of `duty`.
fn burn(duty: f64, burst_ms: f64) {
    let (burst, period) = (burst_ms / 1e3, burst_ms / 1e3 / duty);
    loop {
        let began = Instant::now();
        while began.elapsed().as_secs_f64() < burst {}
        let rest = period - began.elapsed().as_secs_f64();
        if rest > 0.0 {
            std::thread::sleep(Duration::from_secs_f64(rest));
        }
    }
}

fn nice_loops() {
    for cpu in zc_kernel::sched::allowed_cpus().expect("CPUs") {
        let looped = move || {
            zc_kernel::sched::pin(&[cpu]).expect("a CPU");
            zc_kernel::sched::set_nice(zc_kernel::sched::gettid(), 19).expect("a nice value");
            burn(1.0, 1000.0);
        };
        std::thread::Builder::new().spawn(looped).expect("a thread");
    }
    std::thread::sleep(Duration::MAX);
}

/// Compiles a small program again and again. A compilation that is left when this ends takes less
/// than a second.
fn compile() {
    let source = "fn main() { \
                  let all: Vec<String> = std::env::args().map(|one| one.repeat(2)).collect(); \
                  println!(\"{all:?}\"); }";
    std::fs::write("small.rs", source).expect("a source");
    loop {
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2021", "-O", "small.rs", "-o", "small"]);
        let _ = rustc.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn write_and_sync() {
    let piece = vec![1; 1 << 20];
    loop {
        let mut file = std::fs::File::create("synced").expect("a file");
        for _ in 0..64 {
            let _ = file.write_all(&piece).and_then(|()| file.sync_all());
        }
    }
}

/// A gigabit per second from one thread of this process to another.
fn traffic() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut sender =
        TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (mut receiver, _) = listener.accept().expect("a connection");
    let swallow = move || std::io::copy(&mut receiver, &mut std::io::sink());
    std::thread::Builder::new().spawn(swallow).expect("a thread");
    let piece = vec![1; 125_000];
    let began = Instant::now();
    for sent in 0.. {
        let due = Duration::from_millis(sent);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        sender.write_all(&piece).expect("a receiver");
    }
}
