//! A test against an iperf3 server, with this end as the sender. The server receives, counts, and
//! reports its count and its CPU use at the end. The caller connects and feeds the streams, so that
//! it can measure its own way of sending.

use std::borrow::Borrow;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::control::{Control, cookie, meaning};
use super::inbox::{COOKIE_BYTES, Inbox, Lost, State};
use super::messages::{Parameters, Results, StreamResults};
use zc_kernel::tcp;
use zc_run::{Error, Result};

/// Limit of streams in an iperf3 test.
const MOST_STREAMS: usize = 128;

/// Bytes that the server reads at a time: iperf3's own default.
const BLOCK_BYTES: usize = 128 << 10;

/// Longest message accepted. The results of 128 streams take about 30 KiB.
const MOST_BYTES: usize = 1 << 20;

/// Longest test announced to the server. It gives the test up 40 seconds after that.
const LONGEST_S: u32 = 3600;

/// First pause before a server is tried again, and the largest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// Time to wait for the second number of an error. Some versions send only one.
const SECOND_NUMBER: Duration = Duration::from_millis(200);

/// A test in progress. Dropping it closes the control connection, and the server then gives the
/// test up.
///
/// The order of calls: [`open`](Self::open); connect the streams, one after the other, each of
/// which sends the [`cookie`](Self::cookie) first; [`running`](Self::running); send; [`settle`];
/// [`end`](Self::end). Close the streams only after that, because a reset before it makes the
/// server give up.
#[derive(Debug)]
pub struct Test {
    name: String,
    control: Control,
    cookie: [u8; COOKIE_BYTES],
    streams: usize,
    patience: Duration,
}

/// The server's report of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerReport {
    /// `cpu_util_total`: CPU time of the server's process with all its threads, in percent of the
    /// time from the start of the test to its end. 100 is one whole CPU. By clock(3): exact, but
    /// without kernel work for the connection that is charged to other tasks or to none.
    pub cpu_percent: f64,
    /// `cpu_util_user`: by getrusage(2), in percent as above.
    pub cpu_user_percent: f64,
    /// `cpu_util_system`: by getrusage(2), in percent as above.
    pub cpu_system_percent: f64,
    /// Bytes that the server had read from all streams when the test ended.
    pub received_bytes: u64,
    /// Seconds from start to end by the server's clock.
    pub seconds: f64,
}

/// Result of an attempt to open a test.
enum Attempt {
    Ready(Test),
    /// Another attempt may succeed.
    Later(Error),
    /// The server said nothing until the patience was over.
    Silent(Error),
    Never(Error),
}

impl Test {
    /// Connects the control connection from the calling thread's network namespace, and requests
    /// `streams` TCP streams towards the server. Returns when the server waits for these.
    ///
    /// The attempt is repeated until `patience` is over if the server refuses the connection,
    /// closes it before its first message, or is busy: between two tests iperf3 closes its
    /// listening socket with its whole backlog. `patience` also bounds every later wait for the
    /// server.
    ///
    /// # Errors
    /// Nothing answers, or not as an iperf3 server does. The server stays busy, or rejects such a
    /// test.
    pub fn open(to: SocketAddr, streams: usize, patience: Duration) -> Result<Self> {
        if !(1..=MOST_STREAMS).contains(&streams) {
            return Err(Error::usage(
                "too-many-streams",
                format!("an iperf3 server takes 1 to {MOST_STREAMS} streams, not \"{streams}\""),
            )
            .help("choose fewer with --flows"));
        }
        let until = Instant::now() + patience;
        let mut pause = PAUSES.0;
        let mut reason = None;
        loop {
            match Self::attempt(to, streams, patience, until) {
                Attempt::Ready(test) => return Ok(test),
                Attempt::Never(error) => return Err(error),
                Attempt::Later(error) if Instant::now() + pause >= until => return Err(error),
                Attempt::Later(error) => reason = Some(error),
                // The last attempt has only what is left of the patience.
                Attempt::Silent(error) => return Err(reason.unwrap_or(error)),
            }
            sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn attempt(to: SocketAddr, streams: usize, patience: Duration, until: Instant) -> Attempt {
        let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let name = to.to_string();
        let connected = TcpStream::connect_timeout(&to, left());
        let control = match connected.and_then(Control::over) {
            Ok(control) => control,
            Err(error) => {
                let again = matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
                );
                let error = Error::os(format!("connect to iperf3 server \"{name}\""), error)
                    .id("cannot-connect")
                    .help("start one there: iperf3 -s -p PORT");
                return if again { Attempt::Later(error) } else { Attempt::Never(error) };
            }
        };
        let cookie = match cookie() {
            Ok(cookie) => cookie,
            Err(error) => return Attempt::Never(Error::os("get random bytes", error)),
        };
        let mut test = Self { name, control, cookie, streams, patience };
        // Before its first byte the server may not have accepted the connection, and the socket in
        // whose backlog it is may be closed.
        let first = match test.control.write(&test.cookie, left()) {
            Ok(()) => test.control.wait_for(left(), Inbox::take_state),
            Err(lost) => Err(lost),
        };
        match first {
            Ok(State::ParamExchange) => {}
            Ok(State::AccessDenied) => {
                return Attempt::Later(
                    Error::failed(
                        "iperf3-busy",
                        format!("iperf3 server \"{}\" is busy with another test", test.name),
                    )
                    .help(
                        "it takes one at a time: wait for it, or start a second server there \
                            with -p PORT",
                    ),
                );
            }
            Ok(other) => return Attempt::Never(test.unexpected(other)),
            Err(Lost::Late(_)) => return Attempt::Silent(test.lost(&Lost::Late(patience))),
            Err(lost @ Lost::Closed) => return Attempt::Later(test.lost(&lost)),
            Err(lost) => return Attempt::Never(test.lost(&lost)),
        }
        match test.agree() {
            Ok(()) => Attempt::Ready(test),
            Err(error) => Attempt::Never(error),
        }
    }

    fn agree(&mut self) -> Result<()> {
        let parameters = Parameters::to_server(self.streams, BLOCK_BYTES, LONGEST_S);
        let said = self.control.say_json(&parameters, self.patience);
        said.map_err(|lost| self.lost(&lost))?;
        self.expect(State::CreateStreams)
    }

    /// Minimum round-trip time of the control connection in us, as measured by the kernel.
    pub fn rtt_us(&self) -> u32 {
        tcp::info(&self.control).map_or(0, |info| info.min_rtt_us)
    }

    /// The bytes that every stream's connection must send first.
    pub fn cookie(&self) -> &[u8] {
        &self.cookie
    }

    /// Waits until the server has all streams and counts their bytes. Call it when they are
    /// connected and have sent the cookie.
    ///
    /// # Errors
    /// The server lacks a stream, cannot go on, or is gone.
    pub fn running(&mut self) -> Result<()> {
        self.expect(State::TestStart)?;
        self.expect(State::TestRunning)
    }

    /// Ends the test. `sent` is the number of bytes sent on each stream in the order of connection,
    /// without the cookie; `seconds` is the time taken. The server does not count what it has not
    /// read by then (see [`settle`]).
    ///
    /// # Errors
    /// The server is gone, or sends invalid results.
    pub fn end(mut self, sent: &[u64], seconds: f64) -> Result<ServerReport> {
        if sent.len() != self.streams {
            return Err(Error::failed(
                "streams-lost",
                format!("{} streams were opened and {} ended", self.streams, sent.len()),
            ));
        }
        let said = self.control.say(State::TestEnd, self.patience);
        said.map_err(|lost| self.lost(&lost))?;
        self.expect(State::ExchangeResults)?;
        // The server only prints our results. Their CPU figures are those of an iperf3 client.
        let ours = Results {
            cpu_util_total: 0.0,
            cpu_util_user: 0.0,
            cpu_util_system: 0.0,
            sender_has_retransmits: 0.0,
            streams: (0..)
                .zip(sent)
                .map(|(place, bytes)| StreamResults::new(place, *bytes, seconds))
                .collect(),
        };
        let said = self.control.say_json(&ours, self.patience);
        said.map_err(|lost| self.lost(&lost))?;
        let theirs =
            self.control.wait_for(self.patience, |inbox| inbox.take_json::<Results>(MOST_BYTES));
        let theirs = theirs.map_err(|lost| self.lost(&lost))?;
        self.expect(State::DisplayResults)?;
        if theirs.streams.len() != self.streams {
            return Err(Error::failed(
                "iperf3-results-incomplete",
                format!(
                    "iperf3 server \"{}\" has results of {} streams, of {} that there were",
                    self.name,
                    theirs.streams.len(),
                    self.streams
                ),
            ));
        }
        // The test is complete, so an error here does not matter. The server closes the connection
        // when it is done, and the next test then finds it ready.
        if self.control.say(State::IperfDone, self.patience).is_ok() {
            while matches!(self.control.fill(self.patience), Ok(true)) {}
        }
        Ok(ServerReport {
            cpu_percent: theirs.cpu_util_total,
            cpu_user_percent: theirs.cpu_util_user,
            cpu_system_percent: theirs.cpu_util_system,
            received_bytes: theirs
                .streams
                .iter()
                .map(StreamResults::bytes)
                .fold(0, u64::saturating_add),
            seconds: theirs.streams.iter().map(StreamResults::seconds).fold(0.0, f64::max),
        })
    }

    fn expect(&mut self, expected: State) -> Result<()> {
        let received = self.control.wait_for(self.patience, Inbox::take_state);
        match received.map_err(|lost| self.lost(&lost))? {
            state if state == expected => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    fn unexpected(&mut self, state: State) -> Error {
        let name = &self.name;
        match state {
            State::ServerError => {
                let error = self.control.wait_for(self.patience, |inbox| Ok(inbox.take_number()));
                let Ok(error) = error else {
                    return Error::failed(
                        "iperf3-failed",
                        format!("iperf3 server \"{name}\" cannot go on, and does not say why"),
                    );
                };
                let errno = self.control.wait_for(SECOND_NUMBER, |inbox| Ok(inbox.take_number()));
                let because = match errno.ok().and_then(|errno| i32::try_from(errno).ok()) {
                    Some(errno) if errno != 0 => {
                        format!(" ({})", io::Error::from_raw_os_error(errno))
                    }
                    _ => String::new(),
                };
                let meaning = meaning(error);
                Error::failed(
                    "iperf3-failed",
                    format!(
                        "iperf3 server \"{name}\" cannot go on: its error {error}, \
                         {meaning}{because}"
                    ),
                )
            }
            State::AccessDenied => Error::failed(
                "iperf3-access-denied",
                format!("iperf3 server \"{name}\" denies access"),
            )
            .help("another client may have come between: try again"),
            State::ServerTerminate => {
                Error::failed("iperf3-ended", format!("iperf3 server \"{name}\" was told to end"))
            }
            other => Error::failed(
                "iperf3-protocol",
                format!(
                    "iperf3 server \"{name}\" sent \"{}\" ({other:?}), which is not valid there",
                    other.byte().cast_signed()
                ),
            ),
        }
    }

    fn lost(&self, lost: &Lost) -> Error {
        let message = format!("iperf3 server \"{}\" {lost}", self.name);
        match lost {
            Lost::NoState(_) | Lost::Nonsense(_) | Lost::TooLong { .. } => {
                Error::failed("iperf3-protocol", message)
                    .help("is it an iperf3 that listens there? its port is 5201 by default")
            }
            _ => Error::failed("iperf3-lost", message),
        }
    }
}

/// Time for the server's process to read what its kernel has, after the last acknowledgement.
const QUIET: Duration = Duration::from_millis(10);

/// Completes every stream for an iperf3 server, and adds to `sent`, the bytes sent on each, what
/// that took. Call it between the last byte and [`Test::end`]. The streams stay open.
///
/// An iperf3 server counts what it has read when the test ends, and since 3.16 it counts a block
/// (`BLOCK_BYTES`) when it has read all of it. So the last block of every stream is filled up
/// with zeros. Then everything has to be acknowledged, by TCP_INFO. Nothing reports when the
/// server's process has read what its kernel acknowledged, so it gets 10 ms: enough unless its
/// machine is overloaded, and no proof. (Ending the streams for writing could replace the zeros,
/// but a server busy-loops on a stream at its end, which inflates its CPU figure.)
///
/// # Errors
/// A stream is broken, or is not acknowledged within `patience`.
pub fn settle(
    streams: &[impl Borrow<TcpStream>],
    sent: &mut [u64],
    patience: Duration,
) -> Result<()> {
    let until = Instant::now() + patience;
    let broken = |error| Error::os("end a stream to an iperf3 server", error);
    let late = || {
        let seconds = patience.as_secs_f64();
        Error::failed(
            "iperf3-not-drained",
            format!(
                "an iperf3 server has not taken everything within {seconds} s after the last byte"
            ),
        )
    };
    for (stream, sent) in streams.iter().zip(sent) {
        let mut stream: &TcpStream = stream.borrow();
        let filling = sent.next_multiple_of(BLOCK_BYTES as u64) - *sent;
        stream.set_write_timeout(Some(patience)).map_err(broken)?;
        // It is less than a block.
        stream.write_all(&vec![0; filling as usize]).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => late(),
            _ => broken(error),
        })?;
        *sent += filling;
    }
    for stream in streams {
        let left = until.saturating_duration_since(Instant::now());
        if !tcp::wait_acknowledged(stream.borrow(), left).map_err(broken)? {
            return Err(late());
        }
    }
    sleep(QUIET);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// Long enough for a peer on the same machine. Nothing waits that long.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Long enough for a server that waits for a CPU. A test waits that long.
    const WAITS_FOR_A_CPU: Duration = Duration::from_secs(2);

    /// A step of a scripted server. A text is preceded by its length.
    #[derive(Clone, Copy)]
    enum Turn {
        Read(usize),
        ReadText,
        Say(&'static [u8]),
        SayText(&'static str),
    }
    use Turn::{Read as Hear, ReadText, Say, SayText};

    /// The first steps of every server.
    const BEGIN: [Turn; 4] = [Hear(COOKIE_BYTES), Say(b"\x09"), ReadText, Say(b"\x0a")];

    fn server(turns: impl IntoIterator<Item = Turn>) -> SocketAddr {
        let turns: Vec<Turn> = turns.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for turn in turns {
                // The client may be gone before all is sent.
                let done = match turn {
                    Hear(length) => stream.read_exact(&mut vec![0; length]),
                    ReadText => {
                        let mut length = [0; 4];
                        stream.read_exact(&mut length).and_then(|()| {
                            let length = u32::from_be_bytes(length) as usize;
                            assert!(length < 10_000);
                            stream.read_exact(&mut vec![0; length])
                        })
                    }
                    Say(bytes) => stream.write_all(bytes),
                    SayText(text) => stream
                        .write_all(&(text.len() as u32).to_be_bytes())
                        .and_then(|()| stream.write_all(text.as_bytes())),
                };
                if done.is_err() {
                    return;
                }
            }
        });
        at
    }

    fn open_fault(turns: impl IntoIterator<Item = Turn>, patience: Duration) -> Error {
        Test::open(server(turns), 1, patience).unwrap_err()
    }

    /// The error of a test whose server takes `turns` after the end of the test was announced.
    fn end_fault(turns: impl IntoIterator<Item = Turn>) -> Error {
        let at = server(BEGIN.into_iter().chain([Say(b"\x01\x02"), Hear(1)]).chain(turns));
        let mut test = Test::open(at, 1, PATIENCE).unwrap();
        test.running().unwrap();
        test.end(&[5], 1.0).unwrap_err()
    }

    const RESULTS: &str = r#"{"cpu_util_total":12.5,"cpu_util_user":2.5,"cpu_util_system":10,
        "sender_has_retransmits":-1,"congestion_used":"cubic","streams":[
        {"id":1,"bytes":7,"retransmits":-1,"jitter":0,"errors":0,"packets":0,
        "start_time":0,"end_time":1.5},
        {"id":3,"bytes":8,"retransmits":-1,"jitter":0,"errors":0,"packets":0,
        "start_time":0.5,"end_time":1}]}"#;

    #[test]
    fn a_test_goes_through_all_its_states_and_ends_with_the_servers_figures() {
        let rest = [
            Say(b"\x01\x02"),
            Hear(1),
            Say(b"\x0d"),
            ReadText,
            SayText(RESULTS),
            Say(b"\x0e"),
            Hear(1),
        ];
        let at = server(BEGIN.into_iter().chain(rest));
        let mut test = Test::open(at, 2, PATIENCE).unwrap();
        assert_eq!(test.cookie().len(), COOKIE_BYTES);
        test.running().unwrap();
        let report = test.end(&[7, 8], 1.5).unwrap();
        let expected = ServerReport {
            cpu_percent: 12.5,
            cpu_user_percent: 2.5,
            cpu_system_percent: 10.0,
            received_bytes: 15,
            seconds: 1.5,
        };
        assert_eq!(report, expected);
    }

    #[test]
    fn a_server_that_is_not_iperf3_and_one_that_denies_access_get_different_errors() {
        let begins = [Hear(COOKIE_BYTES), Say(b"\x09"), ReadText];
        let then = |bytes: &'static [u8]| begins.into_iter().chain([Say(bytes)]);
        for (error, id) in [
            (open_fault([Say(b"SSH-2.0-OpenSSH\r\n"), Hear(100)], PATIENCE), "iperf3-protocol"),
            (open_fault([Hear(COOKIE_BYTES), Say(b"\x0e"), Hear(1)], PATIENCE), "iperf3-protocol"),
            (open_fault(then(b"\xfe\0\0"), PATIENCE), "iperf3-failed"),
            (open_fault(then(b"\x0b"), PATIENCE), "iperf3-ended"),
            (open_fault([Hear(COOKIE_BYTES), Hear(1)], Duration::from_millis(50)), "iperf3-lost"),
        ] {
            assert_eq!(error.id, id, "{error}");
        }
        let error = open_fault(then(b"\xfe\0\0\0\x8e\0\0\0\0"), PATIENCE);
        assert!(error.id == "iperf3-failed" && error.message.contains("error 142"), "{error:?}");
    }

    #[test]
    fn a_busy_or_absent_server_is_tried_until_the_patience_is_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let busy = std::thread::spawn(move || {
            let mut clients = 0;
            loop {
                let (mut stream, _) = listener.accept().unwrap();
                let mut first = [0];
                if stream.read_exact(&mut first).is_err() || first == *b"!" {
                    return clients;
                }
                stream.read_exact(&mut [0; COOKIE_BYTES - 1]).unwrap();
                stream.write_all(b"\xff").unwrap();
                clients += 1;
            }
        });
        let error = Test::open(at, 1, WAITS_FOR_A_CPU).unwrap_err();
        assert_eq!(error.id, "iperf3-busy");
        TcpStream::connect(at).unwrap().write_all(b"!").unwrap();
        assert!(busy.join().unwrap() > 1);
        let error = Test::open(at, 1, Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.id, "cannot-connect");
    }

    #[test]
    fn silence_in_the_last_attempt_does_not_hide_what_the_server_said_before() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        // Later connections stay in the backlog.
        let denied = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; COOKIE_BYTES]).unwrap();
            stream.write_all(b"\xff").unwrap();
            listener
        });
        let error = Test::open(at, 1, WAITS_FOR_A_CPU).unwrap_err();
        assert_eq!(error.id, "iperf3-busy");
        drop(denied.join().unwrap());
    }

    #[test]
    fn a_server_that_breaks_off_or_sends_invalid_results_is_an_error() {
        for (rest, id) in [
            (&[][..], "iperf3-lost"),
            (&[Say(&[0xff; 8])], "iperf3-protocol"),
            (&[SayText("{}")], "iperf3-protocol"),
            (&[SayText(RESULTS), Say(b"\x0e")], "iperf3-results-incomplete"),
        ] {
            let begins = [Say(b"\x0d"), ReadText];
            let turns = begins.into_iter().chain(rest.iter().copied());
            assert_eq!(end_fault(turns).id, id);
        }
        assert_eq!(end_fault([]).id, "iperf3-lost");
    }

    #[test]
    fn streams_are_1_to_128() {
        for streams in [0, 129] {
            let error = Test::open(([127, 0, 0, 1], 1).into(), streams, PATIENCE).unwrap_err();
            assert_eq!(error.id, "too-many-streams");
        }
    }
}
