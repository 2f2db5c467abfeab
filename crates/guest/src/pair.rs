//! Two guests at the same time, on a wire: the near one does something, and the far one is there
//! for it.

use std::io;
use std::thread::{Builder, ScopedJoinHandle};
use std::time::Duration;

use zc_kernel::stop::Stop;
use zc_run::{Error, Result};

use crate::boot::{Boot, Outcome, PERIOD, boot};
use crate::job::Job;
use crate::machine::Machine;
use crate::wire::{MODULE, WireEnd};

/// Two guests that are over.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The near one.
    pub near: Outcome,
    /// The far one: stopped, if the near one was over before it.
    pub far: Outcome,
}

/// Boots two guests on a wire, the far one on the machine that is beside the near one's. As soon as
/// one of them is over, the other one is stopped: the far one has no limit of its own.
///
/// # Errors
/// As those of [`boot`].
pub fn boot_pair(near: Boot<'_>, far: Boot<'_>, stop: &Stop) -> Result<Pair> {
    let [first, second] = WireEnd::both()?;
    let (near_machine, near_job) = on_the(first, near.machine.clone(), near.job);
    let (far_machine, far_job) = on_the(second, near.machine.beside(), far.job);
    let near = Boot { machine: &near_machine, job: &near_job, ..near };
    let far = Boot { machine: &far_machine, job: &far_job, limit: Duration::MAX, ..far };
    let (near_stop, far_stop) = (Stop::default(), Stop::default());
    std::thread::scope(|scope| {
        let start = |name: &str, guest, stop| {
            Builder::new()
                .name(name.to_owned())
                .spawn_scoped(scope, move || boot(guest, stop, &mut io::sink()))
                .map_err(|error| Error::os("start a thread", error))
        };
        let near = start("near-guest", near, &near_stop)?;
        let far = start("far-guest", far, &far_stop).inspect_err(|_| near_stop.set())?;
        while !near.is_finished() && !far.is_finished() && !stop.is_set() {
            std::thread::sleep(PERIOD);
        }
        near_stop.set();
        far_stop.set();
        let (near, far) = (outcome(near), outcome(far));
        Ok(Pair { near: near?, far: far? })
    })
}

fn on_the(wire: WireEnd, mut machine: Machine, job: &Job) -> (Machine, Job) {
    let mut job = Job { address: Some(wire.address()), ..job.clone() };
    job.modules.push(MODULE.to_owned());
    machine.wire = Some(wire);
    (machine, job)
}

fn outcome(guest: ScopedJoinHandle<'_, Result<Outcome>>) -> Result<Outcome> {
    guest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
