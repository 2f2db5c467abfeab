//! iperf3's control connection, as a function of bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::iperf3::Messages;

fuzz_target!(|messages: Messages| messages.check());
