//! The control connection of iperf3 ([`inbox`](super::inbox) says what it carries). The state
//! decides which end sends next. Every wait has a limit.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::inbox::{COOKIE_BYTES, COOKIE_LETTERS, Inbox, Lost, State};
use zc_kernel::tcp;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 4096;

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

/// One end of a control connection.
#[derive(Debug)]
pub(super) struct Control {
    stream: TcpStream,
    /// Received and not yet taken. At most one chunk ([`CHUNK_BYTES`]) is read beyond what is
    /// waited for.
    inbox: Inbox,
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
        Ok(Self { stream, inbox: Inbox::default() })
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
                self.inbox.push(&chunk[..len]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(Lost::Closed),
            Err(error) => Err(Lost::Broken(error)),
        }
    }

    /// Waits until `take` returns something.
    pub(super) fn wait_for<T>(
        &mut self,
        patience: Duration,
        mut take: impl FnMut(&mut Inbox) -> Result<Option<T>, Lost>,
    ) -> Result<T, Lost> {
        let until = Instant::now() + patience;
        loop {
            if let Some(taken) = take(&mut self.inbox)? {
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
            let left = until.saturating_duration_since(Instant::now());
            let left = left.max(Duration::from_millis(1));
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

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn pair() -> (Control, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Control::over(ours).unwrap(), listener.accept().unwrap().0)
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
        assert_eq!(control.wait_for(SOON, Inbox::take_state).unwrap(), State::ExchangeResults);
        assert_eq!(control.wait_for(SOON, |inbox| inbox.take_json::<Vec<u8>>(5)).unwrap(), [1, 2]);
        assert_eq!(control.wait_for(SOON, Inbox::take_state).unwrap(), State::ServerError);
        assert_eq!(control.wait_for(SOON, |inbox| Ok(inbox.take_number())).unwrap(), 142);
        assert_eq!(control.wait_for(SOON, |inbox| Ok(inbox.take_number())).unwrap(), 2);
        control.say(State::TestEnd, SOON).unwrap();
        control.say_json(&[7], SOON).unwrap();
        assert_eq!(&peer.join().unwrap(), b"\x04\0\0\0\x03[7]");
    }

    #[test]
    fn a_length_that_is_too_great_is_refused_before_the_message_arrives() {
        let (mut control, mut other) = pair();
        other.write_all(&[0xff; 4]).unwrap();
        let lost = control.wait_for(SOON, |inbox| inbox.take_json::<Vec<u8>>(1 << 20)).unwrap_err();
        assert_eq!(
            lost.to_string(),
            "announced a message of 4294967295 bytes, of which 1048576 at most are taken"
        );
        assert!(control.inbox.capacity() <= 2 * CHUNK_BYTES);
    }

    #[test]
    fn silence_an_end_and_an_unknown_state_differ() {
        let (mut control, mut other) = pair();
        let lost = control.wait_for(Duration::from_millis(1), Inbox::take_state).unwrap_err();
        assert_eq!(lost.to_string(), "sent nothing for 0.001 s");
        other.write_all(b"S").unwrap();
        let lost = control.wait_for(SOON, Inbox::take_state).unwrap_err();
        assert_eq!(lost.to_string(), "sent \"83\", which is not a state of iperf3");
        drop(other);
        let lost = control.wait_for(SOON, Inbox::take_state).unwrap_err();
        assert_eq!(lost.to_string(), "closed the control connection");
    }

    #[test]
    fn a_peer_that_does_not_read_is_given_up() {
        let (mut control, other) = pair();
        let lost = control.write(&vec![0; 64 << 20], Duration::from_millis(20)).unwrap_err();
        assert!(matches!(lost, Lost::DoesNotRead), "{lost}");
        drop(other);
    }
}
