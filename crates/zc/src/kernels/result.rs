//! The answer: the runs of all boots, read and compared in a process without rights, as a table or
//! as JSON, which is also kept beside the runs.

use super::super::apart::{self, Document};
use super::super::compare::code_of;
use super::super::experiment;
use super::super::format::FormatArgs;
use super::super::kernel_args::KernelArgs;
use super::super::read::Saved;
use super::super::{render, replace, tell};
use super::conduct::{Made, Place, Plan};
use zc_analysis::compare::kernels::{Arm, Boot, judgement, kernels};
use zc_guest::ConfigDifference;
use zc_report::kernels::{
    BootFacts, BootOutcome, ConfigOption, KernelsReport, config, json, tap, text,
};
use zc_report::{Layout, commit_message};
use zc_run::{Result, Run};

/// What is printed, and how.
pub(super) struct Asked<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) place: &'a dyn Place,
    pub(super) boots: Vec<Made>,
    pub(super) interrupted: bool,
    pub(super) config: Option<Vec<ConfigDifference>>,
    pub(super) args: &'a KernelArgs,
    pub(super) format: FormatArgs,
}

/// What came of it.
pub(super) enum Answer {
    /// The exit code.
    Code(u8),
    /// No boot of the kernel of this name was measured.
    NotMeasured(String),
}

/// The code of a document whose first kernel has no run; that of the second one follows. No answer
/// has it.
const NOT_MEASURED: u8 = 200;

/// Prints the answer.
///
/// # Errors
/// stdout or the folder cannot be written.
pub(super) fn print(asked: Asked<'_>) -> Result<Answer> {
    let columns = render::columns(asked.format.width);
    let (out, names) = (asked.plan.out, asked.plan.names.clone());
    let command = experiment::command();
    let opened: Vec<Option<Result<Saved>>> = asked
        .boots
        .iter()
        .map(|made| made.file.as_ref().ok().map(|file| Saved::open(&out.join(file))))
        .collect();
    let document = apart::document(|| {
        let (report, run) = report(&asked, opened);
        let shown = match &report.judgement {
            _ if asked.format.json => json(&report),
            _ if asked.format.commit_message => {
                commit_message::kernels(&report, &command, run.as_ref())
            }
            Some(judgement) if asked.args.tap => tap(&report, judgement),
            _ => {
                let mut shown = text(&report, Layout { columns, verbose: true, colour: false });
                if let Some(options) = report.config.as_ref().filter(|_| asked.args.config_diff) {
                    shown.push('\n');
                    shown.push_str(&config(options, names.each_ref().map(String::as_str)));
                }
                shown
            }
        };
        let is_missing = |is_new: bool| report.counts(is_new).1 == 0;
        let code = match [false, true].into_iter().position(is_missing) {
            Some(place) => NOT_MEASURED + place as u8,
            None => report.judgement.as_ref().map_or(0, |judgement| code_of(judgement.outcome)),
        };
        Ok(Document { aside: json(&report), ..Document::with_code(shown, code) })
    })?;
    let kept = replace::file(&out.join("kernels.json"), &document.aside);
    tell::result(&document.bytes)?;
    kept?;
    let missing = document.code.checked_sub(NOT_MEASURED);
    let missing = missing.and_then(|place| names.get(usize::from(place)));
    Ok(missing.map_or(Answer::Code(document.code), |name| Answer::NotMeasured(name.clone())))
}

/// The whole document, and the run of a boot, of the second kernel if there is one. A run that
/// cannot be read is a boot that was dropped.
fn report(asked: &Asked<'_>, opened: Vec<Option<Result<Saved>>>) -> (KernelsReport, Option<Run>) {
    let plan = asked.plan;
    let mut boots: Vec<BootFacts> = Vec::new();
    let mut runs: Vec<(usize, Arm, Run)> = Vec::new();
    for (made, saved) in asked.boots.iter().zip(opened) {
        let read = saved.map(|saved| saved.and_then(Saved::read_silently));
        let outcome = match (&made.file, read) {
            (Ok(file), Some(Ok(run))) => {
                let blocks = run.blocks.len();
                runs.push((made.round, made.arm, run));
                BootOutcome::Measured { file: file.clone(), blocks }
            }
            (Err((why, last)), _) => {
                BootOutcome::Dropped { why: why.clone(), last_lines: last.clone() }
            }
            (Ok(_), other) => {
                let error = other.and_then(Result::err).map(|error| error.message);
                let why = format!("its run cannot be read: {}", error.unwrap_or_default());
                BootOutcome::Dropped { why, last_lines: Vec::new() }
            }
        };
        let took_s = (made.took.as_secs_f64() * 10.0).round() / 10.0;
        boots.push(BootFacts { round: made.round, arm: made.arm, took_s, outcome });
    }
    let measured: Vec<Boot<'_>> =
        runs.iter().map(|(round, arm, run)| Boot { round: *round, arm: *arm, run }).collect();
    let comparison = kernels(&measured);
    let judgement = asked.args.fail_if_worse.map(|margin| judgement(&comparison, margin));
    let word = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    let (kernels, machine) = asked.place.facts(&plan.names);
    let report = KernelsReport {
        kernels,
        machine,
        seed: plan.seed,
        command: plan.words("zc", "FILE").into_iter().map(word).collect(),
        folder: plan.out.to_string_lossy().into_owned(),
        boots,
        interrupted: asked.interrupted,
        config: asked.config.as_ref().map(|options| options.iter().map(option).collect()),
        comparison,
        judgement,
    };
    let place = runs.iter().position(|(_, arm, _)| *arm == Arm::New).unwrap_or(0);
    (report, runs.into_iter().nth(place).map(|(_, _, run)| run))
}

fn option(difference: &ConfigDifference) -> ConfigOption {
    let ConfigDifference { name, old, new } = difference.clone();
    ConfigOption { name, old, new }
}
