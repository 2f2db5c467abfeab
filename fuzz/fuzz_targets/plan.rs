//! The file of a plan.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::plans::{self, PlanFile};

fuzz_target!(|file: PlanFile| plans::check(&file.text()));
