//! The server: answers the requests of one session, from the first one to the end of the stream.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use super::accept::{Greeting, gather};
use super::asking::Asking;
use super::connection::{Connection, Received};
use super::protocol::{LONGEST_REQUEST, Prepare, Ready, Reply, Request};
use super::reading::Reads;
use zc_kernel::clock::monotonic_ns;
use zc_kernel::netlink::Devices;
use zc_kernel::source_filter::{accept_only_from, lift};
use zc_kernel::stop::Stop;
use zc_rig::link::device_towards;
use zc_rig::meter::{self, Environment, InstanceLock, checks};
use zc_rig::path::receive_memory_bytes;
use zc_rig::trial::{self, GLANCE, Machine, Receivers, RecvConfig, StillWanted, TrialError};
use zc_rig::workload::available_bytes;
use zc_run::address::{canonical, with_port};
use zc_run::{Error, RemoteMachine, Result, Severity, Warning};

/// A session without requests for this long is over. The client may read files of many gigabytes
/// meanwhile.
const IDLE: Duration = Duration::from_secs(600);

/// Time allowed for flows to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// Message to a client when the server is stopped.
const STOPPED: &str = "the far end was stopped";

/// Requests in succession that may arrive before the answer to the one before has been sent. The
/// client sends at most one: that it gives up the flows.
const MOST_AHEAD: u32 = 4;

/// Limit of flows of a trial.
const MOST_FLOWS: usize = 1024;

/// Limit of the receivers' memory, on any machine.
const MOST_BUFFER_BYTES: usize = 4 << 30;

/// Limit of it as a share of the memory that is available.
const MOST_OF_AVAILABLE: u64 = 2;

/// Limit of a window's length, and of the delay before it.
const LONGEST_WINDOW_NS: u64 = 120_000_000_000;

/// Address and port at which flows arrive.
#[derive(Debug, Clone, Copy)]
pub struct DataPort {
    /// Address and port to listen on. Port 0 takes a free one.
    pub at: SocketAddr,
    /// Whether another port may be used if this one is taken.
    pub or_another: bool,
    /// The only address that may connect to it, from any port; `None` where the client's is not
    /// known.
    pub from: Option<SocketAddr>,
}

/// Duties of a session besides receiving and making requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duties {
    /// Nothing else.
    Usual,
    /// A client of NFS too, which runs programs and mounts as the user that this process has.
    ReadsNfs,
    /// In place of all else: it makes a run of its own ([`errand`](crate::errand)).
    Runs,
}

/// Why a session has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client has closed the stream.
    Closed,
    /// The server was stopped.
    Stopped,
    /// No request for ten minutes.
    Idle,
    /// An invalid request, or many before the answer to the first.
    Nonsense,
}

/// Serves one session over an authenticated connection.
///
/// # Errors
/// The stream broke. Failed requests are reported to the client, and the session goes on.
pub fn serve(
    mut connection: Connection,
    data: DataPort,
    duties: Duties,
    stop: &Stop,
) -> Result<SessionEnd> {
    let mut work: Option<Work> = None;
    let mut ahead = 0;
    let peer = connection.peer()?;
    // Every wait of a request ends soon after a stop, or when nobody is there for its answer.
    let still_wanted = || match () {
        () if stop.is_set() => Err(Error::remote("far-end-stopped", STOPPED)),
        () if peer.is_gone() => Err(Error::remote("client-gone", "the client is gone")),
        () => Ok(()),
    };
    loop {
        let request = match receive(&mut connection, stop)? {
            Ok(request) => request,
            Err(end) => {
                if end != SessionEnd::Closed {
                    let (id, message) = match end {
                        SessionEnd::Stopped => ("far-end-stopped", STOPPED),
                        SessionEnd::Idle => (
                            "client-idle",
                            "the far end received no request for ten minutes and ended the session",
                        ),
                        _ => ("protocol", "the far end did not understand what it was asked"),
                    };
                    // The client may be gone too.
                    let _ = connection.send(&Reply::Error(Error::remote(id, message)));
                }
                return Ok(end);
            }
        };
        let answered = match (&request, &mut work) {
            (Request::Prepare(prepare), _) => {
                drop(work.take()); // its soakers end before the next ones start
                Session::prepare(prepare, data, &still_wanted).map(|(prepared, ready)| {
                    work = Some(Work::Receives(prepared));
                    Reply::Ready(ready)
                })
            }
            (Request::Load(wanted), _) => {
                drop(work.take());
                Asking::begin(wanted, data.from, &still_wanted).map(|(asking, reply)| {
                    work = Some(Work::Asks(asking));
                    reply
                })
            }
            (Request::Nfs(wanted), _) => {
                drop(work.take());
                let allowed = duties == Duties::ReadsNfs;
                Reads::begin(wanted, allowed, &still_wanted).map(|(reads, reply)| {
                    work = Some(Work::Reads(reads));
                    reply
                })
            }
            (_, None) => return Ok(SessionEnd::Nonsense),
            (_, Some(Work::Receives(session))) => {
                session.answer(&request, &mut connection, &still_wanted)
            }
            (_, Some(Work::Asks(asking))) => asking.answer(&request, &still_wanted),
            (_, Some(Work::Reads(reads))) => reads.answer(&request, &still_wanted),
        };
        if peer.is_gone() {
            return Ok(SessionEnd::Closed);
        }
        ahead = if connection.has_more()? { ahead + 1 } else { 0 };
        if ahead > MOST_AHEAD {
            let error =
                Error::remote("protocol", "the far end was asked for more before it had answered");
            let _ = connection.send_while(&Reply::Error(error), &still_wanted);
            return Ok(SessionEnd::Nonsense);
        }
        connection.send_while(&answered.unwrap_or_else(Reply::Error), &still_wanted)?;
    }
}

fn receive(
    connection: &mut Connection,
    stop: &Stop,
) -> Result<std::result::Result<Request, SessionEnd>> {
    let until = Instant::now() + IDLE;
    while Instant::now() < until {
        if stop.is_set() {
            return Ok(Err(SessionEnd::Stopped));
        }
        match connection.receive(LONGEST_REQUEST, GLANCE)? {
            Received::Message(request) => return Ok(Ok(request)),
            Received::Late => {}
            Received::Closed => return Ok(Err(SessionEnd::Closed)),
            Received::TooLong | Received::Nonsense(_) => return Ok(Err(SessionEnd::Nonsense)),
        }
    }
    Ok(Err(SessionEnd::Idle))
}

/// The work of a session.
#[allow(clippy::large_enum_variant)] // one at a time
enum Work {
    /// It receives bytes, and measures what that costs.
    Receives(Session),
    /// It asks a server of the client's machine.
    Asks(Asking),
    /// It reads from an NFS server of the client's machine.
    Reads(Reads),
}

/// State kept between trials.
struct Session {
    machine: Machine,
    listener: TcpListener,
    receiver_cpu: usize,
    rcvbuf_bytes: Option<usize>,
    receivers: Option<Receivers>,
    /// Held, so that another zc detects this one.
    _alone: InstanceLock,
}

impl Session {
    fn prepare(
        wanted: &Prepare,
        data: DataPort,
        still_wanted: StillWanted<'_>,
    ) -> Result<(Self, Ready)> {
        let instance_lock = InstanceLock::claim();
        let host = meter::host();
        let same_machine = meter::boot_id().is_some_and(|own| own == wanted.boot_id);
        let allowed = trial::allowed_cpus()?;
        let receiver_cpu = match wanted.receiver_cpu {
            Some(cpu) if !allowed.contains(&cpu) => {
                return Err(Error::usage(
                    "no-such-cpu",
                    format!("CPU {cpu} does not exist at the far end, or may not be used there"),
                )
                .help(format!("it may use {allowed:?}")));
            }
            Some(cpu) => cpu,
            None => choose_cpu(&allowed, same_machine.then_some(wanted.sender_cpu)),
        };
        let soaked_here = |cpu: &&usize| !(same_machine && wanted.soaked_cpus.contains(cpu));
        let soaked_cpus: Vec<usize> = allowed.iter().filter(soaked_here).copied().collect();
        let listener = listen(data, wanted.rcvbuf_bytes)?;
        let local = listener.local_addr().map_err(|error| Error::os("ask for a port", error))?;
        let mut machine = Machine::new(&soaked_cpus, wanted.soaker)?;
        machine.read_cgroups_under(&host);
        still_wanted()?;
        let mut warnings = machine.look()?;
        still_wanted()?;
        let device = device_of(local);
        // On the same machine the client is one, and is not warned of: see `is_relevant`.
        let another_zc = instance_lock.sees_another(&[]);
        let around = Environment::read(&device, receiver_cpu, another_zc);
        warnings.extend(checks::of_machine(&host, &around, soaked_cpus.len()));
        if soaked_cpus.contains(&receiver_cpu) {
            let latencies = machine.wake_latencies(&[receiver_cpu])?;
            warnings.extend(latencies.iter().filter_map(|latency| latency.warning()));
        }
        let ready = Ready {
            machine: RemoteMachine {
                zc_version: env!("CARGO_PKG_VERSION").to_owned(),
                host,
                same_machine,
                receiver_cpu,
                soaked_cpus,
                device: None, // known once the client was met
            },
            data_port: local.port(),
            addresses: addresses(),
            warnings: warnings
                .into_iter()
                .filter(|warning| is_relevant(warning, same_machine))
                .map(of_server)
                .collect(),
        };
        let session = Self {
            machine,
            listener,
            receiver_cpu,
            rcvbuf_bytes: wanted.rcvbuf_bytes,
            receivers: None,
            _alone: instance_lock,
        };
        Ok((session, ready))
    }

    fn answer(
        &mut self,
        request: &Request,
        connection: &mut Connection,
        still_wanted: StillWanted<'_>,
    ) -> Result<Reply> {
        match *request {
            // The first three are not reached: see `serve`.
            Request::Prepare(_)
            | Request::Load(_)
            | Request::Nfs(_)
            | Request::Fetch { .. }
            | Request::Go { .. }
            | Request::OpenNfs(_)
            | Request::GoNfs { .. }
            | Request::Pause => Err(Error::failed("protocol", "the session is one that receives")),
            Request::Meet => self.meet(connection, still_wanted),
            Request::Soak { on } => {
                self.machine.soak(on)?;
                Ok(Reply::Done)
            }
            Request::Flows { flows, path, buffer_bytes, checksum, keying } => {
                let needed = flows.saturating_mul(receive_memory_bytes(path, buffer_bytes));
                if flows > MOST_FLOWS || needed > most_buffer_bytes(available_bytes()) {
                    return Err(Error::usage(
                        "far-end-limit",
                        format!(
                            "{flows} flows by {path} with receive buffers of {buffer_bytes} bytes \
                             are more than a far end gives"
                        ),
                    ));
                }
                let cpus = vec![self.receiver_cpu];
                let config =
                    RecvConfig { path, buffer_bytes, cpus, checksum, keying, datagrams: None };
                self.expect(flows, config, connection, still_wanted)
            }
            Request::Window { opens_in_ns, lasts_ns } => {
                if opens_in_ns.max(lasts_ns) > LONGEST_WINDOW_NS {
                    return Err(Error::usage(
                        "far-end-limit",
                        "a window of more than two minutes was asked for",
                    ));
                }
                let opens_ns = monotonic_ns() + opens_in_ns;
                let receivers = self.receivers.as_ref();
                let window = self.machine.watch(receivers, opens_ns, lasts_ns, still_wanted)?;
                Ok(Reply::Window(window))
            }
            Request::Finish => match self.receivers.take().map(|all| all.finish(still_wanted)) {
                None => Err(Error::failed("protocol", "there are no flows to finish")),
                Some(Ok(ended)) => Ok(Reply::Finished {
                    received_bytes: ended.iter().map(|(bytes, _)| *bytes).collect(),
                    crc32: ended.first().map_or(0, |(_, crc32)| *crc32),
                }),
                Some(Err(error)) => refusal(error),
            },
            Request::GiveUp => {
                self.receivers = None;
                Ok(Reply::GivenUp)
            }
        }
    }

    /// Accepts one connection, by which the client finds a usable address.
    fn meet(
        &mut self,
        connection: &mut Connection,
        still_wanted: StillWanted<'_>,
    ) -> Result<Reply> {
        let greeting = Greeting::fresh()?;
        let listening = Reply::Listening { greetings: vec![greeting.to_hex()] };
        connection.send_while(&listening, still_wanted)?;
        let key = connection.key();
        let met = gather(&self.listener, &[greeting], key, PATIENCE, still_wanted)?;
        let client = met.first().and_then(|socket| socket.peer_addr().ok());
        Ok(Reply::Met { device: client.and_then(|client| device_towards(canonical(client))) })
    }

    fn expect(
        &mut self,
        flows: usize,
        config: RecvConfig,
        connection: &mut Connection,
        still_wanted: StillWanted<'_>,
    ) -> Result<Reply> {
        self.receivers = None;
        let greetings = (0..flows).map(|_| Greeting::fresh()).collect::<Result<Vec<Greeting>>>()?;
        let listening = Reply::Listening {
            greetings: greetings.iter().map(|greeting| greeting.to_hex()).collect(),
        };
        connection.send_while(&listening, still_wanted)?;
        let key = connection.key();
        let sockets = gather(&self.listener, &greetings, key, PATIENCE, still_wanted)?;
        for socket in &sockets {
            // It would run for every packet of the flow, and be in its cost.
            lift(socket).map_err(|error| Error::os("remove a filter", error))?;
            if let Err(no) = trial::check_far_rcvbuf(socket, self.rcvbuf_bytes) {
                return Ok(Reply::CannotRun { unavailable: no });
            }
        }
        match Receivers::start(sockets, &config, still_wanted) {
            Ok(receivers) => {
                self.receivers = Some(receivers);
                Ok(Reply::Arrived)
            }
            Err(error) => refusal(error),
        }
    }
}

fn refusal(error: TrialError) -> Result<Reply> {
    match error {
        TrialError::CannotRun(no) => Ok(Reply::CannotRun { unavailable: no }),
        TrialError::Broke(error) => Err(error),
    }
}

fn listen(data: DataPort, rcvbuf_bytes: Option<usize>) -> Result<TcpListener> {
    let listener = match trial::listen(data.at, rcvbuf_bytes) {
        Err(_) if data.or_another => trial::listen(with_port(data.at, 0), rcvbuf_bytes),
        listening => listening,
    }?;
    if let Some(client) = data.from {
        // Best effort: without it strangers can fill the backlog, and are told apart by their
        // greetings.
        let _ = accept_only_from(&listener, client.ip());
    }
    Ok(listener)
}

/// CPU to receive on: not the one that the client sends on, if that is on this machine.
fn choose_cpu(allowed: &[usize], sender_cpu: Option<usize>) -> usize {
    let (first, second) = trial::choose_cpus(allowed);
    if Some(first) == sender_cpu { second } else { first }
}

/// The device of the address that the session listens on. Unknown if it listens on all of them.
fn device_of(local: SocketAddr) -> String {
    let device = Devices::open().and_then(|devices| devices.towards(local));
    device.map_or_else(|_| String::new(), |device| device.name)
}

/// Addresses that may lead here: first that of the ssh connection.
fn addresses() -> Vec<IpAddr> {
    let by_ssh = std::env::var("SSH_CONNECTION").ok();
    // "client port server port", sshd(8).
    let by_ssh = by_ssh.and_then(|text| text.split(' ').nth(2)?.parse().ok());
    let mut addresses: Vec<IpAddr> = by_ssh.into_iter().collect();
    let others = Devices::open().and_then(|devices| devices.addresses()).unwrap_or_default();
    addresses.extend(others.into_iter().filter(|other| Some(other) != by_ssh.as_ref()));
    addresses
}

/// On one machine the client reports the machine's notes, and both zc belong to this run.
fn is_relevant(warning: &Warning, same_machine: bool) -> bool {
    !(same_machine && (warning.severity == Severity::Note || warning.name == "another-zc"))
}

/// Marks a warning as one about the server's machine.
fn of_server(mut warning: Warning) -> Warning {
    warning.name = format!("far-{}", warning.name);
    warning.text = format!("at the far end: {}", warning.text);
    warning
}

/// Bytes that the receivers of a client get, of those that are available here.
fn most_buffer_bytes(available: Option<u64>) -> usize {
    let share = available.map(|available| available / MOST_OF_AVAILABLE);
    share
        .and_then(|share| usize::try_from(share).ok())
        .map_or(MOST_BUFFER_BYTES, |share| share.min(MOST_BUFFER_BYTES))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::JoinHandle;

    use super::super::protocol::{FarOrigin, LONGEST_REPLY, LoadWanted, NfsWanted};
    use super::*;
    use zc_run::{NfsClient, RecvPath, SoakerKind};

    const SOON: Duration = Duration::from_secs(20);

    /// A session, and the client's end of its connection.
    fn session() -> (Connection, JoinHandle<Result<SessionEnd>>) {
        session_until(Stop::default())
    }

    fn session_until(stop: Stop) -> (Connection, JoinHandle<Result<SessionEnd>>) {
        session_with(&[], stop)
    }

    /// The same whose client has sent requests already.
    fn session_with(
        requests: &[Request],
        stop: Stop,
    ) -> (Connection, JoinHandle<Result<SessionEnd>>) {
        let [client, server] = {
            let (client, server) = UnixStream::pair().unwrap();
            [client, server].map(|end| Connection::new(end.try_clone().unwrap().into(), end.into()))
        };
        let mut client = client;
        requests.iter().for_each(|request| client.send(request).unwrap());
        let data =
            DataPort { at: SocketAddr::from(([127, 0, 0, 1], 0)), or_another: false, from: None };
        (client, std::thread::spawn(move || serve(server, data, Duties::Usual, &stop)))
    }

    /// For this machine, all of whose CPUs are soaked by the client.
    fn prepare() -> Request {
        Request::Prepare(Prepare {
            boot_id: meter::boot_id().unwrap_or_default(),
            soaked_cpus: trial::allowed_cpus().unwrap(),
            sender_cpu: 0,
            soaker: SoakerKind::Alu,
            receiver_cpu: None,
            rcvbuf_bytes: None,
        })
    }

    fn ask(connection: &mut Connection, request: &Request) -> Reply {
        connection.send(request).unwrap();
        match connection.receive(LONGEST_REPLY, SOON).unwrap() {
            Received::Message(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn receivers_get_half_of_the_memory_and_no_more_than_a_limit() {
        assert_eq!(most_buffer_bytes(Some(256 << 20)), 128 << 20);
        assert_eq!(most_buffer_bytes(Some(1 << 40)), MOST_BUFFER_BYTES);
        assert_eq!(most_buffer_bytes(None), MOST_BUFFER_BYTES);
    }

    #[track_caller]
    fn refusal(connection: &mut Connection, request: &Request) -> String {
        match ask(connection, request) {
            Reply::Error(error) => error.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_client_that_was_met_learns_of_the_device_that_it_is_answered_by() {
        let (mut connection, session) = session();
        let Reply::Ready(ready) = ask(&mut connection, &prepare()) else { panic!() };
        let Reply::Listening { greetings } = ask(&mut connection, &Request::Meet) else { panic!() };
        let mut flow = TcpStream::connect(("127.0.0.1", ready.data_port)).unwrap();
        flow.write_all(&Greeting::of_hex(&greetings[0]).unwrap().bytes()).unwrap();
        let met = connection.receive(LONGEST_REPLY, SOON).unwrap();
        let Received::Message(Reply::Met { device: Some(device) }) = met else { panic!("{met:?}") };
        assert!(device.name == "lo" && !device.settings.is_empty(), "{device:?}");
        drop(connection);
        assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Closed);
    }

    #[test]
    fn a_receive_buffer_that_this_machine_cuts_is_refused() {
        let most = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap_or_default();
        let Some(bytes) = most.trim().parse::<usize>().ok().filter(|most| *most < 1 << 30) else {
            eprintln!("skipped: net.core.rmem_max is unknown, or allows all that can be asked for");
            return;
        };
        // The kernel sets what is beyond it to that and doubles it.
        for (asked, is_cut) in [(bytes, false), (bytes + 1, true)] {
            let (mut connection, session) = session();
            let Request::Prepare(prepare) = prepare() else { panic!() };
            let prepare = Prepare { rcvbuf_bytes: Some(asked), ..prepare };
            let Reply::Ready(ready) = ask(&mut connection, &Request::Prepare(prepare)) else {
                panic!()
            };
            let flows = Request::Flows {
                flows: 1,
                path: RecvPath::Recv,
                buffer_bytes: 4096,
                checksum: false,
                keying: None,
            };
            let Reply::Listening { greetings } = ask(&mut connection, &flows) else { panic!() };
            let mut flow = TcpStream::connect(("127.0.0.1", ready.data_port)).unwrap();
            flow.write_all(&Greeting::of_hex(&greetings[0]).unwrap().bytes()).unwrap();
            match connection.receive(LONGEST_REPLY, SOON).unwrap() {
                Received::Message(Reply::Arrived) => assert!(!is_cut),
                Received::Message(Reply::CannotRun { unavailable: no }) => {
                    assert!(is_cut && no.reason.contains("sockets at the far end have"), "{no:?}");
                    assert!(no.remedy.unwrap().contains("net.core.rmem_max"));
                }
                other => panic!("{other:?}"),
            }
            drop(connection);
            assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Closed);
        }
    }

    #[test]
    fn an_invalid_request_ends_a_session_and_a_failed_one_does_not() {
        let flows = |flows, buffer_bytes| Request::Flows {
            flows,
            path: RecvPath::Recv,
            buffer_bytes,
            checksum: false,
            keying: None,
        };
        let (mut connection, session) = session();
        let Reply::Ready(ready) = ask(&mut connection, &prepare()) else { panic!() };
        assert!(ready.machine.same_machine);
        assert!(refusal(&mut connection, &Request::Finish).contains("no flows"));
        assert!(
            refusal(&mut connection, &flows(MOST_FLOWS + 1, 1))
                .contains("more than a far end gives")
        );
        assert!(
            refusal(&mut connection, &flows(1024, usize::MAX))
                .contains("more than a far end gives")
        );
        // A pool of sixteen buffers for each flow: 8 GiB.
        let pools = Request::Flows {
            flows: 512,
            path: RecvPath::UringMultishot,
            buffer_bytes: 1 << 20,
            checksum: false,
            keying: None,
        };
        assert!(refusal(&mut connection, &pools).contains("512 flows by uring-multishot"));
        let window = Request::Window { opens_in_ns: u64::MAX, lasts_ns: 1 };
        assert!(refusal(&mut connection, &window).contains("two minutes"));
        assert_eq!(ask(&mut connection, &Request::GiveUp), Reply::GivenUp);
        let window = Request::Window { opens_in_ns: 4_000_000, lasts_ns: 1_000_000 };
        let Reply::Window(window) = ask(&mut connection, &window) else { panic!() };
        assert!(window.closed.soak.at_ns > window.opened.soak.at_ns);
        // A second `prepare` starts over.
        assert!(matches!(ask(&mut connection, &prepare()), Reply::Ready(_)));
        connection.write_all(b"{\"ask\":\"for the moon\"}\n").unwrap();
        assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Nonsense);
    }

    /// Events that a session waits for, up to 10 s or a minute.
    #[derive(Debug, Clone, Copy)]
    enum Wait {
        Meeting,
        Flows,
        EndOfFlows,
        Window,
        Connections,
        Response,
        EndOfResponses,
    }

    impl Wait {
        const ALL: [Self; 7] = [
            Self::Meeting,
            Self::Flows,
            Self::EndOfFlows,
            Self::Window,
            Self::Connections,
            Self::Response,
            Self::EndOfResponses,
        ];

        /// Makes the session wait; returns what has to stay open for it.
        fn begin(self, connection: &mut Connection) -> Box<dyn std::any::Any> {
            if matches!(self, Self::Connections | Self::Response | Self::EndOfResponses) {
                return Box::new(self.begin_to_ask(connection));
            }
            let Reply::Ready(ready) = ask(connection, &prepare()) else { panic!() };
            let flows = Request::Flows {
                flows: 1,
                path: RecvPath::Recv,
                buffer_bytes: 4096,
                checksum: false,
                keying: None,
            };
            match self {
                Self::Meeting => drop(ask(connection, &Request::Meet)),
                Self::Flows => drop(ask(connection, &flows)),
                Self::Window => connection
                    .send(&Request::Window { opens_in_ns: 60_000_000_000, lasts_ns: 1 })
                    .unwrap(),
                Self::EndOfFlows => {
                    let Reply::Listening { greetings } = ask(connection, &flows) else { panic!() };
                    let mut flow = TcpStream::connect(("127.0.0.1", ready.data_port)).unwrap();
                    flow.write_all(&Greeting::of_hex(&greetings[0]).unwrap().bytes()).unwrap();
                    let arrived = connection.receive(LONGEST_REPLY, SOON).unwrap();
                    assert!(matches!(arrived, Received::Message(Reply::Arrived)), "{arrived:?}");
                    connection.send(&Request::Finish).unwrap();
                    return Box::new(flow);
                }
                Self::Connections | Self::Response | Self::EndOfResponses => {}
            }
            Box::new(())
        }

        /// The same of a load: nobody answers.
        fn begin_to_ask(self, connection: &mut Connection) -> (TcpListener, Option<TcpStream>) {
            let mute = TcpListener::bind("127.0.0.1:0").unwrap();
            let scheme = if matches!(self, Self::Connections) { "https" } else { "http" };
            let load = Request::Load(load(scheme, mute.local_addr().unwrap()));
            if matches!(self, Self::Connections) {
                connection.send(&load).unwrap();
                return (mute, None);
            }
            assert_eq!(ask(connection, &load), Reply::Asks { same_machine: true });
            if matches!(self, Self::Response) {
                connection.send(&Request::Fetch { origin: 0 }).unwrap();
                return (mute, None);
            }
            let go = Request::Go { origin: 0, per_s: None, begins_in_ns: 0 };
            assert_eq!(ask(connection, &go), Reply::Done);
            // The first request is on its way to nobody.
            let (mut asked, _) = mute.accept().unwrap();
            asked.read_exact(&mut [0]).unwrap();
            connection.send(&Request::Pause).unwrap();
            (mute, Some(asked))
        }
    }

    /// Every one of them takes at least 10 s by itself.
    fn ends_soon(session: JoinHandle<Result<SessionEnd>>, wait: Wait) -> Result<SessionEnd> {
        let until = Instant::now() + Duration::from_secs(5);
        while !session.is_finished() {
            assert!(Instant::now() < until, "{wait:?} goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
        session.join().unwrap()
    }

    /// The answers of a session up to its end.
    fn answers(connection: &mut Connection) -> Vec<Reply> {
        std::iter::from_fn(|| match connection.receive(LONGEST_REPLY, SOON).unwrap() {
            Received::Message(reply) => Some(reply),
            Received::Closed => None,
            other => panic!("{other:?}"),
        })
        .collect()
    }

    #[test]
    fn requests_that_are_queued_neither_outlast_a_stop_nor_keep_the_place() {
        let queued: Vec<Request> = (0..50).map(|_| prepare()).collect();
        let (mut connection, session) = session_with(&queued, Stop::already());
        let said = answers(&mut connection);
        assert!(matches!(&said[..], [Reply::Error(error)] if error.id == "far-end-stopped"));
        assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Stopped);

        let (mut connection, session) = session_with(&queued, Stop::default());
        let said = answers(&mut connection);
        let [Reply::Ready(_), .., Reply::Error(error)] = &said[..] else { panic!() };
        assert_eq!(error.id, "protocol");
        assert_eq!(said.len(), 1 + MOST_AHEAD as usize);
        assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Nonsense);
        // As many as a client may send, which is one.
        let (mut connection, _session) =
            session_with(&[prepare(), Request::GiveUp], Stop::default());
        let mut next = || connection.receive(LONGEST_REPLY, SOON).unwrap();
        assert!(matches!(next(), Received::Message(Reply::Ready(_))));
        assert!(matches!(next(), Received::Message(Reply::GivenUp)));
    }

    #[test]
    fn no_wait_goes_on_when_the_server_is_stopped_or_the_client_is_gone() {
        for wait in Wait::ALL {
            let stop = Stop::default();
            let (mut connection, stopped) = session_until(stop.clone());
            let open = wait.begin(&mut connection);
            stop.set();
            assert_eq!(ends_soon(stopped, wait).unwrap(), SessionEnd::Stopped, "{wait:?}");
            let said = connection.receive(LONGEST_REPLY, SOON).unwrap();
            let Received::Message(Reply::Error(error)) = &said else {
                panic!("{wait:?}: {said:?}")
            };
            assert_eq!(error.message, STOPPED, "{wait:?}");
            drop(open);

            let (mut connection, left) = session();
            let open = wait.begin(&mut connection);
            drop(connection);
            assert_eq!(ends_soon(left, wait).unwrap(), SessionEnd::Closed, "{wait:?}");
            drop(open);
        }
    }

    #[test]
    fn a_session_is_a_client_of_nfs_only_where_it_was_started_to_be_one() {
        let (mut connection, session) = session();
        let wanted = Request::Nfs(NfsWanted {
            boot_id: String::new(),
            client: NfsClient::User,
            address: "127.0.0.1".parse().unwrap(),
        });
        let message = refusal(&mut connection, &wanted);
        assert_eq!(message, "this zc was not started to be a client of NFS");
        // Nothing has begun.
        connection.send(&Request::Pause).unwrap();
        assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Nonsense);
    }

    /// A load over one connection.
    fn load(scheme: &str, server: SocketAddr) -> LoadWanted {
        LoadWanted {
            boot_id: meter::boot_id().unwrap_or_default(),
            origins: vec![FarOrigin {
                url: format!("{scheme}://localhost:{}/file", server.port()),
                address: Some(server.ip()),
            }],
            connections: 1,
            keep_alive: true,
            headers: Vec::new(),
            checks_certificate: false,
            timeout_ns: 60_000_000_000,
        }
    }

    #[test]
    fn a_session_asks_a_server_of_the_client_s_machine_when_it_is_told_to() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        let answered: Arc<AtomicUsize> = Arc::default();
        let answers = Arc::clone(&answered);
        std::thread::spawn(move || {
            let (mut client, _) = server.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while matches!(client.read(&mut byte), Ok(1)) {
                head.push(byte[0]);
                if head.ends_with(b"\r\n\r\n") {
                    head.clear();
                    client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let (mut connection, session) = session();
        let wanted = load("http", at);
        assert_eq!(
            ask(&mut connection, &Request::Load(wanted.clone())),
            Reply::Asks { same_machine: true }
        );
        let Reply::Fetched(fetched) = ask(&mut connection, &Request::Fetch { origin: 0 }) else {
            panic!()
        };
        assert_eq!((fetched.status, fetched.body_bytes), (200, 5));
        let go = |per_s, begins_in_ns| Request::Go { origin: 0, per_s, begins_in_ns };
        assert_eq!(ask(&mut connection, &go(Some(1000.0), 0)), Reply::Done);
        let until = Instant::now() + SOON;
        while answered.load(Ordering::Relaxed) < 20 {
            assert!(Instant::now() < until, "it does not ask");
            std::thread::sleep(Duration::from_millis(1));
        }
        let Reply::Paused(phase) = ask(&mut connection, &Request::Pause) else { panic!() };
        assert!(phase.responses > 0, "{phase:?}");
        // It is that of the schedule, if a busy machine let it be kept.
        assert!(phase.responses_per_s <= 1000.0, "{phase:?}");
        assert_eq!((phase.body_bytes, &phase.fault), (5 * phase.responses, &None));
        assert_eq!(phase.requests.iter().sum::<u64>(), phase.responses);

        for (request, says) in [
            (Request::Fetch { origin: 1 }, "no such origin"),
            (Request::Go { origin: 1, per_s: None, begins_in_ns: 0 }, "a load that there is not"),
            (go(Some(-1.0), 0), "a load that there is not"),
            (go(None, u64::MAX), "a load that there is not"),
            (Request::Pause, "no phase of requests"),
            (Request::Meet, "the session is one of requests"),
            (
                Request::Load(LoadWanted { connections: 1 << 40, ..wanted.clone() }),
                "more than a far end gives",
            ),
        ] {
            let said = refusal(&mut connection, &request);
            assert!(said.contains(says), "{says}: {said}");
        }
        drop(connection);
        assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Closed);
    }

    #[test]
    fn a_session_begins_with_its_first_request_and_ends_with_its_stream() {
        let (mut connection, first) = session();
        connection.send(&Request::Finish).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), SessionEnd::Nonsense);

        let (connection, second) = session();
        drop(connection);
        assert_eq!(second.join().unwrap().unwrap(), SessionEnd::Closed);

        for said in
            [&[b'x'; LONGEST_REQUEST + 5000][..], b"\xff\n", b"[]\n", b"{\"ask\":\"window\"}\n"]
        {
            let (mut connection, third) = session();
            drop(connection.write_all(said)); // it may end the session before all is sent
            assert_eq!(third.join().unwrap().unwrap(), SessionEnd::Nonsense);
        }
    }

    #[test]
    fn a_cpu_that_the_far_end_does_not_have_is_a_sentence() {
        let (mut connection, session) = session();
        let Request::Prepare(prepare) = prepare() else { panic!() };
        let message = refusal(
            &mut connection,
            &Request::Prepare(Prepare { receiver_cpu: Some(99_999), ..prepare }),
        );
        assert!(message.contains("CPU 99999"), "{message}");
        drop(connection);
        assert_eq!(session.join().unwrap().unwrap(), SessionEnd::Closed);
    }
}
