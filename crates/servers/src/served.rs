//! The server that is measured: one that zc started, or one that is there.

use std::path::PathBuf;
use std::time::Duration;

use super::asker::Asker;
use super::found::Found;
use super::kept::{IoBytes, Kept, Wanted};
use super::nfs::Serving;
use super::own::OwnServer;
use super::own_state::may_mount;
use zc_rig::link::Link;
use zc_rig::meter::Below;
use zc_run::{ErrorKind, Result};

/// Time allowed to a server for ending after SIGTERM, before it is killed.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server, as far as zc knows it.
#[derive(Debug)]
pub enum Served {
    /// zc started it, knows its processes, and ends it.
    Ours(Kept),
    /// A server of NFS that zc started.
    Nfs(Serving),
    /// zc's own, in threads of this process.
    Own(OwnServer),
    /// Several, which share a CPU.
    Several(Vec<Self>),
    /// It ran already: what it answers is known of it, and its processes where they were found.
    RanAlready(Found),
}

impl Served {
    /// Starts a server by `command` (`sh -c`) on the sender's side of a link, pinned to `cpu`.
    ///
    /// # Errors
    /// The processes cannot be started.
    pub fn start(command: &str, link: &dyn Link, cpu: usize) -> Result<Self> {
        let wanted = Wanted {
            what: "the server".to_owned(),
            words: vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()],
            cpus: vec![cpu],
            patience: PATIENCE,
            // Who is not root cannot write there.
            has_own_state: may_mount(),
        };
        Kept::start(wanted, || link.enter_sender()).map(Self::Ours)
    }

    /// The mount namespace of a server of zc's, if that is not the host's.
    ///
    /// # Errors
    /// It has ended, or is not started in time.
    pub fn own_mounts(&mut self) -> Result<Option<PathBuf>> {
        match self {
            Self::Ours(kept) => kept.own_mounts(),
            Self::Nfs(_) | Self::Own(_) | Self::Several(_) | Self::RanAlready(_) => Ok(None),
        }
    }

    /// Fails if a server of zc's has ended.
    ///
    /// # Errors
    /// It has: how, and its last words.
    pub fn check(&mut self) -> Result<()> {
        match self {
            Self::Ours(kept) => kept.check(),
            Self::Nfs(serving) => serving.check(),
            Self::Own(own) => own.check(),
            Self::Several(each) => each.iter_mut().try_for_each(Self::check),
            Self::RanAlready(_) => Ok(()),
        }
    }

    /// Fails if a server of zc's has ended, after what it was asked has failed.
    ///
    /// # Errors
    /// It has: how, and its last words.
    pub(super) fn check_after_a_fault(&mut self) -> Result<()> {
        match self {
            Self::Nfs(serving) => serving.check_after_a_fault(),
            Self::Several(each) => each.iter_mut().try_for_each(Self::check_after_a_fault),
            Self::Ours(_) | Self::Own(_) | Self::RanAlready(_) => self.check(),
        }
    }

    /// Before a block: looks whether the server is there, and which processes it has.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`]: it is not.
    pub(super) fn look(&mut self, load: &Asker) -> Result<()> {
        self.check()?;
        self.find_processes();
        match self {
            Self::RanAlready(_) => load.look().map_err(|error| match error {
                error if error.kind == ErrorKind::Remote => {
                    error.id("server-gone").prefixed("the server does not answer any more: ")
                }
                error => error,
            }),
            Self::Ours(_) | Self::Nfs(_) | Self::Own(_) | Self::Several(_) => Ok(()),
        }
    }

    /// Finds its processes: it may have started workers, or have ended them. Reads all of /proc,
    /// some 10 us for each process of the machine.
    pub(super) fn find_processes(&mut self) {
        match self {
            Self::Ours(kept) => kept.find_processes(),
            Self::Nfs(serving) => serving.find_processes(),
            Self::Several(each) => each.iter_mut().for_each(Self::find_processes),
            Self::RanAlready(found) => found.look(),
            Self::Own(_) => {}
        }
    }

    /// CPU time of its processes and threads so far: a system call for each of them, which takes a
    /// quarter of a microsecond. 0 where they are not known.
    pub(super) fn cpu_ns(&self) -> u64 {
        match self {
            Self::Ours(kept) => kept.cpu_ns(),
            Self::Nfs(serving) => serving.cpu_ns(),
            Self::Own(own) => own.cpu_ns(),
            Self::Several(each) => each.iter().map(Self::cpu_ns).sum(),
            Self::RanAlready(found) => found.cpu_ns(),
        }
    }

    /// Bytes that a server of NFS has read from its file and written to it so far; `None` where
    /// that is not known.
    pub(super) fn io_bytes(&self) -> Option<IoBytes> {
        match self {
            Self::Nfs(serving) => serving.io_bytes(),
            Self::Several(each) => each.iter().find_map(Self::io_bytes),
            Self::Ours(_) | Self::Own(_) | Self::RanAlready(_) => None,
        }
    }

    /// Programs that soakers have to rank below: a server of zc's stays in the session that it is
    /// started in.
    pub(super) fn soakers_below(&self) -> Below {
        match self {
            Self::Ours(_) | Self::Nfs(_) | Self::Own(_) | Self::Several(_) => Below::OwnSession,
            Self::RanAlready(_) => Below::Everybody,
        }
    }
}
