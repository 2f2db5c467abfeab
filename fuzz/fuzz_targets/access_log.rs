//! Access logs of every format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::logs;

fuzz_target!(|bytes: &[u8]| logs::check(bytes));
