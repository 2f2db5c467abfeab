//! The folder of a fleet.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::folders::{self, FleetFolder};

fuzz_target!(|folder: FleetFolder| folders::check(&folder));
