//! A load of HTTP/1.1 requests at a fixed rate, or as fast as the server answers: one thread with
//! epoll(7) over sockets that never block, and TLS sessions by rustls.
//!
//! It runs beside a measurement, so its own cost must be small and known. Therefore requests are
//! written by hand, heads of responses are parsed with httparse (as hyper does), and bodies are
//! discarded in the kernel (MSG_TRUNC) where their length is known. hyper would bring tokio, a task
//! per connection and a copy of every body; the rest of what it does (HTTP/2, pools, request
//! bodies) is not needed here.
//!
//! The schedule is an open loop: requests are due at `begin + i / rate`, whatever the server does.
//! A request that finds every connection busy waits, and its latency counts from when it was due,
//! so a server that stalls is charged for every request that the stall delayed (Gil Tene's
//! coordinated omission).

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]
#![forbid(unsafe_code)]

mod address;
mod checked;
mod counts;
mod engine;
mod exchange;
mod expected;
mod latencies;
mod load;
mod options;
mod origin;
mod parting;
mod phase;
mod poller;
mod pool;
mod reading;
mod reply;
mod request;
mod running;
mod schedule;
mod shared;
mod slot;
mod stalls;
mod targets;
#[cfg(test)]
mod tests;
mod tls;
mod wire;

pub use counts::{Fault, HttpCounts};
pub use expected::Expected;
pub use latencies::Latencies;
pub use load::Load;
pub use options::{LoadOptions, Pace, Reuse, Trust};
pub use origin::{Origin, is_target};
pub use phase::{Fetched, Phase, schedule_was_kept};
pub use request::check_header;
pub use targets::{Method, Target, Targets};
pub use zc_kernel::clock::monotonic_ns;
