//! A saved run with changes, read and written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::runs::{self, EditedRun};

fuzz_target!(|input: (EditedRun, u16)| {
    let (edited, cut) = input;
    if let Some(run) = edited.read() {
        runs::check_format(&run, cut);
    }
});
