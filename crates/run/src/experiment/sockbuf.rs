//! `sockbuf`: effect of socket buffers, message sizes and TSO, by netperf's account and by
//! time(1)'s.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "sockbuf",
    question: "What do socket buffers, message sizes and TSO do to STREAM and SENDFILE, and do two \
        accounts agree about it?",
    title: "socket buffers, message sizes and TSO, by two accounts",
    budget: "5m",
    plan: Ok(PLAN),
    tables: Some(Tables::Accounts),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["send"]
unsoaked = "top-speed"
rates = "by-level"      # without TSO and with 32k a Gigabit is near the top, with TSO far below it

[fixed]
link = "veth"

[reference]
offloads = "all"
sockbuf = "64k"
message = "64k"
send = "mmap+write"

[[factor]]
name = "offloads"
levels = ["no-tso", "all"]

[[factor]]
name = "sockbuf"
levels = ["32k", "64k", "128k"]

[[factor]]
name = "message"
levels = ["64k", "1m", "2m", "5m"]

[[factor]]
name = "send"
levels = ["mmap+write", "sendfile"]   # as netperf's TCP_STREAM, out of memory, and TCP_SENDFILE
"#;
