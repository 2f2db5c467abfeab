//! Against a real iperf3, of the version that is installed, or of the one that `ZC_IPERF3` names.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

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

/// A real server on a port of its own; dropping it ends it.
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

/// A test of `streams` streams that send pieces of a length that fits nothing for `time`. Returns what was sent, filling
/// included, and what the server says.
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
    (sent.iter().sum(), test.end(&sent, seconds).unwrap())
}

#[test]
fn a_hundred_short_tests_in_a_row_against_one_server_count_every_byte() {
    if is_missing() {
        return;
    }
    let server = Server::start();
    for round in 0..100 {
        let (sent, report) = test(server.at, 1 + round % 4, Duration::from_millis(40));
        assert_eq!(report.received_bytes, sent, "in round {round}");
        assert!(report.cpu_percent > 0.0 && report.seconds > 0.0, "{report:?}");
        assert!((report.cpu_percent - report.cpu_user_percent - report.cpu_system_percent).abs() < 20.0, "{report:?}");
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
fn a_second_client_is_told_that_the_server_is_busy() {
    if is_missing() {
        return;
    }
    let server = Server::start();
    let mut first = Test::open(server.at, 1, PATIENCE).unwrap();
    let mut stream = TcpStream::connect(server.at).unwrap();
    stream.write_all(first.cookie()).unwrap();
    first.running().unwrap();
    let fault = Test::open(server.at, 1, Duration::from_millis(100)).unwrap_err();
    assert_eq!(fault.sentence, format!("iperf3 server \"{}\" is busy with another test", server.at));
    assert_eq!(first.end(&[0], 0.1).unwrap().received_bytes, 0);
}
