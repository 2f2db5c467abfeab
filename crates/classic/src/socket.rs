//! TCP sockets of the tools. Buffers are set before listen(2) and connect(2), which fix the window
//! scale. A server listens on every address, of IPv4 and IPv6 where both exist.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use zc_kernel::{names, tcp};

use zc_run::address::canonical;
use zc_run::{Error, Result};

/// The backlog of listen(2): connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// Sizes of socket buffers in bytes; `None` leaves the kernel's autotuning on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Buffers {
    pub(super) receive: Option<usize>,
    pub(super) send: Option<usize>,
}

/// A socket buffer that the kernel made smaller than requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capped {
    /// Whether it is the receive buffer.
    pub receive: bool,
    /// The requested size in bytes.
    pub asked_bytes: usize,
    /// The actual size in bytes: half of what the kernel reports, which counts its own overhead too
    /// (socket(7)).
    pub given_bytes: usize,
}

impl Buffers {
    /// Sets the sizes, and returns the buffers that were capped.
    fn set(self, socket: &OwnedFd) -> io::Result<Vec<Capped>> {
        let mut capped = Vec::new();
        let mut check = |receive, asked_bytes, given_bytes| {
            if given_bytes < asked_bytes {
                capped.push(Capped { receive, asked_bytes, given_bytes });
            }
        };
        if let Some(bytes) = self.receive {
            tcp::set_rcvbuf(socket, bytes)?;
            check(true, bytes, tcp::rcvbuf(socket)? / 2);
        }
        if let Some(bytes) = self.send {
            tcp::set_sndbuf(socket, bytes)?;
            check(false, bytes, tcp::sndbuf(socket)? / 2);
        }
        Ok(capped)
    }
}

fn new(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// Listens on `port` of every address; 0 takes a free one.
///
/// # Errors
/// The port is taken, or is below 1024 and this user may not have it.
pub(super) fn listen(port: u16, buffers: Buffers) -> Result<(TcpListener, Vec<Capped>)> {
    let both = listen_on(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)), buffers);
    let listening = match both {
        // Without IPv6, or with its addresses switched off.
        Err(error)
            if matches!(
                Errno::from_io_error(&error),
                Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL)
            ) =>
        {
            listen_on(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), buffers)
        }
        other => other,
    };
    listening.map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::AddrInUse => "another server has it: choose another port with -p",
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need root: choose another one with -p"
            }
            _ => "choose another port with -p",
        };
        Error::os(format!("listen on port \"{port}\""), error).id("cannot-listen").help(help)
    })
}

fn listen_on(address: SocketAddr, buffers: Buffers) -> io::Result<(TcpListener, Vec<Capped>)> {
    let socket = match address {
        SocketAddr::V4(_) => new(AddressFamily::INET)?,
        SocketAddr::V6(_) => {
            let socket = new(AddressFamily::INET6)?;
            sockopt::set_ipv6_v6only(&socket, false)?;
            socket
        }
    };
    sockopt::set_socket_reuseaddr(&socket, true)?;
    let capped = buffers.set(&socket)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok((TcpListener::from(socket), capped))
}

/// Connects to `server`: a name, an address, or `0`, which is this host.
///
/// # Errors
/// The name is unknown, or nothing listens there.
pub(super) fn connect(
    server: &str,
    port: u16,
    buffers: Buffers,
) -> Result<(TcpStream, Vec<Capped>)> {
    let name = if server == "0" { "127.0.0.1" } else { server };
    let addresses = names::addresses(name, port).map_err(|error| {
        // The resolver's message has a prefix that adds nothing.
        let why =
            error.to_string().replace("failed to lookup address information: ", "").to_lowercase();
        Error::failed("cannot-find-host", format!("cannot find server \"{server}\": {why}"))
            .help("a server is a host name, an address, or 0 for this host")
    })?;
    let mut last = None;
    for address in addresses {
        match connect_to(address, buffers) {
            Ok(connected) => return Ok(connected),
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotFound));
    Err(Error::os(format!("connect to \"{server}\", port {port}"), error)
        .id("cannot-connect")
        .help("does the other end listen there? -p chooses the port"))
}

/// A receiver whose window stays closed for so long, or that acknowledges nothing, is given up
/// (TCP_USER_TIMEOUT). The tools of 2001 waited for ever.
const PATIENCE_MS: u32 = 60_000;

fn connect_to(address: SocketAddr, buffers: Buffers) -> io::Result<(TcpStream, Vec<Capped>)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = new(family)?;
    let capped = buffers.set(&socket)?;
    sockopt::set_tcp_user_timeout(&socket, PATIENCE_MS)?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::ISCONN) => return Ok((TcpStream::from(socket), capped)),
            // A signal does not end the handshake; calling again waits for it.
            Err(Errno::INTR | Errno::ALREADY) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shuts down the sending side and waits until the other end's kernel has acknowledged everything.
/// Whether its program has read it too is unknown.
///
/// # Errors
/// The other end reset the connection, so it has not received everything.
pub(super) fn finish(stream: &TcpStream) -> Result<()> {
    let lost = |error: io::Error| match error.kind() {
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::NotConnected => Error::failed(
            "receiver-closed-early",
            "the receiver closed the connection before it had taken everything",
        ),
        io::ErrorKind::TimedOut => mute(),
        _ => Error::os("end the connection", error),
    };
    stream.shutdown(std::net::Shutdown::Write).map_err(lost)?;
    tcp::wait_acknowledged(stream, Duration::MAX).map_err(lost)?;
    // The protocol has no replies. If the other end sent bytes all the same, leaving them unread
    // would make close(2) reset the connection, which is an error at the other end.
    stream.set_nonblocking(true).map_err(lost)?;
    let _ = tcp::recv_discard(stream, 1 << 30); // fails if there is nothing to read
    Ok(())
}

/// send(2) until all of `bytes` are in the socket. Returns how many calls that took.
///
/// # Errors
/// The other end has closed the connection.
pub(super) fn send_all(stream: &TcpStream, bytes: &[u8]) -> Result<u64> {
    let (mut done, mut calls) = (0, 0);
    while done < bytes.len() {
        done += tcp::send(stream, &bytes[done..]).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Error::failed(
                "receiver-closed-early",
                "the receiver closed the connection while bytes were being sent",
            ),
            io::ErrorKind::TimedOut => mute(),
            _ => Error::os("send to the receiver", error),
        })?;
        calls += 1;
    }
    Ok(calls)
}

fn mute() -> Error {
    Error::failed("receiver-stalled", "the receiver has taken nothing for a minute")
}

/// The text of an address; an IPv4-mapped IPv6 address is shown as IPv4.
pub(super) fn address_text(address: SocketAddr) -> String {
    canonical(address).to_string()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_listener_is_reached_by_0_and_by_the_addresses_of_both_versions_of_ip() {
        let (listener, capped) = listen(0, Buffers::default()).unwrap();
        assert!(capped.is_empty());
        let port = listener.local_addr().unwrap().port();
        for (server, from) in [("0", "127.0.0.1:"), ("127.0.0.1", "127.0.0.1:"), ("::1", "[::1]:")]
        {
            if server == "::1" && TcpListener::bind((server, 0)).is_err() {
                eprintln!("skipped: no IPv6 here");
                continue;
            }
            let (mut stream, _) = connect(server, port, Buffers::default()).unwrap();
            stream.write_all(b"x").unwrap();
            let (mut other, address) = listener.accept().unwrap();
            assert!(address_text(address).starts_with(from), "{address}");
            other.read_exact(&mut [0]).unwrap();
            drop(other);
            finish(&stream).unwrap();
        }
    }

    #[test]
    fn a_receiver_that_takes_nothing_is_given_up_some_time() {
        let (listener, _) = listen(0, Buffers::default()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stream, _) = connect("0", port, Buffers::default()).unwrap();
        // A shorter time, so that the test need not wait for a minute.
        assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), PATIENCE_MS);
        sockopt::set_tcp_user_timeout(&stream, 300).unwrap();
        let error = send_all(&stream, &vec![0; 64 << 20]).unwrap_err();
        assert_eq!(error.id, "receiver-stalled");
    }

    #[test]
    fn a_capped_buffer_is_reported() {
        let buffers = Buffers { receive: Some(1 << 30), send: Some(16_384) };
        let (listener, capped) = listen(0, buffers).unwrap();
        assert_eq!(tcp::sndbuf(&listener).unwrap(), 32_768);
        for one in capped {
            assert!(one.receive && one.given_bytes < one.asked_bytes, "{one:?}");
        }
    }

    #[test]
    fn a_port_that_is_taken_or_dead_is_an_error_that_names_it() {
        let (listener, _) = listen(0, Buffers::default()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = listen(port, Buffers::default()).unwrap_err();
        assert!(error.message.contains(&format!("\"{port}\"")), "{error}");
        drop(listener);
        let error = connect("0", port, Buffers::default()).unwrap_err();
        let names_port = error.message.contains(&port.to_string());
        assert!(error.id == "cannot-connect" && names_port, "{error:?}");
    }

    #[test]
    fn the_end_is_seen_although_the_other_side_stays_open() {
        let (listener, _) = listen(0, Buffers::default()).unwrap();
        let (mut stream, _) =
            connect("0", listener.local_addr().unwrap().port(), Buffers::default()).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        stream.write_all(&[7; 1000]).unwrap();
        finish(&stream).unwrap();
        let mut got = Vec::new();
        other.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), 1000);
    }

    #[test]
    fn what_the_other_end_says_does_not_make_the_end_a_reset() {
        let (listener, _) = listen(0, Buffers::default()).unwrap();
        let (stream, _) =
            connect("0", listener.local_addr().unwrap().port(), Buffers::default()).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        other.write_all(&[1; 10_000]).unwrap();
        assert_eq!(send_all(&stream, &[7; 1000]).unwrap(), 1);
        finish(&stream).unwrap();
        drop(stream);
        let mut got = Vec::new();
        other.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), 1000);
    }

    #[test]
    fn a_receiver_that_leaves_bytes_behind_is_an_error() {
        let (listener, _) = listen(0, Buffers::default()).unwrap();
        let (mut stream, _) =
            connect("0", listener.local_addr().unwrap().port(), Buffers::default()).unwrap();
        let (other, _) = listener.accept().unwrap();
        stream.write_all(&[7; 1000]).unwrap();
        assert!(tcp::wait_readable(&other, Duration::from_secs(10)).unwrap());
        drop(other);
        finish(&stream).unwrap_err();
    }
}
