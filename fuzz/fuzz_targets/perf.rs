//! The ring of perf records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::kernel::Ring;

fuzz_target!(|ring: Ring| ring.check());
