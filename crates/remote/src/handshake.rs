//! The handshake: both ends agree on the protocol and prove that they know the token, by challenge
//! and response.
//!
//! The token is never sent. Each end adds a nonce, so a recorded handshake cannot be replayed. The
//! handshake protects the start of a session only: the rest is neither encrypted nor protected
//! against changes on the path. `--via ssh` provides that. docs/protocol.md describes it byte for
//! byte.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::connection::{Connection, Received};
use super::hex::{hex, unhex};
use super::secret::{BYTES, Secret, SessionKey, random};
use zc_rig::stderr_tail::shown;
use zc_run::{Error, Result};

/// Protocol version. Ends with different protocols cannot work together; ends with the same
/// protocol can, whatever their versions.
pub const PROTOCOL: u32 = 7;

/// Version of this zc, as sent to the peer.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Longest line of a handshake in bytes.
pub const MOST_BYTES: usize = 1024;

/// Labels of the proofs (docs/protocol.md).
const AUTHENTICATE: &[u8] = b"zc knock\0";
const WELCOME: &[u8] = b"zc welcome\0";
const BUSY: &[u8] = b"zc busy\0";

/// The lines of a handshake. In `serve` the fields `zc`, `protocol` and `version` never change. All
/// else may change with the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "zc", rename_all = "lowercase")]
pub enum Line {
    /// The server's first line.
    Serve {
        /// Its protocol version: [`PROTOCOL`].
        protocol: u32,
        /// Its version of zc.
        #[serde(default)]
        version: String,
        /// Its nonce, in hexadecimal digits.
        #[serde(default)]
        nonce: String,
    },
    /// The client's answer.
    #[serde(rename = "knock")]
    Authenticate {
        /// Its protocol version.
        protocol: u32,
        /// Its version of zc.
        version: String,
        /// Its nonce, in hexadecimal digits.
        nonce: String,
        /// HMAC-SHA256 of both nonces, in hexadecimal digits.
        proof: String,
    },
    /// The server admits the client, and proves that it knows the token too.
    Welcome {
        /// HMAC-SHA256 like `Authenticate`'s, with another label.
        proof: String,
    },
    /// The server would admit the client, but has a session already.
    Busy {
        /// HMAC-SHA256 like `Authenticate`'s, with another label.
        proof: String,
    },
    /// The server rejects the client, without a reason.
    Refused,
}

/// The server's challenge to one client.
#[derive(Debug)]
pub struct Challenge([u8; BYTES]);

/// Verdict on a client's answer.
#[derive(Debug)]
pub enum Answer {
    /// It proves the token.
    Right(Known),
    /// It does not prove the token.
    WrongToken,
    /// It speaks another protocol.
    OtherProtocol(u32),
    /// It is not an answer of this protocol.
    Nonsense,
}

/// A client that has proven the token.
#[derive(Debug)]
pub struct Known {
    nonces: Nonces,
    version: String,
}

/// Input from a client so far.
#[derive(Debug)]
pub enum Heard {
    /// Its line is not complete.
    Part,
    /// Its line has more than [`MOST_BYTES`].
    TooLong,
    /// Its answer.
    Answer(Answer),
}

/// The nonces of a handshake: the server's, and the client's.
type Nonces = [[u8; BYTES]; 2];

impl Challenge {
    /// A challenge with a random nonce.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub(super) fn fresh() -> Result<Self> {
        random().map(Self)
    }

    /// The challenge with this nonce, which must be used once only.
    pub fn from_nonce(nonce: [u8; BYTES]) -> Self {
        Self(nonce)
    }

    /// The line that poses the challenge.
    pub fn line(&self) -> Line {
        Line::Serve { protocol: PROTOCOL, version: VERSION.to_owned(), nonce: hex(&self.0) }
    }

    /// Checks what a client has sent since the challenge was posed. Whatever follows its line
    /// before the welcome violates the protocol.
    pub fn hear(&self, said: &[u8], secret: &Secret) -> Heard {
        match said.iter().position(|&byte| byte == b'\n') {
            None if said.len() > MOST_BYTES => Heard::TooLong,
            None => Heard::Part,
            Some(end) if end + 1 < said.len() => Heard::Answer(Answer::Nonsense),
            Some(end) => Heard::Answer(self.judge(&said[..end], secret)),
        }
    }

    /// Checks an answer: a line, without its end.
    pub(super) fn judge(&self, line: &[u8], secret: &Secret) -> Answer {
        let (protocol, version, nonce, proof) = match serde_json::from_slice(line) {
            Ok(Line::Authenticate { protocol, version, nonce, proof }) => {
                (protocol, version, unhex(&nonce), unhex(&proof))
            }
            _ => return Answer::Nonsense,
        };
        if protocol != PROTOCOL {
            return Answer::OtherProtocol(protocol);
        }
        let (Some(nonce), Some(proof)) = (nonce, proof) else { return Answer::Nonsense };
        let nonces = [self.0, nonce];
        if !secret.is_proven(AUTHENTICATE, &nonces, &proof) {
            return Answer::WrongToken;
        }
        Answer::Right(Known { nonces, version: plain(&version) })
    }
}

impl Known {
    /// The client's version of zc: letters, digits, `.`, `+` and `-`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The line that admits it.
    pub fn welcome(&self, secret: &Secret) -> Line {
        Line::Welcome { proof: hex(&secret.proof(WELCOME, &self.nonces)) }
    }

    /// The key of the session that this opens.
    pub fn session_key(&self, secret: &Secret) -> SessionKey {
        secret.session_key(&self.nonces)
    }

    /// The line that tells it to come later.
    pub fn busy(&self, secret: &Secret) -> Line {
        Line::Busy { proof: hex(&secret.proof(BUSY, &self.nonces)) }
    }
}

/// Authenticates as a client: receives the server's line, proves the token, and checks the server's
/// proof.
///
/// # Errors
/// Nothing answers within `patience`. The peer is not `zc serve`, or speaks another protocol,
/// refuses, is busy, or does not know the token itself.
pub fn authenticate(
    mut connection: Connection,
    secret: &Secret,
    patience: Duration,
) -> Result<Connection> {
    let until = Instant::now() + patience;
    let hello = match connection.line(MOST_BYTES, patience)? {
        Received::Message(line) => line,
        Received::Late => {
            return Err(Error::remote(
                "far-end-stalled",
                format!("the far end has sent nothing for {} s", patience.as_secs()),
            )
            .help(
                "is it `zc serve` that listens there? An iperf3 server is called as \
                    iperf3://HOST, a bare sink as discard://HOST:PORT",
            ));
        }
        Received::Closed => {
            return Err(Error::remote(
                "far-end-gone",
                "the far end closed the connection before its hello",
            )
            .help(
                "is it `zc serve` that listens there? If it is, try again: it may have too many \
                 pending connections",
            ));
        }
        Received::TooLong | Received::Nonsense(_) => return Err(not_zc()),
    };
    let parsed = serde_json::from_slice(&hello).map_err(|_| {
        let error = not_zc();
        Error { message: format!("{}: it says \"{}\"", error.message, shown(&hello)), ..error }
    });
    answer_hello(connection, parsed?, secret, until)
}

/// The same once the server's first line has been received.
pub(super) fn answer_hello(
    mut connection: Connection,
    hello: Line,
    secret: &Secret,
    until: Instant,
) -> Result<Connection> {
    let (proven, line) = Proven::to(&hello, random()?, secret)?;
    connection.send(&line)?;
    let left = until.saturating_duration_since(Instant::now());
    let reply = match connection.receive(MOST_BYTES, left)? {
        Received::Message(reply) => reply,
        Received::Closed => {
            return Err(Error::remote(
                "far-end-gone",
                "the far end closed the connection during the handshake",
            )
            .help("try again: it may have too many pending connections"));
        }
        Received::Late => {
            return Err(Error::remote(
                "far-end-stalled",
                "the far end did not answer in time during the handshake",
            ));
        }
        Received::TooLong => return Err(not_zc()),
        Received::Nonsense(line) => return Err(no_message(&line)),
    };
    Ok(connection.with_key(proven.admitted(&reply, secret)?))
}

/// A client that has sent its proof, and waits for the server's.
#[derive(Debug)]
pub struct Proven(Nonces);

impl Proven {
    /// Answers the server's first line, with a nonce that must be used once only. Returns the line
    /// to send as well.
    ///
    /// # Errors
    /// It is not the first line of a server, or one of another protocol.
    pub fn to(hello: &Line, nonce: [u8; BYTES], secret: &Secret) -> Result<(Self, Line)> {
        let Line::Serve { protocol, version, nonce: theirs } = hello else { return Err(not_zc()) };
        if *protocol != PROTOCOL {
            return Err(other_protocol(*protocol, version));
        }
        let nonces = [unhex(theirs).ok_or_else(not_zc)?, nonce];
        let line = Line::Authenticate {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            nonce: hex(&nonce),
            proof: hex(&secret.proof(AUTHENTICATE, &nonces)),
        };
        Ok((Self(nonces), line))
    }

    /// Checks the server's second line, and returns the key of the session that it opens.
    ///
    /// # Errors
    /// The server refuses, is busy, does not know the token itself, or is not zc.
    pub fn admitted(&self, reply: &Line, secret: &Secret) -> Result<SessionKey> {
        let (label, proof) = match reply {
            Line::Welcome { proof } => (WELCOME, proof),
            Line::Busy { proof } => (BUSY, proof),
            Line::Refused => return Err(refused(secret)),
            Line::Serve { .. } | Line::Authenticate { .. } => return Err(not_zc()),
        };
        if !unhex(proof).is_some_and(|proof| secret.is_proven(label, &self.0, &proof)) {
            return Err(Error::remote(
                "far-end-unproven",
                "the far end does not know the token itself, so it is not the intended server",
            )
            .help("is the address right?"));
        }
        if label == BUSY {
            return Err(Error::remote("far-end-busy", "the far end is busy with another session")
                .help("try again when it has ended, or start another `zc serve` on another port"));
        }
        Ok(secret.session_key(&self.0))
    }
}

fn not_zc() -> Error {
    Error::remote("far-end-not-zc", "the server there is not `zc serve`").help(
        "is the port right? An iperf3 server is called as iperf3://HOST, a bare sink as \
            discard://HOST:PORT",
    )
}

/// The error for a line that is no message, after a hello.
pub(super) fn no_message(line: &str) -> Error {
    Error::remote(
        "far-end-protocol",
        format!("the far end says \"{line}\", which is no message of zc"),
    )
    .help(
        "what prints that there, once zc has started, must be silent: a banner, a profile of a \
         shell, a wrapper; or zc is of another version there",
    )
}

fn refused(secret: &Secret) -> Error {
    if secret.is_open() {
        Error::remote("token-missing", "the far end wants a token").help(
            "--token-file FILE, with the token that `zc serve` there was given or has printed",
        )
    } else {
        Error::remote("token-refused", "the far end refuses the token").help(
            "it must be the one that `zc serve` there was given or has printed last; a printed one \
             opens one session",
        )
    }
}

/// The error for a server of another protocol.
fn other_protocol(protocol: u32, version: &str) -> Error {
    let version = plain(version);
    Error::remote(
        "far-end-version",
        format!(
            "the far end speaks protocol {protocol} (zc {version}), this zc speaks {PROTOCOL} (zc \
         {VERSION}): install the same version on both"
        ),
    )
    .help("`cargo install --locked --path crates/zc` in the same source tree, on both machines")
}

/// A peer's version string, reduced to characters that are safe for a terminal.
pub(super) fn plain(version: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || ".+-".contains(*c);
    let kept: String = version.chars().filter(kept).take(32).collect();
    if kept.is_empty() { "of unknown version".to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn secret() -> Secret {
        Secret::from_word("the word of the day").unwrap()
    }

    /// The error of `authenticate` with a server that sends `lines`: the first at once, each
    /// further one after a line of the client's.
    fn received(lines: &[&str]) -> Error {
        let (client, server) = UnixStream::pair().unwrap();
        let client = Connection::new(client.try_clone().unwrap().into(), client.into());
        let mut server = Connection::new(server.try_clone().unwrap().into(), server.into());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for (place, line) in lines.iter().enumerate() {
                    if place > 0 {
                        server.line(MOST_BYTES, SOON).unwrap();
                    }
                    // The client may have closed the connection before all is sent.
                    drop(server.write_all(line.as_bytes()));
                }
            });
            authenticate(client, &secret(), SOON).unwrap_err()
        })
    }

    #[test]
    fn a_server_that_is_not_zc_and_one_of_another_protocol_get_different_errors() {
        for lines in [&[&*"x".repeat(5000)][..], &["{\"zc\":\"refused\"}\n"]] {
            assert_eq!(received(lines).id, "far-end-not-zc");
        }
        let error = received(&["SSH-2.0-OpenSSH_9.2\r\n"]);
        let quotes = error.message.contains("\"SSH-2.0-OpenSSH_9.2\"");
        assert!(error.id == "far-end-not-zc" && quotes, "{error:?}");
        let error = received(&[
            "{\"zc\":\"serve\",\"protocol\":9,\"version\":\"0.2.0\\u001b[2J\",\"more\":[1]}\n",
        ]);
        assert!(error.id == "far-end-version" && error.help.is_some(), "{error:?}");
        assert!(error.message.contains("9 (zc 0.2.02J)"), "{error}");
    }

    #[test]
    fn each_failure_of_the_server_has_an_error_of_its_own() {
        assert_eq!(received(&[]).id, "far-end-gone");
        let hello = format!(
            "{{\"zc\":\"serve\",\"protocol\":7,\"version\":\"x\",\"nonce\":\"{}\"}}\n",
            hex(&[7; BYTES])
        );
        assert_eq!(received(&[&hello, "{\"zc\":\"refused\"}\n"]).id, "token-refused");
        let error = received(&[&hello, "Last login: \u{1b}[1mnever\n"]);
        let quotes = error.message.contains("\"Last login:  [1mnever\"");
        assert!(error.id == "far-end-protocol" && quotes, "{error:?}");
        let proof = hex(&[0; BYTES]);
        for kind in ["welcome", "busy"] {
            let line = format!("{{\"zc\":\"{kind}\",\"proof\":\"{proof}\"}}\n");
            assert_eq!(received(&[&hello, &line]).id, "far-end-unproven");
        }
    }

    #[test]
    fn a_silent_server_is_waited_for_no_longer_than_the_patience() {
        let (client, _server) = UnixStream::pair().unwrap();
        let connection = Connection::new(client.try_clone().unwrap().into(), client.into());
        let error = authenticate(connection, &secret(), Duration::ZERO).unwrap_err();
        assert_eq!(error.id, "far-end-stalled");
    }

    #[test]
    fn a_server_that_reflects_the_client_s_proof_is_rejected() {
        let (client, server) = UnixStream::pair().unwrap();
        let client = Connection::new(client.try_clone().unwrap().into(), client.into());
        let mut server = Connection::new(server.try_clone().unwrap().into(), server.into());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                server.send(&Challenge::fresh().unwrap().line()).unwrap();
                let Received::Message(Line::Authenticate { proof, .. }) =
                    server.receive(MOST_BYTES, SOON).unwrap()
                else {
                    panic!()
                };
                server.send(&Line::Welcome { proof }).unwrap();
            });
            let error = authenticate(client, &secret(), SOON).unwrap_err();
            assert_eq!(error.id, "far-end-unproven");
        });
    }
}
