//! `zc run memory` from outside: its budget suffices for a whole table, also on one CPU; after
//! Ctrl-C it ends with the results so far; and the JSON has the figures of the table. Speeds, the
//! sets for this machine's caches, and which of them there was time for are not checked;
//! tests/memory.rs of zc-measure tries the caches of other machines.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

fn zc() -> &'static str {
    env!("CARGO_BIN_EXE_zc")
}

/// All of these tests measure on the same CPU: one that begins when another has made its plan takes
/// time that the other has planned with.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn memory(args: &[&str]) -> Output {
    let _alone = alone();
    Command::new(zc()).args(["run", "memory"]).args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The rows of the table that begins with this title: a label and a cell for each set.
fn rows<'a>(text: &'a str, title: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("{title}  "))).skip(3);
    lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect()
}

#[test]
fn two_seconds_are_enough_for_a_table_its_sentences_and_the_shares_of_a_saved_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = zc_testkit::synthetic::Synthetic::default().run();
    let file = folder.path().join("run.json");
    std::fs::write(&file, zc_run::run_lines(&run)).unwrap();
    let output = memory(&["--budget", "2s", "--with", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    let (own, lmbench) = (rows(&table, "GB/s"), rows(&table, "bw_mem, GB/s"));
    for name in ["read", "memcpy", "checksum+memcpy", "folded-portable"] {
        assert!(own.iter().any(|row| row[0] == name), "{name}\n{table}");
    }
    for name in ["bcopy", "fcp"] {
        assert!(lmbench.iter().any(|row| row[0] == name), "{name}\n{table}");
    }
    for row in own.iter().chain(&lmbench) {
        assert!(
            row.len() == own[0].len() && row.len() > 1 && !row.contains(&"-"),
            "{row:?}\n{table}"
        );
    }
    assert!(table.contains("\nfolded is "), "{table}");
    assert!(table.contains("\nA path that copies each byte once"), "{table}");
    // The top speeds of its paths are shares of memcpy.
    assert!(table.contains("\ntop speed of each path by memcpy of a set of "), "{table}");
    assert!(table.contains("\nread+send  "), "{table}");
}

#[test]
fn json_has_observations_and_estimates() {
    let output = memory(&["--budget", "1s", "--json", "--seed", "5"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (seen, estimates) = (&document["seen"], &document["estimates"]);
    assert_eq!(seen["seed"], 5);
    assert_eq!(document["roofline"], Value::Null);
    let sets = seen["sets"].as_array().unwrap();
    let sizes: Vec<u64> = sets.iter().map(|set| set["bytes"].as_u64().unwrap()).collect();
    assert!(sizes.is_sorted() && !sizes.is_empty(), "{sizes:?}");
    let visits = seen["blocks"][0]["visits"].as_array().unwrap();
    assert!(visits.iter().all(|visit| visit["bytes"].as_u64().unwrap() > 0));
    for row in estimates["rows"].as_array().unwrap() {
        assert_eq!(row["bytes_per_s"].as_array().unwrap().len(), sizes.len());
    }
    // A reader can compute it again. (The last bit of a number may be lost where JSON is
    // read.)
    let again: zc_run::MemoryRun = serde_json::from_value(seen.clone()).unwrap();
    let again = zc_analysis::memory::memory(&again);
    for (row, printed) in again.rows.iter().zip(estimates["rows"].as_array().unwrap()) {
        let (speed, printed) = (row.bytes_per_s[0], &printed["bytes_per_s"][0]["value"]);
        let same = speed
            .zip(printed.as_f64())
            .is_none_or(|(speed, printed)| (speed.value / printed - 1.0).abs() < 1e-9);
        assert!(same, "{} {speed:?} {printed}", row.name);
    }
}

#[test]
fn ctrl_c_prints_what_is_known() {
    let _alone = alone();
    let mut child = Command::new(zc())
        .args(["run", "memory", "--budget", "600s"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("Ctrl-C"), "{line}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    // The signal may have come before the end of the first visit; then there is nothing to print.
    assert!(rest.contains("interrupted"), "{rest}");
    assert!(output.stdout.is_empty() || text(&output.stdout).starts_with("machine "), "{rest}");
}

#[test]
fn one_cpu_is_enough_and_it_is_the_one_that_is_allowed() {
    let cpu = zc_kernel::sched::allowed_cpus().unwrap()[0];
    let words = ["-c", &cpu.to_string(), zc(), "run", "memory", "--budget", "1s", "--json"];
    let _alone = alone();
    let Ok(output) = Command::new("taskset").args(words).output() else {
        return eprintln!("skipped: there is no taskset(1) here");
    };
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(document["seen"]["cpu"], cpu);
}

#[test]
fn a_run_that_cannot_be_read_is_an_error_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    std::fs::write(&file, "hello").unwrap();
    let output = memory(&["--with", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    assert!(
        text(&output.stderr).contains("x.json\": it is not a saved run of zc"),
        "{}",
        text(&output.stderr)
    );
}
