//! `zc generate`: man pages, shell completions and JSON Schemas, for packagers. They are made
//! from the program's own definitions, so they cannot differ from it.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate_to};

use super::args::{Cli, GenerateArgs};
use super::{man, schema, tell};
use zc_run::nearest::unknown_among;
use zc_run::{Error, Result, in_words};

/// What can be generated.
pub(super) const KINDS: [&str; 3] = ["man", "completions", "schema"];

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes the files.
///
/// # Errors
/// The kind of file is unknown, or the folder does not exist or is not writable.
pub(super) fn generate(args: &GenerateArgs) -> Result<()> {
    let mut command = Cli::command();
    let wrong = |error: std::io::Error| {
        Error::output(format!(
            "cannot write to folder \"{}\": {}",
            tell::path(&args.dir),
            in_words(&error)
        ))
        .help("the folder must exist and be writable")
    };
    match args.what.as_str() {
        "man" => man::write(command, &args.dir).map_err(wrong),
        "completions" => {
            for shell in SHELLS {
                generate_to(shell, &mut command, "zc", &args.dir).map_err(wrong)?;
            }
            Ok(())
        }
        "schema" => schema::write(&args.dir).map_err(wrong),
        other => Err(unknown_among("thing to generate", other, &KINDS)),
    }
}
