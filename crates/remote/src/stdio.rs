//! The server side of a stream that a client has started: `zc serve --stdio`, behind a shell and
//! the command that carries the bytes. The client chooses the token and sends it in its first line.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;

use super::connection::{Connection, Received};
use super::handshake::{Answer, Challenge, Line, MOST_BYTES};
use super::secret::Secret;
use zc_kernel::stop::Stop;
use zc_rig::trial::GLANCE;
use zc_run::{Error, Result};

/// The control connection over this process's stdin and stdout.
///
/// # Errors
/// No descriptors are left, or one of the two is closed.
pub fn connection() -> Result<Connection> {
    // Above 2, so that no later descriptor is mistaken for a standard one. Close-on-exec, so
    // children do not get it.
    let own = |fd: BorrowedFd<'_>| -> Result<OwnedFd> {
        fcntl_dupfd_cloexec(fd, 3).map_err(|error| Error::os("use stdin and stdout", error))
    };
    Ok(Connection::new(own(std::io::stdin().as_fd())?, own(std::io::stdout().as_fd())?))
}

/// Runs the handshake: sends the server's line, receives the token and then its proof, and welcomes
/// the client.
///
/// The client sends nothing before it has received the first line: dash and busybox read ahead of
/// the script that starts zc, and what they have read is lost for zc.
///
/// # Errors
/// The client is gone, sends nothing for `patience`, or is not zc; or `stop` was set.
pub fn welcome(mut connection: Connection, patience: Duration, stop: &Stop) -> Result<Connection> {
    let until = Instant::now() + patience;
    let challenge = Challenge::fresh()?;
    connection.send(&challenge.line())?;
    let word = line(&mut connection, until, stop)?;
    let secret = Secret::from_word(&String::from_utf8_lossy(&word))?;
    let answer = line(&mut connection, until, stop)?;
    match challenge.judge(&answer, &secret) {
        Answer::Right(known) => {
            connection.send(&known.welcome(&secret))?;
            Ok(connection.with_key(known.session_key(&secret)))
        }
        Answer::OtherProtocol(protocol) => {
            connection.send(&Line::Refused)?;
            Err(Error::remote("client-version", format!("the client speaks protocol {protocol}")))
        }
        Answer::WrongToken | Answer::Nonsense => {
            connection.send(&Line::Refused)?;
            Err(not_a_client())
        }
    }
}

fn line(connection: &mut Connection, until: Instant, stop: &Stop) -> Result<Vec<u8>> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match connection.line(MOST_BYTES, left.min(GLANCE))? {
            Received::Message(line) => return Ok(line),
            Received::Closed => return Err(Error::remote("client-gone", "the client is gone")),
            Received::Late if stop.is_set() => {
                return Err(Error::remote("far-end-stopped", "stopped before a client came"));
            }
            Received::Late if !left.is_zero() => {}
            Received::Late | Received::TooLong | Received::Nonsense(_) => {
                return Err(not_a_client());
            }
        }
    }
}

fn not_a_client() -> Error {
    Error::usage("client-not-zc", "no zc is at the other end of stdin and stdout").help(
        "`zc run --via COMMAND` starts `zc serve --stdio` by itself; `zc serve` alone waits \
            for a client",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::super::handshake::answer_hello;
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn pair() -> [Connection; 2] {
        let (client, server) = UnixStream::pair().unwrap();
        [client, server].map(|end| Connection::new(end.try_clone().unwrap().into(), end.into()))
    }

    #[test]
    fn the_token_is_the_client_s_first_line() {
        let [mut client, server] = pair();
        let server = std::thread::spawn(move || welcome(server, SOON, &Stop::default()));
        let (secret, word) = Secret::one_time().unwrap();
        let Received::Message(hello) = client.receive(MOST_BYTES, SOON).unwrap() else { panic!() };
        client.write_all(format!("{word}\n").as_bytes()).unwrap();
        let mut client = answer_hello(client, hello, &secret, Instant::now() + SOON).unwrap();
        let mut server = server.join().unwrap().unwrap();
        client.send(&1).unwrap();
        assert!(matches!(server.receive::<i32>(10, SOON).unwrap(), Received::Message(1)));
    }

    #[test]
    fn a_peer_that_is_not_a_client_is_refused_and_the_server_returns_an_error() {
        for said in ["help\n", "a token that is long enough\nhelp\n", "", &"x".repeat(5000)] {
            let [mut client, server] = pair();
            let server = std::thread::spawn(move || welcome(server, SOON, &Stop::default()));
            // The server may close the connection before all is sent.
            drop(client.write_all(said.as_bytes()));
            drop(client);
            assert!(server.join().unwrap().is_err(), "{said}");
        }
    }
}
