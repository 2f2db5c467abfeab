//! A port mapper that accepts whatever a server registers: rpcbind, as far as a server of NFS
//! version 3 needs it to start. Clients are told the ports by zc, and ask nobody.
//!
//! The host's own rpcbind serves another network namespace. One of zc's own would want files, a
//! user and a lock that are the host's.
//!
//! References: RFC 5531 (RPC), RFC 1833 (rpcbind).

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;

/// The port of the port mapper.
const PORT: u16 = 111;

/// A registration has some 100 bytes.
const LONGEST_CALL: usize = 4096;

/// Names of its threads.
const LOCAL: &str = "zc-rpcb-local";
const TCP: &str = "zc-rpcb-tcp";
const UDP: &str = "zc-rpcb-udp";

/// Message types, and procedures that all versions of the program have.
const CALL: u32 = 0;
const REPLY: u32 = 1;
const NULL: u32 = 0;
const SET: u32 = 1;
const UNSET: u32 = 2;

/// Flag before a message in a stream: this is the last fragment.
const LAST_FRAGMENT: u32 = 1 << 31;

/// Starts to answer at port 111 of the calling thread's network namespace, and at the socket that
/// local programs ask.
///
/// # Errors
/// An address is taken, or there is no thread.
pub(super) fn start(socket: &Path) -> io::Result<()> {
    drop(fs::remove_file(socket)); // there may be none
    let local = UnixListener::bind(socket)?;
    let tcp = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    let udp = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    begin(LOCAL, move || {
        local.incoming().flatten().for_each(|stream| answer_beside(LOCAL, stream))
    })?;
    begin(TCP, move || tcp.incoming().flatten().for_each(|stream| answer_beside(TCP, stream)))?;
    begin(UDP, move || answer_datagrams(&udp))
}

/// Answers the calls of a connection in a thread of its own: the kernel keeps one open. Without a
/// thread the connection is closed.
fn answer_beside(name: &str, stream: impl Read + Write + Send + 'static) {
    drop(begin(name, || answer_stream(stream)));
}

fn begin(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
}

/// Answers the calls of a connection until it ends or says something else.
fn answer_stream(mut stream: impl Read + Write) {
    let mut mark = [0; 4];
    let mut call = [0; LONGEST_CALL];
    while stream.read_exact(&mut mark).is_ok() {
        let word = u32::from_be_bytes(mark);
        let Some(call) = call.get_mut(..(word & !LAST_FRAGMENT) as usize) else { return };
        if word & LAST_FRAGMENT == 0 || stream.read_exact(call).is_err() {
            return;
        }
        let Some(reply) = reply(call) else { return };
        let mark = LAST_FRAGMENT | reply.len() as u32;
        if stream.write_all(&[&mark.to_be_bytes()[..], &reply].concat()).is_err() {
            return;
        }
    }
}

fn answer_datagrams(socket: &UdpSocket) {
    let mut call = [0; LONGEST_CALL];
    while let Ok((bytes, from)) = socket.recv_from(&mut call) {
        if let Some(reply) = call.get(..bytes).and_then(reply) {
            drop(socket.send_to(&reply, from)); // who asked may be gone
        }
    }
}

/// The reply to a call: that it was registered. Procedures that are none of SET, UNSET and NULL are
/// not available. `None` to what is no call.
fn reply(call: &[u8]) -> Option<Vec<u8>> {
    const ACCEPTED: u32 = 0;
    const SUCCESS: u32 = 0;
    const PROC_UNAVAIL: u32 = 3;
    let mut words =
        call.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap_or_default()));
    let (xid, kind) = (words.next()?, words.next()?);
    // RPC's version, the program and the program's version.
    let procedure = words.nth(3)?;
    if kind != CALL {
        return None;
    }
    let result: &[u32] = match procedure {
        NULL => &[SUCCESS],
        SET | UNSET => &[SUCCESS, 1],
        _ => &[PROC_UNAVAIL],
    };
    // No verifier: of no flavour and of no length.
    let head = [xid, REPLY, ACCEPTED, 0, 0];
    Some(head.iter().chain(result).flat_map(|word| word.to_be_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
    }

    fn call(procedure: u32) -> Vec<u8> {
        [7, CALL, 2, 100_000, 4, procedure, 0, 0, 0, 0]
            .iter()
            .flat_map(|word: &u32| word.to_be_bytes())
            .collect()
    }

    #[test]
    fn what_is_registered_is_accepted() {
        assert_eq!(words(&reply(&call(SET)).unwrap()), [7, REPLY, 0, 0, 0, 0, 1]);
        assert_eq!(words(&reply(&call(NULL)).unwrap()), [7, REPLY, 0, 0, 0, 0]);
        assert_eq!(words(&reply(&call(9)).unwrap()), [7, REPLY, 0, 0, 0, 3], "no such procedure");
    }

    #[test]
    fn a_connection_that_stays_open_keeps_nobody_waiting() {
        let (mut first, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let (mut second, other) = std::os::unix::net::UnixStream::pair().unwrap();
        for stream in [far, other] {
            answer_beside(LOCAL, stream);
        }
        let one = call(SET);
        let mark = (LAST_FRAGMENT | one.len() as u32).to_be_bytes();
        for stream in [&mut second, &mut first] {
            stream.write_all(&[&mark[..], &one].concat()).unwrap();
            stream.read_exact(&mut [0; 32]).unwrap();
        }
    }

    #[test]
    fn what_is_no_call_is_not_answered() {
        assert_eq!(reply(&[]), None);
        assert_eq!(reply(&call(SET)[..20]), None);
        let mut other = call(SET);
        other[7] = 1;
        assert_eq!(reply(&other), None, "a reply");
    }

    #[test]
    fn a_stream_is_answered_call_by_call_until_it_ends() {
        struct Both(io::Cursor<Vec<u8>>, Vec<u8>);
        impl Read for &mut Both {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0.read(into)
            }
        }
        impl Write for &mut Both {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1.write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let one = call(SET);
        let mark = (LAST_FRAGMENT | one.len() as u32).to_be_bytes();
        let mut both =
            Both(io::Cursor::new([&mark[..], &one, &mark, &one, b"rest"].concat()), Vec::new());
        answer_stream(&mut both);
        assert_eq!(both.1.len(), 2 * (4 + 28));
        let mut endless = Both(io::Cursor::new(vec![0xff; 64]), Vec::new());
        answer_stream(&mut endless);
        assert!(endless.1.is_empty(), "no message is so long");
    }
}
