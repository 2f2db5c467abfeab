//! What a server's configuration says, and which lines of it are worth trying: text in, text out.
//!
//! Nothing here opens a file, starts a program or reads a clock. Who asks a server how it was
//! built, writes copies and measures them is the program `zc`. A further server is a folder beside
//! [`nginx`], [`apache`], [`haproxy`] and [`caddy`] with a type that is [`Configured`].

#![forbid(unsafe_code)]

pub mod apache;
pub mod caddy;
mod candidate;
mod configured;
mod copy;
mod diff;
mod entry;
mod file;
mod glob;
pub mod haproxy;
pub mod nginx;
mod own_line;
mod site;
mod sysctls;
mod values;

pub use candidate::{Candidate, Change, Facts, Offer};
pub use configured::Configured;
pub use copy::{Copy, OWN_LOCATION, Shadow};
pub use file::{File, Files};
pub use site::{Scheme, Site};
