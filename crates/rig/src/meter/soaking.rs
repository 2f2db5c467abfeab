//! The soakers of a run: threads of this process, which rank below all that is in its session, or a
//! process of their own, which ranks below other sessions and cgroups too.

use super::helper_process::SoakerProcess;
use super::soakers::Soakers;
use zc_run::{Result, Severity, SoakReading, SoakerKind, SoakerRank, Warning};

/// Programs that soakers are to rank below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// The workload is in zc's session: zc or what it started.
    OwnSession,
    /// The workload is somebody else's, in any session and cgroup.
    Everybody,
}

/// Soakers, whichever process they are in.
#[derive(Debug)]
pub enum Soaking {
    /// Threads of this process.
    Here(Soakers),
    /// A process of their own.
    Apart(SoakerProcess),
}

impl Soaking {
    /// Starts one soaker on each of `cpus`; they work.
    ///
    /// # Errors
    /// Same as [`Soakers::start`]; or this program cannot be started a second time.
    pub fn start(cpus: &[usize], kind: SoakerKind, below: Below) -> Result<Self> {
        Ok(match below {
            Below::OwnSession => Self::Here(Soakers::start(cpus, kind)?),
            Below::Everybody => Self::Apart(SoakerProcess::start(cpus, kind)?),
        })
    }

    /// Programs that they rank below.
    pub fn below(&self) -> Below {
        match self {
            Self::Here(_) => Below::OwnSession,
            Self::Apart(_) => Below::Everybody,
        }
    }

    /// The CPUs that carry a soaker, in the order of every reading.
    pub fn cpus(&self) -> &[usize] {
        match self {
            Self::Here(soakers) => soakers.cpus(),
            Self::Apart(soakers) => soakers.cpus(),
        }
    }

    /// Thread ids of the soakers; none of those in another process.
    pub fn tids(&self) -> &[i32] {
        match self {
            Self::Here(soakers) => soakers.tids(),
            Self::Apart(_) => &[],
        }
    }

    /// Reads the counters: a few loads, no system call but the clock.
    pub fn read(&self) -> SoakReading {
        match self {
            Self::Here(soakers) => soakers.read(),
            Self::Apart(soakers) => soakers.read(),
        }
    }

    /// CPU time that all of them together have used so far.
    pub fn cpu_ns(&self) -> u64 {
        match self {
            Self::Here(soakers) => soakers.cpu_ns(),
            Self::Apart(soakers) => soakers.cpu_ns(),
        }
    }

    /// Resumes the soakers or pauses them.
    ///
    /// # Errors
    /// Their process is gone.
    pub fn soak(&mut self, on: bool) -> Result<()> {
        match (self, on) {
            (Self::Here(soakers), true) => soakers.resume(),
            (Self::Here(soakers), false) => soakers.pause(),
            (Self::Apart(soakers), true) => soakers.resume()?,
            (Self::Apart(soakers), false) => soakers.pause()?,
        }
        Ok(())
    }

    /// The warning `soakers-compete`, if they should rank below everybody and do not.
    pub fn rank_warning(&self) -> Option<Warning> {
        let Self::Apart(soakers) = self else { return None };
        let SoakerRank::Class { reason } = soakers.rank() else { return None };
        let text = format!("the soakers take CPU time from processes of other sessions: {reason}");
        Some(
            Warning::new("soakers-compete", Severity::Doubt, text)
                .remedy("run as root, which may make a cgroup with cpu.idle"),
        )
    }
}
