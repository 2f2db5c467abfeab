//! `zc export ARCHIVE`: the figures of all runs of an archive as one table, for other programs.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::fleet::archive_found;
use super::grouping::{GroupingArgs, of_one_experiment};
use super::{archive, replace, tell};
use zc_fleet::files::Whose;
use zc_report::fleet::{export_csv, export_parquet};
use zc_run::{Error, ErrorKind, Result};

/// Arguments of `zc export`.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// An archive: a folder of saved runs, as zc fleet collect fills it
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    archive: PathBuf,
    #[command(flatten)]
    grouping: GroupingArgs,
    /// Write Apache Parquet instead of CSV: columns with types, for DuckDB, pandas and Spark;
    /// the zc of packages has it, the one of cargo install does with --features parquet
    #[arg(long, requires = "out", help_heading = "Output")]
    parquet: bool,
    /// Where it is written; an older file is replaced once it is complete [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = "Output")]
    out: Option<PathBuf>,
}

/// Writes the table.
///
/// # Errors
/// [`ErrorKind::Input`]: it is no archive; [`ErrorKind::NothingKept`]: none of its runs is of use.
pub(super) fn run(args: &ExportArgs) -> Result<()> {
    args.out.as_deref().map(replace::check).transpose()?;
    let (files, grouping) = archive_found(&args.archive, &args.grouping)?;
    let document = archive::document(&files, &args.archive, Whose::Anybodys, |read| {
        for left in read.left_out.iter().take(3) {
            tell::warning(&format!("\"{}\" is left out: {}", left.name, left.why), None);
        }
        let more = read.left_out.len().saturating_sub(3);
        if more > 0 {
            tell::warning(&format!("{more} more runs are left out"), None);
        }
        let runs = of_one_experiment(read.runs, &args.grouping)?;
        if runs.is_empty() {
            let error = Error::new(
                ErrorKind::NothingKept,
                "no-usable-run",
                "the archive has no run that is of use",
            );
            return Err(error.help("zc fleet collect DIR --archive ARCHIVE fills it"));
        }
        Ok(match args.parquet {
            true => export_parquet(&runs, &grouping)?.into(),
            false => export_csv(&runs, &grouping).into(),
        })
    })?;
    replace::or_stdout(args.out.as_deref(), &document.bytes)
}
