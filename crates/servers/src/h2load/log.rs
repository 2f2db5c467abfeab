//! The log of an h2load (`--log-file`): a line for each request that has ended, written at once, so
//! that it tells how many responses have come at any moment.
//!
//! `start time in us since 1970 <TAB> status, -1 of a stream that failed <TAB> us until its end`
//! ([h2load(1)](https://nghttp2.org/documentation/h2load.1.html)).

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A log, as far as it has been read.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    bytes: Vec<u8>,
    lines: u64,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// When it was sent, in us since 1970.
    pub(super) sent_us: u64,
    /// The status; `None`: the stream failed.
    pub(super) status: Option<u16>,
    /// Time from when it was sent.
    pub(super) took_ns: u64,
}

impl Log {
    /// An empty one for an h2load that is about to be started.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Self { file, bytes: Vec::new(), lines: 0 })
    }

    /// Reads what was written since the last call, as far as it can be read, and returns the number
    /// of requests that have ended.
    pub(super) fn read(&mut self) -> u64 {
        let known = self.bytes.len();
        drop(self.file.read_to_end(&mut self.bytes)); // what was read by then is there
        let new = self.bytes[known..].iter().filter(|byte| **byte == b'\n');
        self.lines += new.count() as u64;
        self.lines
    }

    /// The requests that have ended, in that order; `None` where a line is not of this form.
    pub(super) fn rows(&self) -> impl Iterator<Item = Option<Row>> {
        let lines = self.bytes.split_inclusive(|byte| *byte == b'\n');
        lines.filter(|line| line.ends_with(b"\n")).map(row)
    }
}

fn row(line: &[u8]) -> Option<Row> {
    let text = std::str::from_utf8(line).ok()?;
    // More columns may be added later.
    let mut columns = text.trim_end().split('\t');
    let sent_us = columns.next()?.parse().ok()?;
    let status: i32 = columns.next()?.parse().ok()?;
    let took_us: u64 = columns.next()?.parse().ok()?;
    let took_ns = took_us.saturating_mul(1_000);
    Some(Row { sent_us, status: u16::try_from(status).ok(), took_ns })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_whole_line_is_a_request_that_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        std::fs::write(&path, "of an earlier trial\n").unwrap();
        let mut log = Log::create(&path).unwrap();
        assert_eq!(log.read(), 0);
        let mut writer = File::options().append(true).open(&path).unwrap();
        writer.write_all(b"1795908357286938\t200\t862\n1795908357286939\t-1\t10").unwrap();
        assert_eq!((log.read(), log.rows().count()), (1, 1));
        writer.write_all(b"45\n1795908357286940\t304\t7\tmore\nnonsense\n").unwrap();
        assert_eq!(log.read(), 4);
        const SENT_US: u64 = 1_795_908_357_286_938;
        let row =
            |after_us, status, took_ns| Some(Row { sent_us: SENT_US + after_us, status, took_ns });
        assert!(log.rows().eq([
            row(0, Some(200), 862_000),
            row(1, None, 1_045_000),
            row(2, Some(304), 7_000),
            None
        ]));
    }
}
