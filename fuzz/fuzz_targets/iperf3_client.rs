//! zc as a client of an iperf3 server that says what it likes, over loopback.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::iperf3::Server;
use zc_fuzz::quarantine;

fuzz_target!(init: quarantine::enter(), |server: Server| server.check());
