//! Measures how many lines of access log `zc advise` reads per second, compared with `grep -c` and
//! goaccess, and how much memory it takes, also with a log that needs much of it.
//!
//! A sample is repeated, each time three days later, until there are enough lines. The programs
//! take turns; ratios are medians over rounds.
//!
//! `cargo bench --bench advise`. Environment: `ZC_LOG` (a log of the format combined to repeat;
//! default: 500 real lines), `ZC_LINES` (default 2000000), `ZC_ROUNDS` (default 10), `ZC_KEEP` (a
//! folder where the logs are left).

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use flate2::write::GzEncoder;
use jiff::ToSpan as _;
use jiff::civil::Date;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use zc_kernel::spawn::wait_with_usage;

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let lines = setting("ZC_LINES", 2_000_000);
    let rounds = setting("ZC_ROUNDS", 10).max(1);
    let sample = std::env::var_os("ZC_LOG").map_or_else(
        || {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../access-log/testdata/elastic-examples.log")
        },
        PathBuf::from,
    );
    let kept = std::env::var_os("ZC_KEEP").map(PathBuf::from);
    let folder = kept
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("zc-advise-{}", std::process::id())));
    std::fs::create_dir_all(&folder).expect("a folder of its own");
    let sample = std::fs::read(sample).expect("the sample can be read");
    let (log, gzip, hostile) =
        (folder.join("access.log"), folder.join("access.log.gz"), folder.join("hostile.log"));
    let bytes = write(&sample, lines, &log).expect("room for the log");
    compress(&log, &gzip).expect("room for the compressed log");
    write_hostile(lines, &hostile).expect("room for the hostile log");
    println!("{lines} lines, {:.0} MB\n", bytes as f64 / 1e6);

    let json = folder.join("goaccess.json");
    let path = |path: &Path| path.to_str().expect("a name in UTF-8").to_owned();
    let (log, gzip, hostile, json) = (path(&log), path(&gzip), path(&hostile), path(&json));
    let zc = env!("CARGO_BIN_EXE_zc");
    let commands: [(&str, Vec<&str>); 5] = [
        ("zc advise", vec![zc, "advise", &log]),
        ("grep -c", vec!["grep", "-c", "", &log]),
        (
            "goaccess",
            vec!["goaccess", &log, "--log-format=COMBINED", "--no-global-config", "-o", &json],
        ),
        ("zc advise, gzip", vec![zc, "advise", &gzip]),
        ("zc advise, hostile", vec![zc, "advise", &hostile]),
    ];
    let mut times = vec![Vec::new(); commands.len()];
    let mut most_mb = [0.0_f64; 5];
    for _ in 0..rounds {
        for (place, (_, words)) in commands.iter().enumerate() {
            if let Some([seconds, cpu_s, mb]) = measured(words, &folder) {
                times[place].push([seconds, cpu_s]);
                most_mb[place] = most_mb[place].max(mb);
            }
        }
    }
    println!(
        "| program | lines/s, median of {rounds} | CPU s | by `zc advise` | memory, MB |\n\
         |---|---|---|---|---|"
    );
    for (place, (name, _)) in commands.iter().enumerate() {
        if times[place].len() < rounds {
            println!("| {name} | not here, or failed | | | |");
            continue;
        }
        let per_s = median(times[place].iter().map(|[seconds, _]| lines as f64 / seconds));
        let cpu_s = median(times[place].iter().map(|[_, cpu_s]| *cpu_s));
        let pairs = times[place].iter().zip(&times[0]);
        let ratio = median(pairs.map(|([seconds, _], [of_zc, _])| seconds / of_zc));
        println!("| {name} | {per_s:.0} | {cpu_s:.2} | {ratio:.2} | {:.1} |", most_mb[place]);
    }
    if kept.is_none() {
        let _ = std::fs::remove_dir_all(&folder);
    }
}

/// Repeats the sample until there are so many lines: how many bytes that takes.
fn write(sample: &[u8], lines: usize, path: &Path) -> std::io::Result<u64> {
    let sample: Vec<_> = sample.split_inclusive(|byte| *byte == b'\n').map(Dated::parse).collect();
    assert!(!sample.is_empty(), "a sample without a line");
    let mut out = BufWriter::new(File::create(path)?);
    for (line, turn) in sample.iter().cycle().take(lines).zip(0..) {
        line.write(3 * (turn / sample.len() as i64), &mut out)?;
    }
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    path.metadata().map(|metadata| metadata.len())
}

/// A line with the date in it.
struct Dated<'l> {
    before: &'l [u8],
    date: Date,
    after: &'l [u8],
}

impl<'l> Dated<'l> {
    fn parse(line: &'l [u8]) -> Self {
        let open = line.iter().position(|byte| *byte == b'[').expect("a time in brackets") + 1;
        let (before, rest) = line.split_at(open);
        let (date, after) = rest.split_at("17/May/2015".len());
        let date = Date::strptime("%d/%b/%Y", date).expect("a date of the common log format");
        Self { before, date, after }
    }

    fn write(&self, days_later: i64, out: &mut impl std::io::Write) -> std::io::Result<()> {
        // A thousand years and more of them are not needed.
        let date = self.date.saturating_add((days_later % 300_000).days());
        out.write_all(self.before)?;
        write!(out, "{}", date.strftime("%d/%b/%Y"))?;
        out.write_all(self.after)
    }
}

fn compress(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut encoder =
        GzEncoder::new(BufWriter::new(File::create(to)?), flate2::Compression::new(6));
    std::io::copy(&mut File::open(from)?, &mut encoder)?;
    encoder.finish()?.flush()
}

/// Every line of another minute, at random between the years 1970 and 9999, and of a size of its
/// own.
fn write_hostile(lines: usize, path: &Path) -> std::io::Result<()> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut out = BufWriter::new(File::create(path)?);
    for _ in 0..lines {
        let unix_s = random.random_range(0..253_402_207_200_i64);
        let at = jiff::Timestamp::from_second(unix_s).expect("before the year 10000");
        let size = random.next_u64() >> random.random_range(1..64_u32);
        let method = ["GET", "HEAD", "POST"][random.random_range(0..3)];
        let status = [200, 206, 304, 404][random.random_range(0..4)];
        writeln!(
            out,
            "192.0.2.1 - - [{}] \"{method} / HTTP/1.1\" {status} {size} \"-\" \"-\"",
            at.strftime("%d/%b/%Y:%H:%M:%S +0000")
        )?;
    }
    out.flush()
}

/// Value of the environment variable `name`, or the default.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Seconds, CPU seconds and megabytes of one run.
fn measured(words: &[&str], folder: &Path) -> Option<[f64; 3]> {
    let (program, arguments) = words.split_first()?;
    // To /dev/null grep would write nothing, and stop at the first line.
    let result = File::create(folder.join("result")).ok()?;
    let began = Instant::now();
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(result)
        .stderr(Stdio::null())
        .spawn();
    let ended = wait_with_usage(child.ok()?).ok()?;
    let seconds = began.elapsed().as_secs_f64();
    let cpu_s = (ended.user_ns + ended.system_ns) as f64 / 1e9;
    ended.status.success().then_some([seconds, cpu_s, ended.max_resident_kib as f64 * 1024.0 / 1e6])
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}
