//! The answer: the runs of all boots, read and compared in a process without rights, as a table or
//! as JSON, which is also kept beside the runs.

use super::super::apart::{self, Document};
use super::super::format::FormatArgs;
use super::super::read::Saved;
use super::super::{render, replace, tell};
use super::conduct::{Made, Place, Plan};
use zc_analysis::compare::kernels::{Arm, Boot, kernels};
use zc_guest::ConfigDifference;
use zc_report::Layout;
use zc_report::kernels::{BootFacts, BootOutcome, ConfigOption, KernelsReport, config, json, text};
use zc_run::{Result, Run};

/// What is printed, and how.
pub(super) struct Asked<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) place: &'a dyn Place,
    pub(super) boots: Vec<Made>,
    pub(super) interrupted: bool,
    pub(super) config: Option<Vec<ConfigDifference>>,
    pub(super) config_diff: bool,
    pub(super) format: FormatArgs,
}

/// Prints the answer. Returns the name of a kernel of which no boot was measured, if there is one.
///
/// # Errors
/// stdout or the folder cannot be written.
pub(super) fn print(asked: Asked<'_>) -> Result<Option<String>> {
    let columns = render::columns(asked.format.width);
    let (out, names) = (asked.plan.out, asked.plan.names.clone());
    let (is_json, with_config) = (asked.format.json, asked.config_diff);
    let opened: Vec<Option<Result<Saved>>> = asked
        .boots
        .iter()
        .map(|made| made.file.as_ref().ok().map(|file| Saved::open(&out.join(file))))
        .collect();
    let document = apart::document(|| {
        let report = report(&asked, opened);
        let shown = if is_json {
            json(&report)
        } else {
            let mut shown = text(&report, Layout { columns, verbose: true, colour: false });
            if let Some(options) = report.config.as_ref().filter(|_| with_config) {
                shown.push('\n');
                shown.push_str(&config(options, names.each_ref().map(String::as_str)));
            }
            shown
        };
        let is_missing = |is_new: bool| report.counts(is_new).1 == 0;
        // 1 and 2: the kernel without a run.
        let code =
            [false, true].into_iter().position(is_missing).map_or(0, |place| place as u8 + 1);
        Ok(Document { aside: json(&report), ..Document::with_code(shown, code) })
    })?;
    replace::file(&out.join("kernels.json"), &document.aside)?;
    tell::result(&document.bytes)?;
    Ok(usize::from(document.code).checked_sub(1).and_then(|place| names.get(place)).cloned())
}

/// The whole document. A run that cannot be read is a boot that was dropped.
fn report(asked: &Asked<'_>, opened: Vec<Option<Result<Saved>>>) -> KernelsReport {
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
    let word = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    let comparison = kernels(&measured);
    let (kernels, machine) = asked.place.facts(&plan.names);
    KernelsReport {
        kernels,
        machine,
        seed: plan.seed,
        command: plan.words("zc", "FILE").into_iter().map(word).collect(),
        folder: plan.out.to_string_lossy().into_owned(),
        boots,
        interrupted: asked.interrupted,
        config: asked.config.as_ref().map(|options| options.iter().map(option).collect()),
        comparison,
    }
}

fn option(difference: &ConfigDifference) -> ConfigOption {
    let ConfigDifference { name, old, new } = difference.clone();
    ConfigOption { name, old, new }
}
