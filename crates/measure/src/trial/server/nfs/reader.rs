//! The client's end of NFS: the process that reads, which is told what to do over a pipe, and counts in a
//! file that is read at any moment.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use zc_kernel::spawn::wait_readable;

use super::super::kept::{Kept, Wanted};
use crate::http::Latencies;
use crate::link::Link;
use zc_run::{Error, ErrorKind, Result, Unavailable, escape, in_words};

/// The reader by libnfs. See there for what is said to it and by it.
const SOURCE: &str = include_str!("reader.c");

/// How long an answer may take. The reader itself waits 10 s for the server.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often it is looked whether the reader is still there, while it is waited for.
const LOOK: Duration = Duration::from_millis(100);

/// A reader that has not ended so long after SIGTERM is killed.
const END: Duration = Duration::from_millis(500);

/// What is shared with the reader, in a folder that is removed once it has opened all.
const ORDERS: &str = "orders";
const ANSWERS: &str = "answers";
const COUNTS: &str = "counts";

/// Numbers in the file of counts, each of 64 bits.
const NUMBERS: usize = 3;

/// The program that reads, which was compiled here or is the user's.
#[derive(Debug)]
pub struct ReaderProgram {
    path: PathBuf,
    /// Removed with the last of its files.
    folder: tempfile::TempDir,
}

impl ReaderProgram {
    /// The user's program, or the one that is compiled from zc's source with `cc` and libnfs.
    ///
    /// # Errors
    /// There is no compiler or no libnfs, or no folder to compile in.
    pub fn given_or_compiled(given: Option<&Path>) -> Result<Self> {
        let folder = tempfile::tempdir().map_err(|error| {
            Error::output(format!("cannot make a folder for the reader: {}", in_words(&error)))
        })?;
        let path = match given {
            Some(path) => path.to_owned(),
            None => compile(folder.path())?,
        };
        Ok(Self { path, folder })
    }
}

/// Compiles the reader into a folder.
fn compile(folder: &Path) -> Result<PathBuf> {
    let absent = |reason: String| {
        Unavailable::unsupported(reason)
            .remedy("apt-get install gcc libc6-dev libnfs-dev, or --nfs-reader PROGRAM")
            .into_error("the NFS client \"user\"")
    };
    let source = folder.join("reader.c");
    let program = folder.join("reader");
    fs::write(&source, SOURCE)
        .map_err(|error| Error::output(format!("cannot write the reader: {}", in_words(&error))))?;
    let said = Command::new("cc")
        .arg("-O2")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .arg("-lnfs")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| absent(format!("no C compiler (cc): {}", in_words(&error))))?;
    if said.status.success() {
        return Ok(program);
    }
    let words = String::from_utf8_lossy(&said.stderr);
    let error = words.lines().find(|line| line.contains("error") || line.contains("cannot find"));
    let error = error.or_else(|| words.lines().next()).unwrap_or("it says nothing");
    Err(absent(format!("the reader cannot be compiled with libnfs: {}", escape(error, 200))))
}

/// A file that the reader has opened, and read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Its length in bytes.
    pub bytes: u64,
    /// The longest READ that the server allows.
    pub largest_read: u64,
    /// CRC-32 of what was read.
    pub crc32: u32,
}

/// What was counted since the reader began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReadCounts {
    pub(super) reads: u64,
    pub(super) bytes: u64,
    pub(super) failed: u64,
}

/// What is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    /// Which of the opened files.
    pub(super) file: usize,
    /// Bytes of a READ.
    pub(super) bytes: usize,
    /// READs at a time, at most.
    pub(super) depth: usize,
    /// READs per second; `None`: as fast as they are answered.
    pub(super) per_s: Option<f64>,
    /// How many; `None`: until it is stopped.
    pub(super) reads: Option<u64>,
    /// When the first one is due, by CLOCK_MONOTONIC.
    pub(super) begin_ns: u64,
}

/// The reader. It ends when this is dropped.
#[derive(Debug)]
pub struct Reader {
    kept: Kept,
    orders: File,
    answers: BufReader<File>,
    counts: File,
}

impl Reader {
    /// Starts it on `cpu`, on the receiver's side of a link.
    ///
    /// # Errors
    /// It cannot be started, or says nothing.
    pub fn start(program: &ReaderProgram, link: &dyn Link, cpu: usize) -> Result<Self> {
        let folder = program.folder.path();
        let cannot = |what: &'static str| move |error: std::io::Error| Error::os(what, error);
        for name in [ORDERS, ANSWERS] {
            mknodat(CWD, folder.join(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                .map_err(|error| Error::os("make a pipe to the NFS reader", error))?;
        }
        // A FIFO that is open for both directions has no end, and opening it waits for nobody.
        let open = |name: &str| OpenOptions::new().read(true).write(true).open(folder.join(name));
        let orders = open(ORDERS).map_err(cannot("open a pipe to the NFS reader"))?;
        let answers = open(ANSWERS).map_err(cannot("open a pipe to the NFS reader"))?;
        let counts = File::create_new(folder.join(COUNTS)).and_then(|_| open(COUNTS));
        let counts = counts.map_err(cannot("make the counts of the NFS reader"))?;
        counts.set_len(8 * NUMBERS as u64).map_err(cannot("make the counts of the NFS reader"))?;
        let shared = [ORDERS, ANSWERS, COUNTS].map(|name| folder.join(name));
        let words = std::iter::once(&program.path).chain(&shared);
        let wanted = Wanted {
            what: "the NFS reader".to_owned(),
            words: words.map(|word| word.display().to_string()).collect(),
            cpus: vec![cpu],
            patience: END,
        };
        let kept = Kept::start(wanted, || link.enter_receiver())?;
        let mut own = Self { kept, orders, answers: BufReader::new(answers), counts };
        match own.answer()?.as_str() {
            "ready" => own.kept.find_processes(),
            other => return Err(not_understood(other)),
        }
        Ok(own)
    }

    /// Opens a file by its URL and reads it once.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`]: the server does not answer, or has no such file.
    pub fn open(&mut self, url: &str) -> Result<Opened> {
        self.say(&format!("open {url}"))?;
        let answer = self.answer()?;
        opened(&answer).ok_or_else(|| not_understood(&answer))
    }

    /// Begins to read.
    pub(super) fn go(&mut self, order: Order) -> Result<()> {
        let Order { file, bytes, depth, per_s, reads, begin_ns } = order;
        let (per_s, reads) = (per_s.unwrap_or(0.0), reads.unwrap_or(0));
        self.say(&format!("go {file} {bytes} {depth} {per_s} {reads} {begin_ns}"))
    }

    /// Ends that, once all READs are answered that were under way. Returns how many were shorter than
    /// asked for, and how late they were.
    pub(super) fn stop(&mut self) -> Result<(u64, Latencies)> {
        self.say("stop")?;
        let answer = self.answer()?;
        done(&answer).ok_or_else(|| not_understood(&answer))
    }

    /// What was counted so far; nothing where the file cannot be read.
    pub(super) fn counts(&self) -> ReadCounts {
        let mut bytes = [0; 8 * NUMBERS];
        if self.counts.read_exact_at(&mut bytes, 0).is_err() {
            return ReadCounts::default();
        }
        let number = |at: usize| {
            u64::from_ne_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap_or_default())
        };
        ReadCounts { reads: number(0), bytes: number(1), failed: number(2) }
    }

    /// CPU time of its processes so far.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.kept.cpu_ns()
    }

    fn say(&mut self, order: &str) -> Result<()> {
        self.orders
            .write_all(format!("{order}\n").as_bytes())
            .map_err(|error| Error::os("tell the NFS reader what to do", error))
    }

    /// The next answer that is not "no".
    fn answer(&mut self) -> Result<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let ready = self.answers.buffer().contains(&b'\n')
                || wait_readable(&[self.answers.get_ref().as_fd()], Some(LOOK))
                    .is_ok_and(|ready| ready == [true]);
            if ready {
                break;
            }
            self.kept.check()?;
            if Instant::now() >= until {
                return Err(Error::new(
                    ErrorKind::Remote,
                    format!("the NFS reader did not answer within {} s", PATIENCE.as_secs()),
                ));
            }
        }
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .map_err(|error| Error::os("read what the NFS reader says", error))?;
        let line = line.trim_end();
        match line.strip_prefix("no ") {
            Some(words) => Err(Error::new(
                ErrorKind::Remote,
                format!("the NFS client says: {}", escape(words, 300)),
            )),
            None => Ok(line.to_owned()),
        }
    }
}

fn not_understood(answer: &str) -> Error {
    Error::failed(format!("the NFS reader says \"{}\"", escape(answer, 100)))
        .help("--nfs-reader takes a program that is built from zc's source of it")
}

/// `ok SIZE LARGEST-READ CRC-32`
fn opened(answer: &str) -> Option<Opened> {
    let mut words = answer.strip_prefix("ok ")?.split(' ');
    Some(Opened {
        bytes: words.next()?.parse().ok()?,
        largest_read: words.next()?.parse().ok()?,
        crc32: u32::from_str_radix(words.next()?, 16).ok()?,
    })
}

/// `done SHORT US:N ...`
fn done(answer: &str) -> Option<(u64, Latencies)> {
    let mut words = answer.strip_prefix("done ")?.split(' ');
    let shorter = words.next()?.parse().ok()?;
    let class = |word: &str| {
        let (us, reads) = word.split_once(':')?;
        Some((us.parse::<u64>().ok()?.saturating_mul(1000), reads.parse().ok()?))
    };
    let classes: Option<Vec<(u64, u64)>> = words.map(class).collect();
    Some((shorter, Latencies::of_classes(classes?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reader_says_is_understood_or_refused() {
        let file = opened("ok 22050000 1048576 0badcafe").unwrap();
        assert_eq!((file.bytes, file.largest_read, file.crc32), (22_050_000, 1 << 20, 0x0bad_cafe));
        for wrong in ["ok", "ok 1 2", "ok 1 2 xyz", "done 0", ""] {
            assert_eq!(opened(wrong), None, "{wrong}");
        }
        let (shorter, late) = done("done 2 99:5 1999:1").unwrap();
        assert_eq!((shorter, late.count()), (2, 6));
        assert!(late.max_ns().unwrap() >= 1_999_000);
        assert_eq!(done("done 0").unwrap().1.count(), 0);
        for wrong in ["done", "done x", "done 0 5", "done 0 5:", "ok 0"] {
            assert!(done(wrong).is_none(), "{wrong}");
        }
    }
}
