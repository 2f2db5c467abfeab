//! zc's iperf3 server, for tests with good and bad clients.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Event, Limits, serve};
use zc_kernel::stop::Stop;

/// Long enough for everything on one machine. Nothing waits that long.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a port of its own. Dropping it ends it.
pub(super) struct Serving {
    pub(super) at: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
    events: mpsc::Receiver<Event>,
}

impl Serving {
    pub(super) fn start(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (at, stop) = (listener.local_addr().unwrap(), Stop::default());
        let stopped = stop.clone();
        let (told, events) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            serve(listener, &stopped, limits, &mut |event| drop(told.send(event))).unwrap();
        });
        Self { at, stop, thread: Some(thread), events }
    }

    /// The next event.
    pub(super) fn next_event(&self) -> Event {
        self.events.recv_timeout(PATIENCE).unwrap()
    }

    /// Ends the server, which must not take long, and returns the remaining events.
    pub(super) fn end(mut self) -> Vec<Event> {
        let began = Instant::now();
        self.stop.set();
        self.thread.take().unwrap().join().unwrap();
        assert!(began.elapsed() < PATIENCE / 4);
        self.events.try_iter().collect()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.set();
    }
}
