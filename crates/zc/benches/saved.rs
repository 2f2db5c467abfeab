//! The time and memory to read a saved run of 50,000 trials. The blocks of a run, or of a synthetic
//! one with as many cells, are repeated under other numbers until there are enough.
//!
//! `cargo bench --bench saved`. Environment: `ZC_RUN` (a saved run whose blocks are repeated),
//! `ZC_TRIALS` (default 50000), `ZC_ROUNDS` (default 5), `ZC_KEEP` (a path where the file is left).

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use zc_kernel::spawn::wait_with_usage;
use zc_run::{Run, Slot};
use zc_testkit::synthetic::Synthetic;

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let trials = setting("ZC_TRIALS", 50_000);
    let rounds = setting("ZC_ROUNDS", 5).max(1);
    let like = match std::env::var_os("ZC_RUN") {
        Some(path) => {
            zc_run::read(File::open(path).expect("ZC_RUN can be opened"))
                .expect("ZC_RUN is a saved run")
                .0
        }
        None => Synthetic { blocks: 100, ..Synthetic::default() }.run(),
    };
    let folder = std::env::temp_dir().join(format!("zc-saved-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder of its own");
    let kept = std::env::var_os("ZC_KEEP").map(PathBuf::from);
    let file = kept.clone().unwrap_or_else(|| folder.join("run.jsonl.gz"));
    let (blocks, bytes) = write(&like, trials, &file).expect("room for the file");
    println!(
        "{trials} trials in {blocks} blocks: {:.1} MB, {} bytes a trial\n",
        bytes as f64 / 1e6,
        bytes / trials as u64
    );
    println!("| zc | seconds, median of {rounds} | CPU seconds | memory, MB |\n|---|---|---|---|");
    let name = file.to_str().expect("a name in UTF-8");
    let page = folder.join("report.html");
    let page = page.to_str().expect("a name in UTF-8");
    for (what, words) in [
        ("show", vec!["show", name]),
        ("show --json", vec!["show", "--json", name]),
        ("report", vec!["report", name, "-o", page]),
        ("report --openmetrics", vec!["report", name, "--openmetrics"]),
        ("compare", vec!["compare", name, name]),
    ] {
        match measured(&words, rounds) {
            Some([seconds, cpu_s, mb]) => {
                println!("| {what} | {seconds:.2} | {cpu_s:.2} | {mb:.0} |")
            }
            None => println!("| {what} | failed | | |"),
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// Repeats the blocks until there are so many trials: how many blocks and bytes that takes.
fn write(like: &Run, trials: usize, file: &Path) -> std::io::Result<(usize, u64)> {
    let trials_of = |block: &zc_run::Block| {
        block.slots.iter().filter(|slot| matches!(slot, Slot::Trial(_))).count()
    };
    assert!(like.blocks.iter().map(trials_of).sum::<usize>() > 0, "a run without a trial");
    let mut out = BufWriter::new(File::create(file)?);
    let mut put = |line: &str| out.write_all(&zc_run::gzip_members(line));
    put(&zc_run::header_line(&like.header))?;
    let mut done = 0;
    let mut index = 0;
    for block in like.blocks.iter().cycle() {
        if done >= trials {
            break;
        }
        let mut block = block.clone();
        block.index = index;
        done += trials_of(&block);
        put(&zc_run::block_line(&block))?;
        index += 1;
    }
    like.end.iter().try_for_each(|end| put(&zc_run::end_line(end)))?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    Ok((index, file.metadata()?.len()))
}

/// Value of the environment variable `name`, or the default.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Seconds, CPU seconds and megabytes: the medians, of memory the most.
fn measured(words: &[&str], rounds: usize) -> Option<[f64; 3]> {
    let one = |_| {
        let began = Instant::now();
        let child = Command::new(env!("CARGO_BIN_EXE_zc"))
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let ended = wait_with_usage(child.ok()?).ok()?;
        let cpu_s = (ended.user_ns + ended.system_ns) as f64 / 1e9;
        // `compare` says by its code how it came out: 1 to 3 are no failures.
        let failed =
            ended.status.code().is_none_or(|code| code > 3 || (code != 0 && words[0] != "compare"));
        (!failed).then(|| {
            [began.elapsed().as_secs_f64(), cpu_s, ended.max_resident_kib as f64 * 1024.0 / 1e6]
        })
    };
    let rounds: Vec<[f64; 3]> = (0..rounds).map(one).collect::<Option<_>>()?;
    let sorted = |place: usize| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[place]).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let middle = |place: usize| sorted(place)[rounds.len() / 2];
    Some([middle(0), middle(1), sorted(2).last().copied()?])
}
