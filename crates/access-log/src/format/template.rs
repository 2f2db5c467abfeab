//! Lines of one fixed form: fields with literal text between them, as nginx's `log_format` and
//! Apache's `LogFormat` describe them. The variables of these two are in `nginx.rs` and
//! `apache.rs`; here such a description is checked once, and then lines are parsed by it.

use memchr::memchr;

use super::error::FormatError;
use super::reading::{Extent, Reading};
use super::scheme;
use super::written_time::WrittenTime;
use crate::entry::{Bytes, Counted, Entry, Method, Protocol, Stamp};
use crate::time::{self, Moment};
use crate::{number, request};

/// The kind of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    /// A field that is not read.
    Skipped,
    /// `17/May/2015:10:05:03 +0000`, perhaps with a fraction of the second.
    ClfTime,
    /// `2015-05-17T10:05:03+00:00`.
    IsoTime,
    /// `1431857103.123`, or a whole number of ms or us.
    UnixTime,
    /// A time, or a part of it, as strftime(3) writes it by this description. Several such fields
    /// are one time.
    Strftime(String),
    /// The fraction of a time's second, in units of `unit_us`.
    Fraction {
        unit_us: u64,
    },
    /// `GET /path HTTP/1.1`.
    Request,
    Method,
    Protocol,
    Status,
    /// Bytes of a response. Some formats have `-` in their place
    /// ([`set_dash`](Bytes::set_dash)).
    Bytes {
        counted: Counted,
        may_be_dash: bool,
    },
    /// A time that the request took, in units of so many us.
    Duration {
        unit_us: u64,
    },
    /// Something that only a connection with TLS has: its version, its cipher.
    OfTls,
    /// The scheme of the request.
    Scheme,
    /// Which request of its connection it was.
    OfConnection,
}

impl Field {
    /// Bytes of the body, as a number.
    pub(super) const BODY: Self = Self::Bytes { counted: Counted::Body, may_be_dash: false };

    /// Bytes of the whole response, as a number.
    pub(super) const WIRE: Self = Self::Bytes { counted: Counted::Wire, may_be_dash: false };
}

/// A piece of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    Field(Field),
}

/// A field and the literal text behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    field: Field,
    after: Vec<u8>,
}

/// A description that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    /// The text before the first field.
    before: Vec<u8>,
    parts: Vec<Part>,
    /// The parts up to the last that is taken.
    needed: usize,
    /// The time that all [`Field::Strftime`] are of, if there is one.
    written_time: Option<WrittenTime>,
    pub(super) stamp: Stamp,
}

impl Template {
    /// Checks a description.
    ///
    /// # Errors
    /// It lacks what every line must have, or does not say where a field ends.
    pub(super) fn new(pieces: Vec<Piece>, stamp: Stamp) -> Result<Self, FormatError> {
        let mut before = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        for piece in pieces {
            match (piece, parts.last_mut()) {
                (Piece::Literal(text), Some(part)) => part.after.extend(text.bytes()),
                (Piece::Literal(text), None) => before.extend(text.bytes()),
                // Its length is known.
                (Piece::Field(_), Some(Part { field, after }))
                    if after.is_empty() && *field != Field::ClfTime =>
                {
                    return Err(FormatError::Adjacent);
                }
                (Piece::Field(field), _) => parts.push(Part { field, after: Vec::new() }),
            }
        }
        let written: Vec<&str> = parts.iter().filter_map(|part| part.strftime()).collect();
        let written_time = match written.as_slice() {
            [] => None,
            written => Some(WrittenTime::described(written)?),
        };
        let has = |fields: &[Field]| parts.iter().any(|part| fields.contains(&part.field));
        if written_time.is_none() && !has(&[Field::ClfTime, Field::IsoTime, Field::UnixTime]) {
            return Err(FormatError::Lacks("the time"));
        }
        if !has(&[Field::Status]) {
            return Err(FormatError::Lacks("the status"));
        }
        if !parts.iter().any(|part| matches!(part.field, Field::Bytes { .. })) {
            return Err(FormatError::Lacks("the bytes of a response"));
        }
        if !has(&[Field::Request, Field::Method]) {
            return Err(FormatError::Lacks("the request or its method"));
        }
        let is_bare = |part: &Part| {
            part.field == Field::Request && matches!(part.after.first(), None | Some(b' '))
        };
        if parts.iter().any(is_bare) {
            return Err(FormatError::BareRequest);
        }
        let last = parts.iter().rposition(|part| part.field != Field::Skipped);
        let needed = last.map_or(0, |last| last + 1);
        Ok(Self { before, parts, needed, written_time, stamp })
    }

    /// Reads the needed fields of a line. More may stand behind them, so that a format with further
    /// fields is read by one without.
    pub(super) fn read(&self, line: &[u8]) -> Reading {
        match self.take(line, self.needed) {
            Some((entry, _)) => Reading::Entry(entry),
            None => Reading::Unreadable,
        }
    }

    /// The part of a line that matches this form.
    pub(super) fn extent(&self, line: &[u8]) -> Extent {
        match self.take(line, self.parts.len()) {
            Some((_, [])) => Extent::Whole,
            Some((_, rest)) => Extent::Beginning { bytes: line.len() - rest.len() },
            None => Extent::Part,
        }
    }

    /// An entry of the first `count` parts, and what stands behind them.
    fn take<'l>(&self, line: &'l [u8], count: usize) -> Option<(Entry, &'l [u8])> {
        let mut rest = line.strip_prefix(self.before.as_slice())?;
        let mut taken = Taken::default();
        for part in &self.parts[..count] {
            let value;
            (value, rest) = part.split(rest)?;
            taken.take(&part.field, value)?;
        }
        Some((taken.entry(self.written_time.as_ref())?, rest))
    }
}

impl Part {
    /// The description of the time, if the field is one of strftime(3).
    fn strftime(&self) -> Option<&str> {
        match &self.field {
            Field::Strftime(described) => Some(described),
            _ => None,
        }
    }

    /// Whether a text can be the field's value. The text behind a time may be a part of it, too:
    /// `20.11.2026 10:00:00.123`.
    fn can_be(&self, value: &[u8]) -> bool {
        self.strftime().is_none_or(|described| WrittenTime::is_one(described, value))
    }

    /// The text of the field, and what stands behind the literal after it.
    fn split<'l>(&self, rest: &'l [u8]) -> Option<(&'l [u8], &'l [u8])> {
        let after = self.after.as_slice();
        if self.field == Field::ClfTime {
            let (value, rest) = rest.split_at_checked(time::clf_length(rest)?)?;
            return Some((value, rest.strip_prefix(after)?));
        }
        let Some((first, others)) = after.split_first() else {
            if self.strftime().is_some() {
                return Some((rest, &[]));
            }
            return Some(rest.split_at(memchr(b' ', rest).unwrap_or(rest.len())));
        };
        let mut from = 0;
        loop {
            let at = from + memchr(*first, &rest[from..])?;
            let (value, behind) = (&rest[..at], &rest[at + 1..]);
            if let Some(behind) = behind.strip_prefix(others)
                && !(*first == b'"' && is_escaped(value))
                && self.can_be(value)
            {
                return Some((value, behind));
            }
            from = at + 1;
        }
    }
}

/// Whether what stands behind this text is escaped by a backslash at its end.
fn is_escaped(text: &[u8]) -> bool {
    let backslashes = text.iter().rev().take_while(|byte| **byte == b'\\').count();
    backslashes % 2 == 1
}

/// The fields read from a line so far.
#[derive(Default)]
struct Taken {
    time: Option<Moment>,
    /// The fields of a [`WrittenTime`], one behind the other.
    written: Vec<u8>,
    fraction_ms: i64,
    method: Option<Method>,
    protocol: Option<Protocol>,
    status: Option<u16>,
    bytes: Bytes,
    dash: Option<Counted>,
    duration_us: Option<u64>,
    is_tls: Option<bool>,
    of_connection: Option<u64>,
}

impl Taken {
    /// Takes a field; `None` if its text is not one.
    fn take(&mut self, field: &Field, text: &[u8]) -> Option<()> {
        match field {
            Field::Skipped => {}
            Field::ClfTime => self.time = Some(time::clf(text)?),
            Field::IsoTime => self.time = Some(time::iso(text)?),
            Field::UnixTime => self.time = Some(time::epoch(text)?),
            Field::Strftime(_) => WrittenTime::add(&mut self.written, text),
            Field::Fraction { unit_us } => {
                let fraction_us = number::parse_u64(text)?.checked_mul(*unit_us)?;
                self.fraction_ms =
                    i64::try_from(fraction_us / 1000).ok().filter(|ms| *ms < 1000)?;
            }
            Field::Request => {
                let (method, protocol) = request::parts(text);
                self.method = Some(method);
                self.protocol = self.protocol.or(protocol);
            }
            Field::Method => self.method = Some(Method::from_name(text)),
            Field::Protocol => self.protocol = Protocol::from_name(text),
            Field::Status => self.status = number::status(text)?,
            Field::Bytes { counted, may_be_dash: true } if text == b"-" => {
                self.dash = Some(*counted);
            }
            Field::Bytes { counted, .. } => {
                *self.bytes.field_mut(*counted) = Some(number::bytes(text)?);
            }
            Field::Duration { unit_us } => self.duration_us = number::scaled(text, *unit_us),
            Field::OfTls => self.is_tls = Some(!matches!(text, b"" | b"-" | b"off")),
            Field::Scheme => self.is_tls = scheme::is_tls(text),
            Field::OfConnection => self.of_connection = number::parse_u64(text),
        }
        Some(())
    }

    fn entry(self, written_time: Option<&WrittenTime>) -> Option<Entry> {
        let Self { protocol, status, mut bytes, duration_us, is_tls, of_connection, .. } = self;
        let method = self.method?;
        let mut time = match written_time {
            Some(written_time) => written_time.read(&self.written)?,
            None => self.time?,
        };
        time.unix_ms = time.unix_ms.checked_add(self.fraction_ms)?;
        if let Some(counted) = self.dash {
            bytes.set_dash(counted, method, status);
        }
        Some(Entry { time, method, status, bytes, duration_us, protocol, is_tls, of_connection })
    }
}
