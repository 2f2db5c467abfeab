//! `zc generate`: man pages, shell completions and JSON Schemas, for packagers. They are made
//! from the program's own definitions, so they cannot differ from it.

use std::io::{self, Write as _};

use clap::CommandFactory as _;
use clap_complete::{Generator as _, Shell};

use super::args::{Cli, GenerateArgs};
use super::{man, schema, tell};
use zc_kernel::open_folder::OpenFolder;
use zc_run::nearest::unknown_among;
use zc_run::{Error, Result, in_words};

/// Kinds of files that can be generated.
pub(super) const KINDS: [&str; 3] = ["man", "completions", "schema"];

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes the files.
///
/// # Errors
/// The kind of file is unknown, or the folder does not exist or is not writable.
pub(super) fn generate(args: &GenerateArgs) -> Result<()> {
    let wrong = |error: io::Error| {
        Error::output(
            "cannot-write",
            format!("cannot write to folder \"{}\": {}", tell::path(&args.dir), in_words(&error)),
        )
        .help("the folder must exist and be writable")
    };
    let files = match args.what.as_str() {
        "man" => man::pages(Cli::command()).map_err(wrong)?,
        "completions" => SHELLS.map(completions).to_vec(),
        "schema" => schema::files(),
        other => return Err(unknown_among("thing to generate", other, &KINDS)),
    };
    let folder = OpenFolder::open(&args.dir).map_err(wrong)?;
    let mut files = files.iter();
    files
        .try_for_each(|(name, text)| folder.replace(name.as_ref(), |file| file.write_all(text)))
        .map_err(wrong)
}

/// A file's name and its text.
fn completions(shell: Shell) -> (String, Vec<u8>) {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "zc", &mut text);
    (shell.file_name("zc"), text)
}
