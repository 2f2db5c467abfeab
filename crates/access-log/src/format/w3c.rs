//! The extended log file format of the W3C, whose line `#Fields:` names the columns: IIS and
//! CloudFront. <https://www.w3.org/TR/WD-logfile.html>
//!
//! Times are in UTC, and those of the end of a request. `sc-bytes` are all bytes that were sent,
//! with the header. `time-taken` is in seconds by the W3C's draft and at CloudFront, and in ms at
//! IIS. <https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging>
//! `docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html`

use memchr::{memchr, memmem};

use super::reading::Reading;
use super::scheme::is_tls;
use crate::entry::{Bytes, Counted, Entry, Method, Protocol};
use crate::{number, time};

/// The server that writes the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    Iis,
    CloudFront,
    /// Another server, which does as the draft says.
    Other,
}

/// Reads lines by the columns that were named last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct W3c {
    writer: Writer,
    /// `None` before the line `#Fields:`, and where its columns or `#Software:` are another
    /// writer's.
    columns: Option<Columns>,
    is_anothers: bool,
}

/// Indices of the columns, from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Columns {
    date: Option<usize>,
    time: Option<usize>,
    method: Option<usize>,
    status: Option<usize>,
    bytes: Option<usize>,
    taken: Option<usize>,
    protocol: Option<usize>,
    scheme: Option<usize>,
    count: usize,
}

impl W3c {
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, columns: None, is_anothers: false }
    }

    /// Reads a line.
    pub(super) fn read(&mut self, line: &[u8]) -> Reading {
        if let Some(directive) = line.strip_prefix(b"#") {
            self.directive(directive);
            return Reading::Aside;
        }
        match &self.columns {
            Some(columns) if !self.is_anothers => {
                entry(columns, self.writer, line).map_or(Reading::Unreadable, Reading::Entry)
            }
            _ => Reading::Unreadable,
        }
    }

    /// The column that the log would have to have, and has not.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        let columns = self.columns.as_ref().filter(|_| !self.is_anothers)?;
        [
            (columns.bytes, "sc-bytes"),
            (columns.status, "sc-status"),
            (columns.method, "cs-method"),
            (columns.date, "date"),
            (columns.time, "time"),
        ]
        .into_iter()
        .find_map(|(column, name)| column.is_none().then_some(name))
    }

    fn directive(&mut self, text: &[u8]) {
        if let Some(names) = text.strip_prefix(b"Fields:") {
            let columns = Columns::from_names(names);
            let is_cloud_front = memmem::find(names, b"x-edge-location").is_some();
            if is_cloud_front != (self.writer == Writer::CloudFront) {
                self.is_anothers = true;
            }
            self.columns = Some(columns);
        } else if text.starts_with(b"Software:") {
            let is_microsoft = memmem::find(text, b"Microsoft").is_some();
            if is_microsoft != (self.writer == Writer::Iis) {
                self.is_anothers = true;
            }
        }
    }
}

impl Columns {
    fn from_names(names: &[u8]) -> Self {
        let mut columns = Self::default();
        let names = names.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty());
        for (place, name) in names.enumerate() {
            columns.count = place + 1;
            let column = match name {
                b"date" => &mut columns.date,
                b"time" => &mut columns.time,
                b"cs-method" => &mut columns.method,
                b"sc-status" => &mut columns.status,
                b"sc-bytes" => &mut columns.bytes,
                b"time-taken" => &mut columns.taken,
                b"cs-version" | b"cs-protocol-version" => &mut columns.protocol,
                b"cs-protocol" => &mut columns.scheme,
                _ => continue,
            };
            *column = Some(place);
        }
        columns
    }
}

fn entry(columns: &Columns, writer: Writer, line: &[u8]) -> Option<Entry> {
    let separator = if memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
    let (mut date, mut time, mut method, mut status, mut bytes) = (None, None, None, None, None);
    let (mut taken, mut protocol, mut scheme) = (None, None, None);
    let mut count = 0;
    for (place, value) in line.split(|byte| *byte == separator).enumerate() {
        count = place + 1;
        let place = Some(place);
        for (column, found) in [
            (columns.date, &mut date),
            (columns.time, &mut time),
            (columns.method, &mut method),
            (columns.status, &mut status),
            (columns.bytes, &mut bytes),
            (columns.taken, &mut taken),
            (columns.protocol, &mut protocol),
            (columns.scheme, &mut scheme),
        ] {
            if column == place {
                *found = Some(value);
            }
        }
    }
    // Both write spaces within values as + or %20.
    if count != columns.count {
        return None;
    }
    let at = [date?, b" ", time?].concat();
    // The draft says that it is UTC.
    let time = time::Moment::utc(time::iso(&at)?.unix_ms)?;
    let unit_us = if writer == Writer::Iis { 1000 } else { 1_000_000 };
    let (method, status) = (Method::from_name(method?), number::status(status?)?);
    let mut sent = Bytes::default();
    match bytes? {
        b"-" => sent.set_dash(Counted::Wire, method, status),
        bytes => sent.wire = Some(number::bytes(bytes)?),
    }
    Some(Entry {
        time,
        method,
        status,
        bytes: sent,
        duration_us: taken.and_then(|taken| number::scaled(taken, unit_us)),
        protocol: protocol.and_then(Protocol::from_name),
        is_tls: scheme.and_then(is_tls),
        of_connection: None,
    })
}
