//! `zc soak`: the soakers alone, without a plan. They measure the load of this machine ([`live`]),
//! a command from beginning to end ([`command`]), a service that runs ([`service`](service()), and
//! [`meter`](meter()) without end), or a known load ([`verify`]). The result has counts and no
//! estimates.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]
#![forbid(unsafe_code)]

mod around;
mod burner;
mod child;
mod command;
mod counter;
mod fault;
mod live;
mod log_lines;
mod meter;
mod printed;
mod service;
mod setup;
mod status;
mod stdin;
mod taken;
mod verify;

pub use command::{CommandOptions, Measured, Reader, command};
pub use counter::Counter;
pub use fault::{CommandFault, Outcome};
pub use live::{Heard, LiveOptions, live};
pub use meter::{MeterOptions, Metered, RequestsFrom, meter};
pub use service::{ObservedService, ServiceOptions, Who, service};
pub use setup::Soaked;
pub use status::StatusUrl;
pub use stdin::stdin_is_read_once;
pub use verify::{VerifyOptions, verify};
