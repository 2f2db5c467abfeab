//! zc as an iperf3 server whose clients say what they like, over loopback.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::iperf3::Clients;
use zc_fuzz::quarantine;

fuzz_target!(init: quarantine::enter(), |clients: Clients| clients.check());
