//! Amazon S3's server access logs.
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html>
//!
//! Bytes sent are those without "HTTP protocol overhead", `-` if zero; the total time is in ms,
//! from when the request was received, which is also the time of the line.

use super::reading::Reading;
use crate::entry::{Bytes, Entry};
use crate::words::Words;
use crate::{number, request, time};

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Reading {
    read_words(Words::new(line)).unwrap_or(Reading::Unreadable)
}

fn read_words(mut words: Words<'_>) -> Option<Reading> {
    let (_owner, _bucket) = (words.bare()?, words.bare()?);
    let time = time::clf(words.enclosed()?)?;
    let (_address, _requester, _id) = (words.bare()?, words.bare()?, words.bare()?);
    let operation = words.bare()?;
    let (_key, request) = (words.bare()?, words.enclosed()?);
    let status = number::status(words.bare()?)?;
    let (_error, bytes) = (words.bare()?, words.bare()?);
    let bytes = if bytes == b"-" { 0 } else { number::bytes(bytes)? };
    let (_object, total) = (words.bare()?, words.bare()?);
    // Deletions by a rule of the bucket, and the like: nobody asked for them over HTTP.
    if operation.starts_with(b"S3.") {
        return Some(Reading::Aside);
    }
    let (method, protocol) = request::parts(request);
    Some(Reading::Entry(Entry {
        time,
        method,
        status,
        bytes: Bytes { body: Some(bytes), ..Bytes::default() },
        duration_us: number::scaled(total, 1000),
        protocol,
        is_tls: is_tls(words),
        of_connection: None,
    }))
}

/// Whether TLS was used, by the cipher suite: `-` for HTTP. Old lines end before it.
fn is_tls(mut words: Words<'_>) -> Option<bool> {
    let (_turn_around, _referrer, _agent) = (words.bare()?, words.enclosed()?, words.enclosed()?);
    let (_version, _host_id, _signature) = (words.bare()?, words.bare()?, words.bare()?);
    Some(words.bare()? != b"-")
}
