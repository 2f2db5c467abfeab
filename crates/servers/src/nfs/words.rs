//! Messages between zc and a reader of NFS, line by line. reader.c has its half of the same.

use zc_load::Latencies;
use zc_run::NfsOperation;

/// The reader's message once it listens.
pub(super) const READY: &str = "ready";
/// An order to open a file.
const OPEN: &str = "open ";
/// An order to read or write.
const GO: &str = "go ";
/// An order to end that.
pub(super) const STOP: &str = "stop";
/// An answer: something has failed.
pub(super) const NO: &str = "no ";
/// An answer: there is no such thing here, and will not be.
pub(super) const NEVER: &str = "never ";

/// Numbers in the file of counts, each of 64 bits: READs or WRITEs that were answered, their bytes,
/// and those that failed.
pub(super) const NUMBERS: usize = 3;

/// An order to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToOpen<'a> {
    /// The operation that the file is opened for.
    pub operation: NfsOperation,
    /// Bytes of it that are read at most, or written; `None`: all.
    pub most: Option<u64>,
    /// Location of the file, and how it is mounted.
    pub what: &'a str,
}

impl<'a> ToOpen<'a> {
    /// `open OPERATION MOST WHAT`, where 0 stands for no bound.
    pub(super) fn line(&self) -> String {
        let operation = word(self.operation);
        format!("{OPEN}{operation} {} {}", self.most.unwrap_or(0), self.what)
    }

    /// The order of a line; `None`: it is none.
    pub(super) fn of_line(line: &'a str) -> Option<Self> {
        let mut words = line.strip_prefix(OPEN)?.splitn(3, ' ');
        let operation = words.next()?;
        Some(Self {
            operation: NfsOperation::ALL.into_iter().find(|each| word(*each) == operation)?,
            most: Some(words.next()?.parse().ok()?).filter(|most| *most > 0),
            what: words.next()?,
        })
    }
}

fn word(operation: NfsOperation) -> &'static str {
    match operation {
        NfsOperation::Read => "read",
        NfsOperation::Write => "write",
        NfsOperation::WriteSync => "write-sync",
    }
}

/// An order to read or write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    /// Number of the opened file.
    pub file: usize,
    /// Bytes of a call.
    pub bytes: usize,
    /// Calls at a time, at most.
    pub depth: usize,
    /// Calls per second; `None`: as fast as they are answered.
    pub per_s: Option<f64>,
    /// Number of calls; `None`: until it is stopped.
    pub calls: Option<u64>,
    /// When the first one is due, by CLOCK_MONOTONIC.
    pub begin_ns: u64,
}

impl Order {
    /// `go FILE BYTES DEPTH PER_S CALLS BEGIN_NS`, where 0 stands for no bound.
    pub(super) fn line(&self) -> String {
        let Self { file, bytes, depth, per_s, calls, begin_ns } = self;
        let (per_s, calls) = (per_s.unwrap_or(0.0), calls.unwrap_or(0));
        format!("{GO}{file} {bytes} {depth} {per_s} {calls} {begin_ns}")
    }

    /// The order of a line; `None`: it is none.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(GO)?.split(' ');
        let order = Self {
            file: words.next()?.parse().ok()?,
            bytes: words.next()?.parse().ok().filter(|bytes| *bytes > 0)?,
            depth: words.next()?.parse().ok().filter(|depth| *depth > 0)?,
            per_s: Some(words.next()?.parse().ok()?).filter(|per_s| *per_s > 0.0),
            calls: Some(words.next()?.parse().ok()?).filter(|calls| *calls > 0),
            begin_ns: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(order)
    }
}

/// A file that the reader has opened, and read once; one that is to be written, after it was
/// written once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Bytes of it that were read.
    pub bytes: u64,
    /// The longest READ or WRITE: that which the server allows, or which client and server agreed
    /// on.
    pub largest: u64,
    /// CRC-32 of what was read.
    pub crc32: u32,
}

impl Opened {
    /// `ok SIZE LARGEST CRC-32`
    pub(super) fn line(&self) -> String {
        format!("ok {} {} {:08x}", self.bytes, self.largest, self.crc32)
    }

    /// Parses a line; `None`: it is no such answer.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("ok ")?.split(' ');
        Some(Self {
            bytes: words.next()?.parse().ok()?,
            largest: words.next()?.parse().ok()?,
            crc32: u32::from_str_radix(words.next()?, 16).ok()?,
        })
    }
}

/// Calls that have ended: how many had fewer bytes than were asked for, and how late they were.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    pub(super) shorter: u64,
    pub(super) latency: Latencies,
}

impl Done {
    /// `done SHORT US:N ...`
    pub(super) fn line(&self) -> String {
        let classes = self.latency.classes().map(|(ns, reads)| format!(" {}:{reads}", ns / 1000));
        format!("done {}{}", self.shorter, classes.collect::<String>())
    }

    /// Parses a line; `None`: it is no such answer.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("done ")?.split(' ');
        let shorter = words.next()?.parse().ok()?;
        let class = |word: &str| {
            let (us, reads) = word.split_once(':')?;
            Some((us.parse::<u64>().ok()?.saturating_mul(1000), reads.parse().ok()?))
        };
        let classes: Option<Vec<(u64, u64)>> = words.map(class).collect();
        Some(Self { shorter, latency: Latencies::of_classes(classes?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_heard_as_it_was_said() {
        let paced = Order {
            file: 1,
            bytes: 65_536,
            depth: 4,
            per_s: Some(457.5),
            calls: Some(9),
            begin_ns: 123,
        };
        assert_eq!(paced.line(), "go 1 65536 4 457.5 9 123");
        for order in [paced, Order { per_s: None, calls: None, ..paced }] {
            assert_eq!(Order::of_line(&order.line()), Some(order));
        }
        for wrong in
            ["", "go", "go 0 0 1 0 0 0", "go 0 1 0 0 0 0", "go 0 1 1 0 0", "go 0 1 1 0 0 0 0"]
        {
            assert_eq!(Order::of_line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_to_be_opened_is_heard_as_it_was_said() {
        let all = ToOpen { operation: NfsOperation::WriteSync, most: None, what: "a b c" };
        assert_eq!(all.line(), "open write-sync 0 a b c");
        for order in [all, ToOpen { operation: NfsOperation::Read, most: Some(9), ..all }] {
            assert_eq!(ToOpen::of_line(&order.line()), Some(order));
        }
        for wrong in ["", "open read", "open read x a", "open append 0 a"] {
            assert_eq!(ToOpen::of_line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_the_reader_says_is_understood_or_refused() {
        let file = Opened::of_line("ok 22050000 1048576 0badcafe").unwrap();
        assert_eq!((file.bytes, file.largest, file.crc32), (22_050_000, 1 << 20, 0x0bad_cafe));
        assert_eq!(Opened::of_line(&file.line()), Some(file));
        for wrong in ["ok", "ok 1 2", "ok 1 2 xyz", "done 0", ""] {
            assert_eq!(Opened::of_line(wrong), None, "{wrong}");
        }
        let done = Done::of_line("done 2 99:5 1999:1").unwrap();
        assert_eq!((done.shorter, done.latency.count()), (2, 6));
        assert!(done.latency.max_ns().unwrap() >= 1_999_000);
        assert_eq!(Done::of_line(&done.line()).unwrap().latency.count(), 6);
        assert_eq!(Done::of_line("done 0").unwrap().latency.count(), 0);
        for wrong in ["done", "done x", "done 0 5", "done 0 5:", "ok 0"] {
            assert!(Done::of_line(wrong).is_none(), "{wrong}");
        }
    }
}
