//! Authenticates clients and bounds what unauthenticated ones can cost.
//!
//! One thread polls all pending connections. Each costs at most [`MOST_BYTES`] and `PATIENCE`, and
//! there are at most `MOST_PENDING`. When another one arrives, the oldest of the source that has
//! the most is dropped: a client that knows the token needs one round trip, and in that time nobody
//! else can take its place, however fast connections come from elsewhere. Among those of its own
//! source it is dropped once `MOST_PENDING` others have come.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::guesses::{Guesses, Source};
use super::handshake::{Answer, Challenge, Heard, Known, Line, MOST_BYTES};
use super::reject_log::{ListenerEvent, RejectLog, RejectReason};
use super::secret::Secret;
use zc_kernel::spawn::wait_readable;
use zc_kernel::stop::Stop;
use zc_run::{Error, Result};

/// Limit of pending connections.
const MOST_PENDING: usize = 256;
/// Time allowed for each to authenticate.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections accepted at once, before the pending ones are read again.
const ACCEPTED_AT_ONCE: usize = 32;
/// Interval at which the stop flag is checked.
const STEP: Duration = Duration::from_millis(50);
/// Pause of accepting after descriptors or memory ran out.
const REST: Duration = Duration::from_millis(100);
/// Backlog of listen(2) between sessions.
const BACKLOG: i32 = 128;

/// Interval at which pending connections are served during a session, whatever arrives.
const SESSION_STEP: Duration = Duration::from_millis(250);
/// Connections accepted per interval during a session: 16 per second, 80 pending, about 500 system
/// calls per second, which is about 0.1 % of a CPU.
const SESSION_ACCEPTED: usize = 4;
/// Backlog of listen(2) during a session: no more than is accepted within a second. What the kernel
/// itself spends on a flood of SYNs cannot be limited here.
const SESSION_BACKLOG: i32 = 16;

/// A listening socket, its pending connections, and the secret that authenticates clients.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    secret: Secret,
    /// The secret was a one-time token and has been used.
    used_up: bool,
    /// Oldest first.
    pending: VecDeque<PendingConnection>,
    rests_until: Option<Instant>,
    rejects: RejectLog,
    guesses: Guesses,
}

/// An authenticated client.
#[derive(Debug)]
pub struct AcceptedClient {
    /// The control connection after the handshake.
    pub connection: Connection,
    /// Address of the client.
    pub peer: SocketAddr,
    /// Local address of the connection.
    pub local: SocketAddr,
    /// The client's version of zc: letters, digits, `.`, `+` and `-`.
    pub version: String,
}

#[derive(Debug)]
struct PendingConnection {
    stream: TcpStream,
    peer: SocketAddr,
    since: Instant,
    challenge: Challenge,
    said: Vec<u8>,
}

/// Result of reading a pending connection.
enum Turn {
    /// Its answer is not complete.
    Pending,
    /// It is rejected.
    Rejected(RejectReason),
    /// It has proven the token.
    Authenticated(Known),
}

impl Listener {
    /// Makes a listening socket the listener.
    ///
    /// # Errors
    /// It cannot be made non-blocking.
    pub fn new(listener: TcpListener, secret: Secret) -> Result<Self> {
        listener
            .set_nonblocking(true)
            .map_err(|error| Error::os("make the listener non-blocking", error))?;
        Ok(Self {
            listener,
            secret,
            used_up: false,
            pending: VecDeque::new(),
            rests_until: None,
            rejects: RejectLog::default(),
            guesses: Guesses::default(),
        })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// None known.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener
            .local_addr()
            .map_err(|error| Error::os("ask for the listener's address", error))
    }

    /// Replaces the secret, also for connections that are pending.
    pub fn change_secret(&mut self, secret: Secret) {
        self.secret = secret;
        self.used_up = false;
    }

    /// Waits for a client that knows the token. `None` once `stop` is set, which is noticed within
    /// 50 ms. `report` receives rejections, limited in rate.
    ///
    /// # Errors
    /// poll(2) fails, or the kernel gives no random bytes.
    pub fn next(
        &mut self,
        stop: &Stop,
        report: &mut dyn FnMut(ListenerEvent),
    ) -> Result<Option<AcceptedClient>> {
        self.set_backlog(BACKLOG)?;
        while !stop.is_set() {
            let now = Instant::now();
            self.rejects.catch_up(now, report);
            self.reject_slow(now, report);
            let rests = self.rests_until.is_some_and(|until| now < until);
            let mut fds: Vec<_> =
                self.pending.iter().map(|pending| pending.stream.as_fd()).collect();
            if !rests {
                fds.push(self.listener.as_fd());
            }
            // A deadline is exceeded by one step at most, which is harmless.
            let ready = wait_readable(&fds, Some(STEP))
                .map_err(|error| Error::os("wait for clients", error))?;
            // Backwards, so that removals do not move the earlier entries.
            for place in (0..self.pending.len()).rev().filter(|&place| ready[place]) {
                if let Some((pending, known)) = self.receive(place, report)
                    && let Some(client) = self.admit(pending, known)
                {
                    return Ok(Some(client));
                }
            }
            if !rests && ready.last() == Some(&true) {
                self.accept(ACCEPTED_AT_ONCE, report)?;
            }
        }
        Ok(None)
    }

    /// Answers authenticated clients that the server is busy, while a session runs on another
    /// thread, until `done` is set (noticed within 50 ms).
    ///
    /// It wakes four times per second and not on events, so that clients cannot take CPU time from
    /// the measurement.
    ///
    /// # Errors
    /// Same as [`next`](Self::next).
    pub fn turn_away(&mut self, done: &Stop, report: &mut dyn FnMut(ListenerEvent)) -> Result<()> {
        self.set_backlog(SESSION_BACKLOG)?;
        let mut looks_at = Instant::now() + SESSION_STEP;
        while !done.is_set() {
            wait_readable(&[], Some(STEP))
                .map_err(|error| Error::os("wait for the session's end", error))?;
            let now = Instant::now();
            if now < looks_at {
                continue;
            }
            looks_at = now + SESSION_STEP;
            self.rejects.catch_up(now, report);
            self.reject_slow(now, report);
            for place in (0..self.pending.len()).rev() {
                if let Some((mut pending, known)) = self.receive(place, report) {
                    self.rejects.report(ListenerEvent::Busy { peer: pending.peer }, report);
                    pending.send(&known.busy(&self.secret));
                }
            }
            self.accept(SESSION_ACCEPTED, report)?;
        }
        Ok(())
    }

    /// Sets the backlog. listen(2) on a listening socket changes only that.
    fn set_backlog(&self, backlog: i32) -> Result<()> {
        rustix::net::listen(&self.listener, backlog).map_err(|error| Error::os("listen", error))
    }

    fn reject_slow(&mut self, now: Instant, report: &mut dyn FnMut(ListenerEvent)) {
        while self
            .pending
            .front()
            .is_some_and(|pending| now.duration_since(pending.since) >= PATIENCE)
        {
            self.reject(0, RejectReason::Slow, report);
        }
    }

    fn reject(&mut self, place: usize, why: RejectReason, report: &mut dyn FnMut(ListenerEvent)) {
        if let Some(mut pending) = self.pending.remove(place) {
            // A peer that made no error gets no refusal.
            if !matches!(why, RejectReason::Slow | RejectReason::Left | RejectReason::Crowded) {
                pending.send(&Line::Refused);
            }
            if why == RejectReason::WrongToken {
                self.guesses.note(Instant::now(), pending.peer.ip().into());
            }
            self.rejects.report(ListenerEvent::Refused { peer: pending.peer, why }, report);
        }
    }

    /// Reads one pending connection. It is removed when it is rejected, and returned when it has
    /// authenticated.
    fn receive(
        &mut self,
        place: usize,
        report: &mut dyn FnMut(ListenerEvent),
    ) -> Option<(PendingConnection, Known)> {
        match self.pending.get_mut(place)?.turn(&self.secret, self.used_up) {
            Turn::Pending => None,
            Turn::Rejected(why) => {
                self.reject(place, why, report);
                None
            }
            Turn::Authenticated(known) => Some((self.pending.remove(place)?, known)),
        }
    }

    /// Admits a client that knows the token. `None` if it has closed the connection meanwhile.
    fn admit(&mut self, mut pending: PendingConnection, known: Known) -> Option<AcceptedClient> {
        if !pending.send(&known.welcome(&self.secret)) {
            return None;
        }
        pending.stream.set_nonblocking(false).ok()?;
        let (peer, local) = (pending.peer, pending.stream.local_addr().ok()?);
        let key = known.session_key(&self.secret);
        let version = known.version().to_owned();
        let connection = Connection::over(pending.stream).ok()?.with_key(key);
        self.used_up = self.secret.is_one_time();
        Some(AcceptedClient { connection, peer, local, version })
    }

    /// The place of the oldest connection of the source that has the most.
    fn most_crowded(&self) -> usize {
        let mut of_source: HashMap<Source, usize> = HashMap::new();
        for pending in &self.pending {
            *of_source.entry(pending.peer.ip().into()).or_default() += 1;
        }
        let most = of_source.values().max();
        let is_of_most =
            |pending: &PendingConnection| of_source.get(&pending.peer.ip().into()) == most;
        self.pending.iter().position(is_of_most).unwrap_or(0)
    }

    /// Accepts up to `most` connections.
    fn accept(&mut self, most: usize, report: &mut dyn FnMut(ListenerEvent)) -> Result<()> {
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return Ok(());
        }
        self.rests_until = None;
        for _ in 0..most {
            let accepted = self.listener.accept().and_then(|(stream, peer)| {
                stream.set_nonblocking(true)?;
                Ok((stream, peer))
            });
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(error) => {
                    // No descriptors or no memory. The connection stays in the backlog, so poll(2)
                    // would return at once. Dropping a pending connection makes room.
                    self.rests_until = Some(Instant::now() + REST);
                    self.reject(self.most_crowded(), RejectReason::Crowded, report);
                    self.rejects.report(
                        ListenerEvent::NotAccepted(Error::os("accept a connection", error)),
                        report,
                    );
                    return Ok(());
                }
            };
            if self.guesses.exhausted(Instant::now(), peer.ip().into()) {
                let why = RejectReason::Guesses;
                self.rejects.report(ListenerEvent::Refused { peer, why }, report);
                continue;
            }
            if self.pending.len() >= MOST_PENDING {
                self.reject(self.most_crowded(), RejectReason::Crowded, report);
            }
            let challenge = Challenge::fresh()?;
            let mut pending = PendingConnection {
                stream,
                peer,
                since: Instant::now(),
                challenge,
                said: Vec::new(),
            };
            let hello = pending.challenge.line();
            if pending.send(&hello) {
                self.pending.push_back(pending);
            }
        }
        Ok(())
    }
}

impl PendingConnection {
    /// Sends one line and returns whether that succeeded. A socket that does not take a few hundred
    /// bytes has no peer.
    fn send(&mut self, line: &Line) -> bool {
        let Ok(mut line) = serde_json::to_vec(line) else { return false };
        line.push(b'\n');
        matches!(self.stream.write(&line), Ok(len) if len == line.len())
    }

    /// Reads what is there, without waiting.
    fn turn(&mut self, secret: &Secret, used_up: bool) -> Turn {
        let mut chunk = [0; MOST_BYTES + 1];
        match self.stream.read(&mut chunk[self.said.len()..]) {
            Ok(0) => return Turn::Rejected(RejectReason::Left),
            Ok(len) => {
                let from = self.said.len();
                self.said.extend_from_slice(&chunk[from..from + len]);
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return Turn::Pending;
            }
            Err(_) => return Turn::Rejected(RejectReason::Left),
        }
        let answer = match self.challenge.hear(&self.said, secret) {
            Heard::Part => return Turn::Pending,
            Heard::TooLong => return Turn::Rejected(RejectReason::TooLong),
            Heard::Answer(answer) => answer,
        };
        match answer {
            Answer::Right(_) if used_up => Turn::Rejected(RejectReason::UsedUp),
            Answer::Right(known) => Turn::Authenticated(known),
            Answer::WrongToken => Turn::Rejected(RejectReason::WrongToken),
            Answer::OtherProtocol(protocol) => {
                Turn::Rejected(RejectReason::OtherProtocol(protocol))
            }
            Answer::Nonsense => Turn::Rejected(RejectReason::Nonsense),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::mpsc;

    use super::super::guesses::MOST_GUESSES;
    use super::super::handshake::{PROTOCOL, authenticate};
    use super::*;

    const SOON: Duration = Duration::from_secs(20);
    const WORD: &str = "the word of the day";

    /// A listener on a port of its own, served by a thread that passes on the admitted clients.
    struct TestServer {
        address: SocketAddr,
        clients: mpsc::Receiver<AcceptedClient>,
        events: mpsc::Receiver<ListenerEvent>,
        stop: Stop,
        thread: Option<std::thread::JoinHandle<Result<()>>>,
    }

    impl TestServer {
        /// `busy`: a session is in progress.
        fn new(secret: Secret, busy: bool) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let mut listener = Listener::new(listener, secret).unwrap();
            let stop = Stop::default();
            let ((admitted, clients), (report, events)) = (mpsc::channel(), mpsc::channel());
            let until = stop.clone();
            let thread = std::thread::spawn(move || {
                let mut report = |event| drop(report.send(event));
                if busy {
                    return listener.turn_away(&until, &mut report);
                }
                while let Some(client) = listener.next(&until, &mut report)? {
                    drop(admitted.send(client));
                }
                Ok(())
            });
            Self { address, clients, events, stop, thread: Some(thread) }
        }

        fn pending(&self) -> TcpStream {
            let stream = TcpStream::connect(self.address).unwrap();
            stream.set_read_timeout(Some(SOON)).unwrap();
            stream
        }

        fn authenticate(&self, word: &str) -> Result<Connection> {
            authenticate(Connection::over(self.pending())?, &Secret::from_word(word)?, SOON)
        }

        /// A client that knows the token is admitted, and messages pass.
        fn admits_a_client(&self) {
            let mut client = self.authenticate(WORD).unwrap();
            let mut accepted = self.clients.recv_timeout(SOON).unwrap();
            assert_eq!(accepted.local, self.address);
            assert!(accepted.peer.ip().is_loopback());
            client.send(&7).unwrap();
            assert!(matches!(
                accepted.connection.receive::<i32>(10, SOON).unwrap(),
                super::super::connection::Received::Message(7)
            ));
        }

        fn why(&self) -> RejectReason {
            match self.events.recv_timeout(SOON).unwrap() {
                ListenerEvent::Refused { why, .. } => why,
                other => panic!("{other:?}"),
            }
        }
    }

    impl Drop for TestServer {
        fn drop(&mut self) {
            self.stop.set();
            let end = self.thread.take().unwrap().join();
            if !std::thread::panicking() {
                end.unwrap().unwrap();
            }
        }
    }

    fn secret() -> Secret {
        Secret::from_word(WORD).unwrap()
    }

    fn line(stream: &TcpStream) -> String {
        let mut line = String::new();
        BufReader::with_capacity(1, stream).read_line(&mut line).unwrap();
        line
    }

    /// Everything that the peer sends until it closes or resets the connection.
    fn rest(mut stream: TcpStream) -> String {
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(
                error.kind(),
                io::ErrorKind::ConnectionReset,
                "the connection is still open: {error}"
            );
        }
        String::from_utf8(rest).unwrap()
    }

    #[test]
    fn a_client_with_the_token_is_admitted_and_one_without_is_refused_without_a_reason() {
        let server = TestServer::new(secret(), false);
        server.admits_a_client();
        let error = server.authenticate("the word of yesterday").unwrap_err();
        assert_eq!(error.id, "token-refused");
        assert_eq!(server.why(), RejectReason::WrongToken);
        let error =
            authenticate(Connection::over(server.pending()).unwrap(), &Secret::open(), SOON)
                .unwrap_err();
        assert_eq!(error.id, "token-missing");
        assert_eq!(server.why(), RejectReason::WrongToken);
        server.admits_a_client();
    }

    #[test]
    fn a_listener_without_a_token_admits_clients_without_one() {
        let server = TestServer::new(Secret::open(), false);
        authenticate(Connection::over(server.pending()).unwrap(), &Secret::open(), SOON).unwrap();
        server.clients.recv_timeout(SOON).unwrap();
    }

    #[test]
    fn a_recorded_handshake_cannot_be_replayed() {
        let server = TestServer::new(secret(), false);
        // An eavesdropper that forwards everything and records what the client sends.
        let path = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(path.local_addr().unwrap()).unwrap();
        let (mut from_client, _) = path.accept().unwrap();
        let to_server = server.pending();
        let recorded = std::thread::scope(|scope| {
            let authenticating =
                scope.spawn(|| authenticate(Connection::over(client).unwrap(), &secret(), SOON));
            from_client.write_all(line(&to_server).as_bytes()).unwrap();
            let recorded = line(&from_client);
            (&to_server).write_all(recorded.as_bytes()).unwrap();
            from_client.write_all(line(&to_server).as_bytes()).unwrap();
            authenticating.join().unwrap().unwrap();
            recorded
        });
        server.clients.recv_timeout(SOON).unwrap();
        assert!(recorded.contains("\"zc\":\"knock\"") && !recorded.contains(WORD), "{recorded}");
        let mut replay = server.pending();
        line(&replay);
        replay.write_all(recorded.as_bytes()).unwrap();
        assert_eq!(rest(replay), "{\"zc\":\"refused\"}\n");
        assert_eq!(server.why(), RejectReason::WrongToken);
    }

    #[test]
    fn a_one_time_token_opens_one_session() {
        let (once, word) = Secret::one_time().unwrap();
        let server = TestServer::new(once, false);
        server.authenticate("another word altogether").unwrap_err();
        assert_eq!(server.why(), RejectReason::WrongToken);
        server.authenticate(&word).unwrap();
        let error = server.authenticate(&word).unwrap_err();
        assert_eq!(error.id, "token-refused");
        assert_eq!(server.why(), RejectReason::UsedUp);
    }

    #[test]
    fn after_a_change_of_the_secret_the_new_one_authenticates() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut listener = Listener::new(listener, Secret::one_time().unwrap().0).unwrap();
        listener.change_secret(secret());
        assert_eq!(listener.address().unwrap(), address);
        let authenticating = std::thread::spawn(move || {
            authenticate(
                Connection::over(TcpStream::connect(address).unwrap()).unwrap(),
                &secret(),
                SOON,
            )
            .map(drop)
        });
        assert!(listener.next(&Stop::default(), &mut |_| {}).unwrap().is_some());
        authenticating.join().unwrap().unwrap();
        assert!(listener.next(&Stop::already(), &mut |_| {}).unwrap().is_none());
    }

    #[test]
    fn a_peer_that_sends_anything_but_the_protocol_is_refused() {
        let server = TestServer::new(secret(), false);
        let proof = "0".repeat(64);
        let newer = format!(
            "{{\"zc\":\"knock\",\"protocol\":9,\"version\":\"9\",\"nonce\":\"{proof}\",\
             \"proof\":\"{proof}\"}}\n"
        );
        for (said, why) in [
            ("GET / HTTP/1.1\r\n", RejectReason::Nonsense),
            ("\0\u{7f}\n", RejectReason::Nonsense),
            ("{\"zc\":\"knock\"}\n", RejectReason::Nonsense),
            (&newer.replace(":9,", &format!(":{PROTOCOL},")), RejectReason::WrongToken),
            (&newer, RejectReason::OtherProtocol(9)),
        ] {
            let mut pending = server.pending();
            let begins = format!("{{\"zc\":\"serve\",\"protocol\":{PROTOCOL},\"version\":");
            assert!(line(&pending).starts_with(&begins));
            pending.write_all(said.as_bytes()).unwrap();
            assert_eq!(rest(pending), "{\"zc\":\"refused\"}\n", "{said}");
            assert_eq!(server.why(), why, "{said}");
        }
        server.admits_a_client();
    }

    #[test]
    fn a_mebibyte_without_an_end_is_not_read() {
        let server = TestServer::new(secret(), false);
        let mut pending = server.pending();
        // It may be cut off before all is sent.
        drop(pending.write_all(&vec![b'x'; 1 << 20]));
        assert_eq!(server.why(), RejectReason::TooLong);
        drop(rest(pending));
        server.admits_a_client();
    }

    #[test]
    fn a_peer_that_sends_half_a_line_is_dropped_in_time_or_leaves() {
        let server = TestServer::new(secret(), false);
        let (mut silent, mut leaves) = (server.pending(), server.pending());
        silent.write_all(b"{\"zc\":").unwrap();
        leaves.write_all(b"{\"zc\":").unwrap();
        drop(leaves);
        server.admits_a_client();
        assert_eq!(server.why(), RejectReason::Left);
        line(&silent);
        assert_eq!(rest(silent), "");
        assert_eq!(server.why(), RejectReason::Slow);
    }

    #[test]
    fn three_hundred_silent_connections_delay_no_client() {
        let server = TestServer::new(secret(), false);
        let silent: Vec<TcpStream> = (0..300).map(|_| server.pending()).collect();
        let began = Instant::now();
        server.admits_a_client();
        // Not because they were dropped for their silence.
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        assert_eq!(server.why(), RejectReason::Crowded);
        drop(silent);
    }

    /// A connection from one of the addresses of loopback.
    fn connect_from(source: [u8; 4], to: SocketAddr) -> TcpStream {
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        )
        .unwrap();
        rustix::net::bind(&socket, &SocketAddr::from((source, 0))).unwrap();
        rustix::net::connect(&socket, &to).unwrap();
        TcpStream::from(socket)
    }

    #[test]
    fn a_client_far_away_keeps_its_place_whoever_else_knocks_meanwhile() {
        let server = TestServer::new(secret(), false);
        let slow = server.pending();
        // More than there are places, while the client's answer is under way.
        let flood: Vec<TcpStream> =
            (0..300).map(|_| connect_from([127, 0, 0, 2], server.address)).collect();
        assert_eq!(server.why(), RejectReason::Crowded);
        authenticate(Connection::over(slow).unwrap(), &secret(), SOON).unwrap();
        server.clients.recv_timeout(SOON).unwrap();
        drop(flood);
    }

    #[test]
    fn at_the_address_of_a_flood_a_client_has_the_time_in_which_256_connections_come() {
        // The client's round trip is that long: it answers when the others have come.
        for (others, is_kept) in [(MOST_PENDING - 1, true), (MOST_PENDING, false)] {
            let server = TestServer::new(secret(), false);
            let slow = server.pending();
            let flood: Vec<TcpStream> = (0..others).map(|_| server.pending()).collect();
            // Each of them has been accepted.
            flood.iter().for_each(|stream| assert!(!line(stream).is_empty()));
            let admitted = authenticate(Connection::over(slow).unwrap(), &secret(), SOON);
            assert_eq!(admitted.is_ok(), is_kept, "{others}");
        }
    }

    #[test]
    fn who_guesses_tokens_is_not_heard_for_a_while_and_others_are() {
        let server = TestServer::new(secret(), false);
        for _ in 0..MOST_GUESSES {
            server.authenticate("not the word of the day").unwrap_err();
        }
        // Not even with the right one.
        assert!(server.authenticate(WORD).is_err());
        let elsewhere = connect_from([127, 0, 0, 2], server.address);
        authenticate(Connection::over(elsewhere).unwrap(), &secret(), SOON).unwrap();
        server.clients.recv_timeout(SOON).unwrap();
    }

    #[test]
    fn ten_thousand_connections_lock_no_client_out() {
        let server = TestServer::new(secret(), false);
        let (flooding, admitted) = (AtomicBool::new(true), AtomicUsize::new(0));
        let until = Instant::now() + 3 * SOON;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut open, mut made) = (VecDeque::new(), 0);
                // It goes on until a client got in, which one that is locked out never does.
                while (made < 10_000 || admitted.load(Relaxed) == 0) && Instant::now() < until {
                    // One that finds no room in the backlog would wait a second for the next SYN.
                    let waits = Duration::from_millis(1);
                    if let Ok(stream) = TcpStream::connect_timeout(&server.address, waits) {
                        open.push_back(stream);
                        made += 1;
                    }
                    // Some stay open: as many as leave room for other tests of this process under
                    // the usual limit of 1024.
                    if open.len() > 300 || made % 2 == 0 {
                        open.pop_front();
                    }
                }
                flooding.store(false, Relaxed);
                assert!(made >= 10_000, "{made}");
            });
            while flooding.load(Relaxed) {
                // On a busy machine 256 connections may arrive between a client's two steps. Then
                // it tries again.
                if server.authenticate(WORD).is_ok() {
                    server.clients.recv_timeout(SOON).unwrap();
                    admitted.fetch_add(1, Relaxed);
                }
            }
        });
        assert!(admitted.into_inner() > 0);
        server.admits_a_client();
        // Five events per ten seconds and a number are reported.
        let events = server.events.try_iter().count();
        assert!(events < 100, "{events}");
    }

    #[test]
    fn during_a_session_clients_with_the_token_learn_of_it_and_others_are_refused() {
        let server = TestServer::new(secret(), true);
        let error = server.authenticate(WORD).unwrap_err();
        assert_eq!(error.id, "far-end-busy");
        assert!(matches!(server.events.recv_timeout(SOON).unwrap(), ListenerEvent::Busy { .. }));
        let error = server.authenticate("another word altogether").unwrap_err();
        assert_eq!(error.id, "token-refused");
        assert_eq!(server.why(), RejectReason::WrongToken);
    }

    #[test]
    fn during_a_session_a_flood_is_accepted_slowly_and_a_client_behind_it_is_answered() {
        let server = TestServer::new(secret(), true);
        // Without waiting for connections that find no room in the backlog.
        let flood: Vec<_> = (0..1000)
            .filter_map(|_| {
                TcpStream::connect_timeout(&server.address, Duration::from_millis(1)).ok()
            })
            .collect();
        // The size of the backlog, one more by the kernel's way of counting, and what was accepted
        // meanwhile.
        assert!(flood.len() < 500, "{}", flood.len());
        // The kernel itself would knock again after one, two and four seconds.
        let until = Instant::now() + SOON;
        let client = std::iter::repeat_with(|| {
            TcpStream::connect_timeout(&server.address, Duration::from_millis(100))
        });
        let client = client.take_while(|_| Instant::now() < until).find_map(std::io::Result::ok);
        let client = Connection::over(client.expect("there is room again")).unwrap();
        let answer = authenticate(client, &Secret::from_word(WORD).unwrap(), SOON);
        assert_eq!(answer.unwrap_err().id, "far-end-busy");
    }
}
