//! The handshake, with somebody in the middle who changes lines, and what precedes it over `--via`.

use std::path::Path;

use arbitrary::Arbitrary;
use serde_json::Value;
use zc_remote::handshake::{Answer, Challenge, Heard, Line, MOST_BYTES, Proven};
use zc_remote::lines::{Lines, TooLong};
use zc_remote::secret::Secret;
use zc_remote::via::{Found, Taken, take_line};
use zc_run::{Error, ErrorKind};

use crate::edits::Edit;

/// A handshake whose three lines pass through somebody else.
#[derive(Debug, Clone, Arbitrary)]
pub struct Handshake {
    nonces: [[u8; 32]; 2],
    tokens: Tokens,
    hello: Tampering,
    answer: Tampering,
    reply: Tampering,
    busy: bool,
    /// Sizes of the pieces in which lines arrive.
    pieces: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Tokens {
    Same,
    None,
    Different,
}

/// What becomes of a line.
#[derive(Debug, Clone, Arbitrary)]
enum Tampering {
    Nothing,
    Edits(Vec<Edit>),
    Bytes(Vec<u8>),
    /// The line that the client sent, back to it.
    Reflected,
    /// Bytes after the line's end.
    Appended(Vec<u8>),
}

const TOKEN: &str = "a token of sixteen bytes and more";

impl Tampering {
    /// The bytes that arrive instead of a line.
    fn apply(&self, line: &Line, sent: Option<&Line>) -> Vec<u8> {
        let mut value = serde_json::to_value(line).expect("a line is JSON");
        let mut after: &[u8] = &[];
        match self {
            Self::Nothing => {}
            Self::Edits(edits) => edits.iter().take(4).for_each(|edit| edit.apply(&mut value)),
            Self::Bytes(bytes) => return bytes.clone(),
            Self::Reflected => {
                if let Some(sent) = sent {
                    value = serde_json::to_value(sent).expect("a line is JSON");
                    if let Some(Value::String(kind)) = value.get_mut("zc") {
                        *kind = "welcome".to_owned();
                    }
                }
            }
            Self::Appended(bytes) => after = bytes,
        }
        let mut bytes = value.to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend(after);
        bytes
    }
}

impl Handshake {
    /// Both ends speak; what does not arrive as it was sent opens no session.
    pub fn check(&self) {
        let word = |text: &str| Secret::from_word(text).expect("it is long enough");
        let (ours, theirs) = match self.tokens {
            Tokens::Same => (word(TOKEN), word(TOKEN)),
            Tokens::None => (Secret::open(), Secret::open()),
            Tokens::Different => (word(TOKEN), word("another token, also long enough")),
        };
        let challenge = Challenge::from_nonce(self.nonces[0]);
        let posed = challenge.line();
        let Some(hello) = self.arrived(&self.hello.apply(&posed, None)) else { return };
        let (proven, sent) = match Proven::to(&hello, self.nonces[1], &ours) {
            Ok(proven) => proven,
            Err(error) => return check_error(&error),
        };
        let said = self.answer.apply(&sent, None);
        // The server takes the bytes as they come.
        let mut heard = Heard::Part;
        let mut end = 0;
        for piece in self.sizes() {
            end = (end + piece).min(said.len()).min(MOST_BYTES + 1);
            heard = challenge.hear(&said[..end], &theirs);
            if !matches!(heard, Heard::Part) || end == said.len() {
                break;
            }
        }
        let Heard::Answer(answer) = heard else { return };
        let known = match answer {
            Answer::Right(known) => known,
            Answer::WrongToken | Answer::OtherProtocol(_) | Answer::Nonsense => return,
        };
        // The proof is for these nonces and this token.
        assert!(hello == posed || same_nonce(&hello, &posed), "another challenge was answered");
        assert!(!matches!(self.tokens, Tokens::Different), "a wrong token is admitted");
        assert!(known.version().chars().all(|c| c.is_ascii_alphanumeric() || ".+- ".contains(c)));
        let right = if self.busy { known.busy(&theirs) } else { known.welcome(&theirs) };
        let Some(reply) = self.arrived(&self.reply.apply(&right, Some(&sent))) else { return };
        match proven.admitted(&reply, &ours) {
            Ok(key) => {
                assert!(!self.busy && reply == right, "a changed reply opens a session: {reply:?}");
                let greeting = [7; 16];
                assert_eq!(key.answer(&greeting), known.session_key(&theirs).answer(&greeting));
            }
            Err(error) => check_error(&error),
        }
    }

    /// The first line of what arrives, in pieces, as a connection takes it.
    fn arrived(&self, bytes: &[u8]) -> Option<Line> {
        let mut lines = Lines::default();
        let (mut from, mut pieces) = (0, self.sizes());
        while from < bytes.len() {
            let to = (from + pieces.next().unwrap_or(4096)).min(bytes.len());
            lines.push(&bytes[from..to]);
            from = to;
            match lines.next(MOST_BYTES) {
                None => {}
                Some(Err(TooLong)) => {
                    assert!(bytes.len() > MOST_BYTES);
                    return None;
                }
                Some(Ok(line)) => {
                    let end = bytes.iter().position(|&byte| byte == b'\n');
                    assert_eq!(Some(line.len()), end);
                    assert_eq!(line, bytes[..line.len()]);
                    return serde_json::from_slice(&line).ok();
                }
            }
        }
        assert!(!bytes.contains(&b'\n'));
        None
    }

    /// Sizes of pieces without end.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        let sizes = self.pieces.iter().map(|&size| usize::from(size) + 1);
        sizes.chain(std::iter::repeat(4096))
    }
}

fn same_nonce(one: &Line, other: &Line) -> bool {
    let nonce = |line: &Line| match line {
        Line::Serve { nonce, .. } => Some(nonce.to_lowercase()),
        _ => None,
    };
    nonce(one) == nonce(other)
}

/// An error about the far end, fit for a terminal.
fn check_error(error: &Error) {
    assert_eq!(error.kind, ErrorKind::Remote, "{error}");
    let all = error.message.clone() + error.help.as_deref().unwrap_or_default();
    assert!(all.chars().all(zc_run::is_safe), "{all:?}");
}

/// The stdout of a command of `--via`: lines before the hello, and the hello.
pub fn via(bytes: &[u8]) {
    let mut found = Found::new(Some(Path::new("/usr/local/bin/zc")));
    for line in bytes.split(|&byte| byte == b'\n') {
        if let Taken::Hello(hello) = take_line(line, &mut found) {
            assert!(matches!(hello, Line::Serve { .. }));
            let ours = Secret::from_word(TOKEN).expect("it is long enough");
            match Proven::to(&hello, [1; 32], &ours) {
                Ok((_, answer)) => assert!(matches!(answer, Line::Authenticate { .. })),
                Err(error) => check_error(&error),
            }
            break;
        }
    }
    let error = found.add_to(Error::remote("no-hello", "no hello"));
    check_error(&error);
}
