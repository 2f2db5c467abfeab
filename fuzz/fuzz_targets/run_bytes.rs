//! Any bytes as a saved run, and its reports if it is one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::runs;

fuzz_target!(|bytes: &[u8]| {
    if let Some((run, _)) = runs::read(bytes) {
        runs::check_format(&run, u16::MAX / 2);
        let which = bytes.len() as u8;
        runs::check_reports(&run, [which, which / 16 ^ 10, 8]);
    }
});
