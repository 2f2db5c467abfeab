//! `ttcp` with sendfile, which Jamal Hadi Salim added: bytes over a bare TCP connection, one way,
//! and the summary of 1984.
//!
//! A file is sent by `sendfile` (`-c`) or `read+write`, `-l` bytes per call. The pattern of `-s` is
//! a file in memory of one buffer's size, sent `-n` times by `sendfile` or by `mmap+write` from one
//! hot buffer, as in the original. Only a stdin that is not a file (a pipe) is read and written
//! here, because no path has such a source.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{FileType, MemfdFlags};
use zc_kernel::process::{Usage, usage};
use zc_kernel::{clock, tcp};

use super::getopt::{Known, Letter};
use super::socket::{self, Buffers, Capped};
use super::tool::Tool;
use super::values::{buffer, parse_number, port, server};
use zc_rig::path::{RecvSetup, SendSetup, open_receiver, open_sender};
use zc_rig::workload::{FileSet, Piece, SourceFile};
use zc_run::{Error, RecvPath, Result, SendPath, in_words};

/// The default port of ttcp.
const PORT: u16 = 5001;
/// Bytes per call, unless `-l` is given.
const LENGTH: usize = 8192;
/// Calls, unless `-n` is given.
const NUMBER: u32 = 2048;

const KNOWN: Known =
    Known { plain: "trsvDch", valued: "lnpbF", long: &[], stops_at_operand: false };

/// The parsed command line of `ttcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TtcpOptions {
    /// `-h`
    pub help: bool,
    /// `-t`; false is `-r`.
    pub transmit: bool,
    /// `-s`: send a pattern, or discard what is received.
    pub sink: bool,
    /// `-v`
    pub verbose: bool,
    /// `-D`: TCP_NODELAY.
    pub nodelay: bool,
    /// `-c`: use sendfile; at a receiver, which cannot: discard what is received.
    pub sendfile: bool,
    /// `-l`
    pub length: usize,
    /// `-n`
    pub number: u32,
    /// `-p`
    pub port: u16,
    /// `-b`: the socket buffer of this side.
    pub socket_buffer: Option<usize>,
    /// `-F`: the file to send, instead of stdin.
    pub file: Option<PathBuf>,
    /// The receiver's host, for a transmitter.
    pub host: Option<String>,
}

impl TtcpOptions {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An argument is unknown, missing or not valid.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let words = KNOWN.read(Tool::Ttcp, words)?;
        let mut options = Self {
            help: false,
            transmit: false,
            sink: false,
            verbose: false,
            nodelay: false,
            sendfile: false,
            length: LENGTH,
            number: NUMBER,
            port: PORT,
            socket_buffer: None,
            file: None,
            host: None,
        };
        let mut receive = false;
        for (letter, value) in &words.given {
            let text = value.as_deref();
            match letter {
                Letter::Short('h') => options.help = true,
                Letter::Short('t') => options.transmit = true,
                Letter::Short('r') => receive = true,
                Letter::Short('s') => options.sink = true,
                Letter::Short('v') => options.verbose = true,
                Letter::Short('D') => options.nodelay = true,
                Letter::Short('c') => options.sendfile = true,
                Letter::Short('l') => options.length = buffer(*letter, text)?,
                Letter::Short('n') => {
                    options.number =
                        parse_number(*letter, "number of buffers", text, 1..=u32::MAX.into())?
                            as u32;
                }
                Letter::Short('p') => options.port = port(*letter, text, 0)?,
                Letter::Short('b') => options.socket_buffer = Some(buffer(*letter, text)?),
                Letter::Short('F') => options.file = value.clone().map(PathBuf::from),
                Letter::Short(_) | Letter::Long(_) => {} // all of them are above
            }
        }
        if options.help {
            return Ok(options);
        }
        let wrong = |id, message: &str, help: &str| Err(Error::usage(id, message).help(help));
        match (options.transmit, receive) {
            (true, true) => {
                return wrong(
                    "options-conflict",
                    "\"-t\" and \"-r\" exclude one another",
                    "-t sends, -r receives",
                );
            }
            (false, false) => {
                return wrong(
                    "direction-missing",
                    "neither \"-t\" nor \"-r\" is given",
                    "-t sends, -r receives",
                );
            }
            (true, false) if words.operands.is_empty() => {
                return wrong(
                    "host-missing",
                    "the host is missing",
                    "ttcp -t -s HOST sends a pattern to HOST",
                );
            }
            (false, true) if options.file.is_some() => {
                return wrong(
                    "option-needs-another",
                    "\"-F\" is for the side that sends",
                    "-r writes what comes to stdout",
                );
            }
            _ if options.file.is_some() && options.sink => {
                return wrong(
                    "options-conflict",
                    "\"-F\" and \"-s\" exclude one another",
                    "-s sends a pattern, -F a file",
                );
            }
            _ => {}
        }
        if options.transmit && options.port == 0 {
            return wrong(
                "invalid-number",
                "-p: port \"0\" is too small: at least 1",
                "a whole number from 1 to 65535",
            );
        }
        if let Some(word) = words.operands.get(1) {
            return Err(Error::usage(
                "unexpected-argument",
                format!("unexpected argument \"{}\"", word.to_string_lossy()),
            )
            .help("there is one host"));
        }
        options.host = match words.operands.first() {
            Some(host) => Some(server(Some(host))?),
            None => None,
        };
        Ok(options)
    }

    /// Whether received bytes are written to stdout.
    pub fn writes_to_stdout(&self) -> bool {
        !self.transmit && !self.sink && !self.sendfile
    }
}

/// Events of a `ttcp`.
#[derive(Debug)]
pub enum TtcpSaid {
    /// A socket buffer is smaller than requested.
    Capped(Capped),
    /// It has started.
    Begins,
    /// It listens on this port.
    Listening(u16),
    /// It is connected.
    Connected,
    /// A transmitter has connected from this address.
    Accepted(String),
    /// The transfer has ended.
    Over(TtcpTally),
}

/// The figures of the summary.
#[derive(Debug, Clone, Copy)]
pub struct TtcpTally {
    /// Bytes on the connection.
    pub bytes: u64,
    /// System calls that moved them.
    pub calls: u64,
    /// From the connection to the last byte's acknowledgement, or to the end of the stream.
    pub elapsed_ns: u64,
    /// The resources that this process used meanwhile.
    pub used: Usage,
}

/// Sends or receives, once.
///
/// # Errors
/// The other end cannot be reached or closed the connection, or there is nothing to send.
pub fn ttcp(options: &TtcpOptions, hear: &mut dyn FnMut(TtcpSaid)) -> Result<()> {
    if options.transmit { transmit(options, hear) } else { receive(options, hear) }
}

/// Source of the bytes.
enum Source {
    /// One file, from an offset to its end, a number of times, by a path.
    File { set: FileSet, from: u64, times: u32, path: SendPath },
    /// stdin, which is not a file.
    Stream,
}

fn transmit(options: &TtcpOptions, hear: &mut dyn FnMut(TtcpSaid)) -> Result<()> {
    let source = source(options)?;
    let host = options.host.as_deref().unwrap_or_default();
    hear(TtcpSaid::Begins);
    let buffers = Buffers { send: options.socket_buffer, receive: None };
    let (stream, capped) = socket::connect(host, options.port, buffers)?;
    capped.into_iter().for_each(|one| hear(TtcpSaid::Capped(one)));
    hear(TtcpSaid::Connected);
    if options.nodelay {
        tcp::set_nodelay(&stream, true).map_err(|error| Error::os("set TCP_NODELAY", error))?;
    }
    let watch = Watch::start()?;
    let (bytes, calls) = match source {
        Source::File { set, from, times, path } => {
            let steps = Steps { from, len: set.total_bytes(), step: options.length };
            send_file(&stream, set, steps, times, path)?
        }
        Source::Stream => send_stdin(&stream, options.length)?,
    };
    socket::finish(&stream)?;
    hear(TtcpSaid::Over(watch.stop(bytes, calls)?));
    Ok(())
}

fn source(options: &TtcpOptions) -> Result<Source> {
    if let Some(path) = &options.file {
        let (set, _) = FileSet::open(std::slice::from_ref(path))?;
        return Ok(file_source(set, 0, options));
    }
    if options.sink {
        return pattern(options);
    }
    let stdin = io::stdin().as_fd().try_clone_to_owned();
    let mut stdin = stdin.map(File::from).map_err(|error| Error::os("use stdin", error))?;
    let found = stdin.metadata().map_err(|error| Error::os("look at stdin", error))?;
    if found.is_file() {
        let at = stdin.stream_position().map_err(|error| Error::os("look at stdin", error))?;
        let source = SourceFile { name: "stdin".to_owned(), file: stdin, len: found.len() };
        return Ok(file_source(FileSet::new(vec![source]), at, options));
    }
    if !options.sendfile {
        return Ok(Source::Stream);
    }
    // `ttcp-sf -t -c` as in 2001, at a terminal.
    let stat = rustix::fs::fstat(&stdin).map_err(|error| Error::os("look at stdin", error))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice => pattern(options),
        _ => Err(Error::usage("stdin-not-a-file", "stdin is no file, and sendfile sends files")
            .help("name a file with -F, send a pattern with -s, or leave -c out")),
    }
}

/// A file from `from` to its end.
fn file_source(set: FileSet, from: u64, options: &TtcpOptions) -> Source {
    Source::File {
        set,
        from,
        times: 1,
        path: if options.sendfile { SendPath::Sendfile } else { SendPath::ReadWrite },
    }
}

/// The pieces of a file, `step` bytes per call.
#[derive(Debug, Clone, Copy)]
struct Steps {
    from: u64,
    len: u64,
    step: usize,
}

impl Steps {
    fn pieces(self) -> impl Iterator<Item = Piece> {
        (self.from..self.len).step_by(self.step).map(move |offset| {
            let len = (self.step as u64).min(self.len - offset) as usize; // at most `step`
            Piece { file: 0, offset, len }
        })
    }
}

/// The pattern of the original ttcp: the printing characters of ASCII, repeated.
fn pattern(options: &TtcpOptions) -> Result<Source> {
    let wrong =
        |error: io::Error| Error::os(format!("make a pattern of {} bytes", options.length), error);
    let fd = rustix::fs::memfd_create("ttcp-pattern", MemfdFlags::CLOEXEC)
        .map_err(|error| wrong(error.into()))?;
    let mut file = File::from(fd);
    let bytes: Vec<u8> = (b' '..=b'~').cycle().take(options.length).collect();
    file.write_all(&bytes).map_err(wrong)?;
    let path = if options.sendfile { SendPath::Sendfile } else { SendPath::MmapWrite };
    let source = SourceFile { name: "the pattern".to_owned(), file, len: options.length as u64 };
    Ok(Source::File { set: FileSet::new(vec![source]), from: 0, times: options.number, path })
}

fn send_file(
    stream: &TcpStream,
    set: FileSet,
    steps: Steps,
    times: u32,
    path: SendPath,
) -> Result<(u64, u64)> {
    let setup = SendSetup::new(Arc::new(set), steps.step);
    let mut sender = open_sender(path, stream, &setup)
        .map_err(|no| Error::unsupported("path-unavailable", no.reason))?;
    for _ in 0..times {
        steps.pieces().try_for_each(|piece| sender.send(piece))?;
    }
    sender.drain()?;
    let counts = sender.counts();
    Ok((counts.bytes, counts.calls))
}

/// Reads up to `length` bytes at a time from stdin and writes them to the socket.
fn send_stdin(stream: &TcpStream, length: usize) -> Result<(u64, u64)> {
    let mut stdin = io::stdin().lock();
    let mut buffer = vec![0; length];
    let (mut bytes, mut calls) = (0, 0);
    loop {
        let read = match stdin.read(&mut buffer) {
            Ok(0) => return Ok((bytes, calls)),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::os("read from stdin", error)),
        };
        calls += socket::send_all(stream, &buffer[..read])?;
        bytes += read as u64;
    }
}

fn receive(options: &TtcpOptions, hear: &mut dyn FnMut(TtcpSaid)) -> Result<()> {
    hear(TtcpSaid::Begins);
    let buffers = Buffers { receive: options.socket_buffer, send: None };
    let (listener, capped) = socket::listen(options.port, buffers)?;
    capped.into_iter().for_each(|one| hear(TtcpSaid::Capped(one)));
    let port = listener.local_addr().map_err(|error| Error::os("ask for the port", error))?.port();
    hear(TtcpSaid::Listening(port));
    let (stream, address) = loop {
        match listener.accept() {
            Ok(taken) => break taken,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(Error::os("take the connection", error)),
        }
    };
    drop(listener);
    hear(TtcpSaid::Accepted(socket::address_text(address)));
    let mut receiver = open_receiver(RecvPath::Recv, &stream, &RecvSetup::new(options.length))
        .map_err(|no| Error::unsupported("path-unavailable", no.reason))?;
    let watch = Watch::start()?;
    let mut stdout = io::stdout().lock();
    let mut written = Ok(());
    loop {
        let mut write = |bytes: &[u8]| written = stdout.write_all(bytes);
        if receiver.receive(options.writes_to_stdout().then_some(&mut write))? == 0 {
            break;
        }
        match std::mem::replace(&mut written, Ok(())) {
            Ok(()) => {}
            // The reader of stdout has gone, which is not an error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(write_error(&error)),
        }
    }
    if options.writes_to_stdout() {
        stdout.flush().map_err(|error| write_error(&error))?;
    }
    drop(stdout);
    let counts = receiver.counts();
    hear(TtcpSaid::Over(watch.stop(counts.bytes, counts.calls)?));
    Ok(())
}

fn write_error(error: &io::Error) -> Error {
    Error::output(
        "cannot-write-stdout",
        format!("cannot write the received bytes to stdout: {}", in_words(error)),
    )
    .help("is its disk full? -s discards what is received")
}

/// The clocks at the start of the transfer.
struct Watch {
    at_ns: u64,
    used: Usage,
}

impl Watch {
    fn start() -> Result<Self> {
        let used = usage().map_err(|error| Error::os("ask what this process used", error))?;
        Ok(Self { at_ns: clock::monotonic_ns(), used })
    }

    fn stop(self, bytes: u64, calls: u64) -> Result<TtcpTally> {
        let elapsed_ns = clock::monotonic_ns() - self.at_ns;
        let used = usage().map_err(|error| Error::os("ask what this process used", error))?;
        Ok(TtcpTally { bytes, calls, elapsed_ns, used: used.since(&self.used) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<TtcpOptions> {
        TtcpOptions::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_commands_of_2001_are_understood() {
        let sender = read(&["-t", "-c", "-l", "32768", "-v", "receiver_host"]).unwrap();
        assert!(sender.transmit && sender.sendfile && sender.verbose && !sender.sink);
        assert_eq!(
            (sender.length, sender.port, sender.host.as_deref()),
            (32_768, 5001, Some("receiver_host"))
        );
        let receiver = read(&["-c", "-r", "-l", "32768", "-v", "sender_host"]).unwrap();
        assert!(!receiver.transmit && !receiver.writes_to_stdout());
        assert!(read(&["-r"]).unwrap().writes_to_stdout());
    }

    #[test]
    fn arguments_that_make_no_sense_are_errors() {
        for (words, id) in [
            (&[][..], "direction-missing"),
            (&["-tr"], "options-conflict"),
            (&["-t"], "host-missing"),
            (&["-r", "-Ff"], "option-needs-another"),
            (&["-tsFf", "h"], "options-conflict"),
            (&["-t", "a", "b"], "unexpected-argument"),
            (&["-t", "-p0", "a"], "invalid-number"),
            (&["-tl0", "h"], "invalid-number"),
            (&["-u"], "unknown-option"),
        ] {
            assert_eq!(read(words).unwrap_err().id, id, "{words:?}");
        }
    }

    #[test]
    fn a_file_is_sent_in_calls_of_the_length() {
        let lens = |from, step| {
            Steps { from, len: 10, step }
                .pieces()
                .map(|piece| (piece.offset, piece.len))
                .collect::<Vec<_>>()
        };
        assert_eq!(lens(0, 4), [(0, 4), (4, 4), (8, 2)]);
        assert_eq!(lens(7, 4), [(7, 3)]);
        assert_eq!(lens(0, 100), [(0, 10)]);
        assert!(lens(10, 4).is_empty() && lens(11, 4).is_empty());
    }
}
