//! The lock of the tests that measure. Each of them loads CPUs on purpose, and a run that finds
//! another one at work withholds its verdicts.

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// More than all tests that measure take together.
const TURN: Duration = Duration::from_secs(1800);

/// Held while a test measures.
#[must_use]
pub(crate) struct Measuring {
    _locked: File,
}

/// Waits for this test's turn. The lock is one of flock(2) on a file that every user can read, as
/// cargo-nextest starts a process for each test.
#[track_caller]
pub(crate) fn measuring() -> Measuring {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let until = Instant::now() + TURN;
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        assert_eq!(error, rustix::io::Errno::WOULDBLOCK, "the lock of the tests that measure");
        assert!(
            Instant::now() < until,
            "another test has held the lock of the tests that measure for {TURN:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Measuring { _locked: file }
}
