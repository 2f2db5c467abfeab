//! `zc show FILE`: a saved run, read and printed again.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::apart::{self, Document};
use super::format::{Format, FormatArgs};
use super::known::one_of;
use super::read::Saved;
use super::{render, tell};
use zc_report::Per;
use zc_run::nearest::unknown_among;
use zc_run::{Error, Result, Run};

/// Arguments of `zc show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// A run that `zc run` has saved
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) file: PathBuf,
    /// Print the folded stacks of a run of `zc profile`, as flame graph tools read them
    #[arg(
        long,
        help_heading = "Output",
        conflicts_with_all = ["json", "csv", "markdown", "commit_message"],
    )]
    pub(super) folded: bool,
    /// Add a table of costs with so many ns for each fragment of a packet, which a network card
    /// maps for DMA (runs over the link null)
    #[arg(
        long,
        value_name = "NS",
        allow_hyphen_values = true,
        help_heading = "Output",
        conflicts_with_all = ["json", "csv", "markdown", "commit_message", "folded"],
    )]
    pub(super) dma_ns_per_fragment: Option<String>,
    /// Add a table of what a packet, a system call and an acknowledgement cost, as far as they were
    /// counted: packet,call,ack
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = one_of(COUNTED.iter().map(|(name, _)| *name), counted),
        hide_possible_values = true,
        help_heading = "Output",
        conflicts_with_all = ["json", "csv", "markdown", "commit_message", "folded"],
    )]
    pub(super) per: Vec<Per>,
    #[command(flatten)]
    pub(super) format: FormatArgs,
}

/// What `--per` takes.
const COUNTED: [(&str, Per); 3] = [("packet", Per::Packet), ("call", Per::Call), ("ack", Per::Ack)];

fn counted(name: &str) -> Result<Per> {
    let found = COUNTED.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, per)| *per)
        .ok_or_else(|| unknown_among("count", name, &COUNTED.map(|(known, _)| known)))
}

/// The most that a fragment may cost, ns: it would be more than all else.
const MOST_NS: f64 = 1e6;

/// Parses the cost of a fragment in ns.
fn ns_per_fragment(text: &str) -> Result<f64> {
    text.parse::<f64>().ok().filter(|ns| (0.0..=MOST_NS).contains(ns)).ok_or_else(|| {
        Error::usage(
            "invalid-number",
            format!(
                "--dma-ns-per-fragment: \"{}\" is not a number from 0 to {MOST_NS:.0}",
                zc_run::escape(text, 40)
            ),
        )
        .help("nanoseconds without a unit: 50")
    })
}

/// Prints the run in the requested form.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): the file cannot be read, or is not a run that this
/// program can read.
pub(super) fn show(args: &ShowArgs) -> Result<()> {
    let saved = Saved::open(&args.file)?;
    let format = Format::from(args.format);
    let document = apart::document(|| text(saved.read()?, args).map(Document::from))?;
    tell::result(&document.bytes)?;
    let is_table = format == Format::Table && !args.folded;
    if is_table && !args.format.verbose && std::io::stdout().is_terminal() {
        tell::next(&args.file, None);
    }
    Ok(())
}

fn text(run: Run, args: &ShowArgs) -> Result<String> {
    if args.folded {
        if run.header.sampling.is_none() {
            let message = format!(
                "the run in \"{}\" was not sampled, so it has no stacks",
                tell::path(&args.file)
            );
            return Err(Error::input("run-without-samples", message).help("zc profile samples"));
        }
        return Ok(zc_report::folded(&run));
    }
    let mut text = render::document(&run, args.format);
    if let Some(ns) = &args.dma_ns_per_fragment {
        text.push('\n');
        text.push_str(&render::dma(&run, ns_per_fragment(ns)?, &args.file, args.format.width)?);
    }
    if !args.per.is_empty() {
        text.push('\n');
        text.push_str(&render::per(&run, &args.per, &args.file, args.format)?);
    }
    // The program ends here: freeing a million allocations would take longer than printing.
    std::mem::forget(run);
    Ok(text)
}
