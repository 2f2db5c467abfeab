//! Servers that answer nonsense, too much, too little, too slowly or not at all.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::server::{LIMIT, Server, next_request, phase_of, response, start, until};
use crate::{Fault, LoadOptions, Pace, Phase, Reuse};
use zc_run::ErrorKind;

/// Timeout in tests whose server takes too long.
const SHORT: Duration = Duration::from_millis(100);

/// Results of a phase of so many requests, one after the other.
fn phase(server: &Server, requests: u64) -> Phase {
    phase_of(server.options(), requests)
}

/// Three requests have come out as this fault alone, and its first words say so.
#[track_caller]
fn all_are(phase: &Phase, fault: Fault, says: &str) {
    assert_eq!(phase.counts.faults().collect::<Vec<_>>(), [(fault, 3)]);
    let (first, words) = phase.first_fault.as_ref().unwrap();
    assert_eq!(*first, fault);
    assert!(words.contains(says), "{words}");
}

#[test]
fn what_is_no_response_is_malformed() {
    for (answer, says) in [
        (&b"nonsense\r\n\r\n"[..], "does not begin with HTTP/1.1"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not begin with HTTP/1.1"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "does not begin with HTTP/1.1"),
        (b"HTTP/2 200 OK\r\n\r\n", "HTTP/1.1"),
        (b"HTTP/1.1 2OO OK\r\n\r\n", "status"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "length is no number"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n", "length is no number"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "length is no number"),
        (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "length is no number"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "length is no number",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two lengths"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "two lengths"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "a length and a transfer coding",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", "follows \"chunked\""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "no valid size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "no valid size"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "no valid size",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            "longer than its size",
        ),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "another protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", "bytes follow"),
        (b"HTTP/1.1 204 None\r\n\r\nabc", "bytes follow"),
        (&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(20), "do not end"),
    ] {
        all_are(&phase(&Server::answering(answer), 3), Fault::Malformed, says);
    }
}

#[test]
fn heads_lines_and_trailers_without_an_end_are_malformed() {
    let pouring = |begin: &'static str, piece: &'static str| {
        Server::with(move |mut connection, _| {
            if next_request(&mut connection).is_some() {
                drop(connection.write_all(begin.as_bytes()));
                while connection.write_all(piece.repeat(100).as_bytes()).is_ok() {}
            }
        })
    };
    let in_a_chunk_line = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1";
    for (begin, piece, says) in [
        ("HTTP/1.1 200 OK\r\n", "X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", "more than 100 headers"),
        ("HTTP/1.1 200 OK\r\nX: ", "y", "longer than 64 KiB"),
        (in_a_chunk_line, ";y", "longer than 1 KiB"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n", "trailers"),
    ] {
        all_are(&phase(&pouring(begin, piece), 3), Fault::Malformed, says);
    }
}

#[test]
fn what_is_not_as_it_should_be_is_counted_by_kind() {
    let fault = |head: &str, fault, says: &str| {
        all_are(&phase(&Server::answering(response(head, 10)), 3), fault, says);
    };
    fault("404 Not Found", Fault::Status, "status 404");
    fault("503 Unavailable", Fault::Status, "status 503");
    fault("301 Moved\r\nLocation: /there", Fault::Redirect, "a redirect to /there");
    fault("302 Found", Fault::Redirect, "status 302");
    fault("200 OK\r\nContent-Encoding: gzip", Fault::Encoded, "encoded with gzip");

    // The first one says how long they are to be.
    let server = Server::with(|mut connection, _| {
        for bytes in [10, 10, 11, 9] {
            next_request(&mut connection);
            drop(connection.write_all(&response("200 OK", bytes)));
        }
    });
    let lengths = phase(&server, 4);
    assert_eq!(lengths.counts.fault_count(Fault::Length), 2);
    assert_eq!(lengths.first_fault.unwrap().1, "a body has 11 bytes, and the first one had 10");
}

#[test]
fn a_fetch_that_is_of_no_use_says_why_and_what_helps() {
    for (head, id, named) in [
        ("301 Moved\r\nLocation: https://a.test/", "redirect", "\"https://a.test/\""),
        ("404 Not Found", "unexpected-status", "404"),
        ("200 OK\r\nContent-Encoding: br", "unrequested-encoding", "\"br\""),
    ] {
        let server = Server::answering(response(head, 10));
        let error = server.load().fetch(0).unwrap().usable().unwrap_err();
        assert_eq!((error.kind, error.help.is_some()), (ErrorKind::Remote, true));
        assert!(error.id == id && error.message.contains(named), "{error:?}");
    }
    let server = Server::answering(response("200 OK", 10));
    assert_eq!(server.load().fetch(0).unwrap().usable().unwrap().body_bytes, 10);
}

#[test]
fn connections_that_end_early_are_told_apart_from_those_that_were_only_closed() {
    for (answer, says) in [
        (&b""[..], "without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "after 0 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "after 3 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "after 2 bytes"),
    ] {
        let server = Server::with(move |mut connection, _| {
            if next_request(&mut connection).is_some() {
                drop(connection.write_all(answer));
            }
        });
        all_are(&phase(&server, 3), Fault::Closed, says);
        // A connection of its own that breaks is no reason to try again.
        assert_eq!(server.connections(), 3);
    }
}

#[test]
fn a_request_is_sent_twice_at_most() {
    // Every connection answers once, and is gone after the next request; so is the one after it.
    let server = Server::with(|mut connection, number| {
        next_request(&mut connection);
        if number == 0 {
            drop(connection.write_all(&response("200 OK", 10)));
            next_request(&mut connection);
        }
    });
    let phase = phase(&server, 2);
    assert_eq!((phase.counts.responses, phase.counts.fault_count(Fault::Closed)), (1, 1));
    assert_eq!((phase.counts.reconnects, server.connections()), (1, 2));
}

#[test]
fn servers_that_are_too_slow_are_given_up() {
    let silent = Server::with(|mut connection, _| while next_request(&mut connection).is_some() {});
    let trickling = Server::with(|mut connection, _| {
        next_request(&mut connection);
        drop(
            connection
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"),
        );
        while connection.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    for (server, says) in [(&silent, "does not answer after 0.1 s"), (&trickling, "is not whole")] {
        let phase = phase_of(LoadOptions { timeout: SHORT, ..server.options() }, 3);
        all_are(&phase, Fault::Timeout, says);
    }
}

#[test]
fn nobody_who_listens_is_an_error_at_the_start_and_counted_later() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::answering(response("200 OK", 1));
    let mut options = server.options();
    options.origins = vec![crate::Origin::at("http://a.test/", nobody).unwrap()];
    let error = start(options.clone()).unwrap_err();
    assert_eq!((error.kind, &*error.id), (ErrorKind::Remote, "cannot-connect"));
    assert!(error.help.is_some());

    // With a connection for each request, there is none at the start.
    options.reuse = Reuse::Close;
    let began = Instant::now();
    let phase = phase_of(options, 3);
    all_are(&phase, Fault::Connect, "connection refused");
    assert!(began.elapsed() >= Duration::from_millis(20), "refusals are not asked for in a loop");
}

#[test]
fn a_load_ends_at_once_whatever_servers_do() {
    let pouring = Server::with(|mut connection, _| {
        next_request(&mut connection);
        drop(connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n"));
        while connection.write_all(&[7; 65_536]).is_ok() {}
    });
    let silent = Server::with(|mut connection, _| while next_request(&mut connection).is_some() {});
    for server in [&pouring, &silent] {
        let load = start(LoadOptions { connections: 4, ..server.options() }).unwrap();
        load.go(0, Pace::Unpaced, 0);
        until("all are waited for", || load.counts().requests == 4);
        until("bytes arrive, if any", || {
            std::ptr::eq(server, &silent) || load.counts().body_bytes > 1 << 20
        });
        drop(load); // the test's own time would tell: neither server ever ends
    }
}

#[test]
fn a_word_on_an_idle_connection_is_no_answer() {
    let (go, may_go) = channel::<()>();
    let may_go = Mutex::new(may_go);
    let server = Server::with(move |mut connection, number| {
        next_request(&mut connection);
        drop(connection.write_all(&response("200 OK", 10)));
        if number == 0 && may_go.lock().unwrap().recv_timeout(LIMIT).is_ok() {
            // As some do before they close what was idle for too long.
            drop(connection.write_all(&response("408 Request Timeout", 5)));
        }
        next_request(&mut connection);
    });
    let load = server.load();
    load.fetch(0).unwrap();
    let before = load.counts().received_bytes;
    go.send(()).unwrap();
    until("it arrives", || load.counts().received_bytes > before);
    assert_eq!(load.fetch(0).unwrap().status, 200);
    assert_eq!((load.counts().faults().count(), server.connections()), (0, 2));
}
