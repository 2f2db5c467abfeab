//! The origin of a proxy that is measured: it answers with the files of a mix, on the load's side
//! of the link and on the load's CPU. So a request crosses the link as often as with a proxy
//! between two hosts, and what the origin takes is in the load's account, not in the server's.
//!
//! One thread has all connections: epoll(7), bodies sent by sendfile(2). It knows what a mix asks
//! for: GET and HEAD, one range, and the time of the last change.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::mix_files::http_date;
use zc_kernel::splice::sendfile;
use zc_kernel::{clock, sched, tcp};
use zc_load::Targets;
use zc_rig::link::Link;
use zc_rig::meter::bind_to;
use zc_run::{Error, Result, escape};

/// The longest head of a request. zc's own load and what a proxy adds to it are some 300 bytes.
const LONGEST_REQUEST: usize = 16 << 10;

/// Bytes that one read(2) takes at most.
const AT_ONCE: usize = 4096;

/// Events that one wait returns at most.
const EVENTS: usize = 64;

/// Tokens that are no connection's.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// What an origin serves, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginFiles {
    /// The folder of the files: `/a/b` is its file `a/b`.
    pub root: PathBuf,
    /// The port, at the load's address of the link.
    pub port: u16,
}

/// An origin that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct FileOrigin {
    thread: Option<JoinHandle<()>>,
    tid: i32,
    /// Closed at the end: the thread sees that its reader is hung up.
    stop: Option<io::PipeWriter>,
}

impl FileOrigin {
    /// Opens the files that `targets` are for, and starts the thread on `cpu`, on the receiver's
    /// side of a link.
    ///
    /// # Errors
    /// A file cannot be opened, the port is taken, or the CPU may not be used.
    pub fn start(
        wanted: &OriginFiles,
        targets: &Targets,
        link: &Arc<dyn Link>,
        cpu: usize,
    ) -> Result<Self> {
        let cannot = |error| Error::os("start the origin behind the proxy", error);
        let files = open(&wanted.root, targets)?;
        let (reader, writer) = io::pipe().map_err(cannot)?;
        let at = SocketAddr::new(link.receiver_address(), wanted.port);
        let link = Arc::clone(link);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let body = move || {
            let opened = link.enter_receiver().and_then(|()| bind_to(cpu)).and_then(|()| {
                Serving::open(at, files, reader)
                    .map_err(|error| Error::os(format!("listen at {at} for the proxy"), error))
            });
            let is_wanted = match &opened {
                Ok(_) => ready.send(Ok(sched::gettid())),
                Err(error) => ready.send(Err(error.clone())),
            };
            if let (Ok(mut serving), Ok(())) = (opened, is_wanted) {
                serving.run();
            }
        };
        let thread =
            std::thread::Builder::new().name("zc-origin".into()).spawn(body).map_err(cannot)?;
        let mut origin = Self { thread: Some(thread), tid: 0, stop: Some(writer) };
        origin.tid = is_ready.recv().unwrap_or_else(|_| {
            Err(Error::failed("thread-ended", "the origin behind the proxy ended"))
        })?;
        Ok(origin)
    }

    /// CPU time of its thread so far.
    pub(super) fn cpu_ns(&self) -> u64 {
        clock::thread_cpu_ns(self.tid).unwrap_or_default()
    }
}

impl Drop for FileOrigin {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join()); // a panic of it has been printed
        }
    }
}

/// The files by their paths in requests.
type Files = HashMap<String, Arc<Served>>;

/// One of them.
struct Served {
    file: File,
    bytes: u64,
    /// When it was last modified, as HTTP writes it.
    modified: String,
}

fn open(root: &Path, targets: &Targets) -> Result<Files> {
    let mut files = Files::new();
    for target in targets.each() {
        if !files.contains_key(&target.path) {
            let served = Served::open(root, &target.path).map_err(|error| {
                let path = escape(&target.path, 300);
                Error::os(format!("open the file \"{path}\" of the mix"), error)
            })?;
            files.insert(target.path.clone(), Arc::new(served));
        }
    }
    Ok(files)
}

impl Served {
    fn open(root: &Path, target: &str) -> io::Result<Self> {
        let file = File::open(root.join(decoded(target.trim_start_matches('/'))))?;
        let found = file.metadata()?;
        let modified = http_date(found.mtime()).unwrap_or_default();
        Ok(Self { file, bytes: found.len(), modified })
    }
}

/// A path of a request as a path of a file: percent-encoding is resolved (RFC 3986, 2.1).
fn decoded(target: &str) -> PathBuf {
    let mut parts = target.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                out.extend(&part.as_bytes()[2..]);
            }
            None => {
                out.push(b'%');
                out.extend(part.as_bytes());
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

/// A response that is to be sent.
struct Answer {
    head: Vec<u8>,
    /// Bytes of it that are sent.
    head_sent: usize,
    body: Option<Body>,
    /// Whether the connection ends with it.
    closes: bool,
}

/// A part of a file.
struct Body {
    served: Arc<Served>,
    at: u64,
    end: u64,
}

/// The response to a request, of which this is the head.
fn answer(files: &Files, request: &str) -> Answer {
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let value = |name: &str| {
        lines.clone().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    };
    let is_head = method == "HEAD";
    // A request with a body is none of a mix; where it ends is not looked for.
    let is_known = is_head || method == "GET";
    let closes =
        !is_known || value("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
    let (mut status, mut more, mut length, mut body) = ("404 Not Found", String::new(), 0, None);
    match files.get(path) {
        _ if !is_known => status = "501 Not Implemented",
        None => {}
        Some(served) => {
            let bytes = served.bytes;
            more = format!("Last-Modified: {}\r\nAccept-Ranges: bytes\r\n", served.modified);
            let range = value("range").and_then(|range| range_of(range, bytes));
            let (begin, end) = range.unwrap_or((0, bytes));
            (status, length) = ("200 OK", end - begin);
            if value("if-modified-since") == Some(served.modified.as_str()) {
                status = "304 Not Modified";
            } else {
                if range.is_some() {
                    status = "206 Partial Content";
                    more.push_str(&format!("Content-Range: bytes {begin}-{}/{bytes}\r\n", end - 1));
                }
                body = Some(Body { served: Arc::clone(served), at: begin, end })
                    .filter(|_| !is_head && length > 0);
            }
        }
    }
    let connection = if closes { "Connection: close\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nServer: zc\r\nContent-Type: application/octet-stream\r\n\
         Content-Length: {length}\r\n{more}{connection}\r\n"
    );
    Answer { head: head.into_bytes(), head_sent: 0, body, closes }
}

/// The first byte of one range and the one after its last (RFC 9110, 14.1.2); `None`: the whole
/// file.
fn range_of(range: &str, bytes: u64) -> Option<(u64, u64)> {
    let (begin, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (begin, last): (u64, u64) = (begin.parse().ok()?, last.parse().ok()?);
    (begin <= last && begin < bytes).then(|| (begin, last.saturating_add(1).min(bytes)))
}

/// The thread's whole state.
struct Serving {
    files: Files,
    listener: TcpListener,
    epoll: OwnedFd,
    connections: HashMap<u64, Connection>,
    next: u64,
    _stop: io::PipeReader,
}

struct Connection {
    socket: TcpStream,
    /// What was read and is not answered yet.
    input: Vec<u8>,
    answer: Option<Answer>,
}

impl Serving {
    fn open(at: SocketAddr, files: Files, stop: io::PipeReader) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(Self { files, listener, epoll, connections: HashMap::new(), next: 0, _stop: stop })
    }

    /// Serves until the other end of the pipe is closed.
    fn run(&mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => self.accept(),
                    token => {
                        let connection = self.connections.get_mut(&token);
                        if connection.is_some_and(|it| it.go_on(&self.files).is_err()) {
                            self.connections.remove(&token);
                        }
                    }
                }
            }
        }
    }

    fn accept(&mut self) {
        let Ok((socket, _)) = self.listener.accept() else { return };
        let token = self.next;
        self.next += 1;
        let all = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let is_ready = socket.set_nonblocking(true).is_ok()
            && socket.set_nodelay(true).is_ok()
            && epoll::add(&self.epoll, &socket, EventData::new_u64(token), all).is_ok();
        if is_ready {
            let connection = Connection { socket, input: Vec::new(), answer: None };
            self.connections.insert(token, connection);
        }
    }
}

impl Connection {
    /// Reads and answers until the socket has no more or takes no more: its events are
    /// edge-triggered.
    ///
    /// # Errors
    /// The connection ends: also after its last response.
    fn go_on(&mut self, files: &Files) -> io::Result<()> {
        match self.serve(files) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            ended => ended,
        }
    }

    /// The same; it ends with `WouldBlock` where it goes on later.
    fn serve(&mut self, files: &Files) -> io::Result<()> {
        loop {
            self.send()?;
            let end = self.input.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                let head = str::from_utf8(&self.input[..end]).map_err(io::Error::other)?;
                self.answer = Some(answer(files, head));
                self.input.drain(..end + 4);
                continue;
            }
            if self.input.len() > LONGEST_REQUEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut some = [0; AT_ONCE];
            match self.socket.read(&mut some) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.input.extend_from_slice(&some[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends what is to be sent.
    ///
    /// # Errors
    /// The client is gone or takes no more for now, the file has become shorter, or the connection
    /// ends here.
    fn send(&mut self) -> io::Result<()> {
        let Some(answer) = &mut self.answer else { return Ok(()) };
        while answer.head_sent < answer.head.len() {
            let left = &answer.head[answer.head_sent..];
            answer.head_sent += match answer.body {
                Some(_) => tcp::send_more(&self.socket, left)?,
                None => (&self.socket).write(left)?,
            };
        }
        if let Some(Body { served, at, end }) = &mut answer.body {
            while *at < *end {
                let left = usize::try_from(*end - *at).unwrap_or(usize::MAX);
                if sendfile(&self.socket, &served.file, at, left)? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
        let closes = answer.closes;
        self.answer = None;
        if closes { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;

    use zc_load::{Method, Target};
    use zc_rig::link::{Sides, bring_up};
    use zc_run::LinkKind;

    use super::*;

    const MODIFIED: &str = "Mon, 01 Jan 2024 00:00:00 GMT";

    /// An origin on the loopback with the files `a.bin` (`content`) and `b c`, and its port.
    fn origin(content: &[u8]) -> (FileOrigin, SocketAddr, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [("a.bin", content), ("b c", b"")] {
            let mut file = File::create(folder.path().join(name)).unwrap();
            file.write_all(content).unwrap();
            let modified = std::time::Duration::from_secs(1_704_067_200);
            file.set_modified(std::time::SystemTime::UNIX_EPOCH + modified).unwrap();
        }
        let target = |path: &str| Target::from(path.to_owned());
        let head = Target { method: Method::Head, ..target("/a.bin") };
        let targets = Targets::in_turn([target("/a.bin"), head, target("/b%20c")]).unwrap();
        let cpu = sched::allowed_cpus().unwrap()[0];
        let sides = Sides { sender_cpu: cpu, receiver_cpu: cpu };
        let link: Arc<dyn Link> = Arc::from(bring_up(LinkKind::Loopback, sides).unwrap());
        let free = TcpListener::bind((link.receiver_address(), 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let wanted = OriginFiles { root: folder.path().to_owned(), port };
        let origin = FileOrigin::start(&wanted, &targets, &link, cpu).unwrap();
        (origin, SocketAddr::new(link.receiver_address(), port), folder)
    }

    /// What comes for some bytes until the origin ends the connection.
    fn said(at: SocketAddr, requests: &str) -> String {
        let mut client = TcpStream::connect(at).unwrap();
        client.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        client.write_all(requests.as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        client.read_to_end(&mut all).unwrap();
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn each_kind_of_request_of_a_mix_is_answered() {
        let (_origin, at, _folder) = origin(b"0123456789");
        for (request, status, length, body) in [
            ("GET /a.bin HTTP/1.1\r\n\r\n", "200 OK", 10, "0123456789"),
            ("HEAD /a.bin HTTP/1.1\r\n\r\n", "200 OK", 10, ""),
            ("GET /a.bin HTTP/1.1\r\nRange: bytes=2-4\r\n\r\n", "206 Partial Content", 3, "234"),
            ("GET /a.bin HTTP/1.1\r\nrange: bytes=8-99\r\n\r\n", "206 Partial Content", 2, "89"),
            ("GET /a.bin HTTP/1.1\r\nRange: bytes=99-\r\n\r\n", "200 OK", 10, "0123456789"),
            ("GET /b%20c HTTP/1.1\r\n\r\n", "200 OK", 0, ""),
            ("GET /../a.bin HTTP/1.1\r\n\r\n", "404 Not Found", 0, ""),
            ("POST /a.bin HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "501 Not Implemented", 0, ""),
        ] {
            let said = said(at, request);
            let (head, own) = said.split_once("\r\n\r\n").unwrap();
            let head = format!("{head}\r\n");
            assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {head}");
            assert!(head.contains(&format!("Content-Length: {length}\r\n")), "{request}: {head}");
            assert_eq!(own, body, "{request}");
        }
        let since = format!("GET /a.bin HTTP/1.1\r\nIf-Modified-Since: {MODIFIED}\r\n\r\n");
        let said = said(at, &since);
        assert!(said.starts_with("HTTP/1.1 304 Not Modified\r\n"), "{said}");
        assert!(said.ends_with("\r\n\r\n"), "{said}");
    }

    #[test]
    fn a_connection_is_kept_until_it_is_to_end() {
        let (origin, at, _folder) = origin(b"xy");
        let get = "GET /a.bin HTTP/1.1\r\n\r\n";
        assert_eq!(said(at, &get.repeat(3)).matches("200 OK").count(), 3);
        let close = "GET /a.bin HTTP/1.1\r\nConnection: Close\r\n\r\n";
        let said = said(at, &format!("{close}{get}"));
        assert_eq!(said.matches("200 OK").count(), 1, "{said}");
        assert!(said.contains("Connection: close\r\n"), "{said}");
        assert!(origin.cpu_ns() > 0);
        drop(origin);
        assert!(TcpStream::connect(at).is_err());
    }

    #[test]
    fn a_long_body_comes_whole_though_the_socket_takes_it_in_parts() {
        let content: String =
            (0..4_000_000_u32).map(|at| char::from(b'a' + (at % 23) as u8)).collect();
        let (_origin, at, _folder) = origin(content.as_bytes());
        let said = said(at, "GET /a.bin HTTP/1.1\r\n\r\n");
        assert!(said.split_once("\r\n\r\n").unwrap().1 == content);
    }

    #[test]
    fn a_file_that_is_gone_is_a_sentence() {
        let targets = Targets::from("/gone".to_owned());
        let error = open(Path::new("/nowhere"), &targets).err().unwrap();
        assert!(error.message.contains("\"/gone\" of the mix"), "{error}");
    }
}
