//! Answers of netlink.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::kernel::Datagram;

fuzz_target!(|datagram: Datagram| datagram.check());
