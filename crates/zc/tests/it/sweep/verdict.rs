//! Conditions that must hold whatever was done to zc: no panic, an exit code of docs/exit-codes.md
//! with a sentence, and a result that is whole where the code says success.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Output;

use crate::support::{NOTHING_KEPT, stderr, text};

/// The codes of docs/exit-codes.md that mean that something went wrong; those of a comparison are
/// answers.
const FAILURES: [i32; 9] = [1, 2, 3, 4, 5, 6, NOT_FIT, NOTHING_KEPT, 130];

/// Exit code of `zc doctor` where the machine is not fit to measure.
pub(super) const NOT_FIT: i32 = 12;

/// Further exit codes of `zc soak -- COMMAND` and `run_rr` for failures.
pub(super) const AROUND_A_COMMAND: [i32; 3] = [125, 126, 127];

/// Ends of a program that are not zc's to decide: before its first line, in the allocator, or where
/// the standard library sets a thread up.
const RUNTIME: [&str; 5] = [
    "error while loading shared libraries",
    "memory allocation of ",
    "failed to allocate an alternative stack",
    "failed to set up alternative stack guard page",
    "cannot apply additional memory protection after relocation",
];

/// The beginning of what [`end`] finds wrong where a failure says nothing.
pub(super) const NO_SENTENCE: &str = "no sentence";

/// End of a program, if that is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Exit code 0, so that its result must be whole.
    Succeeded,
    /// A documented failure with a sentence.
    Failed(i32),
    /// Killed by this signal, or ended by the runtime before zc could say anything.
    Outside,
}

/// Judges how zc ended.
///
/// # Errors
/// Describes what is wrong.
pub(super) fn end(output: &Output, further_codes: &[i32]) -> Result<End, String> {
    let said = stderr(output);
    let wrong = |what: &str| Err(format!("{what} ({}): {}", output.status, shortened(&said)));
    if RUNTIME.iter().any(|sentence| said.contains(sentence)) {
        return Ok(End::Outside);
    }
    if said.contains("panicked") || said.contains("RUST_BACKTRACE") {
        return wrong("a panic");
    }
    let Some(code) = output.status.code() else {
        return wrong(&format!("ended by signal {}", output.status.signal().unwrap_or_default()));
    };
    if code == 0 {
        return Ok(End::Succeeded);
    }
    if !FAILURES.contains(&code) && !further_codes.contains(&code) {
        return wrong("an exit code that docs/exit-codes.md does not have");
    }
    if !has_sentence(&said) {
        return wrong(NO_SENTENCE);
    }
    Ok(End::Failed(code))
}

/// Whether an error says in words what went wrong.
fn has_sentence(said: &str) -> bool {
    let errors = said.lines().filter_map(|line| line.strip_prefix("error: "));
    errors.into_iter().any(|sentence| sentence.split_whitespace().count() >= 3)
}

/// The run saved as `run.json`: a whole document where zc succeeded, and otherwise one that can be
/// read, or no file, or an empty one, which is a place for a run.
///
/// # Errors
/// Describes what is wrong.
pub(super) fn saved_run(folder: &Path, end: End) -> Result<(), String> {
    let text = match std::fs::read_to_string(folder.join("run.json")) {
        Ok(text) => text,
        Err(_) if end != End::Succeeded => return Ok(()),
        Err(error) => return Err(format!("no run was saved: {error}")),
    };
    match zc_run::parse(&text) {
        Ok((run, 0)) if end != End::Succeeded || (run.end.is_some() && !run.blocks.is_empty()) => {
            Ok(())
        }
        Ok((_, broken)) if end == End::Outside && broken <= 1 => Ok(()),
        Ok((run, broken)) => Err(format!(
            "{end:?}, and the run saved has {broken} broken blocks of {}, end {:?}",
            run.blocks.len(),
            run.end
        )),
        Err(_) if text.is_empty() && end != End::Succeeded => Ok(()),
        // The disk is full, or a write failed, before the header was there.
        Err(_) if end == End::Failed(5) => Ok(()),
        Err(error) => Err(format!("{end:?}, and the run saved cannot be read: {error}")),
    }
}

/// A run's table on stdout, where it succeeded.
///
/// # Errors
/// It is not there.
pub(super) fn table(output: &Output, end: End, rows: &[&str]) -> Result<(), String> {
    let printed = text(&output.stdout);
    let missing: Vec<_> = rows.iter().filter(|row| !printed.contains(**row)).collect();
    if end == End::Succeeded && !missing.is_empty() {
        return Err(format!("succeeded, and {missing:?} is not in the table: {printed}"));
    }
    Ok(())
}

/// The beginning and the end of what a program said.
pub(super) fn shortened(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    match lines.len() {
        0..=12 => lines.join("\n"),
        len => [&lines[..4], &["..."], &lines[len - 8..]].concat().join("\n"),
    }
}

#[test]
fn what_is_wrong_with_an_end_is_found() {
    let ended = |status: i32, said: &str| Output {
        status: std::process::ExitStatus::from_raw(status),
        stdout: Vec::new(),
        stderr: said.as_bytes().to_vec(),
    };
    let wrong = |status, said| end(&ended(status, said), &[]).unwrap_err();
    assert!(wrong(101 << 8, "thread 'main' panicked at src/x.rs:1:1:").starts_with("a panic"));
    // Also one of a thread that the program outlives.
    assert!(wrong(0, "thread 'soaker' panicked at src/x.rs:1:1:").starts_with("a panic"));
    assert!(wrong(11, "").starts_with("ended by signal 11"));
    assert!(wrong(77 << 8, "error: it is a sentence").starts_with("an exit code"));
    assert!(wrong(1 << 8, "error: EPERM").starts_with(NO_SENTENCE));
    assert_eq!(end(&ended(0, ""), &[]), Ok(End::Succeeded));
    assert_eq!(end(&ended(5 << 8, "error: it is a sentence"), &[]), Ok(End::Failed(5)));
    assert_eq!(end(&ended(125 << 8, "error: it is a sentence"), &[125]), Ok(End::Failed(125)));
    assert_eq!(end(&ended(6, "memory allocation of 7 bytes failed"), &[]), Ok(End::Outside));
}

#[test]
fn what_is_wrong_with_a_saved_run_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let after = |text: &str, end| {
        std::fs::write(folder.path().join("run.json"), text).unwrap();
        saved_run(folder.path(), end)
    };
    assert!(saved_run(folder.path(), End::Succeeded).unwrap_err().starts_with("no run was saved"));
    assert_eq!(saved_run(folder.path(), End::Failed(4)), Ok(()));
    let mut run = zc_testkit::synthetic::Synthetic { blocks: 3, ..Default::default() }.run();
    assert_eq!(after(&zc_run::run_lines(&run), End::Succeeded), Ok(()));
    let text = zc_run::run_lines(&run);
    assert!(after(&text[..text.len() / 2], End::Succeeded).is_err());
    assert!(after("", End::Succeeded).is_err());
    assert_eq!(after("", End::Failed(1)), Ok(()));
    run.end = None;
    assert!(after(&zc_run::run_lines(&run), End::Succeeded).is_err());
}
