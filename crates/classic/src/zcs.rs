//! The server: it discards what several clients at a time send, and reports how much that is.
//!
//! Each client has a thread, which receives by the path `recv` in 16 KiB, as in 2001. What clients
//! can cost is bounded: one buffer and one small stack each, at most [`MOST_CLIENTS`] of them, none
//! silent for longer than [`ZcsOptions::idle`]. When all places are taken, a silent client is
//! dropped for a new one ([`Server::make_room`]). An error of one client ends that client alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use signal_hook::consts::{SIGINT, SIGTERM};
use zc_kernel::spawn::{HeldSignals, wait_readable, wait_writable};
use zc_kernel::{clock, tcp};

use super::cpus::pin;
use super::getopt::{Known, Letter};
use super::socket::{self, Buffers, Capped};
use super::tool::Tool;
use super::values::{buffer, parse_number, port};
use super::wire::{Decoder, PORT, Tally};
use zc_rig::path::{RecvSetup, open_receiver};
use zc_run::{Error, RecvPath, Result};

/// Clients that are served at a time. A new one is rejected while all of them are sending.
const MOST_CLIENTS: usize = 64;
/// A client that is silent for so long is dropped, whether or not another one needs its place.
const IDLE: Duration = Duration::from_secs(300);
/// A client that is silent for so long in the middle of its transfer is dropped if another one
/// needs its place.
const SILENT_NS: u64 = 5_000_000_000;
/// Time in which a client must close the connection after all that it announced.
const GOODBYE: Duration = Duration::from_secs(1);
/// Bytes per read; in the words of 2001: "It is doing 16 kbyte read()s."
const READ_BYTES: usize = 16 << 10;
/// Interval at which signals are polled while a line cannot be written.
const STALL: Duration = Duration::from_millis(100);
/// The stack of a client's thread: enough for a loop around recv(2).
const STACK_BYTES: usize = 256 << 10;
/// Time for which no clients are accepted after one could not be, for lack of descriptors or
/// memory.
const REST_NS: u64 = 1_000_000_000;

/// The error of a client that sends more after its last file.
const MORE_THAN_ANNOUNCED: &str = "sent more bytes than it had announced";

const KNOWN: Known = Known {
    plain: "dh",
    valued: "Bpio",
    long: &[("raw", 'r'), ("interval", 'I')],
    stops_at_operand: false,
};

/// The parsed command line of `zcs`.
#[derive(Debug, Clone, PartialEq)]
pub struct ZcsOptions {
    /// `-h`
    pub help: bool,
    /// Number of `-d`.
    pub debug: u32,
    /// `-p`
    pub port: u16,
    /// `-B`
    pub cpu: Option<usize>,
    /// `-i`, `-o`
    buffers: Buffers,
    /// `--raw`: clients send bare bytes.
    pub raw: bool,
    /// `--interval`: time between two lines of throughput.
    pub interval_ns: u64,
    /// A client that is silent for so long is dropped. No option sets it.
    pub idle: Duration,
}

impl ZcsOptions {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An argument is unknown or not valid.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let words = KNOWN.read(Tool::Zcs, words)?;
        let mut options = Self {
            help: false,
            debug: 0,
            port: PORT,
            cpu: None,
            buffers: Buffers::default(),
            raw: false,
            interval_ns: 5_000_000_000,
            idle: IDLE,
        };
        for (letter, value) in &words.given {
            let value = value.as_deref();
            match letter {
                Letter::Short('h') => options.help = true,
                Letter::Short('d') => options.debug += 1,
                Letter::Short('p') => options.port = port(*letter, value, 0)?,
                Letter::Short('B') => {
                    options.cpu = Some(parse_number(*letter, "CPU", value, 0..=1023)? as usize)
                }
                Letter::Short('i') => options.buffers.receive = Some(buffer(*letter, value)?),
                Letter::Short('o') => options.buffers.send = Some(buffer(*letter, value)?),
                Letter::Long("raw") => options.raw = true,
                Letter::Long(_) => {
                    options.interval_ns = 1_000_000_000
                        * parse_number(*letter, "number of seconds", value, 1..=3600)?;
                }
                Letter::Short(_) => {} // all of them are above
            }
        }
        if let (Some(operand), false) = (words.operands.first(), options.help) {
            return Err(Error::usage(
                "unexpected-argument",
                format!("unexpected argument \"{}\"", operand.to_string_lossy()),
            )
            .help("zcs takes options alone; zcc takes the files"));
        }
        Ok(options)
    }
}

/// Events of a `zcs`.
#[derive(Debug)]
pub enum ZcsSaid {
    /// It listens for clients.
    Listening {
        /// The port.
        port: u16,
    },
    /// A socket buffer is smaller than requested.
    Capped(Capped),
    /// A client has connected.
    Came {
        /// Its address.
        client: String,
    },
    /// Throughput of all clients together in the last interval.
    Throughput {
        /// Bytes, including the numbers of the protocol.
        bytes: u64,
        /// The length of the interval.
        elapsed_ns: u64,
    },
    /// A client's connection has ended.
    Ended(ClientEnd),
    /// A client was rejected because all places are taken.
    Full {
        /// Its address.
        client: String,
        /// Number of clients being served.
        clients: usize,
    },
    /// A client could not be accepted.
    NotTaken(Error),
}

/// The end of a client.
#[derive(Debug)]
pub struct ClientEnd {
    /// Its address.
    pub client: String,
    /// Loops, files and bytes that it sent; only the bytes count if they are bare.
    pub tally: Tally,
    /// Whether it sent bare bytes.
    pub raw: bool,
    /// From the accept to its last byte.
    pub elapsed_ns: u64,
    /// Description of the error, if any: the rest of a sentence that begins with its address.
    pub wrong: Option<String>,
}

/// State that the clients' threads share.
#[derive(Debug, Default)]
struct Shared {
    received_bytes: AtomicU64,
    stopping: AtomicBool,
}

/// Activity of a client while it is served.
#[derive(Debug)]
struct Pulse {
    /// When its last bytes were read, or when it was accepted.
    last_ns: AtomicU64,
    /// It has sent its first number and not yet the rest, or it has sent a bare byte.
    under_way: AtomicBool,
}

struct Client {
    stream: TcpStream,
    thread: JoinHandle<()>,
    pulse: Arc<Pulse>,
    /// It was dropped to make room after so long a silence.
    made_room_after_ns: Option<u64>,
}

impl Client {
    /// The order in which clients are dropped to make room; `None` while it is sending. First those
    /// that have not begun or have finished, then those that have been silent for longest.
    fn idleness(&self, now_ns: u64) -> Option<(bool, u64)> {
        let silent_ns = now_ns.saturating_sub(self.pulse.last_ns.load(Relaxed));
        let under_way = self.pulse.under_way.load(Relaxed);
        if under_way && silent_ns < SILENT_NS {
            return None;
        }
        // Its thread may not have read yet what it sent.
        let unread = rustix::io::ioctl_fionread(&self.stream).unwrap_or(0);
        (unread == 0).then_some((!under_way, silent_ns))
    }
}

struct Server<'a> {
    options: &'a ZcsOptions,
    listener: TcpListener,
    shared: Arc<Shared>,
    clients: BTreeMap<u64, Client>,
    next: u64,
    ended: mpsc::Receiver<(u64, ClientEnd)>,
    tell_end: mpsc::Sender<(u64, ClientEnd)>,
    woken: Arc<OwnedFd>,
    was_full: bool,
    rests_until_ns: u64,
}

/// SIGINT and SIGTERM, which end `zcs`.
#[derive(Debug)]
pub struct EndSignals(HeldSignals);

impl EndSignals {
    /// Blocks them in this thread and in those that it starts, for [`zcs`] to read. To be called
    /// before other threads exist.
    ///
    /// # Errors
    /// No descriptor is free.
    pub fn hold() -> Result<Self> {
        // Not SIGHUP: a blocked signal is delivered to the descriptor even if it is ignored, so
        // nohup(1) would have no effect.
        let held = HeldSignals::hold(&[SIGINT, SIGTERM]);
        held.map(Self).map_err(|error| Error::os("hold signals back", error))
    }

    /// Waits until a line can be written to `out`; false when a signal comes first. Otherwise a
    /// reader that has stopped reading would keep `zcs` from noticing the signal.
    pub fn wait_writable(&self, out: BorrowedFd<'_>) -> bool {
        // If poll(2) fails, the write reports the reason.
        while !wait_writable(out, STALL).unwrap_or(true) {
            if wait_readable(&[self.0.as_fd()], Some(Duration::ZERO)).is_ok_and(|ready| ready[0]) {
                return false;
            }
        }
        true
    }
}

impl Drop for EndSignals {
    /// Pending signals are read, as they have had their effect: unblocked, they would kill the
    /// process while it ends.
    fn drop(&mut self) {
        while self.0.next().is_some() {}
    }
}

/// Serves until SIGINT or SIGTERM, or until `hear` breaks.
///
/// # Errors
/// The port is not available, or the CPU may not be used.
pub fn zcs(
    options: &ZcsOptions,
    signals: &EndSignals,
    hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>,
) -> Result<()> {
    if let Some(cpu) = options.cpu {
        pin(cpu)?;
    }
    let (listener, capped) = socket::listen(options.port, options.buffers)?;
    listener
        .set_nonblocking(true)
        .map_err(|error| Error::os("make the listener non-blocking", error))?;
    let port = listener.local_addr().map_err(|error| Error::os("ask for the port", error))?.port();
    let woken = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|error| Error::os("make an eventfd", error))?;
    let (tell_end, ended) = mpsc::channel();
    let mut server = Server {
        options,
        listener,
        shared: Arc::default(),
        clients: BTreeMap::new(),
        next: 0,
        ended,
        tell_end,
        woken: Arc::new(woken),
        was_full: false,
        rests_until_ns: 0,
    };
    let mut said = capped.into_iter().map(ZcsSaid::Capped).chain([ZcsSaid::Listening { port }]);
    if said.try_for_each(&mut *hear).is_continue() {
        server.serve(&signals.0, hear)?;
    }
    server.end(hear);
    Ok(())
}

impl Server<'_> {
    fn serve(
        &mut self,
        signals: &HeldSignals,
        hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>,
    ) -> Result<()> {
        let interval_ns = self.options.interval_ns;
        let (mut window_ns, mut window_bytes) = (clock::monotonic_ns(), 0);
        loop {
            let now_ns = clock::monotonic_ns();
            let resting_ns = self.rests_until_ns.saturating_sub(now_ns);
            let mut fds = vec![signals.as_fd(), self.woken.as_fd()];
            if resting_ns == 0 {
                fds.push(self.listener.as_fd());
            }
            let tick_ns = (!self.clients.is_empty())
                .then(|| (window_ns + interval_ns).saturating_sub(now_ns));
            let wait_ns =
                [tick_ns, (resting_ns > 0).then_some(resting_ns)].into_iter().flatten().min();
            let ready = wait_readable(&fds, wait_ns.map(Duration::from_nanos))
                .map_err(|error| Error::os("wait for clients", error))?;
            // It is left unread, so that `wait_writable` sees it too.
            if ready[0] {
                return Ok(());
            }
            // Before the next accept: there may be room by now.
            if ready[1] && self.report_ended(hear).is_break() {
                return Ok(());
            }
            if ready.get(2) == Some(&true) {
                let was_idle = self.clients.is_empty();
                if self.accept(hear).is_break() {
                    return Ok(());
                }
                if was_idle {
                    (window_ns, window_bytes) =
                        (clock::monotonic_ns(), self.shared.received_bytes.load(Relaxed));
                }
            }
            let now_ns = clock::monotonic_ns();
            if !self.clients.is_empty() && now_ns >= window_ns + interval_ns {
                let bytes = self.shared.received_bytes.load(Relaxed);
                let came = ZcsSaid::Throughput {
                    bytes: bytes - window_bytes,
                    elapsed_ns: now_ns - window_ns,
                };
                if bytes > window_bytes && hear(came).is_break() {
                    return Ok(());
                }
                (window_ns, window_bytes) = (now_ns, bytes);
            }
        }
    }

    /// Accepts one client, or rejects it.
    fn accept(&mut self, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) -> ControlFlow<()> {
        let taken = self
            .listener
            .accept()
            .and_then(|(stream, address)| Ok((stream.try_clone()?, stream, address)));
        let (handle, stream, address) = match taken {
            Ok(taken) => taken,
            // The client has gone again, or a signal interrupted the call.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock
                        | std::io::ErrorKind::ConnectionAborted
                        | std::io::ErrorKind::Interrupted
                ) =>
            {
                return ControlFlow::Continue(());
            }
            Err(error) => return self.pause_accepting(Error::os("take a client", error), hear),
        };
        let client = socket::address_text(address);
        if self.clients.len() >= MOST_CLIENTS {
            self.make_room(hear)?;
        }
        if self.clients.len() >= MOST_CLIENTS {
            // One message until there is room again. Otherwise any clients could flood
            // the output.
            let reported = std::mem::replace(&mut self.was_full, true);
            return if reported {
                ControlFlow::Continue(())
            } else {
                hear(ZcsSaid::Full { client, clients: MOST_CLIENTS })
            };
        }
        let (shared, tell_end, woken) =
            (Arc::clone(&self.shared), self.tell_end.clone(), Arc::clone(&self.woken));
        let pulse = Arc::new(Pulse {
            last_ns: AtomicU64::new(clock::monotonic_ns()),
            under_way: AtomicBool::new(false),
        });
        let (number, raw, idle, name) =
            (self.next, self.options.raw, self.options.idle, client.clone());
        let its_pulse = Arc::clone(&pulse);
        let serve = move || {
            let end = Serving { stream: &stream, raw, idle, shared: &shared, pulse: &its_pulse }
                .serve(name);
            if end.wrong.is_some() {
                // A reset instead of a FIN: a client that waits for our receive window would
                // otherwise wait for the minute that the kernel keeps such a connection
                // (tcp_fin_timeout). If setting it fails, the client waits.
                let _ = tcp::set_reset_on_close(&stream);
            }
            drop(stream);
            // The server takes all ends before it returns. An eventfd counts many more wake-ups
            // than there are clients.
            drop(tell_end.send((number, end)));
            let _ = rustix::io::write(&*woken, &1_u64.to_ne_bytes());
        };
        let thread = std::thread::Builder::new()
            .name(format!("zcs/{number}"))
            .stack_size(STACK_BYTES)
            .spawn(serve);
        match thread {
            Ok(thread) => {
                self.next += 1;
                self.clients.insert(
                    number,
                    Client { stream: handle, thread, pulse, made_room_after_ns: None },
                );
                hear(ZcsSaid::Came { client })
            }
            Err(error) => {
                self.pause_accepting(Error::os(format!("serve client \"{client}\""), error), hear)
            }
        }
    }

    /// Stops accepting clients for a while: an immediate retry would fail for the same reason.
    fn pause_accepting(
        &mut self,
        error: Error,
        hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.rests_until_ns = clock::monotonic_ns() + REST_NS;
        hear(ZcsSaid::NotTaken(error))
    }

    /// Reports the clients that have ended.
    fn report_ended(
        &mut self,
        hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Resets the eventfd; its count is not needed.
        let _ = rustix::io::read(&*self.woken, &mut [0_u8; 8]);
        while let Ok((number, end)) = self.ended.try_recv() {
            let end = self.join(number, end);
            hear(ZcsSaid::Ended(end))?;
        }
        ControlFlow::Continue(())
    }

    /// Disconnects a silent client, if there is one, and waits until its place is free. Clients
    /// that are sending keep their places. So a flood of silent connections displaces only itself,
    /// and a client that sends its first number at once gets through.
    fn make_room(&mut self, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) -> ControlFlow<()> {
        let now_ns = clock::monotonic_ns();
        let silent = self
            .clients
            .iter_mut()
            .filter_map(|(_, client)| Some((client.idleness(now_ns)?, client)));
        let Some(((_, silent_ns), client)) = silent.max_by_key(|(idleness, _)| *idleness) else {
            return ControlFlow::Continue(());
        };
        client.made_room_after_ns = Some(silent_ns);
        drop(client.stream.shutdown(Shutdown::Both)); // fails if it has gone already
        // Its thread wakes up at once, and its place becomes free. If another client ends first,
        // that place is free.
        match self.ended.recv_timeout(GOODBYE) {
            Ok((number, end)) => {
                let end = self.join(number, end);
                hear(ZcsSaid::Ended(end))
            }
            Err(_) => ControlFlow::Continue(()), // timeout: there is no room
        }
    }

    /// Removes a client, and returns its end with what only the server knows about it.
    fn join(&mut self, number: u64, mut end: ClientEnd) -> ClientEnd {
        if let Some(client) = self.clients.remove(&number) {
            // Its end has been received, so a panic after that does no harm.
            drop(client.thread.join());
            if let (Some(silent_ns), Some(wrong)) = (client.made_room_after_ns, &mut end.wrong) {
                *wrong = format!(
                    "had said nothing for {:.1} s and made room for another",
                    silent_ns as f64 / 1e9
                );
            }
        }
        self.was_full = false;
        end
    }

    /// Disconnects all clients, and reports their ends until the handler breaks.
    fn end(&mut self, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) {
        self.shared.stopping.store(true, Relaxed);
        for client in self.clients.values() {
            drop(client.stream.shutdown(Shutdown::Both)); // fails if it has gone already
        }
        let mut heard = ControlFlow::Continue(());
        while !self.clients.is_empty() {
            let Ok((number, end)) = self.ended.recv() else { return };
            let end = self.join(number, end);
            if heard.is_continue() {
                heard = hear(ZcsSaid::Ended(end));
            }
        }
    }
}

/// Context of a client's thread.
struct Serving<'a> {
    stream: &'a TcpStream,
    raw: bool,
    idle: Duration,
    shared: &'a Shared,
    pulse: &'a Pulse,
}

impl Serving<'_> {
    /// Receives and discards what the client sends, until its end.
    fn serve(&self, client: String) -> ClientEnd {
        let accepted_ns = self.pulse.last_ns.load(Relaxed);
        let mut tally = Tally::default();
        let received = self.receive(&mut tally);
        let was_cut_off = self.shared.stopping.load(Relaxed) && (self.raw || received.is_err());
        let wrong = if was_cut_off {
            Some("was cut off, as zcs is ending".to_owned())
        } else {
            received.err()
        };
        let elapsed_ns = self.pulse.last_ns.load(Relaxed) - accepted_ns;
        ClientEnd { client, tally, raw: self.raw, elapsed_ns, wrong }
    }

    /// Counts what is received in `tally`. The error is the rest of a sentence that begins with the
    /// client's address.
    fn receive(&self, tally: &mut Tally) -> std::result::Result<(), String> {
        let stream = self.stream;
        stream
            .set_read_timeout(Some(self.idle))
            .map_err(|error| format!("cannot be served: {error}"))?;
        let mut receiver = open_receiver(RecvPath::Recv, stream, &RecvSetup::new(READ_BYTES))
            .map_err(|no| format!("cannot be served: {}", no.reason))?;
        let mut decoder = Decoder::default();
        let place = |decoder: &Decoder| decoder.stopped().filter(|_| !self.raw);
        loop {
            let mut announced = true;
            let waits_from_ns = clock::monotonic_ns();
            let received =
                receiver.receive(Some(&mut |bytes| announced = self.raw || decoder.take(bytes)));
            let now_ns = clock::monotonic_ns();
            match received {
                // When zcs ends: otherwise bytes would arrive for as long as they are sent, after a
                // shutdown too.
                Ok(bytes) if bytes == 0 || self.shared.stopping.load(Relaxed) => {
                    return place(&decoder).map_or(Ok(()), |place| Err(format!("stopped {place}")));
                }
                Ok(bytes) => {
                    self.pulse.last_ns.store(now_ns, Relaxed);
                    self.pulse.under_way.store(self.raw || decoder.is_partial(), Relaxed);
                    self.shared.received_bytes.fetch_add(bytes as u64, Relaxed);
                    *tally = if self.raw {
                        Tally { file_bytes: tally.file_bytes + bytes as u64, ..*tally }
                    } else {
                        decoder.tally()
                    };
                }
                Err(_) if now_ns - waits_from_ns >= self.idle.as_nanos() as u64 => {
                    return Err(format!("has said nothing for {} s", self.idle.as_secs_f64()));
                }
                Err(error) => {
                    let place =
                        place(&decoder).map(|place| format!(" {place}")).unwrap_or_default();
                    return Err(format!("is gone{place}: {}", error.message));
                }
            }
            if !announced {
                return Err(MORE_THAN_ANNOUNCED.to_owned());
            }
            if decoder.is_done() {
                // An original may close the connection itself or wait for us to do so; other
                // programs may send more.
                drop(stream.shutdown(Shutdown::Write));
                let says_more = tcp::wait_readable(stream, GOODBYE).unwrap_or(false)
                    && receiver.receive(None).is_ok_and(|bytes| bytes > 0);
                return if says_more { Err(MORE_THAN_ANNOUNCED.to_owned()) } else { Ok(()) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<ZcsOptions> {
        ZcsOptions::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_defaults_are_those_of_2001() {
        let options = read(&[]).unwrap();
        assert_eq!((options.port, options.interval_ns, options.raw), (2222, 5_000_000_000, false));
        assert_eq!((options.cpu, options.buffers), (None, Buffers::default()));
    }

    #[test]
    fn every_letter_of_the_manual_is_taken() {
        let options =
            read(&["-ddh", "-B1", "-p", "0", "-i4096", "-o", "8192", "--raw", "--interval", "1"])
                .unwrap();
        assert!(options.help && options.raw);
        assert_eq!((options.debug, options.cpu, options.port), (2, Some(1), 0));
        assert_eq!(options.buffers, Buffers { receive: Some(4096), send: Some(8192) });
        assert_eq!(options.interval_ns, 1_000_000_000);
    }

    #[test]
    fn files_are_for_the_client() {
        assert_eq!(read(&["file"]).unwrap_err().id, "unexpected-argument");
        assert_eq!(read(&["-p", "65536"]).unwrap_err().id, "invalid-number");
    }

    /// Serves as `options` say, connects `clients` to its port, and returns the first end that it
    /// reports.
    fn first_end(options: &ZcsOptions, clients: impl FnOnce(u16) -> Vec<TcpStream>) -> ClientEnd {
        let (mut clients, mut held, mut first) = (Some(clients), Vec::new(), None);
        zcs(options, &EndSignals::hold().unwrap(), &mut |said| {
            match said {
                ZcsSaid::Listening { port } => {
                    held = clients.take().map(|clients| clients(port)).unwrap_or_default()
                }
                ZcsSaid::Ended(end) => {
                    first.get_or_insert(end);
                    return ControlFlow::Break(());
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        drop(held);
        first.unwrap()
    }

    #[test]
    fn a_client_that_says_nothing_for_too_long_is_let_go() {
        use std::io::Write as _;
        for (said, counted) in [(&b""[..], 0), (b"\0\0\0\x01\0\0\0\x01\0\0\0\x09abc", 3)] {
            let options =
                ZcsOptions { port: 0, idle: Duration::from_millis(50), ..read(&[]).unwrap() };
            let end = first_end(&options, |port| {
                let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
                client.write_all(said).unwrap();
                vec![client]
            });
            assert_eq!(end.wrong.as_deref(), Some("has said nothing for 0.05 s"));
            assert_eq!(end.tally.file_bytes, counted);
        }
    }
}
