//! The client: it sends a set of files to a server, over and over, by sendfile, or by read and send
//! or write.
//!
//! The bytes are sent by the send paths of `path`, one whole file per piece. The numbers of the
//! protocol are sent in between by send(2), subject to Nagle's algorithm and to TCP_CORK (`-k`).

use std::collections::HashSet;
use std::ffi::OsString;
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use zc_kernel::{clock, tcp};

use super::calibration::Calibration;
use super::cpus::pin;
use super::cyclesoak::Soaking;
use super::getopt::{Known, Letter};
use super::socket::{self, Buffers, Capped};
use super::tool::Tool;
use super::values::{buffer, nr_cpus, parse_number, port, server};
use super::wire::{PORT, Tally};
use zc_rig::path::{SendSetup, open_sender};
use zc_rig::workload::{FileSet, Piece};
use zc_run::{Error, ErrorKind, Result, SendPath, SoakWindow};

/// In the words of 2001: "For the write() and send() tests, the chunk size was 64 kbytes."
const BUFFER_BYTES: usize = 64 << 10;
/// Time between two lines of load while sending.
const LOAD_PERIOD: Duration = Duration::from_secs(5);

const KNOWN: Known =
    Known { plain: "cCdhkSw", valued: "bBionNps", long: &[("raw", 'r')], stops_at_operand: false };

/// The parsed command line of `zcc`.
#[derive(Debug, Clone, PartialEq)]
pub struct ZccOptions {
    /// `-h`
    pub help: bool,
    /// Number of `-d`.
    pub debug: u32,
    /// `-c`: measure CPU load while sending.
    pub load: bool,
    /// `-C`: calibrate first.
    pub calibrate: bool,
    /// `-N`
    pub nr_cpus: Option<usize>,
    /// `-B`
    pub cpu: Option<usize>,
    /// `-k`
    pub cork: bool,
    /// The send path that `-S` and `-w` choose.
    pub path: SendPath,
    /// `-b`
    pub buffer_bytes: usize,
    /// `-i`, `-o`
    buffers: Buffers,
    /// `-n`
    pub loops: u32,
    /// `-p`
    pub port: u16,
    /// `-s`
    pub server: Option<String>,
    /// `--raw`: bare bytes, without numbers.
    pub raw: bool,
    /// Files to send.
    pub files: Vec<PathBuf>,
}

impl ZccOptions {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An argument is unknown, missing or not valid.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let words = KNOWN.read(Tool::Zcc, words)?;
        let mut options = Self {
            help: false,
            debug: 0,
            load: false,
            calibrate: false,
            nr_cpus: None,
            cpu: None,
            cork: false,
            path: SendPath::Sendfile,
            buffer_bytes: BUFFER_BYTES,
            buffers: Buffers::default(),
            loops: 1,
            port: PORT,
            server: None,
            raw: false,
            files: words.operands.into_iter().map(PathBuf::from).collect(),
        };
        let (mut read, mut write) = (false, false);
        for (letter, value) in &words.given {
            let value = value.as_deref();
            match letter {
                Letter::Short('h') => options.help = true,
                Letter::Short('d') => options.debug += 1,
                Letter::Short('c') => options.load = true,
                Letter::Short('C') => options.calibrate = true,
                Letter::Short('k') => options.cork = true,
                Letter::Short('S') => read = true,
                Letter::Short('w') => write = true,
                Letter::Short('b') => options.buffer_bytes = buffer(*letter, value)?,
                Letter::Short('B') => {
                    options.cpu = Some(parse_number(*letter, "CPU", value, 0..=1023)? as usize)
                }
                Letter::Short('i') => options.buffers.receive = Some(buffer(*letter, value)?),
                Letter::Short('o') => options.buffers.send = Some(buffer(*letter, value)?),
                Letter::Short('n') => {
                    options.loops =
                        parse_number(*letter, "number of loops", value, 1..=u32::MAX.into())?
                            as u32;
                }
                Letter::Short('N') => options.nr_cpus = Some(nr_cpus(*letter, value)?),
                Letter::Short('p') => options.port = port(*letter, value, 1)?,
                Letter::Short('s') => options.server = Some(server(value)?),
                Letter::Long(_) => options.raw = true,
                Letter::Short(_) => {} // all of them are above
            }
        }
        options.path = match (read, write) {
            (false, false) => SendPath::Sendfile,
            (true, false) => SendPath::ReadSend,
            (true, true) => SendPath::ReadWrite,
            (false, true) => {
                return Err(Error::usage(
                    "option-needs-another",
                    "option \"-w\" has no meaning without \"-S\"",
                )
                .help("-S -w reads and writes; -S alone reads and sends; neither is sendfile"));
            }
        };
        options.check()?;
        Ok(options)
    }

    /// Checks that nothing is missing.
    fn check(&self) -> Result<()> {
        let only_calibrates =
            self.calibrate && self.server.is_none() && self.files.is_empty() && !self.load;
        if self.help || only_calibrates {
            return Ok(());
        }
        if self.server.is_none() {
            return Err(Error::usage("server-missing", "the server is missing")
                .help("-s names it; -s 0 is this host"));
        }
        if self.files.is_empty() {
            return Err(Error::usage("files-missing", "there are no files to send")
                .help("name some: zcc -s 0 /usr/bin/* -n100"));
        }
        Ok(())
    }
}

/// Events of a `zcc`.
#[derive(Debug)]
pub enum ZccSaid {
    /// A file was left out, with the reason.
    Skipped(String),
    /// A socket buffer is smaller than requested.
    Capped(Capped),
    /// It has connected and starts to send.
    Sending {
        /// Files per loop.
        files: usize,
        /// Bytes per loop.
        bytes: u64,
    },
    /// The soakers' last window.
    Load(SoakWindow),
    /// The soakers' window over the whole transfer.
    WholeLoad(SoakWindow),
    /// Everything is sent and acknowledged.
    Sent {
        /// Loops, files and bytes sent.
        tally: Tally,
        /// From the first byte to the last one's acknowledgement.
        elapsed_ns: u64,
    },
}

/// The handler of events; it breaks when no more are wanted.
type Hear<'a> = &'a mut dyn FnMut(ZccSaid) -> ControlFlow<()>;

/// Sends the files. With a calibration, the load is measured meanwhile.
///
/// # Errors
/// No file can be sent, the server cannot be reached or closed the connection, or the CPU may not
/// be used.
pub fn zcc(options: &ZccOptions, calibration: Option<&Calibration>, hear: Hear<'_>) -> Result<()> {
    let server = options
        .server
        .as_deref()
        .ok_or_else(|| Error::usage("server-missing", "the server is missing"))?;
    let (files, skipped) = Files::open(&options.files, options.raw)?;
    // Before this process is pinned to a CPU: its children would inherit that.
    let soaking = calibration.map(Soaking::start).transpose()?;
    if let Some(cpu) = options.cpu {
        pin(cpu)?;
    }
    let (stream, capped) = socket::connect(server, options.port, options.buffers)?;
    if options.cork {
        tcp::set_cork(&stream, true).map_err(|error| Error::os("set TCP_CORK", error))?;
    }
    let sending = ZccSaid::Sending { files: files.order.len(), bytes: files.total_bytes() };
    let before =
        skipped.into_iter().map(ZccSaid::Skipped).chain(capped.into_iter().map(ZccSaid::Capped));
    if before.chain([sending]).try_for_each(&mut *hear).is_break() {
        return Ok(());
    }
    match soaking {
        Some(soaking) => send_while_soaking(options, &files, &stream, soaking, hear),
        None => {
            let _ = hear(send(options, &files, &stream)?); // it is the last event either way
            Ok(())
        }
    }
}

/// Sends in a thread, and reports the load meanwhile.
fn send_while_soaking(
    options: &ZccOptions,
    files: &Files,
    stream: &TcpStream,
    mut soaking: Soaking,
    hear: Hear<'_>,
) -> Result<()> {
    let (end, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        soaking.open()?;
        // The channel is closed if the reader of stdout has gone.
        std::thread::Builder::new()
            .spawn_scoped(scope, move || drop(end.send(send(options, files, stream))))
            .map_err(|error| Error::os("start a thread that sends", error))?;
        let mut listen = || loop {
            match ended.recv_timeout(LOAD_PERIOD) {
                Ok(sent) => {
                    let whole = soaking.since_start()?;
                    // If the handler breaks at the first event, it does not get the second.
                    let _ =
                        hear(ZccSaid::WholeLoad(whole)).is_continue() && hear(sent?).is_continue();
                    return Ok(());
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if hear(ZccSaid::Load(soaking.window()?)).is_break() {
                        return Ok(());
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Error::failed(
                        "thread-ended",
                        "the sending thread ended without a word",
                    ));
                }
            }
        };
        let heard = listen();
        // If the handler broke or the soakers have ended, the rest need not be sent.
        drop(stream.shutdown(std::net::Shutdown::Both)); // fails if the connection has ended
        heard
    })
}

/// Sends everything, and waits until it is acknowledged.
fn send(options: &ZccOptions, files: &Files, stream: &TcpStream) -> Result<ZccSaid> {
    let setup = SendSetup {
        cpu: options.cpu,
        ..SendSetup::new(Arc::clone(&files.set), options.buffer_bytes)
    };
    let mut sender = open_sender(options.path, stream, &setup).map_err(|no| {
        let error = Error::unsupported("path-unavailable", no.reason);
        match no.remedy.as_deref() {
            Some(remedy) => error.help(remedy),
            None => error.help("try another way of sending: -S, or -S -w"),
        }
    })?;
    let numbers = |number: u32| {
        if options.raw { Ok(0) } else { socket::send_all(stream, &number.to_be_bytes()) }
    };
    let began_ns = clock::monotonic_ns();
    numbers(options.loops)?;
    for _ in 0..options.loops {
        numbers(files.order.len() as u32)?; // checked when they were opened
        for entry in &files.order {
            match entry {
                Entry::Empty => {
                    numbers(0)?;
                }
                Entry::File(piece) => {
                    numbers(piece.len as u32)?; // as above
                    sender.send(*piece)?;
                }
            }
        }
    }
    sender.drain()?;
    socket::finish(stream)?;
    let loops = u64::from(options.loops);
    let tally =
        Tally { loops, files: loops * files.order.len() as u64, file_bytes: sender.counts().bytes };
    Ok(ZccSaid::Sent { tally, elapsed_ns: clock::monotonic_ns() - began_ns })
}

/// The files of a loop, in the order in which they were typed.
#[derive(Debug)]
struct Files {
    set: Arc<FileSet>,
    order: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// An empty file, which a file set cannot contain: only its length is sent.
    Empty,
    File(Piece),
}

impl Files {
    /// Opens the files that can be sent, and returns why the others cannot.
    fn open(paths: &[PathBuf], raw: bool) -> Result<(Self, Vec<String>)> {
        let is_empty =
            |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
        let (empty, other): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.iter().cloned().partition(is_empty);
        let empty: HashSet<PathBuf> = empty.into_iter().collect();
        let (set, skipped) = match FileSet::open(&other) {
            Ok((set, facts)) => (set, facts.skipped),
            Err(_) if other.is_empty() => (FileSet::new(Vec::new()), Vec::new()),
            // With empty files to send, one that cannot be opened is skipped, even if it is the
            // only other one.
            Err(error) if error.kind == ErrorKind::Input && !empty.is_empty() => {
                (FileSet::new(Vec::new()), vec![error.message])
            }
            Err(error) => return Err(error),
        };
        let mut order = Vec::new();
        let mut next = 0;
        for path in paths {
            match set.files.get(next) {
                Some(file) if file.name == path.display().to_string() => {
                    let len = length(&file.name, file.len, raw)?;
                    order.push(Entry::File(Piece { file: next, offset: 0, len }));
                    next += 1;
                }
                _ if empty.contains(path) => order.push(Entry::Empty),
                _ => {} // left out
            }
        }
        if u32::try_from(order.len()).is_err() {
            return Err(Error::usage(
                "too-many-files",
                "there are more files than the wire of 2001 can count",
            )
            .help("send bare bytes with --raw, here and at the server"));
        }
        Ok((Self { set: Arc::new(set), order }, skipped))
    }

    fn total_bytes(&self) -> u64 {
        self.set.total_bytes()
    }
}

/// A file's length, if the protocol can express it.
fn length(name: &str, len: u64, raw: bool) -> Result<usize> {
    if !raw && u32::try_from(len).is_err() {
        return Err(Error::input(
            "file-too-large",
            format!(
                "file \"{name}\" has {len} bytes, and the wire of 2001 has lengths up to 4294967295"
            ),
        )
        .help("send bare bytes with --raw, here and at the server: zcs --raw"));
    }
    usize::try_from(len).map_err(|_| {
        Error::input("file-too-large", format!("file \"{name}\" is too large for this machine"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<ZccOptions> {
        ZccOptions::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_transcript_of_2001_is_understood() {
        let options = read(&["-s", "0", "/usr/local/bin/a", "/usr/local/bin/b", "-n100"]).unwrap();
        assert_eq!(
            (options.server.as_deref(), options.loops, options.port),
            (Some("0"), 100, 2222)
        );
        assert_eq!(
            (options.path, options.buffer_bytes, options.files.len()),
            (SendPath::Sendfile, 65_536, 2)
        );
    }

    #[test]
    fn every_letter_of_the_manual_is_taken() {
        let options = read(&[
            "-cCdkSw", "-b64", "-B", "0", "-i1", "-o2", "-n3", "-N4", "-p5", "-shost", "f", "--raw",
        ])
        .unwrap();
        assert!(options.load && options.calibrate && options.cork && options.raw && !options.help);
        assert_eq!(
            (options.path, options.buffer_bytes, options.cpu),
            (SendPath::ReadWrite, 64, Some(0))
        );
        assert_eq!(options.buffers, Buffers { receive: Some(1), send: Some(2) });
        assert_eq!((options.loops, options.nr_cpus, options.port), (3, Some(4), 5));
        assert_eq!(read(&["-S", "-s0", "f"]).unwrap().path, SendPath::ReadSend);
        assert!(read(&["-h"]).unwrap().help);
        assert!(read(&["-C"]).unwrap().calibrate);
    }

    #[test]
    fn a_missing_argument_is_an_error_that_names_it() {
        for (words, id) in [
            (&["file"][..], "server-missing"),
            (&["-s", "0"], "files-missing"),
            (&["-c", "-s", "0"], "files-missing"),
            (&["-w", "-s", "0", "f"], "option-needs-another"),
            (&["-s", "", "f"], "invalid-host-name"),
            (&["-s0", "f", "-n0"], "invalid-number"),
            (&["-s0", "f", "-p0"], "invalid-number"),
        ] {
            assert_eq!(read(words).unwrap_err().id, id, "{words:?}");
        }
    }

    #[test]
    fn files_keep_their_order_even_empty_and_repeated_ones() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), b"aa").unwrap();
        std::fs::write(at("empty"), b"").unwrap();
        let paths = ["empty", "a", "missing", ".", "a", "empty"].map(at);
        let (files, skipped) = Files::open(&paths, false).unwrap();
        let piece = |file| Entry::File(Piece { file, offset: 0, len: 2 });
        assert_eq!(files.order, [Entry::Empty, piece(0), piece(1), Entry::Empty]);
        assert_eq!(skipped.len(), 2);
        let (files, skipped) = Files::open(&[at("empty"), at("missing")], false).unwrap();
        assert_eq!((files.order, skipped.len()), (vec![Entry::Empty], 1));
    }
}
