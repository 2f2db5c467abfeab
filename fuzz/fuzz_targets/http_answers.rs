//! An HTTP server that answers what it likes, over loopback.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::http::Answers;
use zc_fuzz::quarantine;

fuzz_target!(init: quarantine::enter(), |answers: Answers| answers.check());
