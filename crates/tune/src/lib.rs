//! What a server's configuration says, and which lines of it are worth trying: text in, text out.
//!
//! Nothing here opens a file, starts a program or reads a clock. Who runs `nginx -T`, writes copies
//! and measures them is the program `zc`.

#![forbid(unsafe_code)]

mod candidate;
pub mod nginx;
mod table;
mod try_line;

pub use candidate::{Candidate, Change, Facts, Offer};
pub use table::candidates;
pub use try_line::try_line;
