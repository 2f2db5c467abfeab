//! `zc http` against servers of this process: its results, its refusals, Ctrl-C.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;

use crate::format::is_as_described;
use crate::support::{
    Bounded as _, LIMIT, ZC, failed, on_emulated_cpu, refused, stderr, text, until, zc,
};

/// A server that ends with this.
struct Server {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Server {
    /// Answers every request with these bytes; `None`: never.
    fn answering(answer: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (Arc::clone(&requests), Arc::clone(&stop));
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (mut connection, answer, counted) =
                    (connection.unwrap(), answer.clone(), Arc::clone(&counted));
                connection.set_read_timeout(Some(LIMIT)).unwrap();
                std::thread::spawn(move || {
                    while is_asked(&mut connection) {
                        counted.fetch_add(1, Ordering::Relaxed);
                        let Some(answer) = &answer else { continue };
                        if connection.write_all(answer).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, requests, stop }
    }

    fn with_body(head: &str, body_bytes: usize) -> Self {
        let mut answer =
            format!("HTTP/1.1 {head}\r\nContent-Length: {body_bytes}\r\n\r\n").into_bytes();
        answer.resize(answer.len() + body_bytes, b'x');
        Self::answering(Some(answer))
    }

    fn url(&self) -> String {
        format!("http://{}/file", self.address)
    }

    fn zc(&self, args: &[&str]) -> Output {
        zc(&[&["http", &self.url()], args].concat()).finish().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address); // ends its wait
    }
}

/// Whether a request arrives, with all of its head.
fn is_asked(connection: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match connection.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

#[track_caller]
fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

#[test]
fn a_number_of_requests_is_sent_and_told() {
    let server = Server::with_body("200 OK\r\nServer: test/1", 4096);
    let output = server.zc(&["--requests", "200", "--connections", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = text(&output.stdout);
    for says in [
        "4096 bytes from test/1",
        "as fast as the server answers, 3 connections, kept alive",
        "200 answered: ",
        "latency       p50 ",
        "us per request: one CPU of it sends at most ",
    ] {
        assert!(printed.contains(says), "{says}: {printed}");
    }
    // One more was read before.
    assert_eq!(server.requests.load(Ordering::Relaxed), 201);
}

#[test]
fn the_document_is_valid_and_counts_what_was_sent() {
    let server = Server::with_body("200 OK", 100_000);
    let output = server.zc(&["--requests", "50", "--rate", "500/s", "--json", "--cpu", "0"]);
    let result = document(&output);
    is_as_described("http", &result);
    assert_eq!(result["responses"], 50);
    assert_eq!(result["body_bytes"], 5_000_000);
    assert_eq!(result["statuses"]["200"], 50);
    assert_eq!(result["load"]["rate_per_s"], 500.0);
    assert_eq!(result["faults"], Value::Array(Vec::new()));
    assert!(
        result["late"]["p99_us"].is_number() && result["own_cpu"]["us_per_response"].is_number()
    );
    // 49 spacings of 2 ms.
    assert!(result["seconds"].as_f64().unwrap() >= 0.098);
}

#[test]
fn on_an_emulated_machine_sending_has_no_cost() {
    let server = Server::with_body("200 OK", 100);
    let folder = tempfile::tempdir().unwrap();
    let script = format!("exec {ZC} http {} --requests 20 --json", server.url());
    let Some(output) = on_emulated_cpu(folder.path(), &script) else { return };
    let result = document(&output);
    is_as_described("http", &result);
    assert_eq!((&result["responses"], &result["own_cpu"]), (&Value::from(20), &Value::Null));
}

#[test]
fn what_a_log_asked_for_is_asked_for_again() {
    let server = Server::with_body("200 OK", 4096);
    let base = format!("http://{}", server.address);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let log = log.to_str().unwrap();
    let lines = |all: &[&str]| {
        let line =
            |said: &&str| format!("192.0.2.1 - - [17/May/2015:10:05:03 +0000] {said} \"-\"\n");
        std::fs::write(log, all.iter().map(line).collect::<String>()).unwrap();
    };
    let asked = [
        "\"GET /a HTTP/1.1\" 200 5",
        "\"GET /b?c HTTP/1.1\" 200 6",
        "\"POST /a HTTP/1.1\" 200 5",
        "\"GET /a HTTP/1.1\" 200 5",
        "nonsense",
    ];
    lines(&asked);
    let from =
        |args: &[&str]| zc(&[&["http", &base, "--from", log], args].concat()).finish().unwrap();
    let output = from(&["--requests", "7"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = text(&output.stdout);
    assert!(printed.contains(&format!("url           {base}/a: 4096 bytes")), "{printed}");
    let of_log = "3 requests for 2 paths, over and over; 1 left out (not GET, or not answered with";
    // The path of the log may be broken into lines.
    let words = printed.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(of_log) && words.contains("1 lines without a request"), "{words}");

    let result = document(&from(&["--requests", "7", "--json"]));
    assert_eq!(result["load"]["from"]["requests"], 3);
    assert_eq!(result["load"]["from"]["targets"], 2);
    assert_eq!(result["responses"], 7);

    lines(&asked[2..3]);
    assert_eq!(refused(&from(&[]), 3), "log-without-requests");
    std::fs::remove_file(log).unwrap();
    assert_eq!(refused(&from(&[]), 3), "cannot-read-log");
}

#[test]
fn a_rate_that_is_not_reached_is_told_and_exit_code_1() {
    let server = Server::answering(None);
    // The first answer never comes: nothing is measured.
    assert_eq!(refused(&server.zc(&["--timeout", "50ms"]), 6), "no-answer");

    let server = Server::with_body("200 OK", 1_000_000);
    let output = server.zc(&["--rate", "1000000/s", "--for", "200ms"]);
    assert_eq!(failed(&output, 1), "rate-not-reached");
    assert!(text(&output.stdout).contains("the rate was not reached"));
}

#[test]
fn what_the_server_answers_is_refused_before_a_load_begins() {
    for (head, id, names) in [
        ("301 Moved\r\nLocation: https://a.test/x", "redirect", "\"https://a.test/x\""),
        ("404 Not Found", "unexpected-status", "404"),
        ("200 OK\r\nContent-Encoding: gzip", "unrequested-encoding", "\"gzip\""),
    ] {
        let server = Server::with_body(head, 10);
        let output = server.zc(&[]);
        assert_eq!(refused(&output, 6), id);
        assert!(stderr(&output).contains(names), "{}", stderr(&output));
        assert_eq!(server.requests.load(Ordering::Relaxed), 1);
    }
    let nonsense = Server::answering(Some(b"nonsense\r\n\r\n".to_vec()));
    assert_eq!(refused(&nonsense.zc(&[]), 6), "not-http");
}

#[test]
fn servers_that_cannot_be_reached_are_exit_code_6() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = zc(&["http", &format!("http://{nobody}/")]).finish().unwrap();
    assert_eq!(refused(&output, 6), "cannot-connect");
    assert!(stderr(&output).contains(&nobody.to_string()), "{}", stderr(&output));
    let output = zc(&["http", "http://no-such-host.invalid/"]).finish().unwrap();
    assert_eq!(refused(&output, 6), "cannot-find-host");
    assert!(stderr(&output).contains("\"no-such-host.invalid\""), "{}", stderr(&output));
    let server = Server::with_body("200 OK", 1);
    let https = server.url().replace("http:", "https:");
    let output = zc(&["http", &https, "--cacert", "/dev/null"]).finish().unwrap();
    assert_eq!(refused(&output, 3), "certificates-unusable");
    let output = zc(&["http", &server.url(), "--cpu", "100000"]).finish().unwrap();
    assert_eq!(refused(&output, 2), "cannot-bind-to-cpu");
}

#[test]
fn a_fault_during_the_load_is_told_and_exit_code_1() {
    // The first response is right; those of the load are not.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut status = "200 OK";
        while is_asked(&mut connection) {
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            if connection.write_all(answer.as_bytes()).is_err() {
                return;
            }
            status = "503 Unavailable";
        }
    });
    let output =
        zc(&["http", &url, "--requests", "5", "--connections", "1", "--json"]).finish().unwrap();
    assert_eq!(failed(&output, 1), "load-failed");
    assert!(stderr(&output).contains("status 503"), "{}", stderr(&output));
    let result = document(&output);
    assert_eq!(result["faults"][0]["kind"], "status");
    assert_eq!(result["statuses"]["503"], 5);
}

#[test]
fn ctrl_c_ends_it_with_what_was_measured() {
    let server = Server::with_body("200 OK", 10);
    let mut zc = zc(&["http", &server.url(), "--for", "600s", "--rate", "100/s", "--json"]);
    let mut zc = zc.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    until("it sends", || {
        (server.requests.load(Ordering::Relaxed) > 5 || zc.try_wait().unwrap().is_some())
            .then_some(())
    });
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&zc),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let result = document(&output);
    assert_eq!(result["interrupted"], true);
    assert!(result["responses"].as_u64().unwrap() >= 1);
}

#[test]
fn a_load_that_was_stopped_says_so_and_tells_no_latency() {
    let server = Server::with_body("200 OK", 10);
    let mut zc = zc(&["http", &server.url(), "--requests", "400", "--rate", "200/s", "--json"]);
    let mut zc = zc.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    until("it sends", || {
        (server.requests.load(Ordering::Relaxed) > 5 || zc.try_wait().unwrap().is_some())
            .then_some(())
    });
    let send = |signal| {
        rustix::process::kill_process(rustix::process::Pid::from_child(&zc), signal).unwrap();
    };
    send(rustix::process::Signal::STOP);
    // What is to be seen: that it stood still for so long.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    send(rustix::process::Signal::CONT);
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 13), "latency-withheld");
    let result = document(&output);
    assert!(result["stalled_seconds"].as_f64().unwrap() > 0.5, "{result}");
    for figure in ["latency", "late", "own_late"] {
        assert!(result[figure].is_null(), "{figure}: {result}");
    }
    assert_eq!(result["responses"], 400);
}

#[test]
fn a_connection_for_each_request_comes_from_the_source() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let peers = std::thread::spawn(move || {
        let mut peers = Vec::new();
        for _ in 0..6 {
            let (mut connection, peer) = listener.accept().unwrap();
            connection.set_read_timeout(Some(LIMIT)).unwrap();
            assert!(is_asked(&mut connection));
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            peers.push(peer.ip().to_string());
        }
        peers
    });
    let args = ["http", &url, "--close", "--requests", "5", "--connections", "1"];
    let output = zc(&[&args[..], &["--source", "127.0.0.42", "--json"]].concat()).finish().unwrap();
    let result = document(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(result["connects"], 5);
    assert_eq!(peers.join().unwrap(), ["127.0.0.42"; 6]);
}
