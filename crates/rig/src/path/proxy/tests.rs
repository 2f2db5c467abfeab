//! Every path of a proxy over two real connections: its bytes, its counts, its ends.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::mpsc;
use std::time::Duration;

use super::{Forwarder, ProxySetup, open_forwarder};
use crate::path::testing::{ODD_LENS, PATIENCE, content, in_time, pair};
use zc_run::{Error, ProxyPath, RecvCounts};

/// The ends of both connections: client and server, and the proxy's between them.
struct Ends {
    client: TcpStream,
    source: TcpStream,
    target: TcpStream,
    server: TcpStream,
}

fn ends() -> Ends {
    let ((client, source), (target, server)) = (pair(), pair());
    Ends { client, source, target, server }
}

fn paths() -> impl Iterator<Item = ProxyPath> {
    ProxyPath::ALL.iter().copied().filter(|path| *path != ProxyPath::None)
}

type Ended = Result<RecvCounts, Error>;

/// Forwards in a thread until the end, which it passes on, or until an error; `None` and the reason
/// on stderr where the path cannot run here.
fn forwarding(
    path: ProxyPath,
    source: TcpStream,
    target: TcpStream,
    buffer_bytes: usize,
) -> Option<mpsc::Receiver<Ended>> {
    let (opened, is_open) = mpsc::channel();
    let ended = in_time(move || {
        let setup =
            ProxySetup { source: source.as_fd(), target: target.as_fd(), buffer_bytes, cpu: None };
        let opening = open_forwarder(path, &setup);
        opened.send(opening.as_ref().err().map(|no| no.reason.clone())).unwrap();
        let mut path = opening.map_err(|no| Error::failed("no-path", no.reason))?;
        let mut total = 0;
        loop {
            match path.forward()? {
                0 => break,
                moved => total += moved as u64,
            }
        }
        assert_eq!(path.forward()?, 0, "the end stays one");
        assert_eq!(path.counts().bytes, total);
        target.shutdown(Shutdown::Write).unwrap();
        Ok(Forwarder::counts(&*path))
    });
    match is_open.recv_timeout(PATIENCE).unwrap() {
        None => Some(ended),
        Some(reason) => {
            eprintln!("skipped: {path}: {reason}");
            None
        }
    }
}

fn sent() -> Vec<u8> {
    ODD_LENS.iter().enumerate().flat_map(|(at, &len)| content(at, len)).collect()
}

#[test]
fn every_path_forwards_every_byte_with_every_buffer() {
    let expected = sent();
    for path in paths() {
        for buffer_bytes in [4_096, 5_000, 65_536, 1 << 20] {
            let Ends { mut client, source, target, mut server } = ends();
            let Some(ended) = forwarding(path, source, target, buffer_bytes) else { continue };
            let received = in_time(move || {
                let mut received = Vec::new();
                server.read_to_end(&mut received).unwrap();
                received
            });
            for (at, &len) in ODD_LENS.iter().enumerate() {
                client.write_all(&content(at, len)).unwrap();
            }
            drop(client);
            let received = received.recv_timeout(PATIENCE).unwrap();
            assert!(received == expected, "{path} {buffer_bytes}: other bytes arrived");
            let counts = ended.recv_timeout(PATIENCE).unwrap().unwrap();
            assert_eq!(counts.bytes, expected.len() as u64, "{path} {buffer_bytes}");
            assert_eq!(counts.calls > 0, path.has_buffer(), "{path} {buffer_bytes}");
        }
    }
}

#[test]
fn small_socket_buffers_and_a_slow_reader_lose_nothing() {
    let expected = content(1, 300_001);
    for path in paths() {
        let Ends { mut client, source, target, mut server } = ends();
        for socket in [&client, &source, &target, &server] {
            zc_kernel::tcp::set_sndbuf(socket, 16 << 10).unwrap();
            zc_kernel::tcp::set_rcvbuf(socket, 64 << 10).unwrap();
        }
        let Some(ended) = forwarding(path, source, target, 16_384) else { continue };
        let received = in_time(move || {
            let mut received = Vec::new();
            let mut part = [0; 10_001];
            loop {
                std::thread::sleep(Duration::from_millis(1));
                match server.read(&mut part).unwrap() {
                    0 => break received,
                    len => received.extend_from_slice(&part[..len]),
                }
            }
        });
        client.write_all(&expected).unwrap();
        drop(client);
        let received = received.recv_timeout(PATIENCE);
        assert!(received.unwrap_or_else(|_| panic!("{path}: too slow")) == expected, "{path}");
        ended.recv_timeout(PATIENCE).unwrap().unwrap();
    }
}

#[test]
fn a_stream_without_bytes_has_an_end() {
    for path in paths() {
        let Ends { client, source, target, mut server } = ends();
        let Some(ended) = forwarding(path, source, target, 4_096) else { continue };
        drop(client);
        assert_eq!(ended.recv_timeout(PATIENCE).unwrap().unwrap().bytes, 0, "{path}");
        assert_eq!(server.read(&mut [0; 8]).unwrap(), 0, "{path}");
    }
}

#[test]
fn a_sender_or_a_receiver_that_is_gone_is_an_error() {
    for path in paths() {
        let Ends { client, source, target, server } = ends();
        let Some(ended) = forwarding(path, source, target, 4_096) else { continue };
        zc_kernel::tcp::set_reset_on_close(&client).unwrap();
        drop(client);
        let error = ended.recv_timeout(PATIENCE).unwrap().unwrap_err();
        assert_eq!(error.id, "sender-reset", "{path}: {error}");
        drop(server);

        let Ends { mut client, source, target, server } = ends();
        let Some(ended) = forwarding(path, source, target, 4_096) else { continue };
        drop(server);
        let bytes = sent();
        // Until the proxy is gone, too.
        let sending = in_time(move || while client.write_all(&bytes).is_ok() {});
        let error = ended.recv_timeout(PATIENCE).unwrap().unwrap_err();
        assert_eq!(error.id, "receiver-closed-early", "{path}: {error}");
        sending.recv_timeout(PATIENCE).unwrap();
    }
}

#[test]
fn a_path_that_waits_is_woken_by_a_shutdown_of_its_sockets() {
    for path in paths() {
        let Ends { client, source, target, server } = ends();
        let [again, other] = [&source, &target].map(|socket| socket.try_clone().unwrap());
        let Some(ended) = forwarding(path, source, target, 4_096) else { continue };
        again.shutdown(Shutdown::Both).unwrap();
        other.shutdown(Shutdown::Both).unwrap();
        // With an end or an error.
        let _ = ended.recv_timeout(PATIENCE).expect("it ends in time");
        drop((client, server));
    }
}
