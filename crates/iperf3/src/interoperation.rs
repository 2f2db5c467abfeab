//! Tests against a real iperf3: the installed one, or that of `ZC_IPERF3`.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

/// Long enough for everything on one machine. Nothing waits that long.
const PATIENCE: Duration = Duration::from_secs(20);

fn iperf3() -> Command {
    Command::new(std::env::var_os("ZC_IPERF3").unwrap_or_else(|| "iperf3".into()))
}

fn is_missing() -> bool {
    let missing = iperf3().arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if let Err(error) = &missing {
        eprintln!("skipped: iperf3 cannot be run: {error}");
    }
    missing.is_err()
}

/// A real server on a port of its own. Dropping it ends it.
struct Server {
    child: Child,
    at: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = iperf3()
            .args(["-s", "-B", "127.0.0.1", "-p", &at.port().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, at }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A test of `streams` streams that send for `time`, in pieces of a length that matches no block.
/// Returns the bytes sent, including padding, and the server's report.
fn test(at: SocketAddr, streams: usize, time: Duration) -> (u64, ServerReport) {
    let mut test = Test::open(at, streams, PATIENCE).unwrap();
    let mut connections = Vec::new();
    for _ in 0..streams {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(test.cookie()).unwrap();
        connections.push(stream);
    }
    test.running().unwrap();
    let (began, piece, mut sent) = (Instant::now(), vec![7; 200_003], vec![0; streams]);
    while began.elapsed() < time {
        for (mut stream, sent) in connections.iter().zip(&mut sent) {
            stream.write_all(&piece).unwrap();
            *sent += piece.len() as u64;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    settle(&connections, &mut sent, PATIENCE).unwrap();
    until_read(at);
    (sent.iter().sum(), test.end(&sent, seconds).unwrap())
}

/// Waits until a server on this machine has read everything. [`settle`] cannot see that and waits
/// for 10 ms, which are not enough for a server that waits for a CPU.
fn until_read(at: SocketAddr) {
    let SocketAddr::V4(at) = at else { panic!("{at} is not of IPv4") };
    // proc(5): an address in hexadecimal in the order of memory, and the bytes in both queues.
    let local = format!("{:08X}:{:04X}", u32::from_ne_bytes(at.ip().octets()), at.port());
    let is_read = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // A listening socket has the length of its queue of connections there.
        fields[1] != local || fields[3] != "01" || fields[4].ends_with(":00000000")
    };
    let until = Instant::now() + PATIENCE;
    while !std::fs::read_to_string("/proc/net/tcp").unwrap().lines().all(is_read) {
        assert!(Instant::now() < until, "the server reads nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn fifty_short_tests_in_a_row_against_one_server_count_what_was_sent() {
    if is_missing() {
        return;
    }
    let server = Server::start();
    for round in 0..50 {
        let (sent, report) = test(server.at, 1 + round % 4, Duration::from_millis(10));
        assert_eq!(report.received_bytes, sent, "in round {round}");
        assert!(report.cpu_percent > 0.0 && report.seconds > 0.0, "{report:?}");
    }
}

#[test]
fn a_test_that_is_dropped_leaves_the_server_for_the_next_one() {
    if is_missing() {
        return;
    }
    let server = Server::start();
    let abandoned = Test::open(server.at, 1, PATIENCE).unwrap();
    drop(abandoned);
    let (sent, report) = test(server.at, 2, Duration::from_millis(10));
    assert_eq!(report.received_bytes, sent);
    let mut abandoned = Test::open(server.at, 1, PATIENCE).unwrap();
    let mut stream = TcpStream::connect(server.at).unwrap();
    stream.write_all(abandoned.cookie()).unwrap();
    abandoned.running().unwrap();
    drop(abandoned);
    drop(stream);
    let (sent, report) = test(server.at, 128, Duration::from_millis(10));
    assert_eq!(report.received_bytes, sent);
}

#[test]
fn a_second_client_learns_that_the_server_is_busy() {
    if is_missing() {
        return;
    }
    let server = Server::start();
    let mut first = Test::open(server.at, 1, PATIENCE).unwrap();
    let mut stream = TcpStream::connect(server.at).unwrap();
    stream.write_all(first.cookie()).unwrap();
    first.running().unwrap();
    let error = Test::open(server.at, 1, Duration::from_millis(100)).unwrap_err();
    assert_eq!(error.id, "iperf3-busy");
    assert_eq!(first.end(&[0], 0.1).unwrap().received_bytes, 0);
}
