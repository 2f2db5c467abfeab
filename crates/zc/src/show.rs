//! `zc show FILE`: a saved run, read and printed again.

use std::io::IsTerminal as _;

use super::args::ShowArgs;
use super::resolve::Format;
use super::{read, render, tell};
use zc_run::{Error, Result};

/// Prints the run in the form that was asked for.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): the file cannot be read, or holds no run that this program can read.
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
    // The program ends here: to give a million pieces of memory back one by one would take longer than to print.
    std::mem::forget(run);
    tell::result(&text)?;
    if format == Format::Table && !args.format.verbose && std::io::stdout().is_terminal() {
        tell::next(&args.file, None);
    }
    Ok(())
}
