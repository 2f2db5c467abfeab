//! Requests of several kinds, and servers that answer them as they should and otherwise.

use std::io::Write as _;

use super::server::{Server, next_request, phase_of, start};
use crate::{Expected, Fault, LoadOptions, Method, Origin, Reuse, Target, Targets};
use zc_run::ErrorKind;

const BYTES: usize = 40_000;

/// The file that all servers here have.
fn file() -> Vec<u8> {
    (0..BYTES).map(|index| (index * index) as u8).collect()
}

fn expected(status: u16, content_length: usize, body: &[u8]) -> Option<Expected> {
    Some(Expected {
        status,
        body_bytes: body.len() as u64,
        content_length: Some(content_length as u64),
        crc32: Some(crc32fast::hash(body)),
    })
}

fn with_header(name: &str, value: &str) -> Target {
    let headers = vec![(name.to_owned(), value.to_owned())];
    Target { headers, ..Target::from("/file".to_owned()) }
}

fn get() -> Target {
    Target { expected: expected(200, BYTES, &file()), ..Target::from("/file".to_owned()) }
}

fn head() -> Target {
    let expected = expected(200, BYTES, &[]);
    Target { method: Method::Head, expected, ..Target::from("/file".to_owned()) }
}

fn conditional() -> Target {
    let base = with_header("If-Modified-Since", "Mon, 01 Jan 2024 00:00:00 GMT");
    let expected = expected(304, BYTES, &[]);
    Target { expected, ..base }
}

fn part() -> Target {
    let expected = expected(206, 1000, &file()[500..1500]);
    Target { expected, ..with_header("Range", "bytes=500-1499") }
}

/// A head with a length and a body.
fn message(head: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    bytes.extend(body);
    bytes
}

/// The right answer to a request.
fn answer(request: &str) -> Vec<u8> {
    let file = file();
    let has = |name: &str| request.contains(name);
    match () {
        () if request.starts_with("HEAD ") => message("200 OK", BYTES, &[]),
        // As nginx has it: a 304 without a length.
        () if has("\r\nIf-Modified-Since: ") => b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(),
        () if has("\r\nRange: bytes=500-1499\r\n") => {
            message("206 Partial Content", 1000, &file[500..1500])
        }
        () => message("200 OK", BYTES, &file),
    }
}

/// A server that answers requests with what `wrong` says, and rightly where it says nothing.
fn server(wrong: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Server {
    Server::with(move |mut connection, _| {
        while let Some(request) = next_request(&mut connection) {
            let bytes = wrong(&request).unwrap_or_else(|| answer(&request));
            if connection.write_all(&bytes).is_err() || request.contains("Connection: close") {
                return;
            }
        }
    })
}

fn options(server: &Server, targets: &[Target]) -> LoadOptions {
    let origin = Origin::resolve(&format!("http://{}", server.address)).unwrap();
    let targets = Targets::in_turn(targets.iter().cloned()).unwrap();
    LoadOptions { origins: vec![origin.asked_for(targets).unwrap()], ..server.options() }
}

#[test]
fn requests_of_all_kinds_are_answered_on_kept_connections_and_without() {
    let server = server(|_| None);
    let targets = [get(), head(), part(), conditional(), head(), get()];
    for reuse in [Reuse::KeepAlive, Reuse::Close] {
        let options = LoadOptions { reuse, connections: 2, ..options(&server, &targets) };
        start(options.clone()).unwrap().check(0).unwrap();
        let phase = phase_of(options, 60);
        assert_eq!(phase.counts.faults().count(), 0, "{:?}", phase.first_fault);
        assert_eq!((phase.counts.responses, phase.counts.reconnects), (60, 0));
        assert_eq!(phase.counts.body_bytes, 10 * (2 * BYTES as u64 + 1000));
        let statuses: Vec<_> = phase.statuses.into_iter().collect();
        assert_eq!(statuses, [(200, 40), (206, 10), (304, 10)]);
    }
}

#[test]
fn a_head_of_which_nothing_is_expected_is_answered_without_a_body() {
    let server = server(|_| None);
    let targets = [Target { expected: None, ..head() }, Target { expected: None, ..get() }];
    start(options(&server, &targets)).unwrap().check(0).unwrap();
    let phase = phase_of(options(&server, &targets), 10);
    assert_eq!(phase.counts.faults().count(), 0, "{:?}", phase.first_fault);
    assert_eq!(phase.counts.body_bytes, 5 * BYTES as u64);
}

#[test]
fn another_status_or_length_is_a_fault_that_names_the_request() {
    for (target, wrong, says) in [
        (
            conditional(),
            message("200 OK", BYTES, &file()),
            "\"/file\" (If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT): status 200 with a body \
             of 40000 bytes, and status 304 with 0 bytes is expected",
        ),
        (
            part(),
            message("200 OK", BYTES, &file()),
            "\"/file\" (Range: bytes=500-1499): status 200 with a body of 40000 bytes, and status \
             206 with 1000 bytes is expected",
        ),
        (
            part(),
            message("206 Partial Content", 999, &file()[500..1499]),
            "\"/file\" (Range: bytes=500-1499): status 206 with a body of 999 bytes, and status \
             206 with 1000 bytes is expected",
        ),
        (
            head(),
            b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 9\r\n\r\n".to_vec(),
            "HEAD \"/file\": status 302 with a body of 0 bytes, and status 200 with 0 bytes is \
             expected",
        ),
    ] {
        let is_meant = ["Range", "If-Mod", "HEAD"].map(|word| target.to_string().contains(word));
        let server = server(move |request| {
            let is = ["Range", "If-Mod", "HEAD"].map(|word| request.contains(word));
            (is == is_meant).then(|| wrong.clone())
        });
        let options = options(&server, &[get(), target]);
        let error = start(options.clone()).unwrap().check(0).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::Remote, "unexpected-response"));
        let phase = phase_of(options, 6);
        let faults: Vec<_> = phase.drained.faults().collect();
        assert_eq!((faults, phase.counts.responses), (vec![(Fault::Unexpected, 3)], 6));
        assert_eq!(phase.first_fault.unwrap().1, says);
    }
}

#[test]
fn content_that_a_length_does_not_show_is_found_by_the_check() {
    let other = |range: std::ops::Range<usize>| {
        message("206 Partial Content\r\nContent-Range: bytes 600-1599/40000", 1000, &file()[range])
    };
    let mut changed = file();
    changed[BYTES - 1] ^= 1;
    let crc32 = |bytes: &[u8]| format!("{:08x}", crc32fast::hash(bytes));
    let (part_is, part_comes) = (crc32(&file()[500..1500]), crc32(&file()[600..1600]));
    let (file_is, file_comes) = (crc32(&file()), crc32(&changed));
    for (target, wrong, says) in [
        (
            part(),
            other(600..1600),
            format!(
                "the server does not answer \"/file\" (Range: bytes=500-1499) as it should: status \
                 206 with a body of 1000 bytes (CRC-32 {part_is}) is expected, and status 206 with \
                 a body of 1000 bytes (CRC-32 {part_comes}) came"
            ),
        ),
        (
            get(),
            message("200 OK", BYTES, &changed),
            format!(
                "the server does not answer \"/file\" as it should: status 200 with a body of \
                 40000 bytes (CRC-32 {file_is}) is expected, and status 200 with a body of 40000 \
                 bytes (CRC-32 {file_comes}) came"
            ),
        ),
        (
            head(),
            message("200 OK", BYTES - 1, &[]),
            "the server does not answer HEAD \"/file\" as it should: status 200 with a body of 0 \
             bytes (Content-Length 40000) is expected, and status 200 with a body of 0 bytes \
             (Content-Length 39999) came"
                .to_owned(),
        ),
    ] {
        let server = server(move |_| Some(wrong.clone()));
        let error = start(options(&server, &[target])).unwrap().check(0).unwrap_err();
        assert_eq!((&*error.id, error.help.is_some()), ("unexpected-response", true));
        assert_eq!(error.message, says);
    }
}

#[test]
fn all_requests_that_are_answered_otherwise_are_told_and_counted() {
    // A server that knows neither ranges nor conditions.
    let server = server(|request| {
        (!request.starts_with("HEAD ")).then(|| message("200 OK", BYTES, &file()))
    });
    let check = |targets: &[Target]| {
        let load = start(options(&server, targets)).unwrap();
        let at = load.differences(0).unwrap().into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        (at, load.check(0).err().map(|error| error.message))
    };
    assert_eq!(check(&[get(), head()]), (vec![], None));
    let other = Target { expected: expected(200, 1, b"x"), ..get() };
    let (one, _) = check(&[part(), get()]);
    assert_eq!(one, [0]);
    let (two, says) = check(&[get(), part(), head(), conditional()]);
    assert_eq!(two, [1, 3]);
    let says = says.unwrap();
    assert!(says.contains("\"/file\" (Range: "), "{says}");
    assert!(says.ends_with("came; another request is not either"), "{says}");
    let (three, says) = check(&[part(), conditional(), other]);
    assert_eq!(three, [0, 1, 2]);
    assert!(says.unwrap().ends_with("came; 2 others are not either"));
}

#[test]
fn content_that_is_encoded_is_a_fault_of_its_own() {
    let server = server(|_| Some(message("200 OK\r\nContent-Encoding: gzip", BYTES, &file())));
    let error = start(options(&server, &[get()])).unwrap().check(0).unwrap_err();
    assert_eq!(error.id, "unrequested-encoding");
    let phase = phase_of(options(&server, &[get()]), 2);
    assert_eq!(phase.drained.faults().collect::<Vec<_>>(), [(Fault::Encoded, 2)]);
}

#[test]
fn a_body_where_none_may_be_is_malformed() {
    for (target, wrong) in [
        (head(), message("200 OK", BYTES, &file())),
        (head(), message("200 OK", 1, b"x")),
        (conditional(), message("304 Not Modified", 5, b"12345")),
        (conditional(), b"HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_vec()),
    ] {
        let server = server(move |_| Some(wrong.clone()));
        let phase = phase_of(options(&server, std::slice::from_ref(&target)), 3);
        assert_eq!(phase.drained.faults().collect::<Vec<_>>(), [(Fault::Malformed, 3)], "{target}");
        assert!(phase.first_fault.unwrap().1.contains("bytes follow"));
        let error = start(options(&server, &[target])).unwrap().check(0).unwrap_err();
        assert_eq!(error.id, "not-http");
    }
}

#[test]
fn a_body_that_comes_later_is_not_taken_for_the_next_response() {
    // The client has read the head of a 304 by the time that its body comes.
    let server = Server::with(|mut connection, _| {
        while next_request(&mut connection).is_some() {
            drop(connection.write_all(b"HTTP/1.1 304 No\r\nContent-Length: 38\r\n\r\n"));
            std::thread::sleep(std::time::Duration::from_millis(5));
            drop(connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
        }
    });
    let phase = phase_of(options(&server, &[conditional()]), 5);
    let others: u64 =
        phase.statuses.iter().filter(|(status, _)| **status != 304).map(|(_, n)| n).sum();
    // Either nobody had asked for it, or it is the answer to the next request, which is a fault.
    assert_eq!(phase.drained.fault_count(Fault::Unexpected), others);
    assert!(phase.counts.reconnects > 0 || others > 0, "{phase:?}");
}

#[test]
fn a_check_of_no_origin_is_an_error_and_one_of_a_server_that_is_gone_too() {
    let server = server(|_| None);
    let load = start(options(&server, &[get()])).unwrap();
    assert_eq!(load.check(1).unwrap_err().id, "no-such-origin");
    let closing = Server::with(|mut connection, _| drop(next_request(&mut connection)));
    let error = start(options(&closing, &[get(), head()])).unwrap().check(0).unwrap_err();
    assert_eq!(error.id, "no-answer");
    assert!(error.message.contains("/file\""), "{error}");
}
