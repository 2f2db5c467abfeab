//! `zc fleet submit DIR`.

mod by_kubernetes;
mod by_slurm;
mod by_ssh;
mod waiting;

use clap::Args;

use crate::fleet::folder_args::FolderArgs;
use zc_fleet::fleet_file::Engine;
use zc_run::Result;

/// Arguments of `zc fleet submit`.
#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Go on until every measurement was tried, as it always is with ssh. Ctrl-C ends this command,
    /// and the same one goes on
    #[arg(long)]
    wait: bool,
    /// Print the commands, and start none
    #[arg(long)]
    dry_run: bool,
}

/// Submits what is missing, and returns the exit code.
///
/// # Errors
/// There is no such scheduler here, or it refuses.
pub(super) fn run(args: &SubmitArgs) -> Result<u8> {
    let (folder, plan) = args.folder.open_to_submit()?;
    // Two at once would measure everything twice, and beside each other.
    let lock = match args.dry_run {
        true => None,
        false => Some(folder.lock("zc fleet submit")?),
    };
    match plan.engine {
        Engine::Slurm => by_slurm::submit(&folder, &plan, args.wait, lock),
        Engine::Ssh => by_ssh::submit(&folder, &plan, args.dry_run),
        Engine::Kubernetes => by_kubernetes::submit(&folder, &plan, args.wait, args.dry_run),
    }
}
