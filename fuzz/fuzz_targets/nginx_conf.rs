//! Configurations of nginx, as `nginx -T` prints them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::nginx;

fuzz_target!(|bytes: &[u8]| nginx::check(bytes));
