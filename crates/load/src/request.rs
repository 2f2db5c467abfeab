//! The bytes of a request.

use std::fmt::Write as _;

use super::options::LoadOptions;
use super::origin::Origin;
use super::targets::{Method, Target};
use zc_run::{Error, Result, escape};

/// The longest request. Servers refuse less: nginx 8 KiB for each header.
const LONGEST: usize = 64 << 10;

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    /// The same with `Connection: close`, for the last one on a connection.
    pub(super) last: Vec<u8>,
    /// Whether its response has no body, whatever the response says.
    pub(super) is_head: bool,
}

impl Request {
    /// The request for `target` at `origin`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): a header is not valid, or is one that delimits a
    /// body.
    pub(super) fn new(origin: &Origin, target: &Target, options: &LoadOptions) -> Result<Self> {
        let is_head = target.method == Method::Head;
        let bytes = |closes| bytes(origin, target, options, closes);
        Ok(Self { bytes: bytes(!options.reuse.keeps())?, last: bytes(true)?, is_head })
    }
}

fn bytes(origin: &Origin, target: &Target, options: &LoadOptions, closes: bool) -> Result<Vec<u8>> {
    let mut text = format!("{} {} HTTP/1.1\r\n", target.method.name(), target.path);
    let own = [
        ("Host", origin.authority.as_str()),
        ("User-Agent", concat!("zc/", env!("CARGO_PKG_VERSION"))),
        ("Accept", "*/*"),
        ("Connection", "close"),
    ];
    let gives = |headers: &[(String, String)], name: &str| {
        headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
    };
    for (name, value) in own {
        let is_given = gives(&options.headers, name) || gives(&target.headers, name);
        if !is_given && (name != "Connection" || closes) {
            // Writing to a String cannot fail.
            let _ = write!(text, "{name}: {value}\r\n");
        }
    }
    let of_load = options.headers.iter().filter(|(name, _)| !gives(&target.headers, name));
    for (name, value) in of_load.chain(&target.headers) {
        check_header(name, value)?;
        let _ = write!(text, "{name}: {}\r\n", value.trim());
    }
    text.push_str("\r\n");
    if text.len() > LONGEST {
        return Err(Error::usage(
            "request-too-long",
            format!("a request has {} bytes", text.len()),
        )
        .help(format!("at most {LONGEST}: use fewer or shorter headers")));
    }
    Ok(text.into_bytes())
}

/// Checks that a header is one (RFC 9110, 5.1 and 5.5), and leaves a request without a body.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): it is none, or changes what the request is.
pub fn check_header(name: &str, value: &str) -> Result<()> {
    let wrong = |what: &str| {
        Error::usage(
            "invalid-header",
            format!("header \"{}\" {what}", escape(&format!("{name}: {value}"), 80)),
        )
        .help("headers look like --header 'Accept-Encoding: gzip'")
    };
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        return Err(wrong("has no valid name"));
    }
    if !value.chars().all(|c| c == '\t' || !c.is_control()) {
        return Err(wrong("has a control character in its value"));
    }
    for other in ["content-length", "transfer-encoding", "upgrade", "connection", "expect"] {
        if name.eq_ignore_ascii_case(other) {
            return Err(wrong("changes what the request is")
                .help("requests are without a body; --close asks for a connection each"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zc_run::ErrorKind;

    use super::*;
    use crate::{Reuse, Trust};

    fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn request_text(headers: &[(&str, &str)], reuse: Reuse) -> Result<String> {
        text_of(Target::from("/b?c".to_owned()), headers, reuse)
    }

    fn text_of(target: Target, headers: &[(&str, &str)], reuse: Reuse) -> Result<String> {
        let origin = Origin::at("http://a.test:81/b?c", "127.0.0.1:1".parse().unwrap()).unwrap();
        let options = LoadOptions {
            origins: vec![origin.clone()],
            connections: 1,
            reuse,
            source: None,
            headers: owned(headers),
            trust: Trust::System,
            timeout: Duration::from_secs(1),
        };
        Request::new(&origin, &target, &options)
            .map(|request| String::from_utf8(request.bytes).unwrap())
    }

    #[test]
    fn a_request_names_its_host_and_says_whether_the_connection_is_kept() {
        let version = env!("CARGO_PKG_VERSION");
        let kept = format!(
            "GET /b?c HTTP/1.1\r\nHost: a.test:81\r\nUser-Agent: zc/{version}\r\n\
             Accept: */*\r\n\r\n"
        );
        assert_eq!(request_text(&[], Reuse::KeepAlive).unwrap(), kept);
        let closed = kept.replace("*/*\r\n", "*/*\r\nConnection: close\r\n");
        assert_eq!(request_text(&[], Reuse::Close).unwrap(), closed);
    }

    #[test]
    fn a_header_of_the_user_replaces_ours() {
        let text = request_text(&[("host", "b.test"), ("X-A", " 1 ")], Reuse::KeepAlive).unwrap();
        assert!(text.contains("\r\nhost: b.test\r\nX-A: 1\r\n\r\n"), "{text}");
        assert!(!text.contains("a.test"), "{text}");
    }

    #[test]
    fn a_target_has_a_method_and_headers_that_replace_those_of_the_load() {
        let target = Target {
            method: Method::Head,
            headers: owned(&[("Range", "bytes=0-9"), ("accept", "image/*")]),
            ..Target::from("/b".to_owned())
        };
        let given = [("range", "bytes=5-"), ("X-A", "1")];
        let text = text_of(target, &given, Reuse::KeepAlive).unwrap();
        assert!(text.starts_with("HEAD /b HTTP/1.1\r\nHost: a.test:81\r\n"), "{text}");
        let own = "\r\nX-A: 1\r\nRange: bytes=0-9\r\naccept: image/*\r\n\r\n";
        assert!(text.ends_with(own), "{text}");
        assert!(!text.contains("*/*") && !text.contains("bytes=5-"), "{text}");

        let odd =
            Target { headers: owned(&[("Content-Length", "5")]), ..Target::from("/b".to_owned()) };
        assert_eq!(text_of(odd, &[], Reuse::KeepAlive).unwrap_err().id, "invalid-header");
    }

    #[test]
    fn a_header_that_is_none_or_makes_another_request_is_refused() {
        for (name, value) in [
            ("", "x"),
            ("a b", "x"),
            ("a:", "x"),
            ("X", "a\r\nY: b"),
            ("X", "a\0"),
            ("Content-Length", "5"),
            ("transfer-encoding", "chunked"),
            ("Connection", "upgrade"),
        ] {
            let error = request_text(&[(name, value)], Reuse::KeepAlive).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage, "{name}: {value}");
            assert!(error.help.is_some());
        }
        assert!(request_text(&[("X", &"x".repeat(LONGEST))], Reuse::KeepAlive).is_err());
    }
}
