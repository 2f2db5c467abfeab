//! What do the soakers take from somebody else's process? It is tried out before they are let loose on one: a process of
//! another session, and of another cgroup where this user may make one, keeps a thread busy on each CPU, once while the
//! soakers work and once while they sleep.

use zc_kernel::clock;

use crate::meter::{CompetingProcess, SoakerProcess};
use zc_run::{Result, SoakReading, Taken};

/// How long the stranger is busy while the soakers work. A soaker gets its share in slices of milliseconds, a few a second, so
/// shorter would see one or none.
const SOAKED_NS: u64 = 200_000_000;
/// And while they sleep.
const UNSOAKED_NS: u64 = 100_000_000;
/// What its threads get to be ready.
const LEAD_NS: u64 = 3_000_000;
/// The soakers are read this long after the threads begin.
const AFTER_NS: u64 = 2_000_000;
/// And this long before they end: on a busy machine the reader may come late.
const BEFORE_NS: u64 = 30_000_000;

/// Tries it out, and leaves the soakers at work.
pub(super) fn try_out(soakers: &mut SoakerProcess) -> Result<Option<Taken>> {
    let mut competitor = CompetingProcess::start(soakers.cpus())?;
    let other_cgroup = competitor.other_cgroup();
    let from_ns = clock::monotonic_ns() + LEAD_NS;
    let until_ns = from_ns + SOAKED_NS;
    let mut edges = (SoakReading::default(), SoakReading::default());
    let soaked = competitor.burn(from_ns, until_ns, || {
        clock::sleep_until(from_ns + AFTER_NS);
        edges.0 = soakers.read();
        clock::sleep_until(until_ns - BEFORE_NS);
        edges.1 = soakers.read();
    })?;
    soakers.pause()?;
    let from_ns = clock::monotonic_ns() + LEAD_NS;
    let unsoaked = competitor.burn(from_ns, from_ns + UNSOAKED_NS, || {})?;
    soakers.resume()?;
    // On a machine that is too busy the reader itself may have come too late: then it is not known.
    let in_time = edges.1.at_ns < until_ns;
    Ok(in_time.then_some(Taken {
        other_cgroup,
        soaked,
        unsoaked,
        opened: edges.0,
        closed: edges.1,
    }))
}
