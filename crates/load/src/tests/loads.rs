//! Loads that go as they should.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{LIMIT, Server, next_request, phase_of, response, start, until};
use crate::{Fault, LoadOptions, Origin, Pace, Reuse, Targets, Trust};
use zc_kernel::clock::{monotonic_ns, thread_cpu_ns};
use zc_run::{Error, ErrorKind};

#[test]
fn requests_of_a_phase_are_answered_and_counted() {
    let server = Server::answering(response("200 OK", 4096));
    let load = start(LoadOptions { connections: 3, ..server.options() }).unwrap();
    let fetched = load.fetch(0).unwrap();
    let body: Vec<u8> = (0..4096).map(|index| index as u8).collect();
    assert_eq!((fetched.status, fetched.body_bytes), (200, 4096));
    assert_eq!(fetched.crc32, crc32fast::hash(&body));
    assert!(!fetched.is_chunked && fetched.keeps_alive);

    load.go_for(0, Pace::Unpaced, monotonic_ns(), 500);
    until("all are answered", || load.counts().responses == 501);
    let phase = load.pause().unwrap();
    assert_eq!((phase.counts.requests, phase.counts.responses, phase.due), (500, 500, 500));
    assert_eq!((phase.counts.body_bytes, phase.latency.count()), (500 * 4096, 500));
    assert_eq!((phase.outstanding, phase.unsent, phase.late.count()), (0, 0, 0));
    assert_eq!(phase.counts.faults().count(), 0);
    assert!(phase.counts.received_bytes > 500 * 4096 && phase.counts.sent_bytes > 500 * 40);
    assert!(phase.cpu_ns > 0 && phase.cpu_ns <= thread_cpu_ns(load.tid()).unwrap());
    assert_eq!((load.counts().connects, load.counts().reconnects, server.connections()), (3, 0, 3));
}

#[test]
fn a_schedule_is_kept_and_counts_from_its_beginning() {
    let server = Server::answering(response("200 OK", 10));
    let load = start(LoadOptions { connections: 4, ..server.options() }).unwrap();
    let begin_ns = monotonic_ns() + 20_000_000;
    load.go_for(0, Pace::At { per_s: 500.0 }, begin_ns, 100);
    until("all are answered", || load.counts().responses == 100);
    let done_ns = monotonic_ns();
    let phase = load.pause().unwrap();
    assert!(done_ns - begin_ns >= 99 * 2_000_000, "the last one was due after 198 ms");
    assert_eq!(
        (phase.begin_ns, phase.due, phase.unsent, phase.late.count()),
        (begin_ns, 100, 0, 100)
    );
    assert!(phase.kept_its_rate());
}

#[test]
fn a_phase_of_so_many_requests_ends_with_the_last_response() {
    let server = Server::answering(response("200 OK", 10));
    let load = server.load();
    load.go_for(0, Pace::Unpaced, 0, 20);
    until("all are answered", || load.counts().responses == 20);
    let seen_ns = monotonic_ns();
    let phase = load.pause().unwrap();
    // By the thread's clock the last one came before this one saw it.
    assert!(phase.end_ns <= seen_ns && phase.end_ns > phase.begin_ns, "{phase:?}");
}

/// The first connections end one after the other. The server answers two requests at a time, one of
/// each connection, so none of them is ahead.
#[test]
fn a_connection_carries_so_many_requests_and_is_closed_with_the_last() {
    let carried = Arc::new(std::sync::Mutex::new(Vec::new()));
    let counts = Arc::clone(&carried);
    let both = std::sync::Barrier::new(2);
    let server = Server::with(move |mut connection, number| {
        {
            // The threads of two connections may begin in either order.
            let mut counts = counts.lock().unwrap();
            let connections = counts.len().max(number + 1);
            counts.resize(connections, 0);
        }
        while let Some(head) = next_request(&mut connection) {
            both.wait();
            counts.lock().unwrap()[number] += 1;
            let closes = head.contains("Connection: close");
            let line = if closes { "200 OK\r\nConnection: close" } else { "200 OK" };
            if connection.write_all(&response(line, 10)).is_err() || closes {
                return;
            }
        }
    });
    let reuse = Reuse::Requests(std::num::NonZeroU64::new(4).unwrap());
    let phase = phase_of(LoadOptions { connections: 2, reuse, ..server.options() }, 20);
    assert_eq!((phase.counts.responses, phase.counts.reconnects), (20, 0), "{phase:?}");
    let mut carried = carried.lock().unwrap().clone();
    assert!(carried.iter().all(|requests| *requests <= 4), "{carried:?}");
    carried[..2].sort_unstable();
    assert_eq!((&carried[..2], carried.len()), (&[2, 4][..], 6), "{carried:?}");
    assert_eq!(carried.iter().sum::<u64>(), 20);
}

#[test]
fn targets_are_asked_for_in_turn_and_each_has_its_own_length() {
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heads = Arc::clone(&asked);
    let server = Server::with(move |mut connection, _| {
        while let Some(head) = next_request(&mut connection) {
            let target = head.split(' ').nth(1).unwrap().to_owned();
            let is_first = !heads.lock().unwrap().contains(&target);
            let bytes = if target == "/grows" && !is_first { 1 } else { 100 * target.len() };
            heads.lock().unwrap().push(target);
            if connection.write_all(&response("200 OK", bytes)).is_err() {
                return;
            }
        }
    });
    let base = Origin::resolve(&format!("http://{}", server.address)).unwrap();
    let of = |targets: &[&str]| {
        Targets::in_turn(targets.iter().map(|target| (*target).to_owned())).unwrap()
    };
    let turns = ["/a", "/grows", "/a", "/bb?c"];
    let origin = base.clone().asked_for(of(&turns)).unwrap();
    let load = start(LoadOptions { origins: vec![origin], ..server.options() }).unwrap();
    load.go_for(0, Pace::Unpaced, 0, 7);
    until("all are answered", || load.counts().responses == 7);
    let phase = load.pause().unwrap();
    assert_eq!(*asked.lock().unwrap(), [&turns[..], &turns[..3]].concat());
    assert_eq!(phase.counts.body_bytes, 4 * 200 + 600 + 500 + 1);
    assert_eq!(phase.drained.faults().collect::<Vec<_>>(), [(Fault::Length, 1)]);
    let (_, words) = phase.first_fault.unwrap();
    assert_eq!(words, "\"/grows\": a body has 1 bytes, and the first one had 600");

    for (url, targets, id, named) in [
        (server.url(), of(&["/a"]), "url-with-path", "\"/file\""),
        (base.url().to_owned(), of(&["/a", "b"]), "invalid-url-path", "\"b\""),
        (base.url().to_owned(), of(&["/a b"]), "invalid-url-path", "\"/a b\""),
    ] {
        let error = Origin::resolve(&url).unwrap().asked_for(targets).unwrap_err();
        assert!(error.id == id && error.message.contains(named), "{error:?}");
    }
}

#[test]
fn phases_alternate_between_origins() {
    let (one, other) =
        (Server::answering(response("200 OK", 1)), Server::answering(response("200 OK", 200_000)));
    let mut options = one.options();
    options.origins.push(Origin::resolve(&other.url()).unwrap());
    let load = start(options).unwrap();
    for (origin, bytes) in [(0, 1), (1, 200_000), (0, 1)] {
        let before = load.counts();
        load.go_for(origin, Pace::Unpaced, 0, 7);
        until("all are answered", || load.counts().since(&before).responses == 7);
        let phase = load.pause().unwrap();
        assert_eq!((phase.origin, phase.counts.body_bytes), (origin, 7 * bytes));
    }
    assert_eq!((one.connections(), other.connections()), (1, 1));
}

#[test]
fn a_server_that_leaves_connections_open_is_not_waited_for_and_counted() {
    // As if it had not been asked to close them.
    let server = Server::answering(response("200 OK", 5));
    let load = start(LoadOptions { reuse: Reuse::Close, ..server.options() }).unwrap();
    load.go_for(0, Pace::Unpaced, 0, 300);
    until("all are answered", || load.counts().responses == 300);
    let phase = load.pause().unwrap();
    assert_eq!(phase.drained.faults().count(), 0, "{:?}", phase.first_fault);
    // Each would be longer by a second.
    assert!(phase.latency.percentile_ns(50.0).unwrap() < 500_000_000, "{phase:?}");
    until("all are closed by this end", || load.counts().unclosed == 300);
    assert_eq!(server.connections(), 300);
}

#[test]
fn without_keep_alive_each_request_has_a_connection() {
    let closes = Arc::new(AtomicUsize::new(0));
    let said = Arc::clone(&closes);
    let server = Server::with(move |mut connection, _| {
        if let Some(request) = next_request(&mut connection) {
            said.fetch_add(usize::from(request.contains("Connection: close")), Ordering::Relaxed);
            drop(connection.write_all(&response("200 OK", 5)));
        }
    });
    let options = LoadOptions { reuse: Reuse::Close, connections: 2, ..server.options() };
    let load = start(options).unwrap();
    assert_eq!(server.connections(), 0);
    load.go_for(0, Pace::Unpaced, 0, 20);
    until("all are answered", || load.counts().responses == 20);
    let phase = load.pause().unwrap();
    assert_eq!((phase.counts.connects, phase.counts.reconnects), (20, 0));
    assert_eq!((server.connections(), closes.load(Ordering::Relaxed)), (20, 20));
    assert_eq!(phase.counts.faults().count(), 0);
}

#[test]
fn bodies_in_chunks_and_until_the_end_of_the_connection_are_whole() {
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for bytes in [1, 70_000, 100] {
        chunked.extend(format!("{bytes:x};x=y\r\n").into_bytes());
        chunked.extend(vec![7; bytes]);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\nTrailer: x\r\n\r\n");
    let server = Server::answering(chunked);
    let load = server.load();
    let fetched = load.fetch(0).unwrap();
    assert_eq!((fetched.body_bytes, fetched.is_chunked), (70_101, true));
    assert_eq!(fetched.crc32, crc32fast::hash(&[7; 70_101]));
    load.go_for(0, Pace::Unpaced, 0, 20);
    until("all are answered", || load.counts().responses == 21);
    assert_eq!(load.pause().unwrap().counts.body_bytes, 20 * 70_101);

    let server = Server::with(|mut connection, _| {
        if next_request(&mut connection).is_some() {
            let body = vec![3; 300_000];
            drop(connection.write_all(b"HTTP/1.0 200 OK\r\n\r\n"));
            drop(connection.write_all(&body));
        }
    });
    let load = server.load();
    assert_eq!(load.fetch(0).unwrap().crc32, crc32fast::hash(&[3; 300_000]));
    load.go_for(0, Pace::Unpaced, 0, 5);
    until("all are answered", || load.counts().responses == 6);
    let phase = load.pause().unwrap();
    assert_eq!(phase.counts.body_bytes, 5 * 300_000);
    assert_eq!(phase.counts.faults().count(), 0);
}

#[test]
fn a_connection_closed_between_requests_is_opened_anew_and_no_fault() {
    // Some connections are closed after two responses without a word, some say so.
    let server = Server::with(|mut connection, number| {
        for turn in 0..2 {
            if next_request(&mut connection).is_none() {
                return;
            }
            let says =
                if number % 2 == 1 && turn == 1 { "200 OK\r\nConnection: close" } else { "200 OK" };
            drop(connection.write_all(&response(says, 100)));
        }
    });
    let load = server.load();
    load.go_for(0, Pace::Unpaced, 0, 20);
    until("all are answered", || load.counts().responses == 20);
    let phase = load.pause().unwrap();
    assert_eq!(phase.counts.faults().count(), 0, "{:?}", phase.first_fault);
    assert_eq!((phase.counts.requests, phase.latency.count()), (20, 20));
    assert!(phase.counts.reconnects >= 9, "{}", phase.counts.reconnects);
}

#[test]
fn a_server_slower_than_the_rate_is_charged_for_the_wait() {
    let server = Server::with(|mut connection, _| {
        while next_request(&mut connection).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(10));
            if connection.write_all(&response("200 OK", 1)).is_err() {
                return;
            }
        }
    });
    let load = server.load();
    load.go(0, Pace::At { per_s: 1000.0 }, monotonic_ns());
    until("some are answered", || load.counts().responses >= 20);
    let phase = load.pause().unwrap();
    assert!(!phase.kept_its_rate());
    // Twenty took 200 ms, in which 200 were due.
    assert!(phase.due >= 180 && phase.unsent >= phase.due * 8 / 10, "{phase:?}");
    assert!(phase.waited >= 15);
    // So late were the last ones sent, and hardly by this thread's own fault.
    let late_ns = phase.late.max_ns().unwrap();
    assert!(late_ns >= 140_000_000 && phase.own_late.percentile_ns(50.0).unwrap() < late_ns / 2);
    // The last one was due 19 ms after the beginning, and answered after 200.
    assert!(phase.latency.max_ns().unwrap() >= 150_000_000);
    assert_eq!(phase.counts.unanswered() + phase.drained.responses, phase.drained.requests);
}

#[test]
fn a_pause_waits_for_what_is_outstanding_and_the_next_phase_begins_anew() {
    let (go, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let server = Server::with(move |mut connection, _| {
        while next_request(&mut connection).is_some() {
            if held.lock().unwrap().recv_timeout(LIMIT).is_err() {
                return;
            }
            drop(connection.write_all(&response("200 OK", 1)));
        }
    });
    let load = server.load();
    load.go(0, Pace::Unpaced, 0);
    until("one is sent", || load.counts().requests == 1);
    let phase = std::thread::scope(|scope| {
        let paused = scope.spawn(|| load.pause());
        std::thread::sleep(std::time::Duration::from_millis(20));
        go.send(()).unwrap();
        paused.join().unwrap().unwrap()
    });
    assert_eq!((phase.counts.requests, phase.drained.responses), (1, 1));
    assert!(phase.drained_ns >= phase.end_ns);
    go.send(()).unwrap();
    load.go_for(0, Pace::Unpaced, 0, 1);
    until("the other is answered", || load.counts().responses == 2);
    assert_eq!(load.pause().unwrap().counts.responses, 1);
}

#[test]
fn connections_come_from_the_source_and_headers_are_sent() {
    let seen = Arc::new(std::sync::Mutex::new(String::new()));
    let saw = Arc::clone(&seen);
    let server = Server::with(move |mut connection, _| {
        let peer = connection.peer_addr().unwrap().ip();
        while let Some(request) = next_request(&mut connection) {
            *saw.lock().unwrap() = format!("{peer} {request}");
            drop(connection.write_all(&response("200 OK", 1)));
        }
    });
    let options = LoadOptions {
        source: Some("127.0.0.7:0".parse().unwrap()),
        headers: vec![("X-Test".to_owned(), "1".to_owned())],
        ..server.options()
    };
    start(options).unwrap().fetch(0).unwrap();
    let seen = seen.lock().unwrap();
    assert!(
        seen.starts_with("127.0.0.7 GET /file HTTP/1.1\r\n") && seen.contains("X-Test: 1\r\n"),
        "{seen}"
    );

    let foreign = LoadOptions { source: Some("192.0.2.9:0".parse().unwrap()), ..server.options() };
    let error = start(foreign).unwrap_err();
    assert_eq!((error.kind, &*error.id), (ErrorKind::Usage, "source-address-unusable"));
    assert!(error.message.contains("192.0.2.9") && error.help.is_some(), "{error}");
}

#[test]
fn an_origin_that_may_be_missing_is_asked_once_it_is_there() {
    let server = Server::answering(response("200 OK", 3));
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let missing = Origin::at("http://other.test/", other).unwrap();
    let options = |missing| {
        let origins = [server.options().origins, vec![missing]].concat();
        LoadOptions { origins, connections: 2, ..server.options() }
    };
    assert_eq!(start(options(missing.clone())).unwrap_err().id, "cannot-connect");

    let load = start(options(missing.may_be_missing())).unwrap();
    assert_eq!(load.fetch(1).unwrap_err().id, "cannot-connect");
    assert_eq!(load.fetch(0).unwrap().body_bytes, 3);
    let listener = std::net::TcpListener::bind(other).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut connection, _) = listener.accept().unwrap();
            connection.set_read_timeout(Some(LIMIT)).unwrap();
            next_request(&mut connection).unwrap();
            connection.write_all(&response("200 OK", 4)).unwrap();
        });
        assert_eq!(load.fetch(1).unwrap().body_bytes, 4);
    });
}

#[test]
fn ipv6_is_served_as_ipv4_is() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        eprintln!("skipped: no IPv6 here");
        return;
    };
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut connection, _) = listener.accept().unwrap();
            connection.set_read_timeout(Some(LIMIT)).unwrap();
            next_request(&mut connection).unwrap();
            connection.write_all(&response("200 OK", 3)).unwrap();
        });
        let origin = Origin::at("http://six.test/", address).unwrap();
        let options = LoadOptions {
            origins: vec![origin],
            connections: 1,
            reuse: Reuse::KeepAlive,
            source: Some("[::1]:0".parse().unwrap()),
            headers: Vec::new(),
            trust: Trust::System,
            timeout: LIMIT,
        };
        assert_eq!(start(options).unwrap().fetch(0).unwrap().body_bytes, 3);
    });
}

#[test]
fn of_several_addresses_the_one_that_accepts_is_taken() {
    let server = Server::answering(response("200 OK", 3));
    let mut options = server.options();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    options.origins[0].addresses.insert(0, nobody);
    assert_eq!(start(options).unwrap().fetch(0).unwrap().body_bytes, 3);
}

#[test]
fn what_enters_first_may_refuse() {
    let server = Server::answering(response("200 OK", 3));
    let refused = crate::Load::start(server.options(), || Err(Error::failed("no-cpu", "no CPU")));
    assert_eq!(refused.unwrap_err().id, "no-cpu");
    assert_eq!(server.connections(), 0);
}

#[test]
fn no_phase_is_an_error_and_no_origin_too() {
    let server = Server::answering(response("200 OK", 3));
    let load = server.load();
    assert!(load.pause().is_err());
    assert!(load.fetch(1).is_err());
    load.go(1, Pace::Unpaced, 0);
    let phase = load.pause().unwrap();
    assert_eq!((phase.counts.requests, phase.counts.fault_count(Fault::Connect)), (0, 0));
}
