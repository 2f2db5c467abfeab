//! Bounds on waiting. A program that a test starts is killed after [`LIMIT`], which ends every wait
//! for its output, its exit or a connection to it, and fails the test with a message that names the
//! program.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal};
use zc_kernel::spawn;

/// Far longer than anything here takes on a machine that is not stuck.
pub(crate) const LIMIT: Duration = Duration::from_secs(150);

/// Looks again and again until `probe` finds something; panics after [`LIMIT`]. For events that
/// cannot be waited on.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < end, "waited {LIMIT:?} until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Commands that are killed after [`LIMIT`].
pub(crate) trait Bounded {
    /// Same as [`Command::spawn`].
    fn start(&mut self) -> io::Result<Running>;
    /// Like [`Command::output`]: stdout and stderr are piped unless the command says otherwise, and
    /// stdin is what the command says.
    fn finish(&mut self) -> io::Result<Output>;
}

impl Bounded for Command {
    fn start(&mut self) -> io::Result<Running> {
        let mut what =
            self.get_program().to_string_lossy().rsplit('/').next().unwrap_or_default().to_owned();
        self.get_args().for_each(|arg| write!(what, " {}", arg.to_string_lossy()).unwrap());
        let child = self.spawn()?;
        Ok(Running { watchdog: Watchdog::start(&child, what), child })
    }

    fn finish(&mut self) -> io::Result<Output> {
        self.stdout(Stdio::piped()).stderr(Stdio::piped()).start()?.wait_with_output()
    }
}

/// A program that was started; it is killed after [`LIMIT`], and when this is dropped.
pub(crate) struct Running {
    child: Child,
    watchdog: Watchdog,
}

impl Running {
    /// Same as [`Child::wait_with_output`].
    #[track_caller]
    pub(crate) fn wait_with_output(mut self) -> io::Result<Output> {
        drop(self.child.stdin.take());
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let errors = std::thread::spawn(move || all(stderr));
        let stdout = all(stdout)?;
        let stderr = errors.join().expect("reading does not panic")?;
        let status = self.child.wait()?;
        self.watchdog.check();
        Ok(Output { status, stdout, stderr })
    }
}

fn all(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes))?;
    Ok(bytes)
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if !std::thread::panicking() {
            self.watchdog.check();
        }
    }
}

struct Watchdog {
    what: Arc<str>,
    has_bitten: Arc<AtomicBool>,
    _called_off: Sender<()>,
}

impl Watchdog {
    fn start(child: &Child, what: String) -> Self {
        let pid = Pid::from_child(child);
        let process = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        let what: Arc<str> = what.into();
        let has_bitten = Arc::new(AtomicBool::new(false));
        let (called_off, wait) = channel::<()>();
        let (name, bitten) = (Arc::clone(&what), Arc::clone(&has_bitten));
        std::thread::spawn(move || {
            if wait.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout)
                && let Ok(process) = process
                && !has_ended(&process)
            {
                bitten.store(true, Ordering::SeqCst);
                eprintln!("\"{name}\" has not ended within {LIMIT:?} and is killed");
                kill(pid, &process);
            }
        });
        Self { what, has_bitten, _called_off: called_off }
    }

    #[track_caller]
    fn check(&self) {
        let has_bitten = self.has_bitten.load(Ordering::SeqCst);
        assert!(!has_bitten, "\"{}\" had not ended within {LIMIT:?} and was killed", self.what);
    }
}

/// A descriptor of a process is readable once it has ended (pidfd_open(2)).
fn has_ended(process: &OwnedFd) -> bool {
    spawn::wait_readable(&[process.as_fd()], Some(Duration::ZERO))
        .is_ok_and(|ended| ended == [true])
}

/// Kills a process, and its process group if it leads one.
fn kill(pid: Pid, process: &OwnedFd) {
    // The descriptor is that of our child, so the number has not been given to another process
    // while this succeeds.
    if rustix::process::pidfd_send_signal(process.as_fd(), Signal::KILL).is_ok() {
        // ESRCH: it leads none.
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}
