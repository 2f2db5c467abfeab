//! `--build`: a command that builds a source tree before its kernel is booted.

use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::tell;
use zc_run::{Error, Result};

/// Runs the command (sh -c) in a source tree; what it prints goes to stderr.
///
/// # Errors
/// - [`ErrorKind::Usage`](zc_run::ErrorKind): that is no source tree.
/// - [`ErrorKind::Failed`](zc_run::ErrorKind): the command fails.
pub(super) fn build(command: &str, tree: &Path) -> Result<()> {
    let name = tell::path(tree);
    if !tree.join("Kconfig").is_file() {
        let message = format!("--build: \"{name}\" is no source tree of a kernel");
        return Err(Error::usage("not-a-source-tree", message)
            .help("give both trees with --kernel, as in --kernel A=linux-old --kernel B=linux"));
    }
    tell::note(&format!("building \"{name}\": {}", zc_run::escape(command, 200)));
    let stderr = std::io::stderr().as_fd().try_clone_to_owned();
    let stdout = stderr.map_or_else(|_| Stdio::null(), Stdio::from);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(tree).stdin(Stdio::null()).stdout(stdout);
    let status = shell.status().map_err(|error| Error::os("start sh", error))?;
    if status.success() {
        return Ok(());
    }
    let message = format!("the command of \"--build\" failed in \"{name}\" ({status})");
    Err(Error::failed("build-failed", message).help("what it printed is above"))
}
