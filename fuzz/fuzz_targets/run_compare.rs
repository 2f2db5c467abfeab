//! Two saved runs with changes, compared and calibrated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::runs::Comparison;

fuzz_target!(|comparison: Comparison| comparison.check());
