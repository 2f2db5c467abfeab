//! A saved run with changes, through the analysis and every report.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::runs::{self, EditedRun};

fuzz_target!(|input: (EditedRun, [u8; 3])| {
    let (edited, which) = input;
    if let Some(run) = edited.read() {
        runs::check_reports(&run, which);
    }
});
