//! The output of a command, up to a bound.

use std::io::{self, Read as _};
use std::process::{Command, Output, Stdio};
use std::thread::Builder;

/// The most that is kept of stderr: its beginning.
const MOST_SAID_BYTES: u64 = 64 << 10;

/// Runs a command, and returns what it printed.
///
/// # Errors
/// It cannot be started; [`io::ErrorKind::FileTooLarge`]: it printed more than `most` bytes, and
/// was ended.
pub(super) fn output(mut command: Command, most: u64) -> io::Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut said = child.stderr.take();
    // Read beside stdout: a command that waits for room in one pipe writes nothing into the other.
    let saying = Builder::new().spawn(move || {
        let mut kept = Vec::new();
        if let Some(said) = &mut said {
            // Best effort: what it said is a part of a message.
            let _ = said.take(MOST_SAID_BYTES).read_to_end(&mut kept);
            let _ = io::copy(said, &mut io::sink());
        }
        kept
    });
    let saying = saying.inspect_err(|_| {
        // Best effort: the first failure is the one to report.
        let _ = child.kill().and_then(|()| child.wait());
    })?;
    let mut stdout = Vec::new();
    let read = match child.stdout.take() {
        Some(pipe) => pipe.take(most + 1).read_to_end(&mut stdout),
        None => Ok(0),
    };
    let is_too_long = stdout.len() as u64 > most;
    if is_too_long || read.is_err() {
        child.kill()?;
    }
    let status = child.wait()?;
    read?;
    if is_too_long {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Output { status, stdout, stderr: saying.join().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_script(script: &str, most: u64) -> io::Result<Output> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        output(command, most)
    }

    #[test]
    fn what_is_printed_is_read_up_to_a_bound_whatever_is_said_beside() {
        let read = run_script("printf out; head -c 1000000 /dev/zero >&2; exit 3", 3).unwrap();
        assert_eq!((read.stdout.as_slice(), read.status.code()), (&b"out"[..], Some(3)));
        assert_eq!(read.stderr.len() as u64, MOST_SAID_BYTES);
        let endless = run_script("exec cat /dev/zero", 1 << 20).unwrap_err();
        assert_eq!(endless.kind(), io::ErrorKind::FileTooLarge);
        assert!(run_script("exec /nonexistent/x 2>/dev/null", 8).unwrap().stdout.is_empty());
    }
}
