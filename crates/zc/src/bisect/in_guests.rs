//! Measures a commit whose kernel is what is checked: boots it and the good kernel in guests, in
//! rounds of one boot each in random order, until the commit is good or bad.
//!
//! A boot is one value, and a round the logarithm of the commit's cost minus that of the good
//! kernel's. If the kernels do not differ, boots of a round in random order could change places, so
//! these values are symmetric about the true difference, which is what the sequential test needs
//! ([`zc_analysis::bisect`]).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::args::BisectArgs;
use super::seen::{Seen, sentence, unavailable};
use crate::folder::Folder;
use crate::kernel_args::BOOT_NS;
use crate::kernels::{self, Made, boot_once, has_time, orders};
use crate::run_args::LinkChoice;
use crate::{read, replace, tell};
use zc_analysis::bisect::{Judged, Question};
use zc_analysis::compare::kernels::{Arm, Boot, log_ratios};
use zc_fleet::plan::drawn_seed;
use zc_guest::{Accelerator, Kernel, Machine};
use zc_kernel::stop::Stop;
use zc_run::nearest::unknown;
use zc_run::units::duration_text;
use zc_run::{EndReason, Error, Result, Run, SendPath, escape};

/// What boots are called by.
const NAMES: [&str; 2] = ["good", "commit"];

/// The time for measuring a commit, if nobody says: rounds in which a change of 5 % is told in
/// nearly all cases (docs/bisect.md).
const BUDGET: Duration = Duration::from_secs(60 * 60);

/// A kernel of which so many boots failed does not do; one whose first boot fails does not, either.
const MOST_FAILED: usize = 3;

/// After so many rounds without a figure there is none to come.
const WITHOUT_FIGURE: usize = 3;

/// How a commit is measured whose kernel is booted.
#[derive(Debug)]
pub(super) struct Guests {
    good: Kernel,
    /// Where the kernel of each commit is, once it is built.
    place: PathBuf,
    machine: Machine,
    /// The words of `zc run` in a guest.
    words: Vec<OsString>,
    /// The path whose cost is looked at.
    path: String,
    budget: Duration,
}

/// What came of a boot: its run, or why there is none of use.
type Shown = std::result::Result<Run, String>;

impl Guests {
    /// Guests for the kernel in `place`.
    ///
    /// # Errors
    /// There is no good kernel, no such path or no QEMU, or there are no costs without KVM: no
    /// commit could be told.
    pub(super) fn new(args: &BisectArgs, place: &Path, path: &str) -> Result<Self> {
        let good = args.good.as_deref().ok_or_else(|| {
            Error::usage("argument-missing", "\"--kernel\" is compared with that of \"--good\"")
        })?;
        path.parse::<SendPath>().map_err(|error| unknown(error).prefixed("--path: "))?;
        if args.link == Some(LinkChoice::Wire) {
            let message = "--link: \"wire\" is between two guests, and a bisection boots one";
            return Err(Error::usage("wire-in-a-bisection", message).help("--link veth"));
        }
        let machine = Machine::find()?;
        if let Accelerator::Emulated { why } = &machine.accelerator {
            let message =
                format!("without KVM no kernel has a cost, so no commit can be told: {why}");
            return Err(Error::unsupported("no-costs-without-kvm", message).help(
                "bisect on a host with /dev/kvm, or with a guest for which nested virtualization \
                 is on",
            ));
        }
        let good = Kernel::find(good).map_err(|error| error.prefixed("--good: "))?;
        let mut words = vec![OsString::from("--paths"), path.into()];
        if let Some(link) = args.link {
            words.extend(["--link", link.name()].map(OsString::from));
        }
        let budget = args.budget.map_or(BUDGET, Duration::from_nanos);
        Ok(Self { good, place: place.to_owned(), machine, words, path: path.to_owned(), budget })
    }

    /// Measures the commit that is checked out until it can be told, or the budget is spent.
    ///
    /// # Errors
    /// Ctrl-C; or the good kernel cannot be measured, at this commit and all others.
    pub(super) fn measure(&self, question: Question, stop: &Stop) -> Result<Seen> {
        let began = Instant::now();
        let seen = |judged, why| Seen { judged, why, elapsed_s: began.elapsed().as_secs_f64() };
        let commit = match Kernel::find(&self.place) {
            Ok(commit) => commit,
            Err(error) => return Ok(seen(Judged::default(), Some(sentence(error)))),
        };
        if replace::is_same(&commit.image, &self.good.image) {
            let message = "\"--kernel\" and \"--good\" are one kernel";
            return Err(Error::usage("same-kernel", message)
                .help("build the good one in another tree: git worktree add ../good GOOD"));
        }
        let folder = Folder::named("zc-bisect-")?;
        let out = folder.make("runs")?;
        let kernels = [self.good.clone(), commit];
        let mut place = kernels::Guests { kernels: &kernels, machine: &self.machine, wire: false };
        let plan = kernels::Plan {
            names: NAMES.map(str::to_owned),
            words: self.words.clone(),
            seed: drawn_seed(),
            rounds: usize::MAX,
            budget: Some(self.budget),
            boot_budget_ns: BOOT_NS,
            out: &out,
        };
        let mut first: Option<String> = None;
        let boot = |round: usize, arm: Arm| {
            let made = boot_once(&plan, &mut place, round, arm, first.as_deref(), stop)?
                .ok_or_else(|| Error::interrupted("interrupted while a guest ran"))?;
            let shown = of_boot(made, plan.out);
            if let Ok((file, _)) = &shown {
                first.get_or_insert_with(|| file.clone());
            }
            Ok(shown.map(|(_, run)| run))
        };
        let (judged, why) = self.rounds(question).until_told(plan.seed, boot)?;
        Ok(seen(judged, why))
    }

    fn rounds(&self, question: Question) -> Rounds<'_> {
        Rounds { question, path: &self.path, budget: self.budget }
    }
}

/// What ends the rounds of boots.
struct Rounds<'a> {
    question: Question,
    path: &'a str,
    budget: Duration,
}

impl Rounds<'_> {
    /// Boots until the commit can be told; else with the reason.
    ///
    /// # Errors
    /// Those of `boot`; or the good kernel does not do.
    fn until_told(
        &self,
        seed: u64,
        mut boot: impl FnMut(usize, Arm) -> Result<Shown>,
    ) -> Result<(Judged, Option<String>)> {
        let Self { question, path, budget } = *self;
        let began = Instant::now();
        let mut known = Known::default();
        for (round, order) in (1..).zip(orders(seed)) {
            if !has_time(began, round, budget) {
                break;
            }
            for arm in order.into_iter().filter(|arm| *arm != Arm::OldAgain) {
                if let Some(why) = known.take(round, arm, boot(round, arm)?, path)? {
                    let judged = question.judge(&known.log_ratios(path).0);
                    return Ok((Judged { answer: None, ..judged }, Some(why)));
                }
            }
            let (values, _) = known.log_ratios(path);
            let is_hopeless = values.is_empty() && round >= WITHOUT_FIGURE;
            if is_hopeless || question.answer(&values).is_some() {
                break;
            }
        }
        let (values, left_out) = known.log_ratios(path);
        let judged = question.judge(&values);
        let why = judged.answer.is_none().then(|| match left_out {
            Some(why) if values.is_empty() => format!("no round has a figure of both: {why}"),
            None if values.is_empty() => {
                "no round has a figure of both: the path costs too little to be measured".to_owned()
            }
            _ => format!(
                "neither \"no dearer\" nor \"dearer by {:.1} %\" is refuted: try a longer --budget \
                 than {}",
                question.worse * 100.0,
                duration_text(budget.as_nanos() as u64)
            ),
        });
        Ok((judged, why))
    }
}

/// The name of the file of a boot, and its run, or why there is none of use. Last lines of a kernel
/// that failed go to stderr.
fn of_boot(made: Made, out: &Path) -> std::result::Result<(String, Run), String> {
    let file = match made.file {
        Ok(file) => file,
        Err((why, last)) => {
            last.iter().for_each(|line| tell::note(&format!("| {}", escape(line, 200))));
            return Err(why);
        }
    };
    match read::run(&out.join(&file)) {
        Ok(run) => Ok((file, run)),
        Err(error) => Err(error.message),
    }
}

/// What both kernels have shown.
#[derive(Default)]
struct Known {
    runs: Vec<(usize, Arm, Run)>,
    /// Failed boots of the good kernel and of the commit's.
    failed: [usize; 2],
}

impl Known {
    /// Takes what came of a boot. Returns why the commit cannot be told, if its kernel does not do.
    ///
    /// # Errors
    /// The good kernel does not do.
    fn take(&mut self, round: usize, arm: Arm, shown: Shown, path: &str) -> Result<Option<String>> {
        let why = match shown.and_then(|run| broken(&run, path).map_or(Ok(run), Err)) {
            Ok(run) => {
                self.runs.push((round, arm, run));
                return Ok(None);
            }
            Err(why) => why,
        };
        let failed = &mut self.failed[usize::from(arm == Arm::New)];
        *failed += 1;
        let is_first = !self.runs.iter().any(|(_, of, _)| *of == arm);
        if !is_first && *failed < MOST_FAILED {
            return Ok(None);
        }
        match arm {
            Arm::New => Ok(Some(format!("its kernel cannot be measured: {why}"))),
            Arm::Old | Arm::OldAgain => {
                let message = format!("the good kernel cannot be measured: {}", escape(&why, 600));
                Err(Error::failed("good-kernel-fails", message)
                    .help("zc run --kernel A=GOOD --kernel B=GOOD shows what comes of its boots"))
            }
        }
    }

    /// The log ratios of rounds, and why the last boot that is in none of them is not.
    fn log_ratios(&self, path: &str) -> (Vec<f64>, Option<String>) {
        let boots: Vec<Boot<'_>> = self
            .runs
            .iter()
            .map(|(round, arm, run)| Boot { round: *round, arm: *arm, run })
            .collect();
        let (values, left_out) = log_ratios(&boots, path);
        let why = left_out.last().map(|boot| {
            let which = format!("round {}, {}", boot.round, boot.arm.name(NAMES));
            zc_report::kernels::why_left_out(&which, &boot.why)
        });
        (values, why)
    }
}

/// Why a run shows that its kernel does not do: it lacks the path, or does not pass its bytes.
fn broken(run: &Run, path: &str) -> Option<String> {
    if let Some(why) = unavailable(run, path) {
        return Some(why);
    }
    match run.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::Failed { reason }) => Some(reason.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_analysis::bisect::Answer;
    use zc_run::{Support, SupportRow, Unavailable};
    use zc_testkit::synthetic::{boot, sendfile};

    const QUESTION: Question = Question { worse: 0.2, error: 0.02 };

    /// The run of a boot in which sendfile costs so many times what it usually does.
    fn run(seed: u64, factor: f64) -> Run {
        boot(seed, 8, vec![sendfile(factor)])
    }

    /// What is told of a commit whose boots these are, and how many were made.
    fn told(
        budget: Duration,
        mut boot: impl FnMut(usize, Arm) -> Shown,
    ) -> (Result<(Judged, Option<String>)>, usize) {
        let rounds = Rounds { question: QUESTION, path: "sendfile", budget };
        let mut boots = 0;
        let counted = |round: usize, arm: Arm| {
            boots += 1;
            assert_ne!(arm, Arm::OldAgain);
            Ok(boot(round, arm))
        };
        let told = rounds.until_told(3, counted);
        (told, boots)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    /// What a commit that is bad costs.
    const DEARER: f64 = 1.5;

    fn seed(round: usize, arm: Arm) -> u64 {
        round as u64 * 2 + u64::from(arm == Arm::New)
    }

    #[test]
    fn a_commit_is_told_by_rounds_of_boots() {
        for (factor, answer) in [(DEARER, Answer::Bad), (1.0, Answer::Good)] {
            let cost = |arm| if arm == Arm::New { factor } else { 1.0 };
            let (told, boots) = told(HOUR, |round, arm| Ok(run(seed(round, arm), cost(arm))));
            let (judged, why) = told.unwrap();
            assert_eq!((judged.answer, why), (Some(answer), None), "{judged:?}");
            assert_eq!(boots, 2 * judged.values, "it ends with the round that decides");
            assert!(judged.low.unwrap() < factor && factor < judged.high.unwrap(), "{judged:?}");
        }
    }

    #[test]
    fn a_spent_budget_and_boots_without_figures_leave_it_open() {
        let (open, boots) = told(Duration::ZERO, |round, arm| Ok(run(seed(round, arm), 1.0)));
        let (judged, why) = open.unwrap();
        assert_eq!((judged.answer, boots), (None, 2));
        assert!(why.unwrap().contains("--budget"));
        let (none, boots) = told(HOUR, |round, arm| {
            let mut run = run(seed(round, arm), 1.0);
            run.blocks.truncate(1);
            Ok(run)
        });
        let why = none.unwrap().1.unwrap();
        assert!(why.contains("1 block kept") && boots == 2 * WITHOUT_FIGURE, "{why} {boots}");
    }

    #[test]
    fn a_commit_whose_kernel_fails_is_skipped_and_a_good_kernel_that_does_ends_it() {
        let panics = |arm: Arm, of: Arm| match arm == of {
            true => Err("the kernel panicked: out of luck".to_owned()),
            false => Ok(run(1, 1.0)),
        };
        let (told_of, _) = told(HOUR, |_, arm| panics(arm, Arm::New));
        assert!(told_of.unwrap().1.unwrap().contains("out of luck"));
        let (told_of, _) = told(HOUR, |_, arm| panics(arm, Arm::Old));
        assert_eq!(told_of.unwrap_err().id, "good-kernel-fails");

        // Two boots that fail later are dropped, and the third is one too many.
        let cost = |arm| if arm == Arm::New { DEARER } else { 1.0 };
        let later = |least: usize| {
            move |round: usize, arm: Arm| match arm == Arm::New
                && round.is_multiple_of(2)
                && round <= least
            {
                true => Err("it hangs".to_owned()),
                false => Ok(run(seed(round, arm), cost(arm))),
            }
        };
        assert_eq!(told(HOUR, later(4)).0.unwrap().0.answer, Some(Answer::Bad));
        let (judged, why) = told(HOUR, later(6)).0.unwrap();
        assert!(why.unwrap().contains("it hangs") && judged.answer.is_none(), "{judged:?}");
    }

    #[test]
    fn a_kernel_that_lacks_the_path_or_passes_other_bytes_is_no_good_one() {
        let (told_of, _) = told(HOUR, |round, arm| {
            let mut run = run(seed(round, arm), 1.0);
            if arm == Arm::New {
                run.header.plan.cells.retain(|cell| cell.label != "sendfile");
                let no = Unavailable::failed("other bytes arrived than were sent");
                let (what, name) = ("send path".to_owned(), "sendfile".to_owned());
                run.header.unavailable.push(SupportRow { what, name, support: Support::No(no) });
            }
            Ok(run)
        });
        assert!(told_of.unwrap().1.unwrap().contains("other bytes arrived"));
        let (told_of, _) = told(HOUR, |round, arm| {
            let mut run = run(seed(round, arm), 1.0);
            if let Some(end) = run.end.as_mut().filter(|_| arm == Arm::New) {
                end.reason = EndReason::Failed { reason: "a byte differs".to_owned() };
            }
            Ok(run)
        });
        assert!(told_of.unwrap().1.unwrap().contains("a byte differs"));
    }
}
