//! `zc show FILE`: a saved run, read and printed again.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::format::{Format, FormatArgs};
use super::{read, render, tell};
use zc_run::{Error, Result};

/// Arguments of `zc show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// A run that `zc run` has saved
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) file: PathBuf,
    /// Print the folded stacks of a run of `zc profile`, as flame graph tools read them
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv", "markdown"])]
    pub(super) folded: bool,
    #[command(flatten)]
    pub(super) format: FormatArgs,
}

/// Prints the run in the requested form.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): the file cannot be read, or is not a run that this
/// program can read.
pub(super) fn show(args: &ShowArgs) -> Result<()> {
    let run = read::run(&args.file)?;
    if args.folded {
        if run.header.sampling.is_none() {
            let message = format!(
                "the run in \"{}\" was not sampled, so it has no stacks",
                tell::path(&args.file)
            );
            return Err(Error::input(message).help("zc profile samples"));
        }
        return tell::result(&zc_report::folded(&run));
    }
    let format = Format::from(args.format);
    let text = render::document(&run, format, args.format.verbose);
    // The program ends here: freeing a million allocations would take longer than printing.
    std::mem::forget(run);
    tell::result(&text)?;
    if format == Format::Table && !args.format.verbose && std::io::stdout().is_terminal() {
        tell::next(&args.file, None);
    }
    Ok(())
}
