//! The control connection of iperf3: states of one signed byte each, and JSON messages after a
//! big-endian length of four bytes. The state decides which end sends next. A length is checked
//! before anything is allocated for it, and every wait has a limit.

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use zc_kernel::tcp;

/// Bytes of a cookie: 36 characters and a NUL. It identifies the connections of one test.
pub(super) const COOKIE_BYTES: usize = 37;

/// Characters of a cookie.
const COOKIE_LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Bytes read at a time.
const CHUNK_BYTES: usize = 4096;

/// State of a test, as sent by either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The streams are connected, and the test is about to begin.
    TestStart,
    /// The streams may send.
    TestRunning,
    /// The client ends the test.
    TestEnd,
    /// The server waits for the parameters.
    ParamExchange,
    /// The server waits for the streams.
    CreateStreams,
    /// The server terminates.
    ServerTerminate,
    /// The client terminates.
    ClientTerminate,
    /// The server waits for the client's results, and answers with its own.
    ExchangeResults,
    /// The results have been exchanged.
    DisplayResults,
    /// The client no longer needs the server.
    IperfDone,
    /// The server is busy.
    AccessDenied,
    /// The server cannot go on. Two numbers follow: an error of iperf3, and an errno.
    ServerError,
}

const STATES: [(State, i8); 12] = [
    (State::TestStart, 1),
    (State::TestRunning, 2),
    (State::TestEnd, 4),
    (State::ParamExchange, 9),
    (State::CreateStreams, 10),
    (State::ServerTerminate, 11),
    (State::ClientTerminate, 12),
    (State::ExchangeResults, 13),
    (State::DisplayResults, 14),
    (State::IperfDone, 16),
    (State::AccessDenied, -1),
    (State::ServerError, -2),
];

impl State {
    /// The byte that is sent.
    pub(super) fn byte(self) -> u8 {
        // Every state is in the table.
        STATES
            .iter()
            .find(|(state, _)| *state == self)
            .map_or(0, |(_, number)| number.cast_unsigned())
    }

    fn of(byte: u8) -> Option<Self> {
        STATES.iter().find(|(_, number)| number.cast_unsigned() == byte).map(|(state, _)| *state)
    }
}

/// A random cookie.
///
/// # Errors
/// The kernel gives no random bytes.
pub(super) fn cookie() -> io::Result<[u8; COOKIE_BYTES]> {
    let mut cookie: [u8; COOKIE_BYTES] = zc_kernel::random::array()?;
    for byte in &mut cookie {
        *byte = COOKIE_LETTERS[usize::from(*byte) % COOKIE_LETTERS.len()];
    }
    cookie[COOKIE_BYTES - 1] = 0;
    Ok(cookie)
}

/// Why a control connection is unusable. Its text continues a sentence whose subject is the peer.
#[derive(Debug)]
pub(super) enum Lost {
    Closed,
    Broken(io::Error),
    Late(Duration),
    DoesNotRead,
    TooLong { announced: u32, most: usize },
    NoState(i8),
    Nonsense(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => write!(f, "closed the control connection"),
            Self::Broken(error) => write!(f, "is gone: {error}"),
            Self::Late(waited) => write!(f, "sent nothing for {} s", waited.as_secs_f64()),
            Self::DoesNotRead => write!(f, "does not read the control connection"),
            Self::TooLong { announced, most } => {
                write!(
                    f,
                    "announced a message of {announced} bytes, of which {most} at most are taken"
                )
            }
            Self::NoState(number) => write!(f, "sent \"{number}\", which is not a state of iperf3"),
            Self::Nonsense(why) => write!(f, "sent what makes no sense: {why}"),
        }
    }
}

/// One end of a control connection.
#[derive(Debug)]
pub(super) struct Control {
    stream: TcpStream,
    /// Bytes received and not yet taken. At most one chunk ([`CHUNK_BYTES`]) is read beyond what is
    /// waited for.
    came: Vec<u8>,
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Control {
    /// A control connection over a socket, with TCP_NODELAY as in iperf3.
    pub(super) fn over(stream: TcpStream) -> io::Result<Self> {
        tcp::set_nodelay(&stream, true)?;
        Ok(Self { stream, came: Vec::new() })
    }

    /// Waits for data and reads one chunk at most. False if none arrived in time.
    pub(super) fn fill(&mut self, at_most: Duration) -> Result<bool, Lost> {
        if !tcp::wait_readable(&self.stream, at_most).map_err(Lost::Broken)? {
            return Ok(false);
        }
        let mut chunk = [0; CHUNK_BYTES];
        match tcp::recv(&self.stream, &mut chunk) {
            Ok(0) => Err(Lost::Closed),
            Ok(len) => {
                self.came.extend_from_slice(&chunk[..len]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(Lost::Closed),
            Err(error) => Err(Lost::Broken(error)),
        }
    }

    /// A received cookie.
    pub(super) fn take_cookie(&mut self) -> Option<[u8; COOKIE_BYTES]> {
        self.take()
    }

    /// A received state.
    pub(super) fn take_state(&mut self) -> Result<Option<State>, Lost> {
        let Some([byte]) = self.take() else { return Ok(None) };
        State::of(byte).map(Some).ok_or(Lost::NoState(byte.cast_signed()))
    }

    /// A received number.
    pub(super) fn take_number(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// A received JSON message of at most `most` bytes.
    pub(super) fn take_json<T: DeserializeOwned>(
        &mut self,
        most: usize,
    ) -> Result<Option<T>, Lost> {
        let Some(&length) = self.came.first_chunk() else { return Ok(None) };
        let announced = u32::from_be_bytes(length);
        let Some(length) = usize::try_from(announced).ok().filter(|length| *length <= most) else {
            return Err(Lost::TooLong { announced, most });
        };
        let whole = length + size_of_val(&announced);
        let Some(text) = self.came.get(size_of_val(&announced)..whole) else { return Ok(None) };
        let message =
            serde_json::from_slice(text).map_err(|error| Lost::Nonsense(error.to_string()))?;
        self.came.drain(..whole);
        Ok(Some(message))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.came.first_chunk().copied()?;
        self.came.drain(..N);
        Some(bytes)
    }

    /// Waits until `take` returns something.
    pub(super) fn wait_for<T>(
        &mut self,
        patience: Duration,
        mut take: impl FnMut(&mut Self) -> Result<Option<T>, Lost>,
    ) -> Result<T, Lost> {
        let until = Instant::now() + patience;
        loop {
            if let Some(taken) = take(self)? {
                return Ok(taken);
            }
            if !self.fill(until.saturating_duration_since(Instant::now()))? {
                return Err(Lost::Late(patience));
            }
        }
    }

    /// Sends a state.
    pub(super) fn say(&mut self, state: State, patience: Duration) -> Result<(), Lost> {
        self.write(&[state.byte()], patience)
    }

    /// Sends that the server cannot go on: one of iperf3's errors, and an errno.
    pub(super) fn say_error(
        &mut self,
        error: u32,
        errno: u32,
        patience: Duration,
    ) -> Result<(), Lost> {
        let mut message = vec![State::ServerError.byte()];
        message.extend(error.to_be_bytes());
        message.extend(errno.to_be_bytes());
        self.write(&message, patience)
    }

    /// Sends a JSON message.
    pub(super) fn say_json(
        &mut self,
        message: &impl Serialize,
        patience: Duration,
    ) -> Result<(), Lost> {
        let text =
            serde_json::to_vec(message).map_err(|error| Lost::Nonsense(error.to_string()))?;
        // Ours are a few thousand bytes.
        let length =
            u32::try_from(text.len()).map_err(|error| Lost::Nonsense(error.to_string()))?;
        let mut message = length.to_be_bytes().to_vec();
        message.extend(text);
        self.write(&message, patience)
    }

    /// Sends raw bytes, all within `patience`.
    pub(super) fn write(&mut self, mut bytes: &[u8], patience: Duration) -> Result<(), Lost> {
        let until = Instant::now() + patience;
        while !bytes.is_empty() {
            // The kernel takes 0 as no timeout.
            let left =
                until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let written = self
                .stream
                .set_write_timeout(Some(left))
                .and_then(|()| tcp::send(&self.stream, bytes));
            match written {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                    ) =>
                {
                    return Err(Lost::Closed);
                }
                Err(error) => return Err(Lost::Broken(error)),
            }
            if !bytes.is_empty() && Instant::now() >= until {
                return Err(Lost::DoesNotRead);
            }
        }
        Ok(())
    }

    /// The socket.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The socket, if this is not a control connection after all, and the bytes read from it.
    pub(super) fn into_stream(self) -> (TcpStream, Vec<u8>) {
        (self.stream, self.came)
    }
}

/// Meaning of a server's error number, for those that our client may receive.
pub(super) fn meaning(error: u32) -> &'static str {
    match error {
        5 => "the test would take longer than it may",
        6 => "too many streams",
        7 => "a block size that it does not take",
        13 => "an option that it has not",
        27 => "the test would exceed its limit of bitrate",
        37 | 38 => "the test would take longer than the server lets one take",
        115 | 117 => "it did not understand our results",
        142 => "it wants a user name and a password",
        144 => "nothing came from us for too long",
        200..=208 => "a stream could not be had, or broke",
        _ => "see iperf_api.h of its version",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::super::messages::{Parameters, Results};
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn pair() -> (Control, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Control::over(ours).unwrap(), listener.accept().unwrap().0)
    }

    #[test]
    fn every_state_survives_the_round_trip_through_its_byte() {
        for (state, number) in STATES {
            assert_eq!(state.byte(), number.cast_unsigned());
            assert_eq!(State::of(state.byte()), Some(state));
        }
        assert_eq!((State::AccessDenied.byte(), State::ServerError.byte()), (255, 254));
        assert_eq!(State::of(0), None);
    }

    #[test]
    fn a_cookie_is_36_letters_and_a_zero_and_differs_every_time() {
        let (one, other) = (cookie().unwrap(), cookie().unwrap());
        assert_ne!(one, other);
        assert!(one[..36].iter().all(|letter| COOKIE_LETTERS.contains(letter)));
        assert_eq!(one[36], 0);
    }

    #[test]
    fn a_message_that_arrives_byte_by_byte_is_received_whole() {
        let (mut control, mut other) = pair();
        let peer = std::thread::spawn(move || {
            other.set_nodelay(true).unwrap();
            for byte in b"\x0d\x00\x00\x00\x05[1,2]\xfe\x00\x00\x00\x8e\x00\x00\x00\x02" {
                other.write_all(&[*byte]).unwrap();
            }
            let mut said = [0; 8];
            other.read_exact(&mut said).unwrap();
            said
        });
        assert_eq!(control.wait_for(SOON, Control::take_state).unwrap(), State::ExchangeResults);
        assert_eq!(
            control.wait_for(SOON, |control| control.take_json::<Vec<u8>>(5)).unwrap(),
            [1, 2]
        );
        assert_eq!(control.wait_for(SOON, Control::take_state).unwrap(), State::ServerError);
        assert_eq!(control.wait_for(SOON, |control| Ok(control.take_number())).unwrap(), 142);
        assert_eq!(control.wait_for(SOON, |control| Ok(control.take_number())).unwrap(), 2);
        control.say(State::TestEnd, SOON).unwrap();
        control.say_json(&[7], SOON).unwrap();
        assert_eq!(&peer.join().unwrap(), b"\x04\0\0\0\x03[7]");
    }

    #[test]
    fn a_length_that_is_too_great_is_refused_before_the_message_arrives() {
        let (mut control, mut other) = pair();
        other.write_all(&[0xff; 4]).unwrap();
        let lost =
            control.wait_for(SOON, |control| control.take_json::<Vec<u8>>(1 << 20)).unwrap_err();
        assert_eq!(
            lost.to_string(),
            "announced a message of 4294967295 bytes, of which 1048576 at most are taken"
        );
        assert!(control.came.capacity() <= 2 * CHUNK_BYTES);
    }

    #[test]
    fn silence_an_end_and_an_unknown_state_differ() {
        let (mut control, mut other) = pair();
        let lost = control.wait_for(Duration::from_millis(1), Control::take_state).unwrap_err();
        assert_eq!(lost.to_string(), "sent nothing for 0.001 s");
        other.write_all(b"S").unwrap();
        let lost = control.wait_for(SOON, Control::take_state).unwrap_err();
        assert_eq!(lost.to_string(), "sent \"83\", which is not a state of iperf3");
        drop(other);
        let lost = control.wait_for(SOON, Control::take_state).unwrap_err();
        assert_eq!(lost.to_string(), "closed the control connection");
    }

    #[test]
    fn a_peer_that_does_not_read_is_given_up() {
        let (mut control, other) = pair();
        let lost = control.write(&vec![0; 64 << 20], Duration::from_millis(20)).unwrap_err();
        assert!(matches!(lost, Lost::DoesNotRead), "{lost}");
        drop(other);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic_or_take_more_memory_than_their_length(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let (mut control, _other) = pair();
            for take in 0..4 {
                control.came = bytes.clone();
                match take {
                    0 => drop(control.take_state()),
                    1 => drop(control.take_json::<Parameters>(100)),
                    2 => drop(control.take_json::<Results>(100)),
                    _ => drop(control.take_cookie()),
                }
                prop_assert!(control.came.len() <= bytes.len());
            }
        }

        #[test]
        fn no_json_makes_a_panic(text in "[\\[{\"a-z_0-9:,.e}\\] -]{0,100}") {
            let (mut control, _other) = pair();
            let mut bytes = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
            bytes.extend(text.as_bytes());
            control.came = bytes.clone();
            drop(control.take_json::<Parameters>(100));
            control.came = bytes;
            drop(control.take_json::<Results>(100));
        }
    }
}
