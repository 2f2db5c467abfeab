//! Sizes, rates, durations, levels and names as they are typed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::typed::Typed;

fuzz_target!(|typed: Typed<'_>| typed.check());
