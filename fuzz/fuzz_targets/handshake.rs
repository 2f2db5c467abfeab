//! The handshake at both ends, with somebody between them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::dialogue::Handshake;

fuzz_target!(|handshake: Handshake| handshake.check());
