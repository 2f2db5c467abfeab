//! `zc generate`: man pages and shell completions, for packagers. Made from the same definitions as the program, so
//! they cannot say anything else.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate_to};

use super::args::{Cli, GenerateArgs};
use super::{man, tell};
use zc_run::nearest::unknown_among;
use zc_run::{Error, Result, in_words};

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes them.
///
/// # Errors
/// What is wanted is unknown, or the folder is not there or not writable.
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
        other => Err(unknown_among("thing to generate", other, &["man", "completions"])),
    }
}
