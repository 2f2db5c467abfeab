//! Reaches the machine that receives the bytes of a run.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::options::RunOptions;
use super::remote_end::RemoteEnd;
use super::steps::interrupted;
use zc_kernel::names;
use zc_kernel::stop::Stop;
use zc_remote::carry::Carried;
use zc_remote::connection::Connection;
use zc_remote::handshake::authenticate;
use zc_remote::via::{Start, Via};
use zc_remote::{Client, Discard, Duties, Found, Iperf3, Prepare, Transport};
use zc_rig::meter;
use zc_rig::trial::RemoteSide;
use zc_run::{
    Error, ErrorKind, PeerKind, ROUND_TRIPS_IN_A_WINDOW, ROUND_TRIPS_TO_WARM_UP, RemoteFacts,
    Result, Severity, Timing, Warning,
};

/// Limit for connecting to each address of the server, and for its hello.
const PATIENCE: Duration = Duration::from_secs(5);

/// Limit for the hello of a server that a command starts: ssh may ask a key agent, a cluster may
/// schedule.
const PATIENCE_WITH_COMMANDS: Duration = Duration::from_secs(30);

/// Between two tries to reach a far end that is waited for, and between two looks at the signals
/// meanwhile.
const BETWEEN_TRIES: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(50);

/// The server, and what it reported.
pub(super) struct Reached {
    pub(super) server: Box<dyn RemoteSide>,
    pub(super) facts: RemoteFacts,
    /// Address that flows connect to.
    pub(super) address: SocketAddr,
    pub(super) warnings: Vec<Warning>,
}

/// Connects to the server and, if it is zc, prepares it for `options`. `carrying` is told before a
/// program is sent to the other machine.
///
/// # Errors
/// It cannot be found or reached, refuses, or cannot measure; or `stop` was set.
pub(super) fn reach(
    end: &RemoteEnd,
    options: &RunOptions,
    soaked_cpus: &[usize],
    sender_cpu: usize,
    stop: &Stop,
    carrying: &mut dyn FnMut(&Carried),
) -> Result<Reached> {
    let prepare = || Prepare {
        boot_id: meter::boot_id().unwrap_or_default(),
        soaked_cpus: soaked_cpus.to_vec(),
        sender_cpu,
        soaker: options.blocks.soaker,
        receiver_cpu: options.blocks.cpus.map(|pair| pair.receiver),
        rcvbuf_bytes: options.rcvbuf_bytes,
    };
    match end {
        RemoteEnd::Zc { .. } | RemoteEnd::Via { .. } => {
            let Control { connection, transport, peer, warnings, .. } =
                control(end, Duties::Usual, stop, carrying)?;
            let named = match end {
                RemoteEnd::Via { address, .. } => *address,
                _ => peer,
            };
            let mut reached = measuring(Client::new(connection, transport), prepare(), named)?;
            reached.warnings.extend(warnings);
            Ok(reached)
        }
        RemoteEnd::Iperf3 { host, port } => {
            let address = first_address(host, *port)?;
            // One request now, so that a missing server is noticed before anything else is done.
            let rtt_ns = Iperf3::greet(address)?;
            Ok(sink(PeerKind::Iperf3, Box::new(Iperf3::new(address)), address, rtt_ns))
        }
        RemoteEnd::Discard { host, port } => {
            let socket = connect(host, *port)?;
            let address = socket
                .peer_addr()
                .map_err(|error| Error::os("ask for the server's address", error))?;
            let rtt_us = zc_kernel::tcp::info(&socket).map_or(0, |info| info.min_rtt_us);
            Ok(sink(
                PeerKind::Discard,
                Box::new(Discard::new(address)),
                address,
                u64::from(rtt_us) * 1000,
            ))
        }
    }
}

/// An authenticated connection to a zc on another machine.
pub(super) struct Control {
    pub(super) connection: Connection,
    pub(super) transport: Box<dyn Transport>,
    /// Its address; `None` behind a command.
    pub(super) peer: Option<SocketAddr>,
    /// This machine's address on that connection; `None` behind a command.
    pub(super) own: Option<SocketAddr>,
    pub(super) warnings: Vec<Warning>,
}

/// Connects to zc on another machine, or starts one there for these duties. `carrying` is told
/// before a program is sent there.
///
/// # Errors
/// It cannot be found or reached, or refuses; `stop` was set; no zc measures at that end.
pub(super) fn control(
    end: &RemoteEnd,
    duties: Duties,
    stop: &Stop,
    carrying: &mut dyn FnMut(&Carried),
) -> Result<Control> {
    match end {
        RemoteEnd::Zc { host, port, secret } => {
            let socket = connect(host, *port)?;
            let ends = socket.peer_addr().and_then(|peer| Ok((peer, socket.local_addr()?)));
            let (peer, own) =
                ends.map_err(|error| Error::os("ask for the server's address", error))?;
            Ok(Control {
                connection: authenticate(Connection::over(socket)?, secret, PATIENCE)?,
                transport: Box::new(()),
                peer: Some(peer),
                own: Some(own),
                warnings: Vec::new(),
            })
        }
        RemoteEnd::Via { command, carry, .. } => {
            let still_wanted = || match stop.is_set() {
                true => Err(interrupted()),
                false => Ok(()),
            };
            let (via, connection) = Via::start(Start {
                command,
                carry,
                duties,
                patience: PATIENCE_WITH_COMMANDS,
                still_wanted: &still_wanted,
                carrying,
            })?;
            let carried = via
                .carried()
                .map(|carried| Warning::new("carried", Severity::Note, carried.to_string()));
            Ok(Control {
                connection,
                transport: Box::new(via),
                peer: None,
                own: None,
                warnings: carried.into_iter().collect(),
            })
        }
        RemoteEnd::Iperf3 { .. } | RemoteEnd::Discard { .. } => {
            Err(Error::usage("far-end-not-zc", "the far end has to be zc, to send requests")
                .help("--remote HOST, where zc serve runs, or --via 'ssh HOST'"))
        }
    }
}

/// Returns once a connection to that port of the host is accepted, which is closed at once: a
/// session begins with its proof of the token, and this sends none. `waiting` is told once why it
/// takes time.
///
/// # Errors
/// [`ErrorKind::Remote`]: the host has no address, or nobody listens there, for so long.
/// [`ErrorKind::Interrupted`]: `stop` was set.
pub fn wait_for_far_end(
    host: &str,
    port: u16,
    at_most: Duration,
    stop: &Stop,
    waiting: &mut dyn FnMut(&str),
) -> Result<()> {
    let until = Instant::now() + at_most;
    let mut is_told = false;
    loop {
        let Err(error) = connect(host, port) else { return Ok(()) };
        if !std::mem::replace(&mut is_told, true) {
            waiting(&format!("waiting for the far end: {}", error.message));
        }
        let next = Instant::now() + BETWEEN_TRIES;
        if next >= until {
            let message = format!("{}, tried for {} s", error.message, at_most.as_secs());
            return Err(Error { message, ..error });
        }
        while Instant::now() < next {
            if stop.is_set() {
                return Err(Error::interrupted(
                    "interrupted before the far end was there: nothing was measured",
                ));
            }
            std::thread::sleep(STEP);
        }
    }
}

fn measuring<T: Transport + 'static>(
    mut client: Client<T>,
    prepare: Prepare,
    named: Option<SocketAddr>,
) -> Result<Reached> {
    let Found { ready, data, rtt_ns } = client.prepare(prepare, named)?;
    let facts = RemoteFacts {
        kind: PeerKind::Zc,
        address: data.to_string(),
        rtt_ns,
        machine: Some(ready.machine),
    };
    Ok(Reached { server: Box::new(client), facts, address: data, warnings: ready.warnings })
}

fn sink(kind: PeerKind, server: Box<dyn RemoteSide>, address: SocketAddr, rtt_ns: u64) -> Reached {
    let facts = RemoteFacts { kind, address: address.to_string(), rtt_ns, machine: None };
    Reached { server, facts, address, warnings: Vec::new() }
}

/// Lengthens trials as the round trip requires; what the user asked for stays.
pub(super) fn stretched(timing: Timing, options: &RunOptions, rtt_ns: u64) -> Timing {
    let at_least = |asked: Option<u64>, least_ns: u64, plain_ns: u64| match asked {
        Some(_) => plain_ns,
        None => plain_ns.max(least_ns),
    };
    let window =
        |plain_ns| at_least(options.blocks.window_ns, ROUND_TRIPS_IN_A_WINDOW * rtt_ns, plain_ns);
    Timing {
        warmup_ns: timing.warmup_ns
            + if options.blocks.warmup_ns.is_none() { ROUND_TRIPS_TO_WARM_UP * rtt_ns } else { 0 },
        window_ns: window(timing.window_ns),
        idle_ns: timing.idle_ns,
        unsoaked_ns: window(timing.unsoaked_ns),
    }
}

fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    names::addresses(host, port).map_err(|error| {
        let error = Error::os(format!("find the host \"{host}\""), error).id("cannot-find-host");
        error.kind(ErrorKind::Remote).help(
            "check its name, or give an address; after the % of an IPv6 address stands an \
             interface of this machine",
        )
    })
}

fn first_address(host: &str, port: u16) -> Result<SocketAddr> {
    addresses(host, port)?.first().copied().ok_or_else(|| {
        Error::remote("host-without-address", format!("the host \"{host}\" has no address"))
    })
}

fn connect(host: &str, port: u16) -> Result<TcpStream> {
    let mut last = None;
    for address in addresses(host, port)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(socket) => return Ok(socket),
            Err(error) => {
                let error = Error::os(format!("connect to \"{address}\""), error);
                last = Some(error.id("cannot-connect"));
            }
        }
    }
    let error = last.unwrap_or_else(|| {
        Error::failed("host-without-address", format!("the host \"{host}\" has no address"))
    });
    Err(error
        .kind(ErrorKind::Remote)
        .help("is `zc serve` running there, with --listen, and does a firewall let it through?"))
}
