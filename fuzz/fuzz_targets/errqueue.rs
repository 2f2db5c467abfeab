//! Control messages of an error queue.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::kernel::Control;

fuzz_target!(|control: Control| control.check());
