//! The sender's thread of a trial with clients: it connects them, opens its path, and serves each
//! when its socket is writable, as a web server does.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox};
use std::time::{Duration, Instant};

use super::super::connection::Connection;
use super::super::counting::Counting;
use super::super::factor::EFFECTS;
use super::super::sending::{SenderReady, Sending};
use super::super::usage::UsedSince;
use super::super::worker::{GLANCE, PATIENCE, Published, Ready, TrialError, pin_to};
use super::accepting::Ports;
use super::access_line::AccessLine;
use super::connecting::connect;
use super::poller::{EventFlags, Poller};
use super::timing;
use crate::meter::Burner;
use crate::path::{self, ClientSender};
use crate::workload::{Piece, Walk};
use zc_kernel::clock::monotonic_ns;
use zc_kernel::tcp;
use zc_run::{Clients, Error, Result, SendCounts, Usage};

/// Clients begin so many files apart: they are not all sent the same at the same time.
pub(crate) const FILES_APART: usize = 17;

/// What a client is sent.
struct Client {
    walk: Walk,
    /// What is being sent, as far as it has not been taken.
    piece: Piece,
    /// Bytes until its end (proofs); `None`: it has none.
    left: Option<u64>,
}

impl Client {
    /// A client that begins at the first piece of `walk`, which has no end.
    fn new(mut walk: Walk, left: Option<u64>) -> Self {
        let piece = walk.next().unwrap_or(Piece { file: 0, offset: 0, len: 0 });
        Self { walk, piece, left }
    }

    fn has_ended(&self) -> bool {
        self.left == Some(0)
    }

    /// What to offer next.
    fn next(&self) -> Piece {
        let most = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        Piece { len: self.piece.len.min(most), ..self.piece }
    }

    /// So many bytes were taken.
    fn took(&mut self, bytes: usize) {
        self.piece.offset += bytes as u64;
        self.piece.len -= bytes.min(self.piece.len);
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes as u64);
        }
        if self.piece.len == 0
            && let Some(next) = self.walk.next()
        {
            self.piece = next;
        }
    }
}

/// The clients, and the path to them.
struct Served<'a> {
    sockets: Arc<[TcpStream]>,
    clients: Vec<Client>,
    sender: Box<dyn ClientSender>,
    poller: Poller,
    burner: Option<Burner>,
    counts: &'a Counting<SendCounts>,
    /// Times that the thread was woken.
    turns: u64,
    /// Clients that are sent more.
    unended: usize,
}

/// Serves clients until `stop`, until each has its bytes, or until an error; then lifts the pacing
/// and drains.
#[expect(clippy::too_many_arguments, reason = "each is what the trial or its other side has")]
pub(super) fn send(
    what: &Sending<'_>,
    clients: Clients,
    ports: &Ports,
    begin: &Inbox<u64>,
    stop: &AtomicBool,
    ready: &Outbox<SenderReady>,
    counts: &Counting<SendCounts>,
    used: &Published<Option<Usage>>,
) -> std::result::Result<(), TrialError> {
    let &Sending { config, link, send_config, to, .. } = what;
    pin_to(&config.sender_cpus())?;
    link.enter_sender()?;
    let _as_clients_have_it = AccessLine::on(link);
    let sender = path::open_client_sender(config.send, &config.setup, clients.count)
        .map_err(TrialError::CannotRun)?;
    let generator = send_config.ack_generator(link);
    let (sockets, noted) = connect(clients.count, to, config, ports, generator)?;
    let is_paced = clients.rate_bytes_per_s.is_finite();
    if is_paced {
        pace(&sockets, Some(clients.rate_bytes_per_s as u64))?;
    }
    let sockets: Arc<[TcpStream]> = sockets.into();
    let socket = Connection::Clients(Arc::clone(&sockets));
    let at_work = Ready { tid: zc_kernel::sched::gettid(), socket };
    let _ = ready.send(SenderReady { ready: at_work, noted });
    send_config.priority.take()?;
    let Ok(begin_ns) = begin.recv() else {
        return Ok(()); // the trial was given up
    };
    let since_begin = UsedSince::now();
    let walk = |client: usize| {
        let first = send_config.first_file + client * FILES_APART;
        let files = &config.setup.files;
        files.walk(first, config.fixed.piece_bytes).aligned(config.fixed.align)
    };
    let mut served = Served {
        clients: (0..clients.count)
            .map(|client| Client::new(walk(client), send_config.stop_after_bytes))
            .collect(),
        sockets,
        sender,
        poller: Poller::new()?,
        burner: config.cell.burn_units_per_mb.map(Burner::new),
        counts,
        turns: 0,
        unended: clients.count,
    };
    let apart_ns = if is_paced { timing::apart_ns(clients, config.fixed.link) } else { 0 };
    served.serve(begin_ns.max(monotonic_ns()), apart_ns, stop)?;
    if is_paced {
        pace(&served.sockets, None)?;
    }
    for socket in served.sockets.iter() {
        EFFECTS.iter().try_for_each(|effect| effect.before_drain(socket.as_fd(), &config.fixed))?;
    }
    served.drain()?;
    counts.set(served.sender.counts());
    used.set(since_begin.and_then(|since| since.usage()));
    for socket in served.sockets.iter() {
        socket
            .shutdown(Shutdown::Write)
            .map_err(|error| Error::os("close a connection for sending", error))?;
    }
    Ok(())
}

/// Sets the rate of all connections, or lifts it.
fn pace(sockets: &[TcpStream], bytes_per_s: Option<u64>) -> Result<()> {
    sockets.iter().try_for_each(|socket| {
        tcp::set_max_pacing_rate(socket, bytes_per_s)
            .map_err(|error| Error::os("set SO_MAX_PACING_RATE", error))
    })
}

impl Served<'_> {
    /// Serves the clients, who begin one after the other within `apart_ns` from `begin_ns` on.
    fn serve(&mut self, begin_ns: u64, apart_ns: u64, stop: &AtomicBool) -> Result<()> {
        let count = self.sockets.len() as u128;
        let due_ns = |client: usize| {
            begin_ns + (u128::from(apart_ns) * client as u128 / count.max(1)) as u64
        };
        // Edge-triggered, as servers have it: a socket that is full says once that it is not.
        let events = EventFlags::OUT | EventFlags::ET;
        let mut begun = 0;
        while self.unended > 0 && !stop.load(Ordering::Relaxed) {
            let now_ns = monotonic_ns();
            while begun < self.sockets.len() && due_ns(begun) <= now_ns {
                self.poller.add(begun, &self.sockets[begun], events)?;
                begun += 1;
            }
            let at_most = match begun < self.sockets.len() {
                true => Duration::from_nanos(due_ns(begun) - now_ns).min(GLANCE),
                false => GLANCE,
            };
            self.turn(at_most)?;
        }
        Ok(())
    }

    /// Waits until clients can be served, and serves them.
    fn turn(&mut self, at_most: Duration) -> Result<()> {
        self.turns += 1;
        let before = self.sender.counts().bytes;
        let mut writable = Vec::new();
        for (client, events) in self.poller.wait(at_most)? {
            if events.contains(EventFlags::ERR) {
                self.sender.look(client, self.sockets[client].as_fd())?;
            }
            if events.contains(EventFlags::OUT) {
                writable.push(client);
            }
        }
        writable.extend(self.sender.refused());
        for client in writable {
            self.offer(client)?;
        }
        if let Some(burner) = &mut self.burner {
            burner.before_piece((self.sender.counts().bytes - before) as usize, self.turns);
        }
        Ok(())
    }

    /// Offers a client what follows until it is full.
    fn offer(&mut self, client: usize) -> Result<()> {
        let to = &mut self.clients[client];
        let mut is_full = to.has_ended();
        while !is_full {
            let offered = self.sender.offer(client, self.sockets[client].as_fd(), to.next())?;
            to.took(offered.taken);
            self.unended -= usize::from(to.has_ended());
            is_full = offered.is_full || to.has_ended();
        }
        self.counts.set(self.sender.counts());
        Ok(())
    }

    /// Waits until the kernel has released all pages.
    fn drain(&mut self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while self.sender.outstanding() > 0 {
            if Instant::now() >= until {
                return Err(Error::failed(
                    "receiver-stalled",
                    format!("{} zero-copy sends were not completed", self.sender.outstanding()),
                ));
            }
            for (client, events) in self.poller.wait(GLANCE)? {
                if events.contains(EventFlags::ERR) {
                    self.sender.look(client, self.sockets[client].as_fd())?;
                }
            }
        }
        self.sender.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::FileSet;

    #[test]
    fn a_client_is_offered_what_it_did_not_take_and_then_what_follows() {
        let (files, _) = FileSet::generate(1, &[]).unwrap();
        let mut client = Client::new(files.walk(0, 1000), Some(1500));
        let first = client.next();
        assert_eq!(first.len, 1000);
        client.took(300);
        assert_eq!(client.next(), Piece { offset: first.offset + 300, len: 700, ..first });
        client.took(700);
        assert_eq!(client.next().len, 500, "what is left of 1500");
        client.took(500);
        assert!(client.has_ended());
    }
}
