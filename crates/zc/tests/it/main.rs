//! The program from outside: every test here starts the real binary. They are one binary, so that
//! they are linked once; `cargo test -p zc --test it run::` runs the tests of one module.

#![expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")]

mod support;

mod ab;
mod advise;
mod advise_costs;
mod advise_server_run;
mod advise_servers;
mod advise_tls;
mod anonymise;
mod bisect;
mod classic;
mod cli;
mod clients;
mod compare;
mod contrib;
mod docs;
mod fleet;
mod format;
mod hostile_runs;
mod http;
mod kernels;
mod limits;
mod links;
mod loadgen;
mod memory;
mod nfs;
mod plans;
mod profile;
mod proxy;
mod reboots;
mod refusals;
mod remote;
mod replay;
mod report;
mod requests;
mod rights;
mod run;
mod server;
mod signals;
mod soak;
mod soak_meter;
mod soak_service;
mod sweep;
mod tls;
mod tune;
mod tune_apache;
mod tune_caddy;
mod tune_haproxy;
mod udp;
mod via;
