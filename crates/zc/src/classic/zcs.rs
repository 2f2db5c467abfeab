//! The server: it swallows what comes, from several clients at a time, and says how much that is.
//!
//! A thread to a client, by the receive path `recv` in 16 KiB as in 2001. What a client may cost is bounded: one buffer and
//! one small stack each, at most [`MOST_CLIENTS`] of them, none that says nothing for [`IDLE`]. Whatever one of them
//! does ends that one alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use signal_hook::consts::{SIGINT, SIGTERM};
use zc_sys::spawn::{HeldSignals, wait_readable};
use zc_sys::{clock, sched, tcp};

use super::Tool;
use super::letters::{Known, Letter, number, port};
use super::socket::{self, Buffers, Capped};
use super::wire::{Decoder, Tally};
use crate::path::open_receiver;
use crate::record::{Fault, RecvPath, Result, in_words};

/// Clients that are served at a time. What is more is turned away.
const MOST_CLIENTS: usize = 64;
/// A client that says nothing for so long has vanished.
const IDLE: Duration = Duration::from_secs(300);
/// How long a client that has sent all it announced may take to hang up.
const GOODBYE: Duration = Duration::from_secs(1);
/// Bytes that are read at a time: "It is doing 16 kbyte read()s."
const READ_BYTES: usize = 16 << 10;
/// Enough for a loop around recv(2).
const STACK_BYTES: usize = 256 << 10;
/// How long no more clients are taken when one could not be, for want of descriptors or memory.
const REST_NS: u64 = 1_000_000_000;

const KNOWN: Known =
    Known { plain: "dh", valued: "Bpio", long: &[("raw", 'r'), ("interval", 'I')], stops_at_operand: false };

/// What `zcs` is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ZcsOptions {
    /// `-h`
    pub help: bool,
    /// How many `-d`.
    pub debug: u32,
    /// `-p`
    pub port: u16,
    /// `-B`
    pub cpu: Option<usize>,
    /// `-i`, `-o`
    buffers: Buffers,
    /// `--raw`: what comes is bare bytes.
    pub raw: bool,
    /// `--interval`: between two lines of throughput.
    pub interval_ns: u64,
}

impl ZcsOptions {
    /// Reads what was typed.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let words = KNOWN.read(Tool::Zcs, words)?;
        let mut options = Self {
            help: false,
            debug: 0,
            port: super::zcc::PORT,
            cpu: None,
            buffers: Buffers::default(),
            raw: false,
            interval_ns: 5_000_000_000,
        };
        for (letter, value) in &words.given {
            let value = value.as_deref();
            match letter {
                Letter::Short('h') => options.help = true,
                Letter::Short('d') => options.debug += 1,
                Letter::Short('p') => options.port = port(*letter, value, 0)?,
                Letter::Short('B') => options.cpu = Some(number(*letter, "CPU", value, 0..=1023)? as usize),
                Letter::Short('i') => options.buffers.receive = Some(buffer(*letter, value)?),
                Letter::Short('o') => options.buffers.send = Some(buffer(*letter, value)?),
                Letter::Long("raw") => options.raw = true,
                Letter::Long(_) => {
                    options.interval_ns = 1_000_000_000 * number(*letter, "number of seconds", value, 1..=3600)?;
                }
                Letter::Short(_) => {} // all of them are above
            }
        }
        if let (Some(operand), false) = (words.operands.first(), options.help) {
            return Err(Fault::usage(format!("unexpected argument \"{}\"", operand.to_string_lossy()))
                .hint("zcs takes options alone; zcc takes the files"));
        }
        Ok(options)
    }
}

/// The size of a socket buffer.
pub(super) fn buffer(letter: Letter, value: Option<&std::ffi::OsStr>) -> Result<usize> {
    Ok(number(letter, "buffer size", value, 1..=1 << 30)? as usize)
}

/// What `zcs` tells.
#[derive(Debug)]
pub enum ZcsSaid {
    /// It listens.
    Listening {
        /// On this port.
        port: u16,
    },
    /// A socket buffer is smaller than it was asked to be.
    Capped(Capped),
    /// A client is there.
    Came {
        /// Its address.
        client: String,
    },
    /// So much came in from all clients.
    Throughput {
        /// Bytes, numbers of the wire included.
        bytes: u64,
        /// In so long.
        elapsed_ns: u64,
    },
    /// A client is done, or done with.
    Ended(ClientEnd),
    /// A client was turned away.
    Full {
        /// Its address.
        client: String,
        /// As many are served.
        clients: usize,
    },
    /// A client could not be taken.
    NotTaken(Fault),
}

/// The end of a client.
#[derive(Debug)]
pub struct ClientEnd {
    /// Its address.
    pub client: String,
    /// What it sent; for bare bytes the bytes alone.
    pub tally: Tally,
    /// It sent bare bytes.
    pub raw: bool,
    /// From when it was accepted to its last byte.
    pub elapsed_ns: u64,
    /// Why it is not a good end: a sentence that goes on after its address.
    pub wrong: Option<String>,
}

/// What the threads of the clients share.
#[derive(Debug, Default)]
struct Shared {
    received_bytes: AtomicU64,
    stopping: AtomicBool,
}

struct Client {
    stream: TcpStream,
    thread: JoinHandle<()>,
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

/// Serves until SIGINT or SIGTERM comes, or `hear` has enough.
///
/// # Errors
/// The port or the CPU cannot be had.
pub fn zcs(options: &ZcsOptions, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) -> Result<()> {
    // Before there are threads, so that no other thread takes them. Not SIGHUP: a signal that is held back arrives although it is
    // ignored, and nohup(1) would be for nothing.
    let signals = HeldSignals::hold(&[SIGINT, SIGTERM]).map_err(|error| Fault::os("hold signals back", error))?;
    if let Some(cpu) = options.cpu {
        pin(cpu)?;
    }
    let (listener, capped) = socket::listen(options.port, options.buffers)?;
    listener.set_nonblocking(true).map_err(|error| Fault::os("make the listener non-blocking", error))?;
    let port = listener.local_addr().map_err(|error| Fault::os("ask for the port", error))?.port();
    let woken = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|error| Fault::os("make an eventfd", error))?;
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
        server.serve(&signals, hear)?;
    }
    server.end(hear);
    Ok(())
}

/// Lets this process, and the threads that it will start, run on one CPU alone.
pub(super) fn pin(cpu: usize) -> Result<()> {
    sched::pin(&[cpu]).map_err(|error| {
        Fault::usage(format!("cannot bind to CPU \"{cpu}\": {}", in_words(&error)))
            .hint(format!("the CPUs that may be used here are {:?}", sched::allowed_cpus().unwrap_or_default()))
    })
}

impl Server<'_> {
    fn serve(&mut self, signals: &HeldSignals, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) -> Result<()> {
        let interval_ns = self.options.interval_ns;
        let (mut window_ns, mut window_bytes) = (clock::monotonic_ns(), 0);
        loop {
            let now_ns = clock::monotonic_ns();
            let resting_ns = self.rests_until_ns.saturating_sub(now_ns);
            let mut fds = vec![signals.as_fd(), self.woken.as_fd()];
            if resting_ns == 0 {
                fds.push(self.listener.as_fd());
            }
            let tick_ns = (!self.clients.is_empty()).then(|| (window_ns + interval_ns).saturating_sub(now_ns));
            let wait_ns = [tick_ns, (resting_ns > 0).then_some(resting_ns)].into_iter().flatten().min();
            let ready = wait_readable(&fds, wait_ns.map(Duration::from_nanos))
                .map_err(|error| Fault::os("wait for clients", error))?;
            if ready[0] && signals.next().is_some() {
                return Ok(());
            }
            if ready.get(2) == Some(&true) {
                let was_idle = self.clients.is_empty();
                if self.accept(hear).is_break() {
                    return Ok(());
                }
                if was_idle {
                    (window_ns, window_bytes) = (clock::monotonic_ns(), self.shared.received_bytes.load(Relaxed));
                }
            }
            if ready[1] && self.take_ends(hear).is_break() {
                return Ok(());
            }
            let now_ns = clock::monotonic_ns();
            if !self.clients.is_empty() && now_ns >= window_ns + interval_ns {
                let bytes = self.shared.received_bytes.load(Relaxed);
                let came = ZcsSaid::Throughput { bytes: bytes - window_bytes, elapsed_ns: now_ns - window_ns };
                if bytes > window_bytes && hear(came).is_break() {
                    return Ok(());
                }
                (window_ns, window_bytes) = (now_ns, bytes);
            }
        }
    }

    /// Takes one client, or turns it away.
    fn accept(&mut self, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) -> ControlFlow<()> {
        let taken = self.listener.accept().and_then(|(stream, address)| Ok((stream.try_clone()?, stream, address)));
        let (twin, stream, address) = match taken {
            Ok(taken) => taken,
            // It has gone again, or a signal came.
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
            Err(error) => return self.rest(Fault::os("take a client", error), hear),
        };
        let client = socket::shown(address);
        if self.clients.len() >= MOST_CLIENTS {
            // One sentence until there is room again: else a stranger could fill the screen.
            let told = std::mem::replace(&mut self.was_full, true);
            return if told {
                ControlFlow::Continue(())
            } else {
                hear(ZcsSaid::Full { client, clients: MOST_CLIENTS })
            };
        }
        let (shared, tell_end, woken) = (Arc::clone(&self.shared), self.tell_end.clone(), Arc::clone(&self.woken));
        let (number, raw, name) = (self.next, self.options.raw, client.clone());
        let serve = move || {
            let end = serve_one(name, &stream, raw, &shared);
            if end.wrong.is_some() {
                // A reset, and not a friendly end: a client that waits for room in our window would otherwise wait for the
                // minute that the kernel keeps such a connection (tcp_fin_timeout). If it fails, that is what it does.
                let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
            }
            drop(stream);
            // Whoever listens takes all ends before it leaves; an eventfd takes many more wake-ups than there are clients.
            drop(tell_end.send((number, end)));
            let _ = rustix::io::write(&*woken, &1_u64.to_ne_bytes());
        };
        let thread = std::thread::Builder::new().name(format!("zcs/{number}")).stack_size(STACK_BYTES).spawn(serve);
        match thread {
            Ok(thread) => {
                self.next += 1;
                self.clients.insert(number, Client { stream: twin, thread });
                hear(ZcsSaid::Came { client })
            }
            Err(error) => self.rest(Fault::os(format!("serve client \"{client}\""), error), hear),
        }
    }

    /// Takes no clients for a while: what is missing now would be missing at once again.
    fn rest(&mut self, fault: Fault, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) -> ControlFlow<()> {
        self.rests_until_ns = clock::monotonic_ns() + REST_NS;
        hear(ZcsSaid::NotTaken(fault))
    }

    /// Tells the ends of clients that have ended.
    fn take_ends(&mut self, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) -> ControlFlow<()> {
        // It says how often it was written to, which nobody wants to know.
        let _ = rustix::io::read(&*self.woken, &mut [0_u8; 8]);
        while let Ok((number, end)) = self.ended.try_recv() {
            self.join(number);
            hear(ZcsSaid::Ended(end))?;
        }
        ControlFlow::Continue(())
    }

    fn join(&mut self, number: u64) {
        if let Some(client) = self.clients.remove(&number) {
            // It has said its last word; a panic after that has nothing left to spoil.
            drop(client.thread.join());
        }
        self.was_full = false;
    }

    /// Hangs up on all clients, and tells their ends as long as somebody hears them.
    fn end(&mut self, hear: &mut dyn FnMut(ZcsSaid) -> ControlFlow<()>) {
        self.shared.stopping.store(true, Relaxed);
        for client in self.clients.values() {
            drop(client.stream.shutdown(Shutdown::Both)); // or it has gone already
        }
        let mut heard = ControlFlow::Continue(());
        while !self.clients.is_empty() {
            let Ok((number, end)) = self.ended.recv() else { return };
            self.join(number);
            if heard.is_continue() {
                heard = hear(ZcsSaid::Ended(end));
            }
        }
    }
}

/// Swallows what one client sends.
fn serve_one(client: String, stream: &TcpStream, raw: bool, shared: &Shared) -> ClientEnd {
    let accepted_ns = clock::monotonic_ns();
    let mut last_ns = accepted_ns;
    let mut decoder = Decoder::default();
    let mut raw_bytes = 0;
    let mut swallow = || -> std::result::Result<(), String> {
        stream.set_read_timeout(Some(IDLE)).map_err(|error| format!("cannot be served: {error}"))?;
        let mut receiver = open_receiver(RecvPath::Recv, stream, READ_BYTES)
            .map_err(|no| format!("cannot be served: {}", no.reason()))?;
        loop {
            let mut announced = true;
            let waits_from_ns = clock::monotonic_ns();
            let received = receiver.receive(Some(&mut |bytes| announced = raw || decoder.take(bytes)));
            match received {
                Ok(0) => break,
                // It would go on for as long as bytes come, shut down or not.
                Ok(_) if shared.stopping.load(Relaxed) => break,
                Ok(bytes) => {
                    last_ns = clock::monotonic_ns();
                    raw_bytes += bytes as u64;
                    shared.received_bytes.fetch_add(bytes as u64, Relaxed);
                }
                Err(_) if clock::monotonic_ns() - waits_from_ns >= IDLE.as_nanos() as u64 => {
                    return Err(format!("has said nothing for {} s", IDLE.as_secs()));
                }
                Err(fault) => {
                    let place = decoder.stopped().filter(|_| !raw).map(|place| format!(" {place}")).unwrap_or_default();
                    return Err(format!("is gone{place}: {}", fault.sentence));
                }
            }
            if !announced {
                return Err("sent more bytes than it had announced".to_owned());
            }
            if decoder.is_done() {
                // An original may wait for us to hang up, or hang up itself; somebody else may have more to say.
                drop(stream.shutdown(Shutdown::Write));
                if tcp::wait_readable(stream, GOODBYE).unwrap_or(false)
                    && receiver.receive(None).is_ok_and(|bytes| bytes > 0)
                {
                    return Err("sent more bytes than it had announced".to_owned());
                }
                return Ok(());
            }
        }
        match decoder.stopped().filter(|_| !raw) {
            Some(place) => Err(format!("stopped {place}")),
            None => Ok(()),
        }
    };
    let swallowed = swallow();
    let wrong = match swallowed {
        Err(_) if shared.stopping.load(Relaxed) => Some("was cut off, as zcs was told to end".to_owned()),
        Ok(()) if raw && shared.stopping.load(Relaxed) => Some("was cut off, as zcs was told to end".to_owned()),
        other => other.err(),
    };
    let tally = if raw { Tally { file_bytes: raw_bytes, ..Tally::default() } } else { decoder.tally() };
    ClientEnd { client, tally, raw, elapsed_ns: last_ns - accepted_ns, wrong }
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
        let options = read(&["-ddh", "-B1", "-p", "0", "-i4096", "-o", "8192", "--raw", "--interval", "1"]).unwrap();
        assert!(options.help && options.raw);
        assert_eq!((options.debug, options.cpu, options.port), (2, Some(1), 0));
        assert_eq!(options.buffers, Buffers { receive: Some(4096), send: Some(8192) });
        assert_eq!(options.interval_ns, 1_000_000_000);
    }

    #[test]
    fn files_are_for_the_client() {
        let fault = read(&["file"]).unwrap_err();
        assert_eq!(fault.sentence, "unexpected argument \"file\"");
        assert_eq!(read(&["-p", "65536"]).unwrap_err().sentence, "-p: port \"65536\" is too large: at most 65535");
    }
}
