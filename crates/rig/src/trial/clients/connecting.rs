//! Connects the clients of a trial, many at a time: over a link with a round trip, one after the
//! other would take a round trip each.

use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::AsFd as _;

use super::super::cell_config::CellConfig;
use super::super::factor::{self, EFFECTS};
use super::super::sending::Target;
use super::super::worker::{PATIENCE, TrialError};
use super::accepting::Ports;
use crate::link::{AckGenerator, NotedFlow};
use zc_kernel::tcp::{self, Unconnected};
use zc_run::{Error, FixedParams, LinkKind, Unavailable};

/// Connections to a listener that are under way at most: it has room for 128 that it has not
/// accepted (`std::net::TcpListener`).
const TO_A_LISTENER: usize = 100;

/// The segment of an MTU of 1500, over IPv4.
const ETHERNET_S_SEGMENT: u16 = 1460;

const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Connects `count` clients on the calling thread's side of the link. Their sockets do not block.
///
/// # Errors
/// There are not so many ports ([`TrialError::CannotRun`]), nobody listens, or the kernel refuses an
/// option.
pub(super) fn connect(
    count: usize,
    to: &Target,
    config: &CellConfig,
    ports: &Ports,
    generator: Option<&AckGenerator>,
) -> std::result::Result<(Vec<TcpStream>, Vec<NotedFlow>), TrialError> {
    let (mut sockets, mut noted) = (Vec::with_capacity(count), Vec::new());
    let at_a_time = if generator.is_some() { count } else { TO_A_LISTENER };
    while sockets.len() < count {
        let at_once = at_a_time.min(count - sockets.len());
        let begun = sockets.len();
        for _ in 0..at_once {
            let unbound = Unconnected::bind_towards(to.address);
            let socket = unbound.map_err(|error| not_bound(error, count))?;
            ports.add(socket.port());
            noted.extend(generator.map(|generator| generator.expect(socket.port())));
            EFFECTS.iter().try_for_each(|effect| effect.before_connect(&socket, &config.fixed))?;
            if config.fixed.link == LinkKind::Loopback {
                // Two segments of its MTU would be what a client takes in a fifth of a second.
                tcp::set_maximum_segment(&socket, ETHERNET_S_SEGMENT)
                    .map_err(|error| Error::os("set TCP_MAXSEG of a client", error))?;
            }
            let begun = socket.begin_connect(to.address);
            let socket = begun.map_err(|error| not_connected(to, error))?;
            // Whenever it is closed, its port is free at once.
            tcp::set_reset_on_close(&socket)
                .map_err(|error| Error::os("set SO_LINGER of a client", error))?;
            sockets.push(socket);
        }
        for socket in &sockets[begun..] {
            tcp::wait_connected(socket, PATIENCE).map_err(|error| not_connected(to, error))?;
            prepare(socket, &config.fixed)?;
        }
        config.limit.check()?;
    }
    Ok((sockets, noted))
}

/// Sets the options of a connected socket.
fn prepare(socket: &TcpStream, fixed: &FixedParams) -> zc_run::Result<()> {
    EFFECTS.iter().try_for_each(|effect| effect.connected(socket.as_fd(), fixed))?;
    factor::set_tcp_options(socket, fixed)
}

fn not_connected(to: &Target, error: io::Error) -> Error {
    Error::os(format!("connect a client to {}", to.address), error)
}

/// Why a socket gets no port. Others may have some of the range.
fn not_bound(error: io::Error, count: usize) -> TrialError {
    if error.kind() != io::ErrorKind::AddrInUse {
        return Error::os("open the socket of a client", error).into();
    }
    let range = std::fs::read_to_string(PORT_RANGE).ok();
    let ports = range.as_deref().and_then(port_range).map_or(0, |range| range.len());
    TrialError::CannotRun(
        Unavailable::refused(format!(
            "{count} clients need a port each, and of the {ports} of \
             net.ipv4.ip_local_port_range on the sender's side none is left"
        ))
        .remedy("fewer --clients; on loopback also: sysctl -w net.ipv4.ip_local_port_range='1024 65535'"),
    )
}

/// The ports of `first last`, as the file in /proc has them.
fn port_range(text: &str) -> Option<Range<u32>> {
    let mut ports = text.split_whitespace().map(|port| port.parse::<u32>().ok());
    let (first, last) = (ports.next()??, ports.next()??);
    Some(first..last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_ports_is_read_as_the_kernel_writes_it() {
        assert_eq!(port_range("32768\t60999\n"), Some(32768..61000));
        assert_eq!(port_range(""), None);
        assert_eq!(port_range("1 x"), None);
    }
}
