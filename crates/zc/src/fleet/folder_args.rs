//! The folder of a fleet as an argument: whose folders are used, and which programs.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::file;
use zc_fleet::files::Whose;
use zc_fleet::fleet_file::Engine;
use zc_fleet::{FleetPlan, Folder};
use zc_run::{Error, Result, escape, in_words};

/// Whether another user's folder is used.
#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// Use the folder although it, or a file in it, belongs to another user, who decides what its
    /// jobs run on the hosts
    #[arg(long)]
    trust: bool,
}

impl TrustArgs {
    /// Owner that a file must have to be read.
    pub(super) fn whose(&self) -> Whose {
        if self.trust { Whose::Anybodys } else { Whose::Own }
    }
}

/// The folder of a fleet, for which programs are started.
#[derive(Debug, Args)]
pub(super) struct FolderArgs {
    /// The folder that zc fleet plan has made
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// Start the kubectl or ssh that this file names [default: that of the file that was planned,
    /// while it is unchanged]
    #[arg(long, value_name = "FLEET.toml", value_hint = ValueHint::FilePath)]
    programs: Option<PathBuf>,
}

impl FolderArgs {
    /// The folder and its plan. With Kubernetes every command calls kubectl.
    ///
    /// # Errors
    /// It is no folder of a fleet, or not used; which kubectl is called is not known.
    pub(super) fn open(&self) -> Result<(Folder, FleetPlan)> {
        self.open_to_start(&[Engine::Kubernetes])
    }

    /// Like [`FolderArgs::open`], for commands that start ssh, too.
    ///
    /// # Errors
    /// Same as for [`FolderArgs::open`].
    pub(super) fn open_to_submit(&self) -> Result<(Folder, FleetPlan)> {
        self.open_to_start(&[Engine::Kubernetes, Engine::Ssh])
    }

    fn open_to_start(&self, engines: &[Engine]) -> Result<(Folder, FleetPlan)> {
        let (folder, mut plan) = Folder::open(&self.folder, self.trust.whose())?;
        if !engines.contains(&plan.engine) {
            return Ok((folder, plan));
        }
        let engine = Some(plan.engine);
        if let Some(path) = &self.programs {
            plan.programs = file::read(path, engine)?.programs();
        } else if let Some(named_by) = &plan.programs_by {
            let name = escape(&named_by.path.to_string_lossy(), 400);
            let bytes = named_by.bytes(file::LARGEST_BYTES).map_err(|error| {
                let what = in_words(&error);
                let program = if plan.engine == Engine::Ssh { "ssh" } else { "kubectl" };
                let message =
                    format!("\"{name}\", which names the {program} command, is not used: {what}");
                Error::input("program-changed", message).help(
                    "--programs FLEET.toml takes the command from that file; it is not saved in \
                     the folder",
                )
            })?;
            plan.programs = file::parsed(&bytes, &name, engine)?.programs();
        }
        Ok((folder, plan))
    }
}
