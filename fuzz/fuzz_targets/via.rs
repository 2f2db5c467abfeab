//! The stdout of a command of --via, up to the hello.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::dialogue;

fuzz_target!(|bytes: &[u8]| dialogue::via(bytes));
