//! Access logs of web servers as counts: numbers of responses by size, status, method and time, in
//! memory that does not depend on the length of the log.
//!
//! ```
//! use zc_access_log::{MixBuilder, read_log};
//!
//! let log = br#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 203023
//! 192.0.2.1 - - [17/May/2015:10:05:43 +0000] "GET /b HTTP/1.1" 304 -
//! "#;
//! let mut mix = MixBuilder::default();
//! let summary = read_log(&log[..], None, &mut mix).unwrap();
//! assert_eq!(summary.format, "common");
//! let mix = mix.finish().unwrap();
//! assert_eq!((mix.all.requests, mix.all.bytes), (2, 203_023));
//! ```
//!
//! It reads from what it is given and touches no file, clock or terminal. The personal data of a
//! log, addresses, paths, users and agents, are not kept: [`Entry`] has no field that could hold
//! it.

mod asked;
mod detect;
mod draw;
mod entry;
mod format;
mod lines;
mod mix;
mod number;
mod offer;
mod reader;
mod request;
mod reservoir;
mod summary;
mod time;
mod words;

pub use asked::{Asked, AskedKind, AskedMix, AskedOptions, Cut, LeftOut, MixDraw, Source, Spoken};
pub use draw::{Draw, Drawn};
pub use entry::{Bytes, Class, Counted, Entry, Method, Protocol, Stamp};
pub use format::{DurationUnit, Fields, Format, FormatError, KNOWN, Known, Reading};
pub use lines::LONGEST_LINE;
pub use mix::{
    Classes, Counts, Durations, MOST_SLICES, Minute, Minutes, MixBuilder, RequestMix, SizeBin,
    Sizes, Slice, Tally, Tls,
};
pub use offer::Offer;
pub use reader::{Collect, read_log};
pub use request::{Found, find as find_request};
pub use summary::{LogSummary, UnreadableLine, Unusable};
pub use time::Moment;
