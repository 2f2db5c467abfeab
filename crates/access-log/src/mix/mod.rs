//! The request mix: what a server sent, by the kind of the response, its size, its status, its
//! method and its time. It is all that is kept of a log, and its size does not depend on the log's.

mod builder;
mod classes;
mod minutes;
mod request_mix;
mod sizes;
mod slices;
mod tally;
mod tls;

pub use builder::MixBuilder;
pub use classes::Classes;
pub use minutes::{Minute, Minutes};
pub use request_mix::{Counts, Durations, RequestMix};
pub use sizes::{SizeBin, Sizes};
pub use slices::{MOST_SLICES, Slice};
pub use tally::Tally;
pub use tls::Tls;
