//! The client of a zc server: sends requests, checks the answers, and skips those still outstanding
//! after a failure.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::accept::Greeting;
use super::connection::{Connection, Received};
use super::handshake::no_message;
use super::protocol::{
    FarFile, FarPhase, LONGEST_REPLY, LoadWanted, NfsWanted, Prepare, Ready, Reply, Request,
};
use super::secret::SessionKey;
use super::via::Via;
use zc_load::{Fetched, Latencies};
use zc_rig::trial::{
    GLANCE, Limit, RecvConfig, RemoteEnded, RemoteSide, SentFlow, Target, TrialError,
};
use zc_run::address::{ip_text, with_port};
use zc_run::{Error, RemoteWindow, Result};
use zc_servers::{AskedFor, CallsOf, Opened, RemoteLoad};

/// Time allowed for an answer beyond the requested time. Flows arrive, drain and end within ten
/// seconds on the server.
const PATIENCE: Duration = Duration::from_secs(15);

/// Time allowed for compiling and starting an NFS client there, and for opening a file: the client
/// waits 40 s for its server.
const FOR_NFS: Duration = Duration::from_secs(60);

/// Time allowed to it for ending its calls: it waits 15 s for its server.
const FOR_READS: Duration = Duration::from_secs(30);

/// Time for which each address of the server is tried.
const TO_CONNECT: Duration = Duration::from_secs(2);

/// Time for which all addresses of the server are tried: the server waits no longer for the
/// connection.
const TO_MEET: Duration = Duration::from_secs(10);

/// The most addresses that are tried: the server names them, and each is sent a greeting.
const MOST_ADDRESSES: usize = 64;

/// A connection to a zc server with a prepared session.
#[derive(Debug)]
pub struct Client<T> {
    connection: Connection,
    data: SocketAddr,
    /// Length of a requested window that has not been answered.
    window: Option<Duration>,
    /// Time allowed for the answer to a request for a response.
    for_response: Duration,
    /// Time limit of waiting for any answer.
    limit: Limit,
    /// Keeps the stream alive, such as a process. Dropped with this.
    transport: T,
}

/// Keeps a control connection alive.
pub trait Transport: Send {
    /// The last error message of the transport, for when the connection is lost.
    fn last_error(&self) -> Option<String>;
}

/// A connection that needs nothing to keep it alive.
impl Transport for () {
    fn last_error(&self) -> Option<String> {
        None
    }
}

impl Transport for Box<dyn Transport> {
    fn last_error(&self) -> Option<String> {
        (**self).last_error()
    }
}

impl Transport for Via {
    fn last_error(&self) -> Option<String> {
        Self::last_error(self)
    }
}

/// The server as it was reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Description of its machine.
    pub ready: Ready,
    /// Address for flows.
    pub data: SocketAddr,
    /// Round-trip time to that address (tcpi_min_rtt).
    pub rtt_ns: u64,
}

impl<T: Transport> Client<T> {
    /// The client over a connection whose handshake is done. [`prepare`](Self::prepare) comes
    /// first.
    pub fn new(connection: Connection, transport: T) -> Self {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        Self {
            connection,
            data: unknown,
            window: None,
            for_response: PATIENCE,
            limit: Limit::default(),
            transport,
        }
    }

    /// Prepares the server and finds an address for data: `named`, whatever its port, or one of
    /// those that the server reports.
    ///
    /// # Errors
    /// It cannot measure, or cannot be reached at any of them.
    pub fn prepare(&mut self, prepare: Prepare, named: Option<SocketAddr>) -> Result<Found> {
        let mut ready = match self.ask(&Request::Prepare(prepare), PATIENCE)? {
            Reply::Ready(ready) => ready,
            _ => return Err(unexpected()),
        };
        let mut candidates: Vec<SocketAddr> = match named {
            Some(named) => vec![with_port(named, ready.data_port)],
            None => {
                let reported = ready.addresses.iter();
                reported.map(|address| SocketAddr::new(*address, ready.data_port)).collect()
            }
        };
        candidates.truncate(MOST_ADDRESSES);
        let Reply::Listening { greetings } = self.ask(&Request::Meet, PATIENCE)? else {
            return Err(unexpected());
        };
        let greeting =
            greetings.first().and_then(|text| Greeting::of_hex(text)).ok_or_else(unexpected)?;
        let key = self.connection.key();
        let target = |address: &SocketAddr| greeted(*address, greeting, key);
        let until = Instant::now() + TO_MEET;
        let mut in_time = candidates.iter().take_while(|_| Instant::now() < until);
        let Some((data, rtt_ns)) = in_time.find_map(|address| meet(&target(address))) else {
            let id = match candidates.is_empty() {
                true => "far-end-without-address",
                false => "far-end-data-port-unreachable",
            };
            return Err(Error::remote(
                id,
                format!(
                    "the far end cannot be reached for data at port {} of {}",
                    ready.data_port,
                    list(&candidates)
                ),
            )
            .help(
                "a firewall must let TCP to that port through; --far-address names an address \
                that leads there",
            ));
        };
        match self.receive(PATIENCE)? {
            Reply::Met { device } => ready.machine.device = device,
            _ => return Err(unexpected()),
        }
        self.data = data;
        Ok(Found { ready, data, rtt_ns })
    }

    /// Has the server open the connections of a load, in place of [`prepare`](Self::prepare).
    /// Returns whether it runs on this machine.
    ///
    /// # Errors
    /// It refuses, or cannot reach what is to be asked.
    pub fn load(&mut self, wanted: LoadWanted) -> Result<bool> {
        // It waits for a response twice as long as that may take: for a connection, too.
        self.for_response = PATIENCE + 2 * Duration::from_nanos(wanted.timeout_ns);
        match self.ask(&Request::Load(wanted), self.for_response)? {
            Reply::Asks { same_machine } => Ok(same_machine),
            _ => Err(unexpected()),
        }
    }

    /// Has the server start a client of NFS, in place of [`prepare`](Self::prepare). Returns
    /// whether it runs on this machine.
    ///
    /// # Errors
    /// It refuses, or has no such client.
    pub fn nfs(&mut self, wanted: NfsWanted) -> Result<bool> {
        self.for_response = FOR_READS;
        match self.ask(&Request::Nfs(wanted), FOR_NFS)? {
            Reply::Asks { same_machine } => Ok(same_machine),
            _ => Err(unexpected()),
        }
    }

    /// Has that client open a file.
    ///
    /// # Errors
    /// It cannot: as [`Reader::open`](zc_servers::Reader::open).
    pub fn open_nfs(&mut self, file: FarFile) -> Result<Opened> {
        let most = file.most;
        match self.ask(&Request::OpenNfs(file), FOR_NFS)? {
            Reply::OpenedNfs { bytes, largest, crc32 } if bytes <= most => {
                Ok(Opened { bytes, largest, crc32 })
            }
            _ => Err(unexpected()),
        }
    }

    /// Has it begin to read.
    ///
    /// # Errors
    /// It is gone, or does not make such READs.
    pub fn go_nfs(
        &mut self,
        calls: CallsOf,
        depth: usize,
        per_s: Option<f64>,
        begins_in_ns: u64,
    ) -> Result<()> {
        let CallsOf { file, bytes } = calls;
        match self.ask(&Request::GoNfs { file, bytes, depth, per_s, begins_in_ns }, PATIENCE)? {
            Reply::Done => Ok(()),
            _ => Err(unexpected()),
        }
    }

    fn ask(&mut self, request: &Request, patience: Duration) -> Result<Reply> {
        self.connection.send(request)?;
        self.receive(patience)
    }

    fn receive(&mut self, patience: Duration) -> Result<Reply> {
        let gone = |id, message: &str, transport: &T| {
            let help =
                transport.last_error().unwrap_or_else(|| "its own stderr may say why".to_owned());
            Err(Error::remote(id, message).help(help))
        };
        match self.received(patience)? {
            Received::Message(Reply::Error(error)) => Err(error.prefixed("at the far end: ")),
            Received::Message(reply) => Ok(reply),
            Received::Late => {
                gone("far-end-stalled", "the far end does not answer any more", &self.transport)
            }
            Received::Closed => gone("far-end-gone", "the far end has gone away", &self.transport),
            Received::TooLong => Err(unexpected()),
            Received::Nonsense(line) => Err(no_message(&line)),
        }
    }

    /// Waits for a message with a look at the limit every [`GLANCE`].
    fn received(&mut self, patience: Duration) -> Result<Received<Reply>> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.connection.receive(LONGEST_REPLY, left.min(GLANCE))? {
                Received::Late if left > GLANCE => self.limit.check()?,
                received => return Ok(received),
            }
        }
    }

    fn expected(&mut self, request: &Request) -> std::result::Result<Reply, TrialError> {
        match self.ask(request, PATIENCE)? {
            Reply::CannotRun { unavailable: no } => Err(TrialError::CannotRun(no)),
            reply => Ok(reply),
        }
    }
}

impl<T: Transport> RemoteLoad for Client<T> {
    fn fetch(&mut self, origin: usize) -> Result<Fetched> {
        match self.ask(&Request::Fetch { origin }, self.for_response)? {
            Reply::Fetched(fetched) => Ok(fetched),
            _ => Err(unexpected()),
        }
    }

    fn go(&mut self, origin: usize, per_s: Option<f64>, begins_in_ns: u64) -> Result<()> {
        match self.ask(&Request::Go { origin, per_s, begins_in_ns }, PATIENCE)? {
            Reply::Done => Ok(()),
            _ => Err(unexpected()),
        }
    }

    fn pause(&mut self) -> Result<AskedFor> {
        let Reply::Paused(phase) = self.ask(&Request::Pause, self.for_response)? else {
            return Err(unexpected());
        };
        let FarPhase { responses_per_s, responses, body_bytes, fault, up_to_ns, requests } = phase;
        // No machine sends more.
        if !(0.0..1e9).contains(&responses_per_s) {
            return Err(unexpected());
        }
        let latency = Latencies::of_classes(std::iter::zip(up_to_ns, requests));
        Ok(AskedFor {
            responses_per_s: Some(responses_per_s),
            responses,
            body_bytes,
            fault,
            latency,
        })
    }
}

impl<T: Transport> RemoteSide for Client<T> {
    fn proves(&self) -> bool {
        true
    }

    fn limit_to(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn soak(&mut self, on: bool) -> Result<()> {
        match self.ask(&Request::Soak { on }, PATIENCE)? {
            Reply::Done => Ok(()),
            _ => Err(unexpected()),
        }
    }

    fn expect(
        &mut self,
        flows: usize,
        recv_config: RecvConfig,
    ) -> std::result::Result<Vec<Target>, TrialError> {
        // Datagrams stay on this machine: a cell of them is refused before.
        let RecvConfig { path, buffer_bytes, cpus: _, checksum, keying, datagrams: _ } =
            recv_config;
        let Reply::Listening { greetings } =
            self.expected(&Request::Flows { flows, path, buffer_bytes, checksum, keying })?
        else {
            return Err(unexpected().into());
        };
        let targets: Option<Vec<Target>> = greetings
            .iter()
            .map(|text| {
                let greeting = Greeting::of_hex(text)?;
                Some(greeted(self.data, greeting, self.connection.key()))
            })
            .collect();
        targets.filter(|targets| targets.len() == flows).ok_or_else(|| unexpected().into())
    }

    fn await_flows(&mut self) -> std::result::Result<(), TrialError> {
        match self.receive(PATIENCE)? {
            Reply::Arrived => Ok(()),
            Reply::CannotRun { unavailable: no } => Err(TrialError::CannotRun(no)),
            _ => Err(unexpected().into()),
        }
    }

    fn open_window(&mut self, opens_in_ns: u64, lasts_ns: u64) -> Result<()> {
        self.connection.send(&Request::Window { opens_in_ns, lasts_ns })?;
        self.window = Some(Duration::from_nanos(opens_in_ns.saturating_add(lasts_ns)));
        Ok(())
    }

    fn window(&mut self) -> Result<Option<RemoteWindow>> {
        let Some(lasts) = self.window.take() else { return Ok(None) };
        match self.receive(PATIENCE + lasts)? {
            Reply::Window(window) => Ok(Some(window)),
            _ => Err(unexpected()),
        }
    }

    fn finish(
        &mut self,
        _: &[SentFlow<'_>],
        _: f64,
    ) -> std::result::Result<RemoteEnded, TrialError> {
        match self.expected(&Request::Finish)? {
            Reply::Finished { received_bytes, crc32 } => Ok(RemoteEnded {
                received_bytes: Some(
                    received_bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes)),
                ),
                crc32: Some(crc32),
                report: None,
            }),
            _ => Err(unexpected().into()),
        }
    }

    fn give_up(&mut self) {
        let patience = PATIENCE + self.window.take().unwrap_or_default();
        // It may still be answering about what the limit has ended.
        let patience = if self.limit.check().is_err() { GLANCE } else { patience };
        if self.connection.send(&Request::GiveUp).is_err() {
            return; // it is gone, and the next request says so
        }
        // Outstanding answers come first.
        while let Ok(Received::Message(reply)) =
            self.connection.receive::<Reply>(LONGEST_REPLY, patience)
        {
            if reply == Reply::GivenUp {
                return;
            }
        }
    }
}

/// The destination of a connection of the session with this key, which begins with `greeting`.
fn greeted(address: SocketAddr, greeting: Greeting, key: SessionKey) -> Target {
    Target {
        greeting: greeting.bytes().to_vec(),
        answer: greeting.answer(key).to_vec(),
        ..Target::plain(address)
    }
}

/// Connects, sends the greeting, and waits for the answer, which nobody else could give.
fn meet(target: &Target) -> Option<(SocketAddr, u64)> {
    let mut socket = TcpStream::connect_timeout(&target.address, TO_CONNECT).ok()?;
    std::io::Write::write_all(&mut socket, &target.greeting).ok()?;
    if !target.is_answered(&socket, TO_CONNECT) {
        return None;
    }
    let rtt_us = zc_kernel::tcp::info(&socket).map_or(0, |info| info.min_rtt_us);
    Some((target.address, u64::from(rtt_us) * 1000))
}

fn unexpected() -> Error {
    Error::remote("far-end-protocol", "the far end does not answer as zc does")
        .help("is the same version of zc at both ends?")
}

fn list(addresses: &[SocketAddr]) -> String {
    if addresses.is_empty() {
        return "no address".to_owned();
    }
    addresses.iter().copied().map(ip_text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;
    use zc_run::ErrorKind;
    use zc_run::{RecvPath, SoakerKind};

    fn pair() -> [Connection; 2] {
        let (client, server) = UnixStream::pair().unwrap();
        [client, server].map(|end| Connection::new(end.try_clone().unwrap().into(), end.into()))
    }

    fn recv_config() -> RecvConfig {
        let (path, cpus) = (RecvPath::Recv, vec![0]);
        RecvConfig { path, buffer_bytes: 1, cpus, checksum: false, keying: None, datagrams: None }
    }

    fn prepare() -> Prepare {
        Prepare {
            boot_id: String::new(),
            soaked_cpus: Vec::new(),
            sender_cpu: 0,
            soaker: SoakerKind::Alu,
            receiver_cpu: None,
            rcvbuf_bytes: None,
        }
    }

    /// A client whose server has sent `replies` in advance.
    fn client_of(replies: &[Reply]) -> (Client<()>, Connection) {
        let [connection, mut server] = pair();
        for reply in replies {
            server.send(reply).unwrap();
        }
        let client =
            Client { data: SocketAddr::from(([127, 0, 0, 1], 9)), ..Client::new(connection, ()) };
        (client, server)
    }

    #[test]
    fn an_address_at_which_a_stranger_answers_is_not_the_far_end_s() {
        let greeting = Greeting::fresh().unwrap();
        let key = SessionKey::default();
        let met = |said: &[u8]| {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let (mut socket, _) = listener.accept().unwrap();
                    socket.read_exact(&mut greeting.bytes()).unwrap();
                    std::io::Write::write_all(&mut socket, said).unwrap();
                });
                let met = meet(&greeted(address, greeting, key));
                met.is_some_and(|(met, _)| met == address)
            })
        };
        assert!(met(&greeting.answer(key)));
        let another = Greeting::fresh().unwrap().answer(key);
        for said in [&b"!"[..], &another, &greeting.answer(key)[..31]] {
            assert!(!met(said), "{said:?}");
        }
    }

    #[test]
    fn of_a_far_end_that_names_hundreds_of_addresses_a_few_are_tried() {
        // Nothing listens at this port: it has been closed.
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let ready = Ready {
            machine: zc_run::RemoteMachine {
                zc_version: String::new(),
                host: Default::default(),
                same_machine: false,
                receiver_cpu: 0,
                soaked_cpus: Vec::new(),
                device: None,
            },
            data_port: closed.port(),
            addresses: vec![closed.ip(); 500],
            warnings: Vec::new(),
        };
        let listening = Reply::Listening { greetings: vec![Greeting::fresh().unwrap().to_hex()] };
        let (mut client, _server) = client_of(&[Reply::Ready(ready), listening]);
        let error = client.prepare(prepare(), None).unwrap_err();
        assert_eq!(error.message.matches("127.0.0.1").count(), MOST_ADDRESSES, "{error}");
    }

    #[test]
    fn an_answer_to_another_request_is_an_error() {
        let (mut client, _server) = client_of(&[Reply::Arrived]);
        assert_eq!(client.soak(true).unwrap_err().kind, ErrorKind::Remote);
        let greetings = |greetings: &[&str]| Reply::Listening {
            greetings: greetings.iter().map(|&text| text.into()).collect(),
        };
        for reply in [
            Reply::Done,
            greetings(&[]),
            greetings(&["abc"]),
            greetings(&["+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1"]),
        ] {
            let (mut client, _server) = client_of(&[reply]);
            let Err(TrialError::Broke(error)) = client.expect(1, recv_config()) else { panic!() };
            assert_eq!(error.kind, ErrorKind::Remote);
        }
    }

    #[test]
    fn a_line_that_something_else_prints_into_the_stream_is_shown() {
        let (mut client, mut server) = client_of(&[]);
        server.write_all(b"Broadcast message: reboot at noon\n").unwrap();
        let error = client.soak(true).unwrap_err();
        assert_eq!(error.id, "far-end-protocol");
        assert!(error.message.contains("\"Broadcast message: reboot at noon\""), "{error}");
        assert!(error.help.unwrap().contains("must be silent"));
    }

    #[test]
    fn an_error_of_the_server_keeps_its_kind_and_fails_only_the_trial() {
        let error = Reply::Error(Error::failed("receiver-broke", "a receiver broke"));
        let (mut client, _server) = client_of(&[error]);
        let Err(TrialError::Broke(error)) = client.finish(&[], 0.0) else { panic!() };
        assert_eq!((error.kind, &*error.id), (ErrorKind::Failed, "receiver-broke"));
        assert!(error.message.contains("a receiver broke"), "{error}");
    }

    #[test]
    fn outstanding_answers_are_skipped_when_flows_are_given_up() {
        let (mut client, mut server) =
            client_of(&[Reply::Window(RemoteWindow::default()), Reply::GivenUp, Reply::Done]);
        client.open_window(0, 0).unwrap();
        client.give_up();
        client.soak(false).unwrap();
        // The requests arrived as sent.
        for _ in 0..3 {
            assert!(matches!(
                server.receive::<Request>(1000, Duration::from_secs(5)).unwrap(),
                Received::Message(_)
            ));
        }
    }

    #[test]
    fn a_server_that_is_gone_is_a_remote_error() {
        let (mut client, server) = client_of(&[]);
        drop(server);
        assert_eq!(client.soak(true).unwrap_err().kind, ErrorKind::Remote);
        client.give_up();
        let [connection, server] = pair();
        drop(server);
        let error = Client::new(connection, ()).prepare(prepare(), None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Remote);
    }
}
