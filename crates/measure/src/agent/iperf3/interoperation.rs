//! Tests against a real iperf3: the installed one, or that of `ZC_IPERF3`.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::server::TELL_EVERY;
use super::testing::{PATIENCE, Serving};
use super::*;

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

/// Whether this version has an option.
fn knows(option: &str) -> bool {
    iperf3()
        .arg("--help")
        .output()
        .is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains(option))
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
    assert_eq!(error.message, format!("iperf3 server \"{}\" is busy with another test", server.at));
    assert_eq!(first.end(&[0], 0.1).unwrap().received_bytes, 0);
}

impl Serving {
    /// Runs an iperf3 client and returns its JSON.
    fn client(&self, arguments: &[&str]) -> Value {
        let port = self.at.port().to_string();
        let output = iperf3()
            .args(["-J", "-c", "127.0.0.1", "-p", &port])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
    }
}

fn number(report: &Value, path: &str) -> f64 {
    report
        .pointer(path)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no {path} in {report:#}"))
}

#[test]
fn clients_of_iperf3_send_to_the_server_and_every_byte_is_counted() {
    if is_missing() {
        return;
    }
    let serving = Serving::start(Limits::default());
    // 3.12 lacks the option.
    let skip = if knows("--skip-rx-copy") {
        &["-n", "100M", "--skip-rx-copy"][..]
    } else {
        &["-n", "100M"]
    };
    for arguments in [
        skip,
        &["-n", "100M", "-P", "4"],
        &["-k", "100", "-l", "9999"],
        &["-t", "1", "-b", "80M", "-i", "0.5"],
        &["-t", "1", "-P", "3", "-w", "64K", "-N", "-Z"],
        &["-t", "1", "-l", "1M", "--get-server-output", "-S", "16", "-A", "0,0"],
    ] {
        let report = serving.client(arguments);
        assert!(report.get("error").is_none(), "{arguments:?}: {report:#}");
        let (sent, received) =
            (number(&report, "/end/sum_sent/bytes"), number(&report, "/end/sum_received/bytes"));
        // Newer clients do not count the block in progress of each stream.
        let streams = report["start"]["connected"].as_array().unwrap().len() as f64;
        let block = number(&report, "/start/test_start/blksize");
        assert!(
            received >= sent && received <= sent + streams * block,
            "{arguments:?}: {sent} sent, {received} received"
        );
        assert!(
            received > 0.0 && number(&report, "/end/cpu_utilization_percent/remote_total") > 0.0,
            "{report:#}"
        );
    }
    let events = serving.end();
    assert_eq!(
        events.iter().filter(|event| matches!(event, Event::Began { reverse: false, .. })).count(),
        6
    );
    assert_eq!(
        events.iter().filter(|event| matches!(event, Event::Ended(_))).count(),
        6,
        "{events:?}"
    );
}

#[test]
fn clients_of_iperf3_receive_from_the_server() {
    if is_missing() {
        return;
    }
    let serving = Serving::start(Limits::default());
    for arguments in [
        &["-R", "-n", "100M"][..],
        &["-R", "-n", "100M", "-P", "4"],
        &["-R", "-t", "1", "-Z"],
        &["-R", "-t", "1", "-b", "80M", "-l", "10K"],
        &["-R", "-t", "1", "-P", "3", "--repeating-payload", "-C", "reno"],
    ] {
        let report = serving.client(arguments);
        assert!(report.get("error").is_none(), "{arguments:?}: {report:#}");
        let (sent, received) =
            (number(&report, "/end/sum_sent/bytes"), number(&report, "/end/sum_received/bytes"));
        assert!(
            received > 0.0 && sent >= received,
            "{arguments:?}: {sent} sent, {received} received"
        );
        if arguments.contains(&"-n") {
            let blocks =
                (100.0 * 1_048_576.0 / number(&report, "/start/test_start/blksize")).ceil();
            assert_eq!(sent, blocks * number(&report, "/start/test_start/blksize"));
            assert_eq!(received, sent);
        }
        if arguments.contains(&"-b") {
            let bits = sent * 8.0 / number(&report, "/end/sum_sent/seconds");
            assert!(bits < 90e6, "{bits} bits a second");
        }
        assert!(number(&report, "/end/sum_sent/retransmits") >= 0.0);
    }
    let events = serving.end();
    assert_eq!(
        events.iter().filter(|event| matches!(event, Event::Ended(_))).count(),
        5,
        "{events:?}"
    );
}

#[test]
fn omitted_bytes_are_not_counted() {
    if is_missing() {
        return;
    }
    let measured = |direction: &[&str]| {
        let serving = Serving::start(Limits::default());
        let report = serving.client(&[&["-t", "1", "-O", "1", "-b", "80M"], direction].concat());
        for end in ["sum_sent", "sum_received"] {
            let bytes = number(&report, &format!("/end/{end}/bytes"));
            // 10 MB/s for one second. Without omission it would be 20 MB.
            assert!((1e6..16e6).contains(&bytes), "{direction:?}: {end} is {bytes}");
        }
        drop(serving.end());
    };
    // Both wait for two seconds, and each has a server of its own.
    std::thread::scope(|scope| {
        scope.spawn(|| measured(&["-R"]));
        measured(&[]);
    });
}

#[test]
fn an_unsupported_option_is_an_error_at_the_client_and_the_server_goes_on() {
    if is_missing() {
        return;
    }
    let serving = Serving::start(Limits { streams: 4, ..Limits::default() });
    for (arguments, error) in [
        (&["-u"][..], "an option you are trying to set is not implemented yet"),
        (&["--bidir"], "an option you are trying to set is not implemented yet"),
        (&["-P", "5"], "number of parallel streams too large"),
        (&["-R", "--fq-rate", "1M"], "unable to set socket pacing"),
        (&["-A", "0,999"], "unable to set CPU affinity"),
    ] {
        let report = serving.client(arguments);
        let said = report["error"].as_str().unwrap_or_default();
        assert!(said.contains(error), "{arguments:?}: {said}");
        std::thread::sleep(TELL_EVERY + Duration::from_millis(20));
    }
    assert!(serving.client(&["-n", "1M"]).get("error").is_none());
    let events = serving.end();
    let refusals =
        events.iter().filter(|event| matches!(event, Event::Refused { untold: 0, .. })).count();
    assert_eq!(refusals, 5, "{events:?}");
}

#[test]
fn a_second_client_is_refused_and_the_end_of_the_server_ends_the_test() {
    if is_missing() {
        return;
    }
    let serving = Serving::start(Limits::default());
    let port = serving.at.port().to_string();
    let first = iperf3()
        .args(["-J", "-c", "127.0.0.1", "-t", "60", "-b", "8M", "-p", &port])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(matches!(serving.next_event(), Event::Began { .. }));
    let busy = serving.client(&["-n", "1"]);
    assert!(
        busy["error"].as_str().unwrap().contains("the server is busy running a test"),
        "{busy:#}"
    );
    let events = serving.end();
    assert!(
        matches!(events.last(), Some(Event::GivenUp { why, bytes, .. })
            if why == "was told that the server ends" && *bytes > 0),
        "{events:?}"
    );
    let report: Value = serde_json::from_slice(&first.wait_with_output().unwrap().stdout).unwrap();
    assert!(report["error"].as_str().unwrap().contains("the server has terminated"), "{report:#}");
}

#[test]
fn zc_measures_its_sender_against_its_own_server() {
    let serving = Serving::start(Limits::default());
    for round in 0..20 {
        let (sent, report) = test(serving.at, 1 + round % 4, Duration::from_millis(5));
        assert_eq!(report.received_bytes, sent);
    }
    assert_eq!(serving.end().iter().filter(|event| matches!(event, Event::Ended(_))).count(), 20);
}
