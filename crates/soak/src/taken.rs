//! The probe of what the soakers take from another process, before they are used on one. A process
//! in another session, and in another cgroup if this user may create one, keeps a thread busy on
//! each CPU, once with soakers and once without.

use zc_kernel::clock;
use zc_rig::meter::{CompetingProcess, SoakerProcess};
use zc_run::{Result, SoakReading, Taken};

/// Time for which the competing threads are busy beside soakers. A soaker gets its share in slices
/// of milliseconds, a few per second, so a shorter probe would see one slice or none.
const SOAKED_NS: u64 = 200_000_000;
/// Time for which they are busy without soakers.
const UNSOAKED_NS: u64 = 100_000_000;
/// Lead time for the threads to become ready.
const LEAD_NS: u64 = 3_000_000;
/// Time between the begin of the threads and the first reading of the soakers.
const AFTER_NS: u64 = 2_000_000;
/// Time between the second reading and the end of the threads: on a busy machine the reader may be
/// late.
const BEFORE_NS: u64 = 30_000_000;

/// Runs the probe, and leaves the soakers running. `None` if the readings were late.
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
    // On a machine that is too busy the reader itself may be late; then the result is unknown.
    let in_time = edges.1.at_ns < until_ns;
    Ok(in_time.then_some(Taken {
        other_cgroup,
        soaked,
        unsoaked,
        opened: edges.0,
        closed: edges.1,
    }))
}
