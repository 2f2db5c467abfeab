//! The server that is measured: one that zc started, or one that is there.

use super::asker::Asker;
use super::serving::Serving;
use crate::meter::Below;
use zc_run::{ErrorKind, Result};

/// A server, as far as zc knows it.
#[derive(Debug)]
pub enum Served {
    /// zc started it, knows its processes, and ends it.
    Ours(Serving),
    /// It ran already: all that is known of it is what it answers.
    RanAlready,
}

impl Served {
    /// Fails if a server of zc's has ended.
    ///
    /// # Errors
    /// It has: how, and its last words.
    pub fn check(&mut self) -> Result<()> {
        match self {
            Self::Ours(serving) => serving.check(),
            Self::RanAlready => Ok(()),
        }
    }

    /// Before a block: looks whether the server is there, and which processes it has.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`]: it is not.
    pub(super) fn look(&mut self, load: &Asker) -> Result<()> {
        match self {
            Self::Ours(serving) => {
                serving.check()?;
                // It may have started workers.
                serving.find_processes();
                Ok(())
            }
            // Twice: a connection may be one that the server has just closed.
            Self::RanAlready => {
                load.fetch(0).or_else(|_| load.fetch(0)).map(drop).map_err(|error| match error {
                    error if error.kind == ErrorKind::Remote => {
                        error.prefixed("the server does not answer any more: ")
                    }
                    error => error,
                })
            }
        }
    }

    /// CPU time of its processes so far; 0 where they are not known.
    pub(super) fn cpu_ns(&self) -> u64 {
        match self {
            Self::Ours(serving) => serving.cpu_ns(),
            Self::RanAlready => 0,
        }
    }

    /// Below whom soakers have to rank: a server of zc's stays in the session that it is started in.
    pub(super) fn soakers_below(&self) -> Below {
        match self {
            Self::Ours(_) => Below::OwnSession,
            Self::RanAlready => Below::Everybody,
        }
    }
}
