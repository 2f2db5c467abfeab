//! Fields that are read from a line: time, method, protocol, status, duration and bytes. Addresses,
//! paths, users and agents are not read, so nothing behind this type can hold them.

use schemars::JsonSchema;
use serde::Serialize;

use super::time::Moment;

/// A request and its response, as one line of a log has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When: as the server writes it, mostly to the second. Whether that is the beginning of the
    /// request or its end depends on the server ([`Stamp`]).
    pub time: Moment,
    /// Its method.
    pub method: Method,
    /// The status of the response, from 100 to 999; `None` where none was sent (`-`, `000`, `-1`).
    pub status: Option<u16>,
    /// Bytes of the response.
    pub bytes: Bytes,
    /// Duration in us, if the log says it. Servers differ in what they include: most count from the
    /// request's first byte to the response's last.
    pub duration_us: Option<u64>,
    /// The version of HTTP, if the log says it.
    pub protocol: Option<Protocol>,
    /// Whether it was sent over TLS, if the log says it.
    pub is_tls: Option<bool>,
    /// Which request of its connection it was, from 1, if the log says it.
    pub of_connection: Option<u64>,
}

impl Entry {
    /// The kind of the response.
    pub fn class(&self) -> Class {
        match (self.method, self.status) {
            _ if self.bytes.size().is_none() => Class::Unmeasured,
            (Method::Head, _) => Class::Head,
            (_, Some(304)) => Class::NotModified,
            (_, Some(206)) => Class::Range,
            (Method::Get, Some(200)) => Class::Whole,
            _ => Class::Other,
        }
    }
}

/// The moment of a request that the time of a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// Its beginning.
    Begin,
    /// Its end, when the line was written.
    End,
}

/// The bytes of a response, by what was counted. A line that can be read has at least one of them,
/// or `-` in place of the bytes of a response with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes {
    /// Bytes of the body alone: nginx `$body_bytes_sent`, Apache `%b`.
    pub body: Option<u64>,
    /// Bytes of the whole response, with its header: nginx `$bytes_sent`, Apache `%O`.
    pub wire: Option<u64>,
    /// Bytes of one of the two; the format does not say which: Apache's `combined` has `%b`, and
    /// Debian's Apache writes `%O` under the same name.
    pub unsaid: Option<u64>,
}

impl Bytes {
    /// The size by which the response is counted, and its meaning: the body's size if it is known.
    pub fn size(&self) -> Option<(u64, Counted)> {
        let paired = |bytes: Option<u64>, counted| bytes.map(|bytes| (bytes, counted));
        paired(self.body, Counted::Body)
            .or(paired(self.unsaid, Counted::Unsaid))
            .or(paired(self.wire, Counted::Wire))
    }

    /// Sets the bytes of what `counted` names, of a format that has `-` for some responses.
    ///
    /// Apache's `%b` writes `-` for 0 bytes. Others write it where they do not know the length when
    /// the response begins: morgan of Express, of every chunked one. So of a response that may have
    /// a body nothing is known, and any other has 0 bytes. One whose bytes with the header are
    /// known was logged by Apache's `%O`, and its `-` is 0.
    pub(crate) fn set_dash(&mut self, counted: Counted, method: Method, status: Option<u16>) {
        let may_have_body = method != Method::Head && matches!(status, Some(200..=203 | 206..=299));
        if !may_have_body || self.wire.is_some() {
            *self.field_mut(counted) = Some(0);
        }
    }

    /// The bytes of what `counted` names.
    pub(crate) fn field_mut(&mut self, counted: Counted) -> &mut Option<u64> {
        match counted {
            Counted::Body => &mut self.body,
            Counted::Wire => &mut self.wire,
            Counted::Unsaid => &mut self.unsaid,
        }
    }
}

/// The meaning of a line's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// The body.
    Body,
    /// The whole response, with its header.
    Wire,
    /// One of the two: the format does not say which.
    Unsaid,
}

/// The kind of a response, by what its size says about what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A GET that was answered with 200: a whole representation.
    Whole,
    /// 206: a part of one (RFC 9110, 15.3.7).
    Range,
    /// 304: no body (RFC 9110, 15.4.5).
    NotModified,
    /// HEAD: no body (RFC 9110, 9.3.2).
    Head,
    /// Everything else: other methods, redirects, errors.
    Other,
    /// One whose length is not logged (`-`), although it may have a body.
    Unmeasured,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Whole, Self::Range, Self::NotModified, Self::Head, Self::Other, Self::Unmeasured];
}

/// A method of RFC 9110 (9.3) or RFC 5789.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // named by their documents
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Patch,
    Connect,
    Trace,
    /// Another one, or a request that is none: a TLS handshake at a port of plain HTTP.
    Other,
}

impl Method {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Delete,
        Self::Options,
        Self::Patch,
        Self::Connect,
        Self::Trace,
        Self::Other,
    ];

    /// The method of this name. Names are case-sensitive (RFC 9110, 9.1).
    pub(crate) fn from_name(name: &[u8]) -> Self {
        match name {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"OPTIONS" => Self::Options,
            b"PATCH" => Self::Patch,
            b"CONNECT" => Self::Connect,
            b"TRACE" => Self::Trace,
            _ => Self::Other,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
            Self::Connect => "CONNECT",
            Self::Trace => "TRACE",
            Self::Other => "other",
        }
    }
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // named by their numbers
pub enum Protocol {
    Http09,
    Http10,
    Http11,
    Http2,
    Http3,
}

impl Protocol {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Http09, Self::Http10, Self::Http11, Self::Http2, Self::Http3];

    /// The version that servers write in one of these ways: `HTTP/2.0` (nginx, Apache), `HTTP/2`
    /// (CloudFront, Envoy).
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        match name.strip_prefix(b"HTTP/")? {
            b"0.9" => Some(Self::Http09),
            b"1.0" => Some(Self::Http10),
            b"1.1" => Some(Self::Http11),
            b"2" | b"2.0" => Some(Self::Http2),
            b"3" | b"3.0" => Some(Self::Http3),
            _ => None,
        }
    }

    /// Whether it is spoken over TLS, where that is certain.
    pub(crate) fn is_tls(self) -> Option<bool> {
        matches!(self, Self::Http2 | Self::Http3).then_some(true)
    }

    /// Its name, as in a request line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http09 => "HTTP/0.9",
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Http3 => "HTTP/3",
        }
    }
}
