//! Request lines: `GET /path HTTP/1.1`, and where one is in a line of a log.

use memchr::{memchr, memrchr};

use super::entry::{Method, Protocol};

/// The method and the version of a request line, which is the whole text.
///
/// A server logs what it got, which need not be a request: bytes of a TLS handshake, `-` where the
/// connection was closed without one. These are of method [`Method::Other`].
pub(crate) fn parts(line: &[u8]) -> (Method, Option<Protocol>) {
    let Some(end) = memchr(b' ', line) else { return (Method::Other, None) };
    let method = Method::from_name(&line[..end]);
    let version = memrchr(b' ', line).and_then(|at| Protocol::from_name(&line[at + 1..]));
    // A request without a version is of HTTP/0.9 (RFC 1945, 4.1), or something else.
    (method, version)
}

/// A request in quotes, and the status behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'l> {
    /// Its method.
    pub method: &'l [u8],
    /// The target of the request, as the server wrote it.
    pub target: &'l [u8],
    /// The status of the response, three digits.
    pub status: &'l [u8],
}

/// Finds `"METHOD target HTTP/x" status` in a line, wherever it is: in Apache's formats `common`,
/// `combined` and `vhost_combined`, in nginx's `combined`, and in what is made of these.
pub fn find(line: &[u8]) -> Option<Found<'_>> {
    // A quote within is written \" or \x22, and ends a request that none can be.
    memchr::memchr_iter(b'"', line).find_map(|at| {
        let rest = &line[at + 1..];
        let end = memchr(b'"', rest)?;
        let mut words = rest[..end].split(|byte| *byte == b' ');
        let (method, target, protocol) = (words.next()?, words.next()?, words.next()?);
        let mut after = rest[end + 1..].split(u8::is_ascii_whitespace);
        let status = after.find(|word| !word.is_empty())?;
        let is_one = protocol.starts_with(b"HTTP/")
            && words.next().is_none()
            && !method.is_empty()
            && method.iter().all(u8::is_ascii_uppercase)
            && status.len() == 3
            && status.iter().all(u8::is_ascii_digit);
        is_one.then_some(Found { method, target, status })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_line_has_a_method_and_a_version() {
        assert_eq!(parts(b"GET / HTTP/1.1"), (Method::Get, Some(Protocol::Http11)));
        assert_eq!(parts(b"HEAD /a b HTTP/2.0"), (Method::Head, Some(Protocol::Http2)));
        assert_eq!(parts(b"GET /"), (Method::Get, None));
        assert_eq!(parts(b"PROPFIND / HTTP/1.1"), (Method::Other, Some(Protocol::Http11)));
        for none in ["", "-", "\\x16\\x03\\x01", "get / x"] {
            assert_eq!(parts(none.as_bytes()), (Method::Other, None), "{none:?}");
        }
    }

    #[test]
    fn the_request_is_found_where_other_fields_have_quotes_too() {
        let line = b"192.0.2.1 - \"GET /name HTTP/1.1\" [17/May/2015:10:05:47 +0000] \
                     \"GET /c HTTP/2.0\" 200 2 \"a \\\"GET /no HTTP/1.1\\\" b\"";
        let found = find(line).unwrap();
        assert_eq!(
            (found.method, found.target, found.status),
            (&b"GET"[..], &b"/c"[..], &b"200"[..])
        );
        assert_eq!(find(b"\"GET /a\" 200 1"), None);
        assert_eq!(find(b"\"GET /a HTTP/1.1\" -"), None);
    }

    proptest! {
        #[test]
        fn whatever_a_line_is_a_request_is_found_or_none(line: Vec<u8>) {
            let _ = (parts(&line), find(&line));
        }
    }
}
