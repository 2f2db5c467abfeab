//! The last lines of a command's stderr. It is read as long as the command runs, because a full
//! pipe would block the command.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use zc_kernel::spawn::wait_readable;
use zc_run::{Error, Result};

/// Lines kept.
const MOST_LINES: usize = 16;
/// Bytes kept of a line.
const MOST_BYTES: usize = 300;
/// Bytes still read after the command has ended: more than a pipe holds.
const LAST_BYTES: usize = 1 << 20;

/// The last lines of a command's stderr.
#[derive(Debug)]
pub struct StderrTail {
    lines: Arc<Mutex<Lines>>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Lines {
    whole: VecDeque<Vec<u8>>,
    begun: Vec<u8>,
}

impl StderrTail {
    /// Reads on a thread of its own until all writers have closed the pipe, or this is dropped.
    ///
    /// # Errors
    /// No descriptors or threads are left.
    pub fn start(stderr: ChildStderr) -> Result<Self> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|error| Error::os("make an eventfd", error))?;
        let (lines, stop) = (Arc::<Mutex<Lines>>::default(), Arc::new(stop));
        let (theirs, stopped) = (Arc::clone(&lines), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("zc/stderr".to_owned())
            .stack_size(128 << 10)
            .spawn(move || read(&File::from(OwnedFd::from(stderr)), &stopped, &theirs))
            .map_err(|error| Error::os("start a thread", error))?;
        Ok(Self { lines, stop, thread: Some(thread) })
    }

    /// Reads what remains after the command has ended, and stops. It does not wait for the end of
    /// stderr, because background processes may keep that open (such as ssh with ControlPersist).
    pub fn finish(&mut self) {
        if let Some(thread) = self.thread.take() {
            // An eventfd that is never read accepts far more than this one.
            let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
            // The thread has no result, not even if it panics.
            drop(thread.join());
        }
    }

    /// [`finish`](Self::finish), and then [`last`](Self::last).
    pub fn last_of_all(mut self) -> Option<String> {
        self.finish();
        self.last()
    }

    /// The line that most likely names the problem, fit for a terminal: the last one that begins
    /// with "error", as in programs that print usage lines after it, else the last one.
    pub fn last(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<String> =
            lines.whole.iter().chain([&lines.begun]).map(|line| shown(line)).collect();
        let says_so = |line: &&String| line.to_lowercase().starts_with("error");
        lines.iter().rfind(says_so).or_else(|| lines.iter().rfind(|line| !line.is_empty())).cloned()
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.finish();
    }
}

fn read(mut stderr: &File, stop: &OwnedFd, lines: &Mutex<Lines>) {
    let (mut stopping, mut left) = (false, LAST_BYTES);
    let mut chunk = [0; 4096];
    while left > 0 {
        let ready = match wait_readable(
            &[stderr.as_fd(), stop.as_fd()],
            stopping.then_some(Duration::ZERO),
        ) {
            Ok(ready) => ready,
            Err(_) => return,
        };
        if stopping && !ready[0] {
            return;
        }
        stopping |= ready[1];
        if ready[0] {
            match stderr.read(&mut chunk) {
                Ok(0) => return,
                Ok(len) => {
                    lines.lock().unwrap_or_else(PoisonError::into_inner).take(&chunk[..len]);
                    left -= if stopping { len.min(left) } else { 0 };
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.whole.push_back(std::mem::take(&mut self.begun));
                if self.whole.len() > MOST_LINES {
                    self.whole.pop_front();
                }
            } else if self.begun.len() < MOST_BYTES {
                self.begun.push(byte);
            }
        }
    }
}

/// A foreign line made safe for a terminal: valid text without control characters.
pub fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn stderr(script: &str) -> StderrTail {
        let mut command = Command::new("sh");
        let mut child = command
            .args(["-c", script])
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut stderr = StderrTail::start(child.stderr.take().unwrap()).unwrap();
        child.wait().unwrap();
        stderr.finish();
        stderr
    }

    #[test]
    fn the_last_line_is_returned_or_the_last_one_that_begins_with_error() {
        assert_eq!(stderr("echo one >&2; printf two >&2").last().as_deref(), Some("two"));
        let script =
            "printf 'error: no such thing\\n\\nFor more information, try --help.\\n\\n' >&2";
        assert_eq!(stderr(script).last().as_deref(), Some("error: no such thing"));
        assert_eq!(stderr(":").last(), None);
        assert_eq!(stderr("printf '\\033[31mred\\a\\r\\n' >&2").last().as_deref(), Some("[31mred"));
    }

    #[test]
    fn little_is_kept_of_much_output() {
        let stderr = stderr(
            "head -c 3000000 /dev/zero | tr '\\0' x >&2; yes | head -n 100000 >&2; echo end >&2",
        );
        assert_eq!(stderr.last().as_deref(), Some("end"));
        let lines = stderr.lines.lock().unwrap();
        assert!(
            lines.whole.len() == MOST_LINES
                && lines.whole.iter().all(|line| line.len() <= MOST_BYTES)
        );
    }

    #[test]
    fn a_background_process_that_keeps_stderr_open_is_not_waited_for() {
        let stderr = stderr("sleep 1000 >/dev/null & echo $! >&2");
        let pid = stderr.last().unwrap().parse().unwrap();
        zc_kernel::spawn::kill(pid, 15).unwrap();
    }
}
