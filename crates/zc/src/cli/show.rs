//! `zc show FILE`: a saved run, read and printed again.

use super::args::ShowArgs;
use super::resolve::Format;
use super::{read, render, tell};
use crate::record::Result;

/// Shows it.
///
/// # Errors
/// [`FaultKind::Input`](crate::record::FaultKind): the file cannot be read, or holds no run that this program can read.
pub(super) fn show(args: &ShowArgs) -> Result<()> {
    let run = read::run(&args.file)?;
    tell::result(&render::document(&run, Format::from(args.format)))
}
