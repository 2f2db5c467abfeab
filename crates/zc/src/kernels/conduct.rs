//! Boots in rounds, wherever kernels are booted; each leaves the file of its run in the folder.
//! Here is also what boots them in guests.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::super::tell;
use super::rounds::{has_time, orders};
use super::wire;
use zc_analysis::compare::kernels::Arm;
use zc_guest::{
    Accelerator, Boot, Ended, Job, Kernel, Machine, OUT, OWN_PROGRAM, Outcome, Pair, boot,
};
use zc_kernel::stop::Stop;
use zc_report::kernels::{GuestFacts, KernelFacts, MachineFacts};
use zc_run::{Error, Result, escape, units};

/// Modules that the links of a run are made of; the kernel itself asks for others by /sbin/modprobe.
const MODULES: [&str; 4] = ["veth", "sch_ingress", "cls_bpf", "tls"];

/// What a boot may take besides its run: by the CPU's virtualization, and emulated.
const BOOTING: Duration = Duration::from_secs(90);
const BOOTING_EMULATED: Duration = Duration::from_secs(300);

/// How many last lines of a boot that failed are shown.
const LAST_LINES: usize = 8;

/// How often both kernels are booted and what for.
pub(crate) struct Plan<'a> {
    pub(crate) names: [String; 2],
    /// The words of `zc run` in a boot, besides its budget and file.
    pub(crate) words: Vec<OsString>,
    pub(crate) seed: u64,
    /// The most rounds.
    pub(crate) rounds: usize,
    /// No round begins that would not be over by then.
    pub(crate) budget: Option<Duration>,
    pub(crate) boot_budget_ns: u64,
    /// The folder of the runs.
    pub(crate) out: &'a Path,
}

/// Where both kernels are booted.
pub(crate) trait Place {
    /// Boots a kernel and makes its run there; `None`: it was stopped.
    ///
    /// # Errors
    /// Nothing can be booted there, or not any more.
    fn boot(&mut self, plan: &Plan<'_>, wanted: &Wanted<'_>, stop: &Stop)
    -> Result<Option<Booted>>;
    /// The kernels by these names, and what they were booted on.
    fn facts(&self, names: &[String; 2]) -> ([KernelFacts; 2], MachineFacts);
}

/// A boot that is wanted.
pub(crate) struct Wanted<'a> {
    pub(crate) arm: Arm,
    /// The name that its run gets in the folder.
    pub(crate) file: &'a str,
    /// The file of the first run, whose rates it takes.
    pub(crate) first: Option<&'a str>,
}

/// What came of a boot.
pub(crate) struct Booted {
    pub(crate) took: Duration,
    /// Why it has left no run, and last lines.
    pub(crate) failed: Option<(String, Vec<String>)>,
}

/// A boot that was made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Made {
    pub(crate) round: usize,
    pub(crate) arm: Arm,
    pub(crate) took: Duration,
    /// The name of its file, or why there is none, with last lines.
    pub(crate) file: std::result::Result<String, (String, Vec<String>)>,
}

/// What was made.
pub(crate) struct Conducted {
    pub(crate) boots: Vec<Made>,
    pub(crate) interrupted: bool,
    /// Why no further boot could be made.
    pub(crate) error: Option<Error>,
}

impl Plan<'_> {
    fn name(&self, arm: Arm) -> String {
        arm.name(self.names.each_ref().map(String::as_str))
    }

    /// The words of a run, after `zc run` and the name of its file.
    pub(crate) fn words_of_run(&self) -> Vec<OsString> {
        let budget = units::duration_text(self.boot_budget_ns);
        let first = ["--budget", &budget].map(OsString::from);
        first.into_iter().chain(self.words.iter().cloned()).collect()
    }

    /// The words of a run that this program makes and saves as `out`.
    pub(crate) fn words(&self, program: &str, out: &str) -> Vec<OsString> {
        let first = [program, "run", "--out", out].map(OsString::from);
        first.into_iter().chain(self.words_of_run()).collect()
    }
}

/// The place of a boot's kernel among the two.
pub(crate) fn place_of(arm: Arm) -> usize {
    usize::from(arm == Arm::New)
}

/// Boots both kernels in rounds.
///
/// # Errors
/// The first boot cannot be made at all: that is no boot that failed.
pub(crate) fn conduct(plan: &Plan<'_>, place: &mut dyn Place, stop: &Stop) -> Result<Conducted> {
    let began = Instant::now();
    let mut boots: Vec<Made> = Vec::new();
    for (round, order) in (1..=plan.rounds).zip(orders(plan.seed)) {
        if plan.budget.is_some_and(|budget| !has_time(began, round, budget)) {
            break;
        }
        for arm in order {
            let first = boots.iter().find_map(|boot| boot.file.as_ref().ok()).cloned();
            let (interrupted, error) = match one(plan, place, round, arm, first.as_deref(), stop) {
                Ok(Some(made)) => {
                    boots.push(made);
                    continue;
                }
                Ok(None) => (true, None),
                Err(error) if boots.is_empty() => return Err(error),
                Err(error) => (false, Some(error)),
            };
            return Ok(Conducted { boots, interrupted, error });
        }
    }
    Ok(Conducted { boots, interrupted: false, error: None })
}

/// Makes a boot, and says what came of it; `None`: it was stopped. All boots send at the rates of
/// the `first` run.
///
/// # Errors
/// Nothing can be booted there, or not any more.
pub(crate) fn one(
    plan: &Plan<'_>,
    place: &mut dyn Place,
    round: usize,
    arm: Arm,
    first: Option<&str>,
    stop: &Stop,
) -> Result<Option<Made>> {
    let file = format!("r{round:02}-{}.jsonl.gz", plan.name(arm).replace(' ', "-"));
    let wanted = Wanted { arm, file: &file, first };
    let Some(Booted { took, failed }) = place.boot(plan, &wanted, stop)? else { return Ok(None) };
    let made = Made { round, arm, took, file: failed.map_or(Ok(file), Err) };
    let (kernels, _) = place.facts(&plan.names);
    said(plan, &made, &kernels[place_of(arm)].release);
    Ok(Some(made))
}

/// Guests on this machine.
pub(crate) struct Guests<'a> {
    pub(crate) kernels: &'a [Kernel; 2],
    pub(crate) machine: &'a Machine,
    /// Whether a boot is two guests on a wire, of which the far one has the first kernel.
    pub(crate) wire: bool,
}

impl Place for Guests<'_> {
    /// All boots send at the rates of the first run.
    fn boot(
        &mut self,
        plan: &Plan<'_>,
        wanted: &Wanted<'_>,
        stop: &Stop,
    ) -> Result<Option<Booted>> {
        let folder =
            std::env::current_dir().map_err(|error| Error::os("find this folder", error))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let job = Job {
            words: plan.words(OWN_PROGRAM, &format!("{OUT}/{}", wanted.file)),
            folder,
            environment: vec![("PATH".into(), path), ("COLUMNS".into(), "100".into())],
            host_name: host,
            modules: MODULES.map(str::to_owned).to_vec(),
            take_in: wanted.first.map(OsString::from),
            ..Job::default()
        };
        let besides = if self.machine.is_emulated() { BOOTING_EMULATED } else { BOOTING };
        let limit = Duration::from_nanos(plan.boot_budget_ns) + besides;
        let out = plan.out.canonicalize().map_err(|error| Error::os("find the folder", error))?;
        let kernel = &self.kernels[place_of(wanted.arm)];
        let guest = Boot { kernel, machine: self.machine, job: &job, share: Some(&out), limit };
        let (outcome, far) = if self.wire {
            let Pair { near, far } = wire::booted(guest, &self.kernels[0], stop)?;
            (near, Some(far))
        } else {
            (boot(guest, stop, &mut io::sink())?, None)
        };
        let is_stopped = |outcome: &Outcome| outcome.ended == Ended::Stopped;
        if is_stopped(&outcome) && far.as_ref().is_none_or(is_stopped) {
            return Ok(None);
        }
        let saved = out.join(wanted.file);
        let why = |outcome: &Outcome, command: &str| why(outcome, command, limit);
        let failed = match far.and_then(|far| wire::why(&far, &outcome, why)) {
            Some((why, last_lines)) => {
                // Half a run, which the near guest saved when it was alone.
                drop(std::fs::remove_file(saved));
                Some((format!("the far guest ({}): {why}", plan.names[0]), last_lines))
            }
            None if saved.metadata().is_ok_and(|found| found.len() > 0) => None,
            None => Some(why(&outcome, "zc run")),
        };
        Ok(Some(Booted { took: outcome.took, failed }))
    }

    fn facts(&self, names: &[String; 2]) -> ([KernelFacts; 2], MachineFacts) {
        let facts = |place: usize| {
            let kernel: &Kernel = &self.kernels[place];
            KernelFacts {
                name: names[place].clone(),
                given: kernel.given.to_string_lossy().into_owned(),
                release: kernel.release.clone(),
                version: kernel.version.clone(),
                modules: kernel.modules.is_some(),
            }
        };
        let machine = MachineFacts::Guest(GuestFacts {
            cpus: self.machine.cpus,
            memory_mib: self.machine.memory_mib,
            far_kernel: self.wire.then(|| names[0].clone()),
            emulated_because: match &self.machine.accelerator {
                Accelerator::Kvm => None,
                Accelerator::Emulated { why } => Some(why.clone()),
            },
        });
        (std::array::from_fn(facts), machine)
    }
}

/// Why a guest has not done what it was booted for, which is `command`, and the last lines of who
/// knows more.
fn why(outcome: &Outcome, command: &str, limit: Duration) -> (String, Vec<String>) {
    match &outcome.ended {
        Ended::Job(code) => {
            let lines: Vec<&str> = outcome.output.lines().collect();
            let error = lines.iter().rev().find_map(|line| line.strip_prefix("error: "));
            let error = error.map_or_else(String::new, |error| format!(": {}", escape(error, 500)));
            let last =
                if error.is_empty() { lines.len().saturating_sub(LAST_LINES) } else { lines.len() };
            let last = lines[last..].iter().map(|line| escape(line, 200)).collect();
            (format!("{command} ended in it with {code}{error}"), last)
        }
        Ended::Failed(why) => (why.clone(), outcome.last_lines(LAST_LINES)),
        Ended::Late | Ended::Stopped => (
            format!("it hangs: it was not done after {} s", limit.as_secs()),
            outcome.last_lines(LAST_LINES),
        ),
    }
}

/// A line of progress.
fn said(plan: &Plan<'_>, made: &Made, release: &str) {
    let seconds = made.took.as_secs_f64();
    let name = plan.name(made.arm);
    let what = match &made.file {
        Ok(file) => format!("saved as {}", escape(file, 100)),
        Err((why, _)) => format!("dropped: {}", escape(why, 300)),
    };
    let name = escape(&name, 40);
    let release = escape(release, 100);
    tell::note(&format!("round {}, {name} (Linux {release}): {what}, {seconds:.0} s", made.round));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(ended: Ended, output: &str, log: &str) -> Outcome {
        Outcome {
            ended,
            output: output.to_owned(),
            log: log.to_owned(),
            took: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_boot_without_a_run_says_why() {
        let limit = Duration::from_secs(105);
        let said = "3 of 9\nerror: the link \"null\" is missing [link-missing]\nhint: veth\n";
        let (text, last) = why(&outcome(Ended::Job(4), said, ""), "zc run", limit);
        assert_eq!(text, "zc run ended in it with 4: the link \"null\" is missing [link-missing]");
        assert!(last.is_empty());
        let (text, last) = why(&outcome(Ended::Job(139), "a\nb\n", ""), "zc run", limit);
        assert_eq!(text, "zc run ended in it with 139");
        assert_eq!(last, ["a", "b"]);
        let (text, last) = why(&outcome(Ended::Late, "", "[ 1] x\n"), "zc run", limit);
        assert!(text.contains("hangs") && text.contains("105 s"), "{text}");
        assert_eq!(last, ["[ 1] x"]);
        let panic = "the kernel panicked: no root".to_owned();
        let (text, _) = why(&outcome(Ended::Failed(panic.clone()), "", ""), "zc run", limit);
        assert_eq!(text, panic);
    }
}
