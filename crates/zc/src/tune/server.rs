//! What is asked of the server program of a configuration: the seam between servers and whoever runs
//! copies of them.

use std::path::Path;
use std::process::Command;

use zc_run::Result;
use zc_tune::Configured;

/// The most words of a server in an answer, in characters.
pub(super) const MOST_WORDS: usize = 200;

/// A server of this machine.
pub(super) trait Server {
    /// `nginx`.
    fn name(&self) -> &'static str;

    /// The program and its configuration in words.
    fn words(&self) -> String;

    /// What the program prints about how it was built.
    fn build(&self) -> &str;

    /// Reads the configuration, and chooses the site of a name, or one that answers with files.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): a file cannot be read, or is none of the server's.
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): it has no such site.
    fn read(&self, server_name: Option<&str>) -> Result<Box<dyn Configured>>;

    /// The name of a copy's configuration in the folder of the copy.
    fn conf(&self) -> &'static str;

    /// The command that checks the copy in a folder, and says on stderr what it refuses.
    fn check(&self, place: &Path) -> Command;

    /// The words of the command that runs the copy in a folder, in the foreground, and writes
    /// errors to a file.
    fn start(&self, place: &Path, errors: &Path) -> Vec<String>;

    /// What matters most of what a copy said, without time and process: the error that ended it,
    /// else its last one. `place` is the folder of the copy, which no one else knows.
    fn last_words(&self, said: &str, place: &Path) -> Option<String>;

    /// Why a copy cannot be given a listening socket that has options of its own; `None`: it can.
    fn why_no_socket(&self) -> Option<&'static str>;

    /// How an operator has the server check the configuration itself: `nginx -t`.
    fn own_check(&self) -> &'static str;

    /// Whether it answers with what other servers answer, so that there has to be one behind it.
    fn is_proxy(&self) -> bool {
        false
    }
}

/// Of lines with errors the one that matters most: the first of the level after which a server
/// ends, else the last of the levels that it survives.
pub(super) fn worst<'l>(lines: &[&'l str], ended: &str, survived: &[&str]) -> Option<&'l str> {
    let last = || lines.iter().rfind(|line| survived.iter().any(|level| line.contains(level)));
    lines.iter().find(|line| line.contains(ended)).or_else(last).copied()
}
