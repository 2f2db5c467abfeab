//! zc's own server of files: what the experiments `requests` and `replay` ask. Each send path has a
//! port, where the path of a request is the length of the body to answer with: `GET /65536`.
//!
//! It works as a server with blocking workers does: one worker for each connection, which waits in
//! poll(2), reads a request, sends the head (by default with MSG_MORE), and sends the body. There is no name to
//! look up, no access log, no `Date`: what a server of files cannot do without, and little else.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use zc_kernel::{clock, sched, spawn, tcp};
use zc_rig::link::Link;
use zc_rig::path::{SendSetup, Sender, open_sender};
use zc_rig::workload::{Piece, Walk};
use zc_run::factor::Head;
use zc_run::{Error, Result, SendPath, Unavailable};

/// The longest request that is read. zc's own load sends some 100 bytes.
const LONGEST_REQUEST: usize = 4096;

/// Time allowed for ending a worker that is in the middle of a response.
const PATIENCE: Duration = Duration::from_secs(5);

/// The way in which a port answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The path that sends bodies.
    pub path: SendPath,
    /// The way in which it sends the head of a response with a body.
    pub head: Head,
}

/// The server; it ends when this is dropped.
#[derive(Debug)]
pub struct OwnServer {
    served: Vec<Arc<Port>>,
    ports: Vec<(Answer, u16)>,
    workers: Vec<Worker>,
    /// Closed at the end: workers see that its reader is hung up.
    stop: Option<io::PipeWriter>,
    fault: Arc<Mutex<Option<Error>>>,
}

#[derive(Debug)]
struct Worker {
    thread: JoinHandle<()>,
    tid: i32,
}

/// State shared by all workers of one port.
#[derive(Debug)]
struct Port {
    listener: TcpListener,
    answer: Answer,
    setup: SendSetup,
    stop: io::PipeReader,
    fault: Arc<Mutex<Option<Error>>>,
}

impl OwnServer {
    /// Starts a server on `cpu`, on the sender's side of a link, with a port for each of `answers`,
    /// and as many workers for it as the number beside it says. It sends with this congestion
    /// control.
    ///
    /// # Errors
    /// No port, no thread, or the CPU may not be used.
    pub fn start(
        link: &Arc<dyn Link>,
        cpu: usize,
        answers: &[(Answer, usize)],
        setup: &SendSetup,
        congestion: &str,
    ) -> Result<Self> {
        let (reader, writer) =
            io::pipe().map_err(|error| Error::os("make the pipe of zc's own server", error))?;
        let mut own = Self {
            served: Vec::new(),
            ports: Vec::new(),
            workers: Vec::new(),
            stop: Some(writer),
            fault: Arc::default(),
        };
        for (at, (answer, workers)) in answers.iter().enumerate() {
            let (listener, port) = listen(&**link)?;
            // Connections have that of the listener which accepts them.
            tcp::set_congestion(&listener, congestion).map_err(|error| {
                Error::os("set the congestion control of zc's own server", error)
            })?;
            let stop = reader.try_clone();
            let port_of = Arc::new(Port {
                listener,
                answer: *answer,
                setup: setup.clone(),
                stop: stop.map_err(|error| Error::os("duplicate a pipe", error))?,
                fault: Arc::clone(&own.fault),
            });
            own.ports.push((*answer, port));
            own.served.push(Arc::clone(&port_of));
            for number in 0..*workers {
                let walk = setup.files.walk(at + number, 1);
                own.workers.push(Worker::start(link, cpu, Arc::clone(&port_of), walk)?);
            }
        }
        Ok(own)
    }

    /// The port that answers in this way; `None` if there is none.
    pub fn port_of(&self, answer: Answer) -> Option<u16> {
        self.ports.iter().find(|(known, _)| *known == answer).map(|(_, port)| *port)
    }

    /// CPU time of all workers so far: a system call for each of them.
    pub fn cpu_ns(&self) -> u64 {
        self.workers.iter().filter_map(|worker| clock::thread_cpu_ns(worker.tid).ok()).sum()
    }

    /// Fails if a worker could not answer.
    ///
    /// # Errors
    /// The first one's reason.
    pub fn check(&self) -> Result<()> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        fault.map_or(Ok(()), Err)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        for port in &self.served {
            // It ends the accept(2) of workers that have no connection. Refused, they are left
            // behind.
            let _ = rustix::net::shutdown(&port.listener, rustix::net::Shutdown::Both);
        }
        // So is one that is stuck in a response: the process ends soon.
        let until = std::time::Instant::now() + PATIENCE;
        for worker in self.workers.drain(..) {
            while !worker.thread.is_finished() && std::time::Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            if worker.thread.is_finished() {
                drop(worker.thread.join()); // a panic of it has been printed
            }
        }
    }
}

/// Why responses cannot be sent in this way here.
///
/// # Errors
/// The connection that it is tried on cannot be made.
pub fn why_not(link: &dyn Link, answer: Answer, setup: &SendSetup) -> Result<Option<Unavailable>> {
    let Answer { path, head } = answer;
    if head == Head::Writev && !matches!(path, SendPath::ReadSend | SendPath::ReadWrite) {
        return Ok(Some(
            Unavailable::unsupported(format!(
                "writev(2) sends a body out of a buffer, and {path} has none"
            ))
            .remedy("--paths read+send, or another way to send a head"),
        ));
    }
    let (listener, port) = listen(link)?;
    let address = SocketAddr::new(link.sender_address(), port);
    let socket = inside(link, move || {
        TcpStream::connect(address).map_err(|error| Error::os("connect to zc's own server", error))
    })?;
    let opened = open_sender(path, &socket, setup);
    drop(listener);
    Ok(opened.err())
}

/// A listener on the sender's side of a link.
fn listen(link: &dyn Link) -> Result<(TcpListener, u16)> {
    let address: IpAddr = link.sender_address();
    inside(link, move || {
        let cannot = |error| Error::os("listen for zc's own load", error);
        let listener = TcpListener::bind((address, 0)).map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        Ok((listener, port))
    })
}

/// Does something on the sender's side. A thread cannot leave a namespace that it has entered, so
/// it has one of its own.
fn inside<T: Send>(link: &dyn Link, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .spawn_scoped(scope, || link.enter_sender().and_then(|()| act()))
            .map_err(|error| Error::os("start a thread on the server's side of the link", error))?
            .join()
            .map_err(|_| {
                Error::failed(
                    "thread-panicked",
                    "a thread on the server's side of the link panicked",
                )
            })?
    })
}

/// Bytes of a head, but for the digits of the length.
pub const HEAD_BYTES: u64 = HEAD.len() as u64 + 4;

const HEAD: &str = "HTTP/1.1 200 OK\r\nServer: zc\r\nContent-Type: application/octet-stream\r\n\
                    Content-Length: ";

fn head(body_bytes: usize) -> Vec<u8> {
    format!("{HEAD}{body_bytes}\r\n\r\n").into_bytes()
}

impl Worker {
    fn start(link: &Arc<dyn Link>, cpu: usize, port: Arc<Port>, walk: Walk) -> Result<Self> {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let link = Arc::clone(link);
        let body = move || {
            let pinned = link.enter_sender().and_then(|()| zc_rig::meter::bind_to(cpu));
            let goes_on = pinned.is_ok();
            if ready.send(pinned.map(|()| sched::gettid())).is_ok() && goes_on {
                port.work(walk);
            }
        };
        let thread = std::thread::Builder::new()
            .name("zc-server".to_owned())
            .spawn(body)
            .map_err(|error| Error::os("start a worker of zc's own server", error))?;
        let tid = is_ready.recv().unwrap_or_else(|_| {
            Err(Error::failed("thread-ended", "a worker of zc's own server ended"))
        })?;
        Ok(Self { thread, tid })
    }
}

impl Port {
    /// A worker's whole life: one connection after the other.
    fn work(&self, mut walk: Walk) {
        let mut sender = None;
        let buffer_bytes =
            if self.answer.head == Head::Writev { self.setup.buffer_bytes } else { 0 };
        let mut buffer = vec![0; buffer_bytes];
        // Not in poll(2) before: a connection would wake all workers that have none.
        while let Ok((socket, _)) = self.listener.accept() {
            if let Err(error) = self.serve(&socket, &mut sender, &mut walk, &mut buffer) {
                let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
                fault.get_or_insert(error);
            }
        }
    }

    /// Waits until the client says something or leaves; false: this is the end.
    fn waits_for(&self, socket: &TcpStream) -> bool {
        loop {
            match spawn::wait_readable(&[socket.as_fd(), self.stop.as_fd()], None).as_deref() {
                Ok([_, true]) | Err(_) => return false,
                Ok([true, _]) => return true,
                Ok(_) => {} // a signal
            }
        }
    }

    /// Sends a response with a body.
    fn send(
        &self,
        socket: &TcpStream,
        head: &[u8],
        piece: Piece,
        sender: &mut dyn Sender,
        buffer: &mut [u8],
    ) -> Result<()> {
        let cork = |on| tcp::set_cork(socket, on).map_err(|error| Error::os("set TCP_CORK", error));
        match self.answer.head {
            Head::More => {
                send_head(socket, head)?;
                sender.send(piece)
            }
            Head::Separate => {
                (&mut &*socket).write_all(head).map_err(cannot_send_head)?;
                sender.send(piece)
            }
            Head::Cork => {
                cork(true)?;
                (&mut &*socket).write_all(head).map_err(cannot_send_head)?;
                sender.send(piece)?;
                cork(false)
            }
            Head::Writev => {
                let source = &self.setup.files.files[piece.file];
                let len = piece.len.min(buffer.len());
                let first = &mut buffer[..len];
                let read = source.file.read_exact_at(first, piece.offset);
                read.map_err(|error| source.unreadable(error))?;
                write_both(socket, head, first).map_err(cannot_send_head)?;
                if len == piece.len {
                    return Ok(());
                }
                let offset = piece.offset + len as u64;
                sender.send(Piece { offset, len: piece.len - len, ..piece })
            }
        }
    }

    /// Answers requests until the client has had enough.
    fn serve(
        &self,
        socket: &TcpStream,
        opened: &mut Option<Box<dyn Sender>>,
        walk: &mut Walk,
        buffer: &mut [u8],
    ) -> Result<()> {
        let cannot = |error| Error::os("prepare a connection of zc's own server", error);
        socket.set_nodelay(true).map_err(cannot)?;
        let goes_on = match opened {
            Some(sender) => sender.go_on_with(socket.as_fd())?,
            None => false,
        };
        if !goes_on {
            let fresh = open_sender(self.answer.path, socket, &self.setup);
            *opened = Some(fresh.map_err(|no| {
                no.into_error("path-unavailable", "zc's own server cannot answer")
            })?);
        }
        let Some(sender) = opened else { return Ok(()) };
        let mut request = [0; LONGEST_REQUEST];
        let mut has = 0;
        while self.waits_for(socket) {
            has += match (&mut &*socket).read(&mut request[has..]) {
                Ok(0) | Err(_) => break, // the client is gone, or says too much
                Ok(some) => some,
            };
            let Some(asked) = Asked::parse(&request[..has]) else { continue };
            // Of requests that come together, which zc's load does not send, one is answered.
            has = 0;
            let piece = match asked.body_bytes {
                0 => None,
                bytes => Some(walk.next_of(bytes).ok_or_else(|| longer_than_any_file(bytes))?),
            };
            let head = head(asked.body_bytes);
            match piece {
                None => (&mut &*socket).write_all(&head).map_err(cannot_send_head)?,
                Some(piece) => self.send(socket, &head, piece, &mut **sender, buffer)?,
            }
            if asked.closes {
                break;
            }
        }
        sender.drain()?;
        // The sender has the socket, too, until the next connection comes.
        socket.shutdown(Shutdown::Write).or_else(|error| match error.kind() {
            io::ErrorKind::NotConnected => Ok(()), // the client was faster
            _ => Err(Error::os("end a connection of zc's own server", error)),
        })
    }
}

fn longer_than_any_file(bytes: usize) -> Error {
    Error::input("file-too-short", format!("a response of {bytes} bytes is longer than any file"))
}

/// A request that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    /// The length of the body that it asks for; 0 where its path is no number.
    body_bytes: usize,
    /// Whether the connection is not to be kept.
    closes: bool,
}

impl Asked {
    /// `None` as long as there is more to come, and of what is no request.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut headers);
        request.parse(bytes).ok().filter(httparse::Status::is_complete)?;
        let closes = request.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case("connection")
                && header.value.eq_ignore_ascii_case(b"close")
        });
        let target = request.path.and_then(|path| path.strip_prefix('/'));
        let body_bytes = target.and_then(|number| number.parse().ok()).unwrap_or(0);
        Some(Self { body_bytes, closes })
    }
}

fn cannot_send_head(error: io::Error) -> Error {
    Error::os("send the head of a response", error)
}

/// Sends a head and bytes of the body by one writev(2), or by more where the socket takes fewer.
fn write_both(mut socket: &TcpStream, mut head: &[u8], mut body: &[u8]) -> io::Result<()> {
    while !head.is_empty() || !body.is_empty() {
        let sent = match socket.write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            sent => sent?,
        };
        let of_head = sent.min(head.len());
        (head, body) = (&head[of_head..], &body[sent - of_head..]);
    }
    Ok(())
}

/// Sends a head that a body follows, and says that it does.
fn send_head(socket: &TcpStream, head: &[u8]) -> Result<()> {
    let mut left = head;
    while !left.is_empty() {
        let sent = tcp::send_more(socket, left).map_err(cannot_send_head)?;
        left = &left[sent..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server with this way to send heads answers to `GET /BODY`, so many times, and the
    /// segments in which that came.
    fn answers(head: Head, body_bytes: usize, times: usize) -> (Vec<Vec<u8>>, u32) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, content()).unwrap();
        let cpu = sched::allowed_cpus().unwrap()[0];
        let (setup, _) = zc_rig::trial::open_files(&[file], 1, 8_192, &[], cpu).unwrap();
        let sides = zc_rig::link::Sides { sender_cpu: cpu, receiver_cpu: cpu };
        let link = zc_rig::link::bring_up(zc_run::LinkKind::Loopback, sides).unwrap();
        let link: Arc<dyn Link> = Arc::from(link);
        let answer = Answer { path: SendPath::ReadSend, head };
        assert!(why_not(&*link, answer, &setup).unwrap().is_none());
        let server = OwnServer::start(&link, cpu, &[(answer, 1)], &setup, "reno").unwrap();
        let port = server.port_of(answer).unwrap();
        let mut client = TcpStream::connect((link.sender_address(), port)).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let before = tcp::info(&client).unwrap().segs_in;
        let all = (0..times).map(|_| {
            let request = format!("GET /{body_bytes} HTTP/1.1\r\nHost: zc\r\n\r\n");
            client.write_all(request.as_bytes()).unwrap();
            let mut whole = vec![0; super::head(body_bytes).len() + body_bytes];
            client.read_exact(&mut whole).unwrap();
            whole
        });
        let all = all.collect();
        let segments = tcp::info(&client).unwrap().segs_in - before;
        server.check().unwrap();
        (all, segments)
    }

    fn content() -> Vec<u8> {
        (0..100_000_usize).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    #[test]
    fn every_way_to_send_a_head_sends_it_and_the_body() {
        for &head in Head::ALL {
            // Less than a buffer, one, and several and a part.
            for body_bytes in [1, 1_000, 8_192, 50_000] {
                let (all, _) = answers(head, body_bytes, 3);
                for (number, whole) in all.iter().enumerate() {
                    let (own, body) = whole.split_at(super::head(body_bytes).len());
                    assert_eq!(own, super::head(body_bytes), "{head} {body_bytes}");
                    // The next body begins at the next page, or at the first of the file.
                    let at = content().windows(body_bytes).position(|part| part == body);
                    assert!(at.is_some(), "{head} {body_bytes}: response {number} is no part");
                }
            }
        }
    }

    #[test]
    fn a_head_and_a_small_body_are_one_packet_unless_they_are_sent_separately() {
        const TIMES: usize = 20;
        let segments = |head| answers(head, 1_000, TIMES).1 as usize;
        assert!(segments(Head::Separate) >= 2 * TIMES);
        for head in [Head::More, Head::Cork, Head::Writev] {
            let segments = segments(head);
            assert!((TIMES..2 * TIMES).contains(&segments), "{head}: {segments} segments");
        }
    }

    #[test]
    fn writev_is_refused_for_a_path_without_a_buffer() {
        let sides = zc_rig::link::Sides { sender_cpu: 0, receiver_cpu: 0 };
        let link = zc_rig::link::bring_up(zc_run::LinkKind::Loopback, sides).unwrap();
        let files = Arc::new(zc_rig::workload::FileSet::new(Vec::new()));
        let answer = Answer { path: SendPath::Sendfile, head: Head::Writev };
        let no = why_not(&*link, answer, &SendSetup::new(files, 8_192)).unwrap().unwrap();
        assert!(no.reason.contains("writev(2)") && no.reason.contains("sendfile"), "{no:?}");
    }

    #[test]
    fn a_request_is_answered_once_it_is_whole() {
        let whole = b"GET /65536 HTTP/1.1\r\nHost: zc\r\nConnection: Close\r\n\r\n";
        assert_eq!(Asked::parse(whole), Some(Asked { body_bytes: 65_536, closes: true }));
        for no_number in ["/", "/64k", "/-1", "65536"] {
            let request = format!("GET {no_number} HTTP/1.1\r\nHost: zc\r\n\r\n");
            let asked = Asked::parse(request.as_bytes());
            assert_eq!(asked, Some(Asked { body_bytes: 0, closes: false }));
        }
        for end in 0..whole.len() {
            assert_eq!(Asked::parse(&whole[..end]), None, "{end} bytes");
        }
        assert_eq!(Asked::parse(b"\x16\x03\x01\x00"), None);
    }

    #[test]
    fn a_head_says_how_long_the_body_is() {
        let text = String::from_utf8(head(4096)).unwrap();
        assert!(text.ends_with("\r\nContent-Length: 4096\r\n\r\n"), "{text}");
    }
}
