//! Tests of the server with peers that do not speak iperf3, or speak it badly. Each ends with a
//! good client being served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::super::testing::{PATIENCE, Serving};
use super::super::{Test, settle};
use super::{Event, Limits};

const COOKIE: [u8; 37] = *b"abcdefghijklmnopqrstuvwxyz2345672345\0";

impl Serving {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A good client is served, and the server ends when it is stopped.
    fn serves_a_good_client(self) -> Vec<Event> {
        let mut test = Test::open(self.at, 2, PATIENCE).unwrap();
        let mut streams = Vec::new();
        for _ in 0..2 {
            let mut stream = self.connect();
            stream.write_all(test.cookie()).unwrap();
            streams.push(stream);
        }
        test.running().unwrap();
        let mut sent = [10, 0];
        (&streams[0]).write_all(&[7; 10]).unwrap();
        settle(&streams, &mut sent, PATIENCE).unwrap();
        assert_eq!(test.end(&sent, 0.1).unwrap().received_bytes, sent.iter().sum::<u64>());
        self.end()
    }
}

/// Encoded parameters.
fn parameters(text: &str) -> Vec<u8> {
    let mut bytes = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// Everything that the server sends until it closes the connection.
fn all_of(mut stream: &TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    // A reset after the last byte is an end too.
    drop(stream.read_to_end(&mut said));
    said
}

fn expect(mut stream: &TcpStream, bytes: &[u8]) {
    let mut said = vec![0; bytes.len()];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said, bytes);
}

#[test]
fn an_unused_server_ends_when_it_is_stopped() {
    assert_eq!(Serving::start(Limits::default()).end(), []);
}

#[test]
fn invalid_parameters_and_lengths_are_refused() {
    let serving = Serving::start(Limits::default());
    for text in [
        &parameters("7")[..],
        &parameters("{\"len\":\"x\"}"),
        &parameters("\u{1}"),
        &[0xff; 100],
        &[0, 1, 0, 1],
    ] {
        let mut stream = serving.connect();
        stream.write_all(&COOKIE).unwrap();
        expect(&stream, b"\x09");
        stream.write_all(text).unwrap();
        assert_eq!(all_of(&stream), b"\xfe\0\0\0\x72\0\0\0\0", "{text:?}");
    }
    let mut browser = serving.connect();
    browser.write_all(b"GET / HTTP/1.1\r\nHost: localhost:5201\r\nUser-Agent: x\r\n\r\n").unwrap();
    assert_eq!(all_of(&browser), b"\x09\xfe\0\0\0\x72\0\0\0\0");
    let events = serving.serves_a_good_client();
    let Some(Event::Refused { why, .. }) = events.first() else { panic!("{events:?}") };
    assert!(why.starts_with("sent what makes no sense: "), "{why}");
}

#[test]
fn a_client_may_leave_at_any_point_without_harm_to_the_server() {
    let serving = Serving::start(Limits::default());
    let whole: Vec<u8> =
        COOKIE.into_iter().chain(parameters("{\"tcp\":true,\"parallel\":1}")).collect();
    for length in 0..=whole.len() {
        let mut stream = serving.connect();
        stream.write_all(&whole[..length]).unwrap();
    }
    // And during its test and its results.
    for last in [&b""[..], b"\x04", b"\x04\0\0\0\x05{}"] {
        let mut control = loop {
            let mut control = serving.connect();
            control.write_all(&whole).unwrap();
            let mut said = [0; 2];
            if control.read_exact(&mut said).is_ok() && said == *b"\x09\x0a" {
                break control;
            }
        };
        let mut stream = serving.connect();
        stream.write_all(&COOKIE).unwrap();
        expect(&control, b"\x01\x02");
        control.write_all(last).unwrap();
    }
    serving.serves_a_good_client();
}

#[test]
fn many_silent_connections_do_not_keep_a_client_from_its_test() {
    let serving = Serving::start(Limits::default());
    let silent: Vec<TcpStream> = (0..200).map(|_| serving.connect()).collect();
    serving.serves_a_good_client();
    drop(silent);
}

#[test]
fn a_stalled_client_is_given_up() {
    let short = Duration::from_millis(200);
    let serving = Serving::start(Limits { patience: short, idle: short, ..Limits::default() });
    let wants = parameters("{\"tcp\":true}");
    // Before its parameters, before its streams, and without sending.
    let mut one = serving.connect();
    one.write_all(&COOKIE).unwrap();
    assert_eq!(all_of(&one), b"\x09");
    let mut two = serving.connect();
    two.write_all(&[&COOKIE[..], &wants].concat()).unwrap();
    assert_eq!(all_of(&two), b"\x09\x0a");
    let (mut three, mut stream) = (serving.connect(), serving.connect());
    three.write_all(&[&COOKIE[..], &wants].concat()).unwrap();
    expect(&three, b"\x09\x0a");
    stream.write_all(&COOKIE).unwrap();
    assert_eq!(all_of(&three), b"\x01\x02\xfe\0\0\0\x90\0\0\0\0");
    // And one that does not read what the server sends.
    let (mut four, mut stream) = (serving.connect(), serving.connect());
    four.write_all(&[&COOKIE[..], &parameters("{\"tcp\":true,\"reverse\":true}")].concat())
        .unwrap();
    expect(&four, b"\x09\x0a");
    stream.write_all(&COOKIE).unwrap();
    assert_eq!(all_of(&four), b"\x01\x02\xfe\0\0\0\x90\0\0\0\0");
    let events = serving.serves_a_good_client();
    let reasons: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::GivenUp { why, .. } | Event::Refused { why, .. } => Some(&**why),
            _ => None,
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "sent no parameters for 0.2 s",
            "left 1 streams unconnected for 0.2 s",
            "moved no byte for 0.2 s",
            "moved no byte for 0.2 s"
        ]
    );
}

#[test]
fn foreign_and_surplus_streams_are_denied_access() {
    let serving = Serving::start(Limits::default());
    let mut control = serving.connect();
    control
        .write_all(&[&COOKIE[..], &parameters("{\"tcp\":true,\"parallel\":1}")].concat())
        .unwrap();
    expect(&control, b"\x09\x0a");
    let mut foreign = serving.connect();
    foreign.write_all(&[b'x'; 37]).unwrap();
    assert_eq!(all_of(&foreign), b"\xff");
    let mut stream = serving.connect();
    stream.write_all(&COOKIE).unwrap();
    expect(&control, b"\x01\x02");
    let mut replayed = serving.connect();
    replayed.write_all(&COOKIE).unwrap();
    assert_eq!(all_of(&replayed), b"\xff");
    // A state that is invalid here ends the test with an error.
    control.write_all(b"\x0e").unwrap();
    assert_eq!(all_of(&control), b"\xfe\0\0\0\x6e\0\0\0\0");
    serving.serves_a_good_client();
}
