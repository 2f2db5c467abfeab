//! The far end of the null link.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::null_link::Connection;

fuzz_target!(|connection: Connection| connection.check());
