//! The requests of a web server's access log: what was asked for, in the order of the log.
//!
//! A line is read from its quoted request on, `"GET /path HTTP/1.1" 200`, as Apache's formats
//! `common`, `combined` and `vhost_combined` and nginx's `combined` have it. Requests that a GET
//! without further headers repeats are taken: those of GET that were answered with 200. With 304 or
//! 206 the client had asked for less than all (RFC 9110, 13 and 14), with another status there was
//! nothing.

use std::io::{self, BufRead, Read as _};

use zc_access_log::{Found, LONGEST_LINE, find_request};
use zc_load::is_target;

/// The most requests that are taken.
const MOST_REQUESTS: usize = 1_000_000;

/// Without a request in so many bytes it is no log: /dev/zero is not read for ever.
const MOST_WITHOUT: u64 = 64 << 20;

/// Requests in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// Paths with queries, in order, of requests that can be repeated.
    pub(super) targets: Vec<String>,
    /// Requests that were left out: of another method, or answered with another status than 200.
    pub(super) left_out: u64,
    /// Lines that have no request of HTTP.
    pub(super) unreadable: u64,
    /// Whether there was more than is taken.
    pub(super) is_cut: bool,
}

/// Reads a log to its end, or until there are a million requests.
///
/// # Errors
/// A read error.
pub(super) fn read(mut log: impl BufRead) -> io::Result<Asked> {
    let mut asked = Asked::default();
    let mut line = Vec::new();
    let mut read_bytes = 0;
    loop {
        if asked.targets.is_empty() && read_bytes >= MOST_WITHOUT {
            return Ok(asked);
        }
        line.clear();
        let length = log.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(asked);
        }
        if asked.targets.len() == MOST_REQUESTS {
            asked.is_cut = true;
            return Ok(asked);
        }
        if length == LONGEST_LINE && !line.ends_with(b"\n") {
            read_bytes += log.by_ref().take(MOST_WITHOUT).skip_until(b'\n')? as u64;
        }
        read_bytes += length as u64;
        match find_request(&line) {
            Some(Found { method: b"GET", status: b"200", target }) if is_plain(target) => {
                asked.targets.push(String::from_utf8_lossy(target).into_owned());
            }
            Some(_) => asked.left_out += 1,
            None if line.trim_ascii().is_empty() => {}
            None => asked.unreadable += 1,
        }
    }
}

/// Whether a target is a path as it was sent: servers write what is not as `\x..`.
fn is_plain(target: &[u8]) -> bool {
    str::from_utf8(target).is_ok_and(|target| is_target(target) && !target.contains('\\'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_text(log: &str) -> Asked {
        read(log.as_bytes()).unwrap()
    }

    #[test]
    fn requests_that_can_be_repeated_are_taken_in_order() {
        let asked = read_text(
            r#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 203023 "http://a.test/" "Mozilla/5.0 (X11)"
a.test:80 192.0.2.1 - - [17/May/2015:10:05:43 +0000] "GET / HTTP/1.0" 200 17 "-" "a \"GET /no HTTP/1.1\" b"
192.0.2.1 - "GET /name HTTP/1.1" [17/May/2015:10:05:47 +0000] "GET /c HTTP/2.0" 200 2
192.0.2.1 - - [17/May/2015:10:05:47 +0000] "POST /d HTTP/1.1" 200 2
192.0.2.1 - - [17/May/2015:10:05:47 +0000] "GET /e HTTP/1.1" 304 -
192.0.2.1 - - [17/May/2015:10:05:47 +0000] "GET /f HTTP/1.1" 206 100
192.0.2.1 - - [17/May/2015:10:05:47 +0000] "GET /\xd0 HTTP/1.1" 200 100
192.0.2.1 - - [17/May/2015:10:05:47 +0000] "GET http://b.test/ HTTP/1.1" 200 100
192.0.2.1 - - [17/May/2015:10:05:47 +0000] "\x16\x03\x01" 400 226

not a line of a log
192.0.2.1 - - [17/May/2015:10:05:47 +0000] "GET /last HTTP/1.1" 200 1"#,
        );
        assert_eq!(asked.targets, ["/a?b=c", "/", "/c", "/last"]);
        assert_eq!((asked.left_out, asked.unreadable, asked.is_cut), (5, 2, false));
    }

    #[test]
    fn a_line_without_an_end_is_passed_over() {
        let long = format!("{}\n\"GET /a HTTP/1.1\" 200 1\n", "x".repeat(200_000));
        let asked = read_text(&long);
        assert_eq!((asked.targets, asked.unreadable), (vec!["/a".to_owned()], 1));
    }

    #[test]
    fn of_a_long_log_the_first_million_is_taken() {
        let asked = read_text(&"\"GET /a HTTP/1.1\" 200 1\n".repeat(MOST_REQUESTS + 1));
        assert!(asked.targets.len() == MOST_REQUESTS && asked.is_cut);
    }

    proptest! {
        #[test]
        fn whatever_a_log_has_what_is_taken_is_a_path(
            log in "(\"?(GET|/[a-z]{1,3}|HTTP/1.1|200|\\PC{0,3}|\"| |\n)){0,60}"
        ) {
            for target in read_text(&log).targets {
                prop_assert!(is_plain(target.as_bytes()));
            }
        }
    }
}
