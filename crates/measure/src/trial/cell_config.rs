//! What holds for a cell: its own levels in place of what the plan holds fixed, and what its paths are built from; or why it cannot
//! run.

use crate::link::Link;
use crate::path::SendSetup;
use crate::workload::{Room, raise_descriptor_limit};
use zc_run::{Cell, FixedParams, Unavailable};

use super::bursts::Bursts;
use super::factor::{EFFECTS, placement};
use super::receiving::RecvConfig;
use super::worker::TrialError;

/// Descriptors of a flow at most, both ends on this machine: three to each socket (the path and the trial have their own), four of
/// pipes, two of rings, two by which its threads are metered.
const DESCRIPTORS_OF_A_FLOW: u64 = 14;

/// Descriptors beside those of files and flows: namespaces, /proc, the soakers' meters, the saved run.
const OTHER_DESCRIPTORS: u64 = 60;

/// What holds for a cell.
#[derive(Debug, Clone)]
pub(super) struct CellConfig {
    pub(super) cell: Cell,
    pub(super) fixed: FixedParams,
    pub(super) setup: SendSetup,
}

impl CellConfig {
    /// What holds for `cell` in a plan that holds `fixed`.
    pub(super) fn of(cell: &Cell, fixed: &FixedParams, setup: &SendSetup) -> Self {
        let fixed = fixed.at(&cell.levels);
        let mut setup = setup.clone();
        for effect in EFFECTS {
            effect.set_up(cell, &fixed, &mut setup);
        }
        Self { cell: cell.clone(), fixed, setup }
    }

    /// Its bursts at its rate.
    pub(super) fn paced(&self) -> Bursts {
        Bursts::paced(&self.fixed, self.cell.levels.message_bytes)
    }

    /// No bursts: as fast as it goes.
    pub(super) fn unpaced(&self) -> Bursts {
        Bursts::unpaced(&self.fixed, self.cell.levels.message_bytes)
    }

    /// The CPUs that sender threads may run on.
    pub(super) fn sender_cpus(&self) -> Vec<usize> {
        placement::cpus(&self.fixed, self.fixed.sender_cpu)
    }

    /// How its receivers take bytes; in proofs they check them.
    pub(super) fn recv_config(&self, checksum: bool) -> RecvConfig {
        let buffer_bytes = self.fixed.recv_buffer_bytes;
        RecvConfig {
            path: self.cell.recv,
            buffer_bytes,
            cpus: placement::cpus(&self.fixed, self.fixed.receiver_cpu),
            checksum,
        }
    }

    /// Finds out what of it cannot be had over `link`, and sees to it that there are descriptors for its flows.
    ///
    /// # Errors
    /// Why it cannot run.
    pub(super) fn check(&self, link: &dyn Link) -> std::result::Result<(), TrialError> {
        let kind = link.facts().kind;
        let no = EFFECTS.iter().find_map(|effect| effect.refuse(self, kind));
        no.map_or_else(|| self.make_room(), |no| Err(TrialError::CannotRun(no)))
    }

    fn make_room(&self) -> std::result::Result<(), TrialError> {
        let flows = self.fixed.flows;
        let needed = (flows as u64)
            .saturating_mul(DESCRIPTORS_OF_A_FLOW)
            .saturating_add(self.setup.files.files.len() as u64 + OTHER_DESCRIPTORS);
        match raise_descriptor_limit(needed)? {
            Room::There => Ok(()),
            Room::No { hard } => Err(TrialError::CannotRun(
                Unavailable::refused(format!(
                    "{flows} flows need up to {needed} open files, and RLIMIT_NOFILE is {hard}"
                ))
                .remedy(format!("as root: ulimit -Hn {}", needed.next_power_of_two())),
            )),
        }
    }
}
