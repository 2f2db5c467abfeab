//! Squid's native format.
//! <https://wiki.squid-cache.org/Features/LogFormat#squid-native-accesslog-format-in-detail>
//!
//! ```text
//! 1286536309.450    216 192.0.2.224 TCP_MISS/200 4507 GET http://example.com/ - \
//!   HIER_DIRECT/192.0.2.1 text/html
//! ```
//!
//! Bytes are those sent to the client, with the header; the duration is in ms; the time is that at
//! which the response had ended.

use memchr::memrchr;

use super::reading::Reading;
use crate::entry::{Bytes, Entry, Method};
use crate::words::Words;
use crate::{number, time};

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Reading {
    entry(Words::new(line)).map_or(Reading::Unreadable, Reading::Entry)
}

fn entry(mut words: Words<'_>) -> Option<Entry> {
    let time = words.bare()?;
    // 1286536309.450: with a point, so that no other number is taken for it.
    let time = if time.contains(&b'.') { time::epoch(time)? } else { return None };
    let elapsed = words.bare()?;
    let _address = words.bare()?;
    let code_and_status = words.bare()?;
    let status = number::status(&code_and_status[memrchr(b'/', code_and_status)? + 1..])?;
    let bytes = number::bytes(words.bare()?)?;
    let method = Method::from_name(words.bare()?);
    words.bare()?; // the URL
    Some(Entry {
        time,
        method,
        status,
        bytes: Bytes { wire: Some(bytes), ..Bytes::default() },
        duration_us: number::scaled(elapsed, 1000),
        protocol: None,
        is_tls: None,
        of_connection: None,
    })
}
