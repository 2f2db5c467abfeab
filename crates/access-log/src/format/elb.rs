//! Access logs of Elastic Load Balancing: of Application Load Balancers, and of Classic ones, whose
//! lines begin with the time.
//! `docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html`
//!
//! The time is that of the response. Three times in s make the duration: until the request went to
//! the target, until it answered, until the answer went to the client; each is `-1` where there was
//! none. Whether headers are in the bytes is not said.

use super::reading::Reading;
use super::scheme;
use crate::entry::{Bytes, Entry};
use crate::words::Words;
use crate::{number, request, time};

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Reading {
    entry(Words::new(line)).map_or(Reading::Unreadable, Reading::Entry)
}

fn entry(mut words: Words<'_>) -> Option<Entry> {
    let mut first = words.bare()?;
    if matches!(first, b"http" | b"https" | b"h2" | b"grpcs" | b"ws" | b"wss") {
        first = words.bare()?;
    }
    let time = time::iso(first)?;
    let (_balancer, _client, _target) = (words.bare()?, words.bare()?, words.bare()?);
    let times = [words.bare()?, words.bare()?, words.bare()?];
    let (status, _target_status) = (number::status(words.bare()?)?, words.bare()?);
    let (_received, sent) = (words.bare()?, number::bytes(words.bare()?)?);
    // "GET https://example.com:443/path HTTP/1.1"
    let request = words.enclosed()?;
    let (method, protocol) = request::parts(request);
    let url = request.split(|byte| *byte == b' ').nth(1);
    let durations = times.map(|time| number::scaled(time, 1_000_000));
    let duration_us = durations.into_iter().try_fold(0, |sum: u64, us| sum.checked_add(us?));
    let bytes = Bytes { unsaid: Some(sent), ..Bytes::default() };
    let is_tls = url.and_then(scheme::is_tls);
    let of_connection = None;
    Some(Entry { time, method, status, bytes, duration_us, protocol, is_tls, of_connection })
}
