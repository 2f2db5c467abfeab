//! A saved run with changes, through the analysis and every report.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::runs::{self, EditedRun};

fuzz_target!(|edited: EditedRun| {
    if let Some(run) = edited.read() {
        runs::check_reports(&run);
    }
});
