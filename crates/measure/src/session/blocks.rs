//! One block: every cell once in the block's own random order, with idle windows before the first
//! soaked trial, after the last and every [`IDLE_APART_NS`] in between, and the unsoaked trials
//! that are due.

use std::time::{Duration, Instant};

use super::budget::Budget;
use super::copied::CopiedShares;
use super::interim::Interim;
use super::other_programs::{self, OtherPrograms};
use super::progress::{Next, Progress};
use super::sessions::Sessions;
use super::states::States;
use crate::plan::time::IDLE_APART_NS;
use crate::plan::{self, Turn};
use zc_kernel::clock::monotonic_ns;
use zc_kernel::stop::Stop;
use zc_rig::trial::{Bench, memcpy_bytes_per_s};
use zc_run::{
    Block, Dropped, Error, ErrorKind, FailedTrial, Header, Latencies, LinkKind, OtherProgram,
    Result, Slot, Warning,
};

/// A cell that fails this many times in a row is not run any more: its time goes to the others.
const FAILURES: usize = 5;

/// End of a block.
#[derive(Debug)]
pub(super) enum BlockEnd {
    /// After its last trial.
    Whole,
    /// Because the budget was spent.
    OutOfTime,
    /// SIGINT or SIGTERM arrived.
    Stopped,
    /// An error occurred after which the run cannot go on.
    Broken(Error),
}

/// State of a run between blocks.
pub(super) struct Blocks<'s> {
    rig: Box<dyn Bench>,
    sessions: Sessions,
    states: Option<&'s mut States>,
    header: Header,
    memory: (Vec<u8>, Vec<u8>),
    copied: CopiedShares,
    /// For each cell of the plan, its failures since its last success.
    failures: Vec<Vec<Error>>,
    /// Why the last block failed that did.
    last_failure: Option<Error>,
    /// Warnings that arose during the run; each kind once.
    new_warnings: Vec<Warning>,
    /// `None` where a server is measured whose processes are not known: they are no other programs.
    others: Option<OtherPrograms>,
}

impl<'s> Blocks<'s> {
    pub(super) fn new(
        rig: Box<dyn Bench>,
        sessions: Sessions,
        header: &Header,
        states: Option<&'s mut States>,
    ) -> Self {
        Self {
            rig,
            sessions,
            states,
            header: header.clone(),
            memory: Default::default(),
            copied: CopiedShares::new(header),
            failures: vec![Vec::new(); header.plan.cells.len()],
            last_failure: None,
            new_warnings: Vec::new(),
            others: (!header.plan.has_unknown_processes())
                .then(|| OtherPrograms::now(header.plan.fixed.link == LinkKind::Remote)),
        }
    }

    /// Ends the run's blocks. Returns warnings that arose, latencies of requests, and other
    /// programs that ran.
    pub(super) fn end(mut self) -> (Vec<Warning>, Vec<Latencies>, Vec<OtherProgram>) {
        let cpus = self.header.plan.fixed.soaked_cpus.len();
        let others = self.others.as_mut().map(|others| others.noticeable(cpus)).unwrap_or_default();
        if !others.is_empty() {
            self.new_warnings.push(other_programs::note(&others));
        }
        (self.new_warnings, self.rig.latencies(), others)
    }

    /// Says that other programs have a CPU all the time, if `by_name` which one most of it, and
    /// that no cost can be measured with it.
    pub(super) fn who_has(&self, cpu: usize, by_name: bool) -> String {
        let others = self.others.as_ref().filter(|_| by_name);
        let holder = others.and_then(|others| others.holder_of(cpu));
        let named = holder.map(|named| format!(" (most of it {named})")).unwrap_or_default();
        format!("other programs have CPU {cpu} all the time{named}, so no cost can be measured")
    }

    /// Looks for conditions that weaken the results, between blocks. A packet sniffer may come and
    /// go: if none is seen, the copied shares still show it.
    fn check_conditions(&mut self, block: &Block, progress: &mut dyn Progress) {
        let sniffers = self.rig.sniffers().map(|mut warning| {
            warning.text.push_str(&format!(" (seen after block {})", block.index + 1));
            warning
        });
        if let Some(others) = &mut self.others {
            others.look();
        }
        for warning in sniffers.into_iter().chain(self.copied.moved(block)) {
            if self
                .header
                .warnings
                .iter()
                .chain(&self.new_warnings)
                .all(|known| known.name != warning.name)
            {
                progress.warning(&warning);
                self.new_warnings.push(warning);
            }
        }
    }

    /// Begins a new session if one is due.
    pub(super) fn begin_session(&mut self, progress: &mut dyn Progress) {
        if let Some(warning) = self.sessions.next(&mut *self.rig) {
            progress.warning(&warning);
            self.new_warnings.push(warning);
        }
    }

    /// Measures block number `index`. The block that is returned has everything that was observed,
    /// in every case.
    pub(super) fn measure(
        &mut self,
        index: usize,
        budget: &Budget,
        interim: &dyn Interim,
        stop: &Stop,
        progress: &mut dyn Progress,
    ) -> (Block, BlockEnd) {
        let mut block = Block {
            index,
            session: self.sessions.index(),
            began_ns: monotonic_ns(),
            memcpy_bytes_per_s: Some(memcpy_bytes_per_s(&mut self.memory)),
            slots: Vec::new(),
            failed: Vec::new(),
            samples: None,
            dropped: Some(Dropped::Unfinished),
        };
        let ended = match self.fill(&mut block, budget, stop, progress) {
            Ok(ended) => ended,
            Err(_) if stop.is_set() => BlockEnd::Stopped,
            // The files have changed, or the other machine is gone: what follows would not be
            // comparable.
            Err((_, error)) if error.kind.ends_a_run() => BlockEnd::Broken(error),
            Err((cell, error)) => {
                block.dropped = Some(Dropped::TrialFailed { cell, reason: error.message.clone() });
                self.last_failure = Some(error);
                BlockEnd::Whole
            }
        };
        let asleep = self.rig.soak(false);
        block.samples = self.rig.samples();
        let ended = match (ended, asleep) {
            (BlockEnd::Whole, Err(error)) => BlockEnd::Broken(error),
            (ended, _) => ended,
        };
        if matches!(ended, BlockEnd::Whole) && block.dropped == Some(Dropped::Unfinished) {
            block.dropped = interim.drop_reason(&block, &self.header);
        }
        self.rig.block_ended(block.dropped.is_none());
        self.check_conditions(&block, progress);
        (block, ended)
    }

    fn fill(
        &mut self,
        block: &mut Block,
        budget: &Budget,
        stop: &Stop,
        progress: &mut dyn Progress,
    ) -> std::result::Result<BlockEnd, (String, Error)> {
        self.rig.begin_block(block.index).map_err(|error| (String::new(), error))?;
        let schedule = self.schedule(block.index);
        let trials = schedule.len();
        let mut soaking = false;
        let mut idle_due_ns = 0;
        let ended = || match () {
            () if stop.is_set() => Some(BlockEnd::Stopped),
            () if budget.left().is_zero() => Some(BlockEnd::OutOfTime),
            () => None,
        };
        for (trial, &Turn { cell, kind, kept }) in schedule.iter().enumerate() {
            let label = self.header.plan.cells[cell].label.clone();
            if let Some(end) = ended() {
                return Ok(end);
            }
            progress.trial(Next {
                block: block.index,
                cell: &label,
                trial,
                trials,
                left: budget.left(),
            });
            let named = |error| (label.clone(), error);
            let switched = match self.enter(cell) {
                Ok(settling) => settling.map(|settling| Instant::now() + settling),
                // What follows would not be measured in the state that the cell names.
                Err(error) => return Ok(BlockEnd::Broken(error)),
            };
            let begins = kind.is_soaked() != soaking;
            if begins {
                soaking = !soaking;
                self.rig.soak(soaking).map_err(named)?;
            }
            // Idle rates may differ between states.
            if soaking && (begins || switched.is_some()) {
                let unwanted = || ended().is_some();
                let until = switched.unwrap_or_else(Instant::now);
                self.lead_in(&schedule[trial..], until, unwanted).map_err(named)?;
                if switched.is_some() {
                    self.rig.state_was_entered();
                }
                if let Some(end) = self.idle(block, &ended).map_err(named)? {
                    return Ok(end);
                }
                idle_due_ns = monotonic_ns() + IDLE_APART_NS;
            }
            match self.rig.run(&self.header.plan.cells[cell], kind) {
                Err(_) if stop.is_set() => return Ok(BlockEnd::Stopped),
                Err(error) if error.kind.ends_a_run() => return Err(named(error)),
                // It was given up, or would be.
                Err(_) if budget.left().is_zero() => return Ok(BlockEnd::OutOfTime),
                _ if !kept => {}
                Ok(trial) => {
                    self.failures[cell].clear();
                    block.slots.push(Slot::Trial(trial));
                }
                Err(error) => {
                    self.failures[cell].push(error.clone());
                    block.failed.push(FailedTrial { cell: label.clone(), reason: error.message });
                }
            }
            let shared = schedule.get(trial + 1).is_some_and(|next| self.shares_idle(cell, *next));
            if soaking && (!shared || monotonic_ns() >= idle_due_ns) {
                if let Some(end) = self.idle(block, &ended).map_err(named)? {
                    return Ok(end);
                }
                idle_due_ns = monotonic_ns() + IDLE_APART_NS;
            }
        }
        Ok(BlockEnd::Whole)
    }

    /// Adds an idle window. `Some` if the block has ended in the middle of it.
    fn idle(
        &mut self,
        block: &mut Block,
        ended: &impl Fn() -> Option<BlockEnd>,
    ) -> Result<Option<BlockEnd>> {
        match self.rig.idle() {
            Ok(idle) => block.slots.push(Slot::Idle(idle)),
            Err(error) => return ended().map(Some).ok_or(error),
        }
        Ok(None)
    }

    /// Whether a trial that follows one of `cell` may do without an idle window in between: it is
    /// soaked, and in the same state of the host.
    fn shares_idle(&self, cell: usize, next: Turn) -> bool {
        let state = |cell: usize| &self.header.plan.cells[cell].levels.state;
        next.kind.is_soaked() && state(next.cell) == state(cell)
    }

    /// Puts the host into the state of a cell. Returns the time for which it is to settle; `None`
    /// if nothing had to be done.
    fn enter(&mut self, cell: usize) -> Result<Option<Duration>> {
        match (&mut self.states, &self.header.plan.cells[cell].levels.state) {
            (Some(states), Some(state)) => states.enter(state),
            _ => Ok(None),
        }
    }

    /// Sends until the host has settled in the state of the trials that are `ahead`, once at least,
    /// and measures nothing. Without states it does nothing.
    ///
    /// A pause makes soakers faster than they are right after a trial, by 0.8 %, and the trials
    /// after it dearer, the first ones most (docs/performance.md, "Two states"): an idle rate
    /// between one before them and one after them would be that of neither. A trial that fails here
    /// will be run again.
    fn lead_in(
        &mut self,
        ahead: &[Turn],
        until: Instant,
        unwanted: impl Fn() -> bool,
    ) -> Result<()> {
        let Some(turn) = plan::lead_in(&self.header.plan, ahead) else { return Ok(()) };
        loop {
            match self.rig.run(&self.header.plan.cells[turn.cell], turn.kind) {
                Ok(_) => {}
                Err(error) if error.kind.ends_a_run() => return Err(error),
                Err(_) => std::thread::sleep(until.saturating_duration_since(Instant::now())),
            }
            if Instant::now() >= until || unwanted() {
                return Ok(());
            }
        }
    }

    /// Whether a cell has failed so often in a row that it is not run any more.
    fn is_given_up(&self, cell: usize) -> bool {
        self.failures[cell].len() >= FAILURES
    }

    /// The error that ends the run when the reference is not run any more: there is nothing left to
    /// compare with.
    pub(super) fn reference_failure(&self) -> Option<Error> {
        let plan = &self.header.plan;
        let reference = plan.cells.iter().position(|cell| cell.label == plan.reference)?;
        let why = self.failures[reference].last().filter(|_| self.is_given_up(reference))?;
        let label = &plan.reference;
        let message = format!(
            "{FAILURES} trials in a row failed of \"{label}\", with which all are compared, the \
             last one: {why}"
        );
        Some(again_and_again(message, Some(why)))
    }

    /// The error `message`, after blocks that failed one after the other.
    pub(super) fn failure(&self, message: String) -> Error {
        again_and_again(message, self.last_failure.as_ref())
    }

    /// The trials of a block, without those of cells that are given up.
    fn schedule(&self, index: usize) -> Vec<Turn> {
        let mut turns = plan::schedule(&self.header.plan, index);
        turns.retain(|turn| !self.is_given_up(turn.cell));
        turns
    }
}

/// The error `message`, about what failed several times, the last time for `why`. The machine is to
/// blame where other programs had the CPUs.
fn again_and_again(message: String, why: Option<&Error>) -> Error {
    match why {
        Some(why) if why.kind == ErrorKind::NothingKept => Error { message, ..why.clone() },
        _ => Error::failed("failed-repeatedly", message),
    }
}
