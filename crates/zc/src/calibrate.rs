//! `zc calibrate RUN...`: by how much the costs of this machine differ from run to run while
//! nothing is changed. `zc compare --calibration RUN...` uses the same.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::format::WidthArgs;
use super::read::Saved;
use super::{apart, render, tell};
use zc_analysis::compare::{Calibration, Selection, calibrate};
use zc_report::compare::calibration as report;
use zc_run::{Error, ErrorKind, Result, Run, escape};

/// Arguments of `zc calibrate`.
#[derive(Debug, Args)]
pub(super) struct CalibrateArgs {
    /// Saved runs of one plan on one machine, between which nothing was changed
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath, required = true, num_args = 1..)]
    pub(super) runs: Vec<PathBuf>,
    /// Print one JSON document instead of the tables
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) width: WidthArgs,
}

/// Prints what they differ by.
///
/// # Errors
/// [`ErrorKind::Input`]: a file cannot be read, or is not a run; [`ErrorKind::Incomparable`]: the
/// runs are too few, or not of one kind.
pub(super) fn run(args: &CalibrateArgs) -> Result<()> {
    let saved = open(&args.runs)?;
    let document = apart::document(|| {
        let calibration = Runs::read(saved)?.calibration(None, &[])?;
        let text = if args.json {
            report::json(&calibration)
        } else {
            report::table(&calibration, render::columns(args.width))
        };
        Ok(text.into())
    })?;
    tell::result(&document.bytes)
}

/// Opens saved runs; each with its name.
///
/// # Errors
/// Same as for [`Saved::open`].
pub(super) fn open(files: &[PathBuf]) -> Result<Vec<(String, Saved)>> {
    files.iter().map(|file| Ok((file.display().to_string(), Saved::open(file)?))).collect()
}

/// The saved runs of a calibration, with their names.
pub(super) struct Runs(Vec<(String, Run)>);

impl Runs {
    /// # Errors
    /// Same as for [`Saved::read`].
    pub(super) fn read(saved: Vec<(String, Saved)>) -> Result<Self> {
        let read = |(name, saved): (String, Saved)| Ok((name, saved.read()?));
        Ok(Self(saved.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// Difference between the runs. They must be like the runs compared. The old run may be one of
    /// them, the new ones are left out: a change would be part of its own yardstick.
    ///
    /// # Errors
    /// [`ErrorKind::Incomparable`].
    pub(super) fn calibration(
        &self,
        old: Option<&Selection<'_>>,
        new: &[Selection<'_>],
    ) -> Result<Calibration> {
        let runs: Vec<Selection<'_>> = self
            .0
            .iter()
            .map(|(name, run)| Selection { name: name.clone(), run, cell: None, state: None })
            .collect();
        let calibration = calibrate(&runs, new).map_err(|why| {
            let (sentence, hint) = report::refusal(&why);
            let error = Error::new(ErrorKind::Incomparable, "cannot-calibrate", sentence);
            match hint {
                Some(hint) => error.help(hint),
                None => error,
            }
        })?;
        for run in old.into_iter().chain(new) {
            let differences = calibration.unlike(run);
            if !differences.is_empty() {
                let message =
                    format!("the calibration does not hold for \"{}\"", escape(&run.name, 200));
                return Err(Error::new(
                    ErrorKind::Incomparable,
                    "calibration-of-another-machine",
                    message,
                )
                .help(report::disqualifying(&differences)));
            }
        }
        Ok(calibration)
    }
}
