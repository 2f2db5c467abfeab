//! The source of requests to the server: a load on this machine, one on another machine that is
//! told when to begin, or a load generator that is not zc's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::asked_for::AskedFor;
use super::generator::Generator;
use super::h2load::H2load;
use super::nfs::NfsLoad;
use zc_kernel::clock::{self, monotonic_ns};
use zc_kernel::process;
use zc_load::{Fetched, HttpCounts, Load, Pace};
use zc_run::{Error, Result};

/// Time between an order to a load and its first request.
const LEAD_NS: u64 = 1_000_000;

/// A load on another machine, as the rig sees it.
pub trait RemoteLoad: Send {
    /// Reads one response of an origin.
    ///
    /// # Errors
    /// The server does not answer there, or the other machine is gone; it is no load of HTTP.
    fn fetch(&mut self, origin: usize) -> Result<Fetched>;

    /// Looks whether the server answers.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`](zc_run::ErrorKind::Remote): it does not.
    fn look(&mut self) -> Result<()> {
        fetch_twice(|| self.fetch(0))
    }

    /// Begins a phase, `begins_in_ns` after this has arrived; without a rate, as fast as the server
    /// answers. Returns when it has arrived.
    ///
    /// # Errors
    /// The other machine is gone.
    fn go(&mut self, origin: usize, per_s: Option<f64>, begins_in_ns: u64) -> Result<()>;

    /// Ends the phase, and says what it was.
    ///
    /// # Errors
    /// The other machine is gone.
    fn pause(&mut self) -> Result<AskedFor>;
}

/// See the module.
pub enum Asker {
    /// A thread of this process.
    Here(Arc<Load>),
    /// Another machine.
    There(Arc<Mutex<dyn RemoteLoad>>),
    /// A load generator at its own rate; as fast as the server answers asks a thread of this
    /// process.
    Generator(Arc<Generator>),
    /// Programs that ask for a mix by HTTP/2, at a rate or as fast as the server answers.
    H2load(Arc<H2load>),
    /// READs or WRITEs of NFS, and requests to zc's own server.
    Nfs(Arc<NfsLoad>),
}

impl Asker {
    /// Reads one response of an origin.
    ///
    /// # Errors
    /// There is none.
    pub fn fetch(&self, origin: usize) -> Result<Fetched> {
        match self {
            Self::Here(load) => load.fetch(origin),
            Self::Generator(generator) => generator.load().fetch(origin),
            Self::H2load(h2load) => h2load.load().fetch(origin),
            Self::Nfs(nfs) => match nfs.http_origin(origin) {
                Some((http, origin)) => http.fetch(origin),
                None => Err(Error::failed("not-http", "a READ of NFS is no response of HTTP")),
            },
            Self::There(load) => taken(load).fetch(origin),
        }
    }

    /// Asks an origin for everything that it is to be asked for, and compares what comes with what
    /// is expected.
    ///
    /// # Errors
    /// It is another response, or there is none; or another machine asks.
    pub fn check(&self, origin: usize) -> Result<()> {
        match self {
            Self::Here(load) => load.check(origin),
            Self::H2load(h2load) => h2load.check(origin),
            Self::Generator(_) | Self::Nfs(_) | Self::There(_) => Err(Error::failed(
                "not-here",
                "only zc's own load on this machine and h2load can ask for a mix",
            )),
        }
    }

    /// Looks whether the server answers. That one of NFS does is seen by the next calls.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`](zc_run::ErrorKind::Remote): it does not.
    pub(super) fn look(&self) -> Result<()> {
        match self {
            Self::Nfs(_) => Ok(()),
            Self::There(load) => taken(load).look(),
            Self::Here(_) | Self::Generator(_) | Self::H2load(_) => fetch_twice(|| self.fetch(0)),
        }
    }

    /// Between blocks: looks for whose CPU time counts.
    pub(super) fn find_workers(&self) {
        if let Self::Nfs(nfs) = self {
            nfs.find_workers();
        }
    }

    /// Begins a phase. Returns when its first request is due, by this machine's CLOCK_MONOTONIC; on
    /// another machine it is earlier by the time that its answer took.
    ///
    /// # Errors
    /// The other machine is gone.
    pub(super) fn go(&self, origin: usize, pace: Pace) -> Result<u64> {
        match self {
            Self::Here(load) => Ok(begin(load, origin, pace, u64::MAX)),
            Self::Generator(generator) => match pace {
                Pace::At { .. } => generator.go(origin),
                Pace::Unpaced => {
                    generator.own_load_begins(origin)?;
                    Ok(begin(generator.load(), origin, pace, u64::MAX))
                }
            },
            Self::H2load(h2load) => h2load.go(origin, pace),
            Self::Nfs(nfs) => match nfs.http_origin(origin) {
                Some((http, origin)) => Ok(begin(http, origin, pace, u64::MAX)),
                None => nfs.go(origin, pace, None, LEAD_NS),
            },
            Self::There(load) => {
                let per_s = match pace {
                    Pace::At { per_s } => Some(per_s),
                    Pace::Unpaced => None,
                };
                taken(load).go(origin, per_s, LEAD_NS)?;
                Ok(monotonic_ns() + LEAD_NS)
            }
        }
    }

    /// Same as [`go`](Self::go), for `requests` requests and no more. `None` for a load that has no
    /// such limit: only zc's own on this machine has one, and a client of NFS.
    ///
    /// # Errors
    /// The load has ended.
    pub(super) fn go_for(&self, origin: usize, pace: Pace, requests: u64) -> Result<Option<u64>> {
        match self {
            Self::Here(load) => Ok(Some(begin(load, origin, pace, requests))),
            Self::Nfs(nfs) => match nfs.http_origin(origin) {
                Some((http, origin)) => Ok(Some(begin(http, origin, pace, requests))),
                None => nfs.go(origin, pace, Some(requests), LEAD_NS).map(Some),
            },
            Self::There(_) | Self::Generator(_) | Self::H2load(_) => Ok(None),
        }
    }

    /// Ends the phase, and says what it was.
    ///
    /// # Errors
    /// The load has ended.
    pub(super) fn pause(&self) -> Result<AskedFor> {
        match self {
            Self::Here(load) => load.pause().map(AskedFor::from),
            Self::There(load) => taken(load).pause(),
            Self::Nfs(nfs) => nfs.pause(),
            Self::H2load(h2load) => h2load.end(),
            Self::Generator(generator) => generator.end().unwrap_or_else(|| {
                let phase = generator.load().pause()?;
                generator.own_load_ended(phase.drained.responses, phase.drained.body_bytes)?;
                Ok(phase.into())
            }),
        }
    }

    /// The counts since a moment before the phase. `None` for a load on another machine: nothing is
    /// known of it while it goes on.
    pub(super) fn counts(&self) -> Option<HttpCounts> {
        match self {
            Self::Here(load) => Some(load.counts()),
            Self::There(_) => None,
            Self::Nfs(nfs) => Some(nfs.counts()),
            Self::H2load(h2load) => h2load.counts(),
            Self::Generator(generator) => {
                Some(generator.counts().unwrap_or_else(|| generator.load().counts()))
            }
        }
    }

    /// The counts before a phase of an origin begins, with which those of the phase go on.
    pub(super) fn counts_before(&self, origin: usize) -> HttpCounts {
        match self {
            Self::Nfs(nfs) => nfs.counts_before(origin),
            Self::Here(_) | Self::There(_) | Self::Generator(_) | Self::H2load(_) => {
                self.counts().unwrap_or_default()
            }
        }
    }

    /// CPU time on this machine of all that has asked, between phases. A generator ends with its
    /// phase, and the process that keeps it, which zc waits for.
    pub(super) fn cpu_ns_so_far(&self) -> u64 {
        let with_ended = |own: &Load| {
            let ended = process::children_usage().unwrap_or_default();
            of_thread(own) + ended.user_ns + ended.system_ns
        };
        match self {
            Self::Generator(generator) => with_ended(generator.load()),
            Self::H2load(h2load) => with_ended(h2load.load()),
            Self::Here(_) | Self::There(_) | Self::Nfs(_) => self.cpu_ns(),
        }
    }

    /// CPU time on this machine of what asks in this phase, so far.
    pub(super) fn cpu_ns(&self) -> u64 {
        match self {
            Self::Here(load) => of_thread(load),
            Self::There(_) => 0,
            Self::Nfs(nfs) => nfs.cpu_ns() + nfs.http().map(of_thread).unwrap_or_default(),
            Self::H2load(h2load) => h2load.cpu_ns().unwrap_or_else(|| of_thread(h2load.load())),
            Self::Generator(generator) => {
                generator.cpu_ns().unwrap_or_else(|| of_thread(generator.load()))
            }
        }
    }
}

/// Twice, if the first attempt fails: a connection may be one that the server has just closed.
fn fetch_twice(mut fetch: impl FnMut() -> Result<Fetched>) -> Result<()> {
    fetch().or_else(|_| fetch()).map(drop)
}

/// Begins a phase of zc's own load.
fn begin(load: &Load, origin: usize, pace: Pace, requests: u64) -> u64 {
    let begin_ns = monotonic_ns() + LEAD_NS;
    load.go_for(origin, pace, begin_ns, requests);
    begin_ns
}

fn of_thread(load: &Load) -> u64 {
    clock::thread_cpu_ns(load.tid()).unwrap_or_default()
}

/// A panic while it was asked leaves nothing half done that the next answer would not show.
fn taken(load: &Mutex<dyn RemoteLoad>) -> MutexGuard<'_, dyn RemoteLoad + 'static> {
    load.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here(_) => "Here",
            Self::There(_) => "There",
            Self::Generator(_) => "Generator",
            Self::H2load(_) => "H2load",
            Self::Nfs(_) => "Nfs",
        })
    }
}
