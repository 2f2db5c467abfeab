//! Passes a command's output on to where it was to go.

use std::io::{self, Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use zc_run::{Error, Result};

/// Bytes kept of the end of a stream, where programs print their results.
const MOST_BYTES: usize = 1 << 20;

/// Time for which processes that the command started and left behind may hold the pipes open after
/// it has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// The streams of a command: each is passed on as it comes.
#[derive(Debug)]
pub(super) struct Printed {
    streams: [Stream; 2],
}

/// One of them. They are kept apart, as a line of one may come in the middle of a line of the
/// other.
#[derive(Debug)]
struct Stream {
    kept: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Printed {
    /// Passes on what the child prints, whose stdout and stderr are pipes.
    ///
    /// # Errors
    /// There can be no thread for it. The pipes are closed then.
    pub(super) fn by(child: &mut Child) -> Result<Self> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let streams =
            [Stream::pass_on(stdout, io::stdout())?, Stream::pass_on(stderr, io::stderr())?];
        Ok(Self { streams })
    }

    /// Its output on stdout and stderr, once it has ended.
    pub(super) fn texts(self) -> [String; 2] {
        self.streams.map(Stream::text)
    }
}

impl Stream {
    fn pass_on(
        from: Option<impl Read + Send + 'static>,
        to: impl Write + Send + 'static,
    ) -> Result<Self> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (ended, end) = channel();
        let its = Arc::clone(&kept);
        let work = move || {
            if let Some(from) = from {
                pass_on(from, to, &its);
            }
            let _ = ended.send(()); // or nobody waits any more
        };
        Builder::new()
            .name("zc-printed".to_owned())
            .spawn(work)
            .map_err(|error| Error::os("start a thread for what the command prints", error))?;
        Ok(Self { kept, end })
    }

    /// The end of the stream. If something holds the pipe open, its thread goes on passing output
    /// on.
    fn text(self) -> String {
        let _ = self.end.recv_timeout(PATIENCE);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = kept.len().saturating_sub(MOST_BYTES);
        String::from_utf8_lossy(&kept[excess..]).into_owned()
    }
}

/// Passes on until the end, or until nobody reads any more: then the command gets SIGPIPE, as it
/// would without zc.
fn pass_on(mut from: impl Read, mut to: impl Write, kept: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..length]);
        // In large steps, so that no byte is moved more than once.
        if kept.len() > 2 * MOST_BYTES {
            let excess = kept.len() - MOST_BYTES;
            kept.drain(..excess);
        }
        drop(kept);
        if to.write_all(&buffer[..length]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_is_printed_is_kept_and_all_is_passed_on() {
        let printed: Vec<u8> = (0..5 * MOST_BYTES).map(|at| (at % 251) as u8).collect();
        let (mut passed, kept) = (Vec::new(), Mutex::new(Vec::new()));
        pass_on(printed.as_slice(), &mut passed, &kept);
        let kept = kept.into_inner().unwrap();
        assert!(passed == printed);
        assert!((MOST_BYTES..=2 * MOST_BYTES).contains(&kept.len()), "{}", kept.len());
        assert!(printed.ends_with(&kept));
    }

    #[test]
    fn nothing_more_is_read_when_nobody_reads() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let kept = Mutex::new(Vec::new());
        pass_on(io::repeat(b'y'), Closed, &kept);
        assert!(kept.into_inner().unwrap().len() <= 64 << 10);
    }
}
