//! A run that is made on the other machine for this one: the client sends the words of `zc run`,
//! the server makes the run there and sends it back. Only a server that was started for it does so
//! (`zc serve --stdio --runs`), whose client has a shell there already.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::connection::{Connection, Received, line_of};
use super::hex::{hex, unhex_all};
use super::via::SIGTERM;
use zc_kernel::spawn::{end_with_this_process, kill};
use zc_kernel::stop::Stop;
use zc_rig::stderr_tail::StderrTail;
use zc_rig::trial::{GLANCE, StillWanted};
use zc_run::{Error, Result, in_words};

/// This program, which may have been carried here and have no name.
const OWN: &str = "/proc/self/exe";

/// Longest message with a run. One of an hour has some 20 MB.
const MOST_BYTES: usize = 256 << 20;

/// The rate below which a stream is given up.
const SLOWEST_BYTES_PER_S: u64 = 16 << 10;

/// Time for the client to send its errand, and for a run to save what it has when it is ended.
const PATIENCE: Duration = Duration::from_secs(30);
const TO_SAVE: Duration = Duration::from_secs(10);

/// A run that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errand {
    /// The words after `zc run`, without the name of its file.
    pub words: Vec<String>,
    /// The name of its file.
    pub file: String,
    /// An earlier run, whose rates it takes: the name and the bytes of its file.
    pub earlier: Option<(String, Bytes)>,
}

/// A run that was made, or was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The exit code of `zc run`, or 128 and the signal that ended it.
    pub code: i32,
    /// The line that names its error, or its last one.
    pub said: Option<String>,
    /// The file; empty if there is none.
    pub run: Bytes,
}

/// Bytes of a file, in hexadecimal digits within a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = unhex_all(&text).map(Self);
        bytes.ok_or_else(|| serde::de::Error::custom("not hexadecimal digits"))
    }
}

/// Has the run made at the other end, within `limit`.
///
/// # Errors
/// [`ErrorKind::Remote`](zc_run::ErrorKind): the machine is gone, or it takes longer; or that of
/// `still_wanted`.
pub fn run_there(
    connection: &mut Connection,
    errand: &Errand,
    limit: Duration,
    still_wanted: StillWanted<'_>,
) -> Result<Ran> {
    let until = Instant::now() + limit;
    send(connection, errand, still_wanted)?;
    loop {
        still_wanted()?;
        match connection.receive(MOST_BYTES, GLANCE)? {
            Received::Message(ran) => return Ok(ran),
            Received::Late if Instant::now() < until => {}
            Received::Late => {
                let message = format!("it hangs: it was not done after {} s", limit.as_secs());
                return Err(Error::remote("run-hangs", message));
            }
            Received::Closed => {
                return Err(Error::remote("far-end-gone", "its stream ended during its run"));
            }
            Received::TooLong | Received::Nonsense(_) => {
                return Err(Error::remote("protocol", "it sent something else than its run"));
            }
        }
    }
}

/// Makes the run that the client at the other end asks for, and sends it back. The run ends when
/// the client goes away.
///
/// # Errors
/// The stream broke, no run was asked for, or it cannot be started.
pub fn serve(mut connection: Connection, stop: &Stop) -> Result<()> {
    let peer = connection.peer()?;
    let unwanted = || stop.is_set() || peer.is_gone();
    let begun = Instant::now();
    let errand: Errand = loop {
        match connection.receive(MOST_BYTES, GLANCE)? {
            Received::Message(errand) => break errand,
            Received::Late if begun.elapsed() < PATIENCE + whole(MOST_BYTES) && !unwanted() => {}
            _ => return Err(Error::remote("client-gone", "the client asked for no run")),
        }
    };
    let folder = tempfile::tempdir().map_err(|error| Error::os("make a folder", error))?;
    let file = |name: &str| folder.path().join(name);
    if let Some((name, bytes)) = &errand.earlier {
        std::fs::write(file(name), &bytes.0).map_err(|error| Error::os("write a file", error))?;
    }
    let mut run = Command::new(OWN);
    run.arg0("zc").arg("run").arg("--out").arg(file(&errand.file)).args(&errand.words);
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    end_with_this_process(&mut run);
    let mut child = run.spawn().map_err(|error| Error::os("start zc run", error))?;
    let said = child.stderr.take().map(StderrTail::start).transpose()?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| Error::os("wait for zc", error))? {
            break status;
        }
        if unwanted() {
            end(&mut child);
            return Err(Error::remote("client-gone", "the client is gone"));
        }
        std::thread::sleep(GLANCE);
    };
    let said = said.and_then(StderrTail::last_of_all);
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    let run = match std::fs::read(file(&errand.file)) {
        Ok(bytes) => Bytes(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Bytes::default(),
        Err(error) => {
            let why = format!("cannot read the run: {}", in_words(&error));
            return Err(Error::failed("cannot-read-run", why));
        }
    };
    let still_wanted = || match unwanted() {
        true => Err(Error::remote("client-gone", "the client is gone")),
        false => Ok(()),
    };
    send(&mut connection, &Ran { code, said, run }, &still_wanted)
}

/// Ends a run, which saves what it has; its folder goes with it.
fn end(run: &mut Child) {
    drop(kill(run.id() as i32, SIGTERM));
    let until = Instant::now() + TO_SAVE;
    while matches!(run.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(GLANCE);
    }
    drop(run.kill());
    drop(run.wait());
}

/// The time that so many bytes may take.
fn whole(bytes: usize) -> Duration {
    Duration::from_secs(bytes as u64 / SLOWEST_BYTES_PER_S)
}

/// Sends a message that may be long.
fn send(
    connection: &mut Connection,
    message: &impl Serialize,
    still_wanted: StillWanted<'_>,
) -> Result<()> {
    let line = line_of(message)?;
    connection.write_until(&line, Instant::now() + PATIENCE + whole(line.len()), still_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_through_a_message_as_it_is() {
        let bytes = Bytes((0..=255).collect());
        let errand = Errand {
            words: vec!["--link".to_owned(), "null".to_owned()],
            file: "r01-A.jsonl.gz".to_owned(),
            earlier: Some(("r00.jsonl.gz".to_owned(), bytes)),
        };
        let text = serde_json::to_string(&errand).unwrap();
        assert_eq!(serde_json::from_str::<Errand>(&text).unwrap(), errand);
        for digits in ["\"0\"", "\"0g\"", "\"é\""] {
            assert!(serde_json::from_str::<Bytes>(digits).is_err(), "{digits}");
        }
    }
}
