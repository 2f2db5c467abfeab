//! A server of this process that does as a script says with each connection.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::{Load, LoadOptions, Origin, Pace, Phase, Reuse, Trust};
use zc_kernel::clock::monotonic_ns;
use zc_run::Result;

/// Far longer than anything here takes.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// A server that ends with this.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    /// Does `script` with each connection, on a thread of its own; the second argument counts them
    /// from 0.
    pub(super) fn with(script: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, counted, script) =
            (Arc::clone(&stop), Arc::clone(&connections), Arc::new(script));
        let thread = std::thread::spawn(move || {
            for connection in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let connection = connection.unwrap();
                connection.set_read_timeout(Some(LIMIT)).unwrap();
                connection.set_write_timeout(Some(LIMIT)).unwrap();
                let (script, number) =
                    (Arc::clone(&script), counted.fetch_add(1, Ordering::Relaxed));
                std::thread::spawn(move || script(connection, number));
            }
        });
        Self { address, connections, stop, thread: Some(thread) }
    }

    /// Answers each request on each connection with the same bytes, until the client closes it.
    pub(super) fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::with(move |mut connection, _| {
            while next_request(&mut connection).is_some() {
                if connection.write_all(&answer).is_err() {
                    return;
                }
            }
        })
    }

    /// Number of connections that have arrived.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/file", self.address)
    }

    pub(super) fn options(&self) -> LoadOptions {
        LoadOptions {
            origins: vec![Origin::resolve(&self.url()).unwrap()],
            connections: 1,
            reuse: Reuse::KeepAlive,
            source: None,
            headers: Vec::new(),
            trust: Trust::System,
            timeout: LIMIT,
        }
    }

    /// A load of one connection that is kept.
    pub(super) fn load(&self) -> Load {
        start(self.options()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Ends the wait for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts a load on this machine.
pub(super) fn start(options: LoadOptions) -> Result<Load> {
    Load::start(options, || Ok(()))
}

/// Results of a phase of so many requests as fast as they are answered: each comes out once.
pub(super) fn phase_of(options: LoadOptions, requests: u64) -> Phase {
    let load = start(options).unwrap();
    load.go_for(0, Pace::Unpaced, 0, requests);
    until("all have come out", || {
        let counts = load.counts();
        counts.responses + counts.unanswered() >= requests
    });
    let phase = load.pause().unwrap();
    assert_eq!(phase.counts.requests, requests);
    assert_eq!(phase.counts.responses + phase.counts.unanswered(), requests, "{phase:?}");
    phase
}

/// Reads the next request, and returns its head; `None` once there is none.
pub(super) fn next_request(connection: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match connection.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) => return None,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    String::from_utf8(head).ok()
}

/// A response of that status line with a body of so many bytes.
pub(super) fn response(head: &str, body_bytes: usize) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {head}\r\nContent-Length: {body_bytes}\r\n\r\n").into_bytes();
    bytes.extend((0..body_bytes).map(|index| index as u8));
    bytes
}

/// Waits until `is_so`.
#[track_caller]
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end_ns = monotonic_ns() + LIMIT.as_nanos() as u64;
    while !is_so() {
        assert!(monotonic_ns() < end_ns, "waited {LIMIT:?} until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
