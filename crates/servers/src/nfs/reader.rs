//! The client's end of NFS: the process that reads, which is told what to do over a pipe, and
//! counts in a file that is read at any moment.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::super::kept::{Kept, OWN_PROGRAM, Wanted};
use super::super::own_state::may_mount;
use super::program::has_file_system;
use super::words::{Done, NEVER, NO, NUMBERS, Opened, Order, READY, STOP, ToOpen};
use zc_kernel::spawn::wait_readable;
use zc_kernel::words::SharedWords;
use zc_rig::internal::{INTERNAL, NFS_READ};
use zc_run::{Error, ErrorKind, Result, Unavailable, escape, in_words};

/// The reader by libnfs. See there for what is said to it and by it.
const SOURCE: &str = include_str!("reader.c");

/// Time allowed for an answer. The reader itself waits 10 s for the server.
const PATIENCE: Duration = Duration::from_secs(15);

/// Time allowed for opening a file: the kernel's server lets nobody open one by version 4 in its
/// first 10 s, and its client asks again at intervals that double.
const OPENING: Duration = Duration::from_secs(40);

/// Interval at which a wait for the reader checks that it is still there.
const LOOK: Duration = Duration::from_millis(100);

/// A reader that has not ended so long after SIGTERM is killed.
const END: Duration = Duration::from_millis(500);

/// Files shared with the reader, in a folder that is removed once it has opened all.
const ORDERS: &str = "orders";
const ANSWERS: &str = "answers";

/// The program that reads: by libnfs, compiled here or the user's, or zc's own, which mounts.
#[derive(Debug)]
pub struct ReaderProgram {
    words: Vec<String>,
    /// Removed with the last of its files.
    folder: tempfile::TempDir,
}

impl ReaderProgram {
    /// The user's program, or the one that is compiled from zc's source with `cc` and libnfs.
    ///
    /// # Errors
    /// There is no compiler or no libnfs, or no folder to compile in.
    pub fn given_or_compiled(given: Option<&Path>) -> Result<Self> {
        let folder = folder()?;
        let path = match given {
            Some(path) => path.to_owned(),
            None => compile(folder.path())?,
        };
        Ok(Self { words: vec![path.display().to_string()], folder })
    }

    /// The kernel's client, which reads a file of a mount that is there, or mounts for itself.
    ///
    /// # Errors
    /// This kernel has none, or this process may not mount; no folder can be made.
    pub fn mounting(has_mount: bool) -> Result<Self> {
        if !has_file_system("nfs") {
            return Err(Unavailable::unsupported("this kernel has no NFS client")
                .remedy("a kernel with CONFIG_NFS_FS, or --nfs-client user")
                .into_error("nfs-client-unavailable", "the NFS client \"kernel\""));
        }
        if !has_mount && !may_mount() {
            return Err(Unavailable::refused("to mount takes CAP_SYS_ADMIN")
                .remedy("run as root, or name a file in a mount of this machine")
                .into_error("nfs-client-unavailable", "the NFS client \"kernel\""));
        }
        let words = [OWN_PROGRAM, INTERNAL, NFS_READ].map(str::to_owned).into();
        Ok(Self { words, folder: folder()? })
    }
}

fn folder() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|error| {
        Error::output(
            "cannot-make-folder",
            format!("cannot make a folder for the reader: {}", in_words(&error)),
        )
    })
}

/// Compiles the reader into a folder.
fn compile(folder: &Path) -> Result<PathBuf> {
    let absent = |reason: String| {
        Unavailable::unsupported(reason)
            .remedy("apt-get install gcc libc6-dev libnfs-dev, or --nfs-reader PROGRAM")
            .into_error("nfs-client-unavailable", "the NFS client \"user\"")
    };
    let source = folder.join("reader.c");
    let program = folder.join("reader");
    fs::write(&source, SOURCE).map_err(|error| {
        Error::output("cannot-write", format!("cannot write the reader: {}", in_words(&error)))
    })?;
    let said = Command::new("cc")
        .arg("-O2")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .args(["-lnfs", "-ldl"])
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

/// Counts since the reader began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallCounts {
    pub(super) calls: u64,
    pub(super) bytes: u64,
    pub(super) failed: u64,
}

/// The reader. It ends when this is dropped.
#[derive(Debug)]
pub struct Reader {
    kept: Kept,
    orders: File,
    answers: BufReader<File>,
    counts: SharedWords,
}

impl Reader {
    /// Starts it on `cpu`, on the side of a link that `enter` goes to.
    ///
    /// # Errors
    /// It cannot be started, or says nothing.
    pub fn start(
        program: &ReaderProgram,
        enter: impl FnOnce() -> Result<()> + Send,
        cpu: usize,
    ) -> Result<Self> {
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
        let (counts, memory) =
            SharedWords::create(NUMBERS).map_err(cannot("make the counts of the NFS reader"))?;
        // The reader opens it before it says that it listens; nobody needs it afterwards.
        let place = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
        let fifos = [ORDERS, ANSWERS].map(|name| folder.join(name).display().to_string());
        let wanted = Wanted {
            what: "the NFS reader".to_owned(),
            words: program.words.iter().cloned().chain(fifos).chain([place]).collect(),
            cpus: vec![cpu],
            patience: END,
            has_own_state: false,
        };
        let kept = Kept::start(wanted, enter)?;
        let mut own = Self { kept, orders, answers: BufReader::new(answers), counts };
        match own.answer()?.as_str() {
            READY => own.kept.find_processes(),
            other => return Err(not_understood(other)),
        }
        Ok(own)
    }

    /// Opens a file by its URL, or by where and how it is mounted, and reads it once, after it was
    /// written where it is to be.
    ///
    /// # Errors
    /// - [`ErrorKind::Remote`]: the server does not answer, or has no such file.
    /// - [`ErrorKind::Unsupported`]: client and server have no such version in common, or the file
    ///   may not be written.
    pub fn open(&mut self, order: &ToOpen<'_>) -> Result<Opened> {
        self.say(&order.line())?;
        let answer = self.answer_within(OPENING)?;
        Opened::of_line(&answer).ok_or_else(|| not_understood(&answer))
    }

    /// Begins to read or write.
    pub(super) fn go(&mut self, order: Order) -> Result<()> {
        self.say(&order.line())
    }

    /// Ends that, once all calls are answered that were under way, and what was written is
    /// committed.
    pub(super) fn stop(&mut self) -> Result<Done> {
        self.say(STOP)?;
        let answer = self.answer()?;
        Done::of_line(&answer).ok_or_else(|| not_understood(&answer))
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> CallCounts {
        let [calls, bytes, failed] = [0, 1, 2].map(|at| self.counts[at].load(Ordering::Acquire));
        CallCounts { calls, bytes, failed }
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

    fn answer(&mut self) -> Result<String> {
        self.answer_within(PATIENCE)
    }

    /// The next answer that is not one of failure.
    fn answer_within(&mut self, patience: Duration) -> Result<String> {
        let until = Instant::now() + patience;
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
                    "nfs-client-stalled",
                    format!(
                        "the NFS client did not answer within {} s: it may wait for the server",
                        patience.as_secs()
                    ),
                ));
            }
        }
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .map_err(|error| Error::os("read what the NFS reader says", error))?;
        let line = line.trim_end();
        if let Some(words) = line.strip_prefix(NEVER) {
            return Err(Error::unsupported("nfs-client-unavailable", escape(words, 300)));
        }
        match line.strip_prefix(NO) {
            Some(words) => Err(Error::new(
                ErrorKind::Remote,
                "nfs-client-failed",
                format!("the NFS client says: {}", escape(words, 300)),
            )),
            None => Ok(line.to_owned()),
        }
    }
}

fn not_understood(answer: &str) -> Error {
    Error::failed("nfs-client-failed", format!("the NFS reader says \"{}\"", escape(answer, 100)))
        .help("--nfs-reader takes a program that is built from zc's source of it")
}
