//! `zc doctor`: what is available to this user on this machine, and how fit the machine is to
//! measure. A machine that is not fit has an exit code of its own (docs/exit-codes.md).

use clap::Args;

use super::format::WidthArgs;
use super::{render, tell};
use zc_measure::session;
use zc_report::doctor::{Fitness, json, text};
use zc_run::{Error, ErrorKind, Result};

/// Arguments of `zc doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print one JSON document instead of the text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    width: WidthArgs,
}

/// Examines the machine and prints the findings.
///
/// # Errors
/// The machine cannot be examined. [`ErrorKind::Withheld`]: it is not fit to measure.
pub(super) fn doctor(args: &DoctorArgs) -> Result<()> {
    let session::Findings { host, rows, warnings } = session::examine()?;
    tell::result(&match args.json {
        true => json(&host, &rows, &warnings),
        false => text(&host, &rows, &warnings, render::columns(args.width)),
    })?;
    match Fitness::from_warnings(&warnings) {
        Fitness::Fit | Fitness::WithNotes | Fitness::WithDoubts => Ok(()),
        Fitness::Unfit => {
            let message = "this machine is not fit to measure as it is";
            let hint = "what is called unfit above, or \"withhold\" with --json, says why";
            Err(Error::new(ErrorKind::Withheld, "machine-unfit", message).help(hint))
        }
    }
}
