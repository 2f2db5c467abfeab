//! Answers of an HTTP server that says what it likes, over loopback, to `zc http`'s load.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, OnceLock};
use std::thread::Builder;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use zc_load::{Load, LoadOptions, Origin, Pace, Reuse, Trust};

use crate::quarantine;

/// Requests of a load, beside the first.
const REQUESTS: u64 = 2;

/// What each connection is answered, whatever it asks.
#[derive(Debug, Clone, Arbitrary)]
pub struct Answers {
    said: Vec<Said>,
    /// Lengths of the pieces in which it is sent.
    pieces: Vec<u8>,
    /// The server leaves the connection open.
    stays: bool,
    keeps_alive: bool,
}

#[derive(Debug, Clone, Arbitrary)]
enum Said {
    Status(u16),
    /// `HTTP/1.1 200 OK`.
    Fine,
    Length(u32),
    Chunked,
    Closes,
    Encoded,
    Location(Vec<u8>),
    Server(Vec<u8>),
    Header(Vec<u8>, Vec<u8>),
    EndOfHead,
    Body(u16),
    /// A chunk that claims one length and has another.
    Chunk(u16, u16),
    RightChunk(u8),
    LastChunk,
    Bytes(Vec<u8>),
    /// A whole response with so many bytes.
    Whole(u8),
}

impl Said {
    fn bytes(&self) -> Vec<u8> {
        let body = |length: u16| vec![b'x'; usize::from(length)];
        match self {
            Self::Status(status) => format!("HTTP/1.1 {status} \r\n").into_bytes(),
            Self::Fine => b"HTTP/1.1 200 OK\r\n".to_vec(),
            Self::Length(length) => format!("Content-Length: {length}\r\n").into_bytes(),
            Self::Chunked => b"Transfer-Encoding: chunked\r\n".to_vec(),
            Self::Closes => b"Connection: close\r\n".to_vec(),
            Self::Encoded => b"Content-Encoding: gzip\r\n".to_vec(),
            Self::Location(to) => [b"Location: ", &to[..], b"\r\n"].concat(),
            Self::Server(name) => [b"Server: ", &name[..], b"\r\n"].concat(),
            Self::Header(name, value) => [&name[..], b": ", value, b"\r\n"].concat(),
            Self::EndOfHead => b"\r\n".to_vec(),
            Self::Body(length) => body(*length),
            Self::Chunk(claimed, length) => {
                [format!("{claimed:x}\r\n").as_bytes(), &body(*length), b"\r\n"].concat()
            }
            Self::RightChunk(length) => {
                let length = u16::from(*length);
                [format!("{length:x}\r\n").as_bytes(), &body(length), b"\r\n"].concat()
            }
            Self::LastChunk => b"0\r\n\r\n".to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Whole(length) => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                [head.as_bytes(), &body(u16::from(*length))].concat()
            }
        }
    }
}

/// What the server says now. One input is tried at a time.
static NOW: Mutex<Option<Answers>> = Mutex::new(None);

fn answer(mut connection: TcpStream, answers: &Answers) {
    let _ = connection.set_read_timeout(Some(Duration::from_millis(200)));
    let _ = connection.set_nodelay(true);
    let bytes: Vec<u8> = answers.said.iter().take(40).flat_map(Said::bytes).collect();
    let mut pieces = answers.pieces.iter().map(|length| usize::from(*length).max(1));
    while matches!(connection.read(&mut [0; 4096]), Ok(1..)) {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let length = pieces.next().unwrap_or(rest.len()).min(rest.len());
            if connection.write_all(&rest[..length]).is_err() {
                return;
            }
            rest = &rest[length..];
        }
        if !answers.stays {
            drop(connection.shutdown(Shutdown::Write));
            return;
        }
    }
}

fn server() -> SocketAddr {
    static SERVER: OnceLock<SocketAddr> = OnceLock::new();
    *SERVER.get_or_init(|| {
        quarantine::enter();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("a port");
        start(move || {
            for connection in listener.incoming().flatten() {
                let answers = NOW.lock().expect("nothing panics with it").clone();
                if let Some(answers) = answers {
                    start(move || answer(connection, &answers));
                }
            }
        });
        address
    })
}

fn start(work: impl FnOnce() + Send + 'static) {
    drop(Builder::new().name("server".to_owned()).spawn(work).expect("a thread"));
}

impl Answers {
    /// Every request comes out, once, and what is said of it fits a terminal.
    pub fn check(&self) {
        let url = format!("http://{}/", server());
        *NOW.lock().expect("nothing panics with it") = Some(self.clone());
        let options = LoadOptions {
            origins: vec![Origin::resolve(&url).expect("an address")],
            connections: 2, // one that failed is left alone for a while
            reuse: if self.keeps_alive { Reuse::KeepAlive } else { Reuse::Close },
            source: None,
            headers: Vec::new(),
            trust: Trust::System,
            timeout: Duration::from_millis(60),
        };
        let load = Load::start(options, || Ok(())).expect("a server that accepts");
        match load.fetch(0).and_then(|fetched| fetched.usable()) {
            Ok(fetched) => assert!((200..300).contains(&fetched.status), "{fetched:?}"),
            Err(error) => {
                let said = format!("{} {}", error.message, error.help.unwrap_or_default());
                assert!(!said.chars().any(char::is_control), "{said:?}");
            }
        }
        let before = load.counts();
        load.go_for(0, Pace::Unpaced, 0, REQUESTS);
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            let counts = load.counts().since(&before);
            if counts.responses + counts.unanswered() >= REQUESTS {
                break;
            }
            assert!(Instant::now() < until, "requests that do not come out: {counts:?}");
            std::thread::sleep(Duration::from_micros(200));
        }
        let phase = load.pause().expect("the thread goes on");
        let statuses: u64 = phase.statuses.values().sum();
        let drained = phase.drained;
        assert_eq!(drained.requests, REQUESTS);
        assert_eq!(drained.responses + drained.unanswered(), REQUESTS, "{drained:?}");
        assert_eq!((statuses, phase.latency.count()), (drained.responses, drained.responses));
        assert!(drained.body_bytes <= drained.received_bytes, "{drained:?}");
    }
}
