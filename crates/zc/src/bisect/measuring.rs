//! Measures the commit that is checked out, and looks after each block whether it is good or bad.

use std::path::Path;
use std::time::Instant;

use super::args::BisectArgs;
use super::seen::{Seen, sentence, unavailable};
use crate::busy::nothing_kept;
use crate::compare::cell_of;
use crate::interim::Planned;
use crate::option_groups::S;
use crate::run_args::StreamArgs;
use crate::{experiment, like, planned, read, resolve, run};
use zc_analysis::bisect::{Against, Judged, Looks, Question, log_ratios};
use zc_analysis::compare::Compared;
use zc_measure::plan::Spec;
use zc_measure::session::{Hopeless, Interim, InterimResult};
use zc_run::nearest::unknown_among;
use zc_run::units::duration_text;
use zc_run::{
    Block, Cell, Dropped, Error, ErrorKind, Experiment, Factor, Header, HostState, Level, Result,
    Run,
};

/// From how many blocks on it is not looked after each one: a look takes time as the blocks do.
const OFTEN: usize = 50;

/// The time for measuring a commit, if nobody says.
const BUDGET_NS: u64 = 600 * S;

/// What a commit is compared with.
#[derive(Debug)]
enum Reference {
    /// A saved run of a good commit.
    SavedRun(Box<Run>),
    /// State A of the host, in the same blocks.
    StateA,
}

/// How each commit is measured.
#[derive(Debug)]
pub(super) struct Plan {
    spec: Spec,
    args: StreamArgs,
    reference: Reference,
    /// Label of the cell that is looked at.
    cell: String,
}

impl Plan {
    /// The plan that the arguments ask for.
    ///
    /// # Errors
    /// The saved run cannot be read or repeated, options do not go together, or there is no such
    /// cell.
    pub(super) fn new(args: &BisectArgs, path: &str) -> Result<Self> {
        let mut stream = StreamArgs { ab: args.ab.clone(), ..StreamArgs::default() };
        stream.state_commands = args.state_commands.clone();
        stream.transfer.link = args.link;
        stream.measuring.length.budget = Some(args.budget.unwrap_or(BUDGET_NS));
        let (spec, mut stream) = match (&args.good, &args.like) {
            (Some(file), _) | (None, Some(file)) => like::repeated(file, stream)?,
            (None, None) => {
                let mut spec = planned::of_experiment(Experiment::DEFAULT)?;
                let levels = Level::typed(Factor::Send, path);
                let levels = levels.map_err(|error| error.prefixed("--path: "))?;
                spec.restrict(Factor::Send, levels);
                (spec, stream)
            }
        };
        // It ends when it is decided, not sooner.
        stream.quick = false;
        stream.anonymise = false;
        let reference = match &args.good {
            Some(file) => Reference::SavedRun(Box::new(read::run(file)?)),
            None => Reference::StateA,
        };
        let cell = match &reference {
            Reference::SavedRun(good) => cell_of(good, path)?,
            Reference::StateA => cell_in_b(&spec, &stream, path)?,
        };
        Ok(Self { spec, args: stream, reference, cell })
    }

    /// What commits are compared with.
    pub(super) fn against(&self) -> Against {
        match self.reference {
            Reference::SavedRun(_) => Against::SavedRun,
            Reference::StateA => Against::StateA,
        }
    }

    /// Measures the commit until it can be told, or the budget is spent.
    ///
    /// # Errors
    /// Ctrl-C; or what is measured with cannot be used, at this commit and all others.
    pub(super) fn measure(&self, question: Question) -> Result<Seen> {
        let began = Instant::now();
        let mut deciding = Deciding {
            planned: Planned::default(),
            plan: self,
            question,
            looks: Looks::default(),
            seen: None,
        };
        let folder = tempfile::tempdir()
            .map_err(|error| Error::os("make a folder for temporary files", error))?;
        let measured = self.run(folder.path(), &mut deciding);
        let seen = |judged, why| Seen { judged, why, elapsed_s: began.elapsed().as_secs_f64() };
        let run = match measured {
            Ok(run::Measured { run, error: None, .. }) => run,
            Ok(run::Measured { error: Some(error), .. }) | Err(error) => {
                return match stops_all(error.kind) {
                    true => Err(error),
                    false => Ok(seen(Judged::default(), Some(sentence(error)))),
                };
            }
        };
        let (judged, compared) = match (&self.reference, deciding.seen) {
            (Reference::SavedRun(_), Some(found)) => found,
            (Reference::SavedRun(good), None) => {
                let error = deciding.looks.last(question.error).unwrap_or(0.0);
                question.between_runs(good, &run, &self.cell, error)
            }
            (Reference::StateA, _) => question.within_run(&run, &self.cell),
        };
        let why = judged.answer.is_none().then(|| self.why(question, &run, &judged, &compared));
        Ok(seen(judged, why))
    }

    fn run(&self, folder: &Path, deciding: &mut Deciding<'_>) -> Result<run::Measured> {
        let mut args = self.args.clone();
        args.measuring.out = Some(folder.join("run.jsonl"));
        run::measured_by(self.spec.clone(), args, experiment::command(), deciding)
    }

    /// Why a run does not tell.
    fn why(&self, question: Question, run: &Run, judged: &Judged, compared: &Compared) -> String {
        if let Some(why) = unavailable(run, &self.cell) {
            return why;
        }
        if let Some(error) = nothing_kept(run) {
            return sentence(error);
        }
        if let Some(why) = zc_report::compare::no_verdict(compared) {
            return why;
        }
        let worse = question.worse * 100.0;
        match (&self.reference, judged.low, judged.high) {
            (Reference::SavedRun(_), Some(low), Some(high)) => format!(
                "runs of one state differ too much here to tell {worse:.1} %: the interval reaches \
                 a factor of {:.2} to either side; use --ab, or a larger --worse",
                (high / low).sqrt()
            ),
            (Reference::StateA, Some(_), _) => format!(
                "neither \"no dearer\" nor \"dearer by {worse:.1} %\" is refuted: try a longer \
                 --budget than {}",
                duration_text(self.args.measuring.length.budget.unwrap_or_default())
            ),
            _ => "too few blocks were measured: a longer --budget has more".to_owned(),
        }
    }
}

/// Whether an error would come at every commit.
fn stops_all(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Interrupted | ErrorKind::Usage | ErrorKind::Input | ErrorKind::Output)
}

/// The label of a cell in state B, by its name without the state.
///
/// # Errors
/// The plan has none.
fn cell_in_b(spec: &Spec, args: &StreamArgs, path: &str) -> Result<String> {
    let (spec, args) = planned::merge_options(spec.clone(), args.clone())?;
    let options = resolve::run(&args, spec, Vec::new(), "run.jsonl".into())?;
    let cells = options.plan.cells(options.send, options.recv)?.cells;
    let b = HostState::b();
    let in_b = cells.iter().filter(|cell| !cell.control && cell.levels.state.as_ref() == Some(&b));
    let suffix = format!(" {b}");
    // Where all cells are of one path, their labels do not name it.
    let name = |cell: &Cell| match cell.label.strip_suffix(&suffix) {
        Some(name) => name.to_owned(),
        None => cell.transfer.send_path().map(|path| path.to_string()).unwrap_or_default(),
    };
    let named: Vec<(String, &str)> = in_b.map(|cell| (name(cell), cell.label.as_str())).collect();
    match named.iter().find(|(name, _)| name == path) {
        Some((_, label)) => Ok((*label).to_owned()),
        None => {
            let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
            Err(unknown_among("cell", path, &names).kind(ErrorKind::UnknownCell))
        }
    }
}

/// The rules and looks of a run that ends once a commit can be told.
struct Deciding<'a> {
    planned: Planned,
    plan: &'a Plan,
    question: Question,
    looks: Looks,
    /// What a look at a saved run has decided.
    seen: Option<(Judged, Compared)>,
}

impl Interim for Deciding<'_> {
    fn drop_reason(&self, block: &Block, header: &Header) -> Option<Dropped> {
        self.planned.drop_reason(block, header)
    }

    fn look(&mut self, run: &Run, spent_share: f64) -> InterimResult {
        let is_decided = match &self.plan.reference {
            Reference::StateA => {
                let blocks = run.blocks.len();
                blocks.is_multiple_of(1 + blocks / OFTEN)
                    && self.question.answer(&log_ratios(run, &self.plan.cell)).is_some()
            }
            Reference::SavedRun(good) => {
                let Some(error) = self.looks.due(spent_share, self.question.error) else {
                    return InterimResult::NotDue;
                };
                let found = self.question.between_runs(good, run, &self.plan.cell, error);
                let is_decided = found.0.answer.is_some();
                self.seen = Some(found).filter(|_| is_decided);
                is_decided
            }
        };
        if is_decided { InterimResult::Decided } else { InterimResult::NotDue }
    }

    fn hopeless(&mut self, run: &Run, spent_share: f64) -> Option<Hopeless> {
        self.planned.hopeless(run, spent_share)
    }

    fn leaves_others_out(&self, header: &Header) -> bool {
        self.planned.leaves_others_out(header)
    }
}
