//! HAProxy's `option httplog`, with or without what syslog puts before it.
//! <https://docs.haproxy.org/2.8/configuration.html#8.2.3>
//!
//! ```text
//! Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in \
//!   static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \
//!   "GET /index.html HTTP/1.1"
//! ```
//!
//! Bytes are those sent to the client, with the header, of whose lines HAProxy 2.6 leaves out the
//! separators: four bytes each. The time is that at which the request was
//! received, in the server's zone, which is not written. `option httpslog` has the same beginning.

use memchr::memchr;
use memchr::memmem;

use super::reading::Reading;
use crate::entry::{Bytes, Entry};
use crate::time::{self, Moment};
use crate::words::Words;
use crate::{number, request};

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Reading {
    // syslog's own part has brackets as well: haproxy[14389].
    let read = memmem::find_iter(line, b" [").find_map(|at| entry(&line[at + 2..]));
    read.map_or(Reading::Unreadable, Reading::Entry)
}

/// An entry from its time on.
fn entry(text: &[u8]) -> Option<Entry> {
    let end = memchr(b']', text)?;
    let time: Moment = time::clf(&text[..end])?;
    let mut words = Words::new(&text[end + 1..]);
    let (frontend, _server) = (words.bare()?, words.bare()?);
    let timers = words.bare()?;
    let status = number::status(words.bare()?)?;
    let bytes = number::bytes(without_plus(words.bare()?))?;
    let duration_us = duration_us(timers)?;
    // Cookies, state, connections, queues; then captured headers in braces, which may have quotes.
    for _ in 0..5 {
        words.bare()?;
    }
    let quoted = memmem::find(words.rest(), b" \"").map(|at| &words.rest()[at + 2..])?;
    let quoted = &quoted[..memchr(b'"', quoted).unwrap_or(quoted.len())];
    let (method, protocol) = request::parts(quoted);
    let bytes = Bytes { wire: Some(bytes), ..Bytes::default() };
    // The name of a frontend that was reached over TLS ends in a tilde.
    let is_tls = Some(frontend.ends_with(b"~"));
    let of_connection = None;
    Some(Entry { time, method, status, bytes, duration_us, protocol, is_tls, of_connection })
}

/// The last of five timers, `10/0/30/69/109`, in ms; `Some(None)` if it is `-1`.
fn duration_us(timers: &[u8]) -> Option<Option<u64>> {
    if timers.iter().filter(|byte| **byte == b'/').count() != 4 {
        return None;
    }
    let last = timers.rsplit(|byte| *byte == b'/').next()?;
    Some(number::scaled(without_plus(last), 1000))
}

/// With `option logasap` a line is written before the response has ended, and what may still grow
/// has a plus sign.
fn without_plus(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"+").unwrap_or(text)
}
