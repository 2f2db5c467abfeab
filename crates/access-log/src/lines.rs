//! The lines of a stream. A line longer than [`LONGEST_LINE`] is passed over, so that memory does
//! not depend on what the stream has. NULs at the beginning of a line are no part of it: a log that
//! was truncated while its server went on writing at the old place has a hole there (logrotate's
//! `copytruncate`).

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use memchr::memchr;

/// The longest line that is looked at, in bytes. nginx and Apache accept requests of 8 KiB, and
/// write no byte of them as more than four.
pub const LONGEST_LINE: usize = 64 << 10;

/// A line of a stream, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'l> {
    /// One of at most [`LONGEST_LINE`] bytes.
    Whole(&'l [u8]),
    /// The beginning of a longer one.
    TooLong(&'l [u8]),
    /// Number of NULs at the beginning of a line, which follows.
    Nuls(u64),
    /// The last bytes of the stream, after which no line ends: being written, or cut off.
    Unfinished(&'l [u8]),
}

/// Calls `each` with every line, until it breaks.
///
/// # Errors
/// Reading fails. The lines before the error have been given to `each`, and the beginning of the
/// one that it cut off.
pub(crate) fn each<B>(
    mut stream: impl BufRead,
    mut each: impl FnMut(Line<'_>) -> ControlFlow<B>,
) -> io::Result<ControlFlow<B>> {
    // The beginning of a line whose end is not in the buffer yet.
    let mut begun: Vec<u8> = Vec::new();
    let mut is_too_long = false;
    let mut nuls = 0;
    loop {
        let buffer = match stream.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                // An unfinished line counts as one that was cut off.
                return match last(&begun, is_too_long).map(&mut each) {
                    Some(ControlFlow::Break(broken)) => Ok(ControlFlow::Break(broken)),
                    _ => Err(error),
                };
            }
        };
        if buffer.is_empty() {
            return Ok(last(&begun, is_too_long).map_or(ControlFlow::Continue(()), &mut each));
        }
        let mut rest = buffer;
        loop {
            if begun.is_empty() && !is_too_long {
                let at = count_nuls(rest);
                nuls += at as u64;
                rest = &rest[at..];
                if nuls > 0 && !rest.is_empty() {
                    let flow = each(Line::Nuls(std::mem::take(&mut nuls)));
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
            }
            let Some(end) = memchr(b'\n', rest) else { break };
            let (tail, next) = (&rest[..end], &rest[end + 1..]);
            let flow = if is_too_long {
                each(Line::TooLong(&begun))
            } else if begun.is_empty() {
                each(line(tail))
            } else {
                begun.extend_from_slice(tail);
                each(line(&begun))
            };
            begun.clear();
            is_too_long = false;
            if flow.is_break() {
                return Ok(flow);
            }
            rest = next;
        }
        if begun.len() + rest.len() > LONGEST_LINE {
            is_too_long = true;
        }
        let room = LONGEST_LINE - begun.len().min(LONGEST_LINE);
        begun.extend_from_slice(&rest[..rest.len().min(room)]);
        let used = buffer.len();
        stream.consume(used);
    }
}

/// Number of NULs at the beginning of a text.
pub(crate) fn count_nuls(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte != 0).unwrap_or(text.len())
}

/// The line before a line feed.
fn line(bytes: &[u8]) -> Line<'_> {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() > LONGEST_LINE {
        Line::TooLong(&bytes[..LONGEST_LINE])
    } else {
        Line::Whole(bytes)
    }
}

/// The last line of a stream that ends without a line feed.
fn last(begun: &[u8], is_too_long: bool) -> Option<Line<'_>> {
    match (begun, is_too_long) {
        ([], _) => None,
        (begun, true) => Some(Line::TooLong(begun)),
        (begun, false) => Some(Line::Unfinished(begun.strip_suffix(b"\r").unwrap_or(begun))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use proptest::prelude::*;

    use super::*;

    fn lines(stream: impl BufRead) -> Vec<String> {
        let mut lines = Vec::new();
        let flow = each(stream, |line| {
            lines.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong(line) => format!("{} of a long one", line.len()),
                Line::Unfinished(line) => format!("{}...", String::from_utf8_lossy(line)),
                Line::Nuls(count) => format!("{count} NULs"),
            });
            ControlFlow::<()>::Continue(())
        });
        assert!(flow.unwrap().is_continue());
        lines
    }

    #[test]
    fn lines_end_with_a_line_feed_and_perhaps_a_carriage_return() {
        assert_eq!(lines(&b"a\nb\r\n\nc"[..]), ["a", "b", "", "c..."]);
        assert_eq!(lines(&b""[..]), [""; 0]);
    }

    #[test]
    fn a_line_of_megabytes_is_passed_over() {
        let mut log = b"a\n".to_vec();
        log.resize(10 << 20, b'x');
        log.extend(b"\nb\n");
        log.resize(11 << 20, b'y');
        let long = format!("{LONGEST_LINE} of a long one");
        let expected = ["a", &long, "b", &long];
        assert_eq!(lines(&log[..]), expected);
        assert_eq!(lines(BufReader::with_capacity(4096, &log[..])), expected);
    }

    #[test]
    fn nuls_before_a_line_are_no_part_of_it() {
        let hole = vec![0; 200_000];
        let log = [&hole, &b"a\nb\n"[..], &[0], b"c\0d\n", &hole].concat();
        let expected = ["200000 NULs", "a", "b", "1 NULs", "c\0d"];
        assert_eq!(lines(&log[..]), expected);
        assert_eq!(lines(BufReader::with_capacity(4096, &log[..])), expected);
    }

    #[test]
    fn lines_before_an_error_are_given() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let mut seen = 0;
        let read = each(BufReader::new((&b"a\nb\nc"[..]).chain(Broken)), |_| {
            seen += 1;
            ControlFlow::<()>::Continue(())
        });
        assert_eq!((read.unwrap_err().kind(), seen), (io::ErrorKind::UnexpectedEof, 3));
    }

    proptest! {
        #[test]
        fn the_size_of_the_buffer_changes_nothing(
            parts in prop::collection::vec(
                prop_oneof![Just(0), Just(1), 0..300_usize, Just(70_000)],
                0..8,
            ),
            capacity in 1..70_000_usize,
        ) {
            let line = |length: &usize| [vec![b'x'; *length], b"\n".to_vec()].concat();
            let log: Vec<u8> = parts.iter().flat_map(line).collect();
            prop_assert_eq!(lines(BufReader::with_capacity(capacity, &log[..])), lines(&log[..]));
        }
    }
}
