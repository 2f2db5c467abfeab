//! `zc convert FILE...`: saved runs of any format that zc reads, written in the one that it writes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::apart::{self, Document};
use super::read::Saved;
use super::{archive, replace, tell};
use zc_run::{Error, Result};

/// Arguments of `zc convert`.
#[derive(Debug, Args)]
pub(super) struct ConvertArgs {
    /// Saved runs of any format that zc reads
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Where the run is written, if there is one FILE; `-` is stdout [default: FILE as .jsonl.gz]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
}

/// Writes each run to a file of its own, and prints the names of the files.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): a file is no run that zc reads.
/// [`ErrorKind::Output`](zc_run::ErrorKind): one cannot be written, or is there already.
pub(super) fn convert(args: &ConvertArgs) -> Result<()> {
    if args.out.is_some() && args.files.len() > 1 {
        return Err(Error::usage(
            "one-output-for-several",
            "-o names one file, and there are several runs",
        )
        .help("without -o each run is written to a file of its own"));
    }
    for file in &args.files {
        let out = match &args.out {
            Some(out) => out.clone(),
            None => unused(file)?,
        };
        let is_stdout = out == Path::new("-");
        if !is_stdout {
            replace::check(&out)?;
        }
        let saved = Saved::open(file)?;
        let document = apart::document(|| {
            let lines = zc_run::run_lines(&saved.read()?);
            Ok(match zc_run::is_compressed(&out) {
                true => Document::from(zc_run::gzip_members(&lines)),
                false => Document::from(lines),
            })
        })?;
        replace::or_stdout((!is_stdout).then_some(out.as_path()), &document.bytes)?;
        if args.out.is_none() {
            tell::result(&format!("{}\n", tell::path(&out)))?;
        }
    }
    Ok(())
}

/// The name of the converted file, which is not there yet.
fn unused(file: &Path) -> Result<PathBuf> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let out = file.with_file_name(format!("{}.jsonl.gz", archive::stem(&name)));
    match out.symlink_metadata() {
        Ok(_) => Err(Error::output(
            "file-exists",
            format!("file \"{}\" exists already", tell::path(&out)),
        )
        .help("choose another name with -o, or move it away")),
        Err(_) => Ok(out),
    }
}
