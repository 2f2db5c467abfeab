//! The messages of a session: requests, and a client with a far end that answers what it likes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zc_fuzz::quarantine;
use zc_fuzz::session::{Requests, Session};

fuzz_target!(init: quarantine::enter(), |input: (Session, Requests)| {
    let (session, requests) = input;
    session.check();
    requests.check();
});
