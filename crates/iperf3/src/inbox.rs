//! Contents of iperf3's control connection: states of one signed byte each, numbers and JSON
//! messages after a big-endian length of four bytes. A function of the received bytes alone. A
//! length is checked before anything is allocated for it.

use std::fmt;
use std::io;
use std::time::Duration;

use serde::de::DeserializeOwned;

/// Bytes of a cookie: 36 characters and a NUL. It identifies the connections of one test.
pub const COOKIE_BYTES: usize = 37;

/// Characters of a cookie.
pub(super) const COOKIE_LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// State of a test, as sent by either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
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

    fn from_byte(byte: u8) -> Option<Self> {
        STATES.iter().find(|(_, number)| number.cast_unsigned() == byte).map(|(state, _)| *state)
    }
}

/// Why a control connection is unusable. Its text continues a sentence whose subject is the peer.
#[derive(Debug)]
pub enum Lost {
    /// The peer has closed it.
    Closed,
    /// The socket failed.
    Broken(io::Error),
    /// Nothing came for so long.
    Late(Duration),
    /// The peer does not read what it is sent.
    DoesNotRead,
    /// A message is longer than what is taken.
    TooLong {
        /// Its length in bytes.
        announced: u32,
        /// The limit in bytes.
        most: usize,
    },
    /// A byte that is no state of iperf3.
    NoState(i8),
    /// A message that cannot be decoded, and why.
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

/// The bytes received on a control connection, and what is taken of them.
#[derive(Debug, Default)]
pub struct Inbox(Vec<u8>);

impl Inbox {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Number of bytes that have not been taken.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all bytes have been taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Room for bytes that has been allocated.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// A received state.
    ///
    /// # Errors
    /// [`Lost::NoState`]; the byte is taken.
    pub fn take_state(&mut self) -> Result<Option<State>, Lost> {
        let Some([byte]) = self.take() else { return Ok(None) };
        State::from_byte(byte).map(Some).ok_or(Lost::NoState(byte.cast_signed()))
    }

    /// A received number.
    pub fn take_number(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// A received JSON message of at most `most` bytes.
    ///
    /// # Errors
    /// [`Lost::TooLong`], as soon as its length is known; [`Lost::Nonsense`], once it is complete.
    pub fn take_json<T: DeserializeOwned>(&mut self, most: usize) -> Result<Option<T>, Lost> {
        let Some(&length) = self.0.first_chunk() else { return Ok(None) };
        let announced = u32::from_be_bytes(length);
        let Some(length) = usize::try_from(announced).ok().filter(|length| *length <= most) else {
            return Err(Lost::TooLong { announced, most });
        };
        let whole = length + size_of_val(&announced);
        let Some(text) = self.0.get(size_of_val(&announced)..whole) else { return Ok(None) };
        let message =
            serde_json::from_slice(text).map_err(|error| Lost::Nonsense(error.to_string()))?;
        self.0.drain(..whole);
        Ok(Some(message))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.0.first_chunk().copied()?;
        self.0.drain(..N);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::messages::Results;
    use super::*;

    #[test]
    fn every_state_survives_the_round_trip_through_its_byte() {
        for (state, number) in STATES {
            assert_eq!(state.byte(), number.cast_unsigned());
            assert_eq!(State::from_byte(state.byte()), Some(state));
        }
        assert_eq!((State::AccessDenied.byte(), State::ServerError.byte()), (255, 254));
        assert_eq!(State::from_byte(0), None);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic_or_take_more_memory_than_their_length(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            for take in 0..3 {
                let mut inbox = Inbox(bytes.clone());
                match take {
                    0 => drop(inbox.take_state()),
                    1 => drop(inbox.take_json::<Results>(100)),
                    _ => drop(inbox.take_number()),
                }
                prop_assert!(inbox.len() <= bytes.len());
            }
        }

        #[test]
        fn no_json_makes_a_panic(text in "[\\[{\"a-z_0-9:,.e}\\] -]{0,100}") {
            let mut bytes = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
            bytes.extend(text.as_bytes());
            drop(Inbox(bytes).take_json::<Results>(100));
        }
    }
}
