//! The other machine of a run: whom it is run with, and how it is reached.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::RunOptions;
use crate::agent::connection::Connection;
use crate::agent::handshake::knock;
use crate::agent::secret::Secret;
use crate::agent::via::Via;
use crate::agent::{Client, Discard, Found, Iperf3, Prepare, Transport};
use crate::meter;
use crate::trial::RemoteSide;
use zc_run::{Error, ErrorKind, PeerKind, RemoteFacts, Result, Timing, Warning};

/// How long each address of the far end is tried, and how long its hello is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a far end that a command starts may take for its hello: ssh may ask a key agent, a cluster may schedule.
const PATIENCE_WITH_COMMANDS: Duration = Duration::from_secs(30);

/// A connection is in its steady state after so many round trips: slow start doubles the window with each of them.
const ROUND_TRIPS_TO_WARM_UP: u64 = 20;

/// A window is no shorter than so many round trips, so that acknowledgements are as even in it as they are.
const ROUND_TRIPS_IN_A_WINDOW: u64 = 4;

/// Who takes the bytes on another machine.
#[derive(Debug, Clone)]
pub enum RemoteEnd {
    /// `zc serve` listens there.
    Zc {
        /// Name or address.
        host: String,
        /// Of its control connection.
        port: u16,
        /// What it wants to be shown.
        secret: Secret,
    },
    /// A command gives a stream of bytes to a shell there.
    Via {
        /// `ssh HOST` ...
        command: String,
        /// Where data goes; null tries what the far end says of itself.
        address: Option<IpAddr>,
    },
    /// An iperf3 server listens there.
    Iperf3 {
        /// Name or address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// Something there swallows bytes.
    Discard {
        /// Name or address.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// The far end, found.
pub(super) struct Reached {
    pub(super) far: Box<dyn RemoteSide>,
    pub(super) facts: RemoteFacts,
    /// Where flows go to.
    pub(super) address: SocketAddr,
    pub(super) warnings: Vec<Warning>,
}

/// Reaches the far end, and has a zc there set up for `options`.
///
/// # Errors
/// It cannot be found or reached, refuses, or cannot measure.
pub(super) fn reach(
    end: &RemoteEnd,
    options: &RunOptions,
    soaked_cpus: &[usize],
    sender_cpu: usize,
) -> Result<Reached> {
    let prepare = || Prepare {
        boot_id: meter::boot_id().unwrap_or_default(),
        soaked_cpus: soaked_cpus.to_vec(),
        sender_cpu,
        soaker: options.soaker,
        receiver_cpu: options.cpus.map(|pair| pair.receiver),
        rcvbuf_bytes: options.rcvbuf_bytes,
    };
    match end {
        RemoteEnd::Zc { host, port, secret } => {
            let socket = connect(host, *port)?;
            let address = socket
                .peer_addr()
                .map_err(|error| Error::os("ask for the far end's address", error))?;
            let connection = knock(Connection::over(socket)?, secret, PATIENCE)?;
            measuring(Client::prepare(connection, prepare(), Some(address.ip()), ())?)
        }
        RemoteEnd::Via { command, address } => {
            let (via, connection) = Via::start(command, PATIENCE_WITH_COMMANDS)?;
            measuring(Client::prepare(connection, prepare(), *address, via)?)
        }
        RemoteEnd::Iperf3 { host, port } => {
            let address = first_address(host, *port)?;
            // It is asked once, so that one that is not there is known before anything else is done.
            let rtt_ns = Iperf3::greet(address)?;
            Ok(sink(PeerKind::Iperf3, Box::new(Iperf3::new(address)), address, rtt_ns))
        }
        RemoteEnd::Discard { host, port } => {
            let socket = connect(host, *port)?;
            let address = socket
                .peer_addr()
                .map_err(|error| Error::os("ask for the far end's address", error))?;
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

fn measuring<Held: Transport + 'static>((near, found): (Client<Held>, Found)) -> Result<Reached> {
    let Found { ready, data, rtt_ns } = found;
    let facts = RemoteFacts {
        kind: PeerKind::Zc,
        address: data.to_string(),
        rtt_ns,
        machine: Some(ready.machine),
    };
    Ok(Reached { far: Box::new(near), facts, address: data, warnings: ready.warnings })
}

fn sink(kind: PeerKind, far: Box<dyn RemoteSide>, address: SocketAddr, rtt_ns: u64) -> Reached {
    let facts = RemoteFacts { kind, address: address.to_string(), rtt_ns, machine: None };
    Reached { far, facts, address, warnings: Vec::new() }
}

/// Trials that are long enough for the round trip; what the user asked for stays.
pub(super) fn stretched(timing: Timing, options: &RunOptions, rtt_ns: u64) -> Timing {
    let at_least = |asked: Option<u64>, least_ns: u64, plain_ns: u64| match asked {
        Some(_) => plain_ns,
        None => plain_ns.max(least_ns),
    };
    let window = |plain_ns| at_least(options.window_ns, ROUND_TRIPS_IN_A_WINDOW * rtt_ns, plain_ns);
    Timing {
        warmup_ns: timing.warmup_ns
            + if options.warmup_ns.is_none() { ROUND_TRIPS_TO_WARM_UP * rtt_ns } else { 0 },
        window_ns: window(timing.window_ns),
        idle_ns: timing.idle_ns,
        unsoaked_ns: window(timing.unsoaked_ns),
    }
}

fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let found = (host, port).to_socket_addrs().map_err(|error| {
        Error::os(format!("find the host \"{host}\""), error)
            .kind(ErrorKind::Remote)
            .help("is its name right? An address will do as well")
    })?;
    Ok(found.collect())
}

fn first_address(host: &str, port: u16) -> Result<SocketAddr> {
    addresses(host, port)?
        .first()
        .copied()
        .ok_or_else(|| Error::remote(format!("the host \"{host}\" has no address")))
}

fn connect(host: &str, port: u16) -> Result<TcpStream> {
    let mut last = None;
    for address in addresses(host, port)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = Some(Error::os(format!("connect to \"{address}\""), error)),
        }
    }
    let error =
        last.unwrap_or_else(|| Error::failed(format!("the host \"{host}\" has no address")));
    Err(error
        .kind(ErrorKind::Remote)
        .help("is `zc serve` running there, with --listen, and does a firewall let it through?"))
}
