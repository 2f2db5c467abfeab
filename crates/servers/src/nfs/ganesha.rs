//! nfs-ganesha: an NFS server in user space, from a package of the distribution.
//!
//! Reference: its manual pages ganesha-core-config(8), ganesha-export-config(8), ganesha-config(8).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::place::{self, MOST_BYTES, MOUNT_PORT, NFS_PORT, cannot};
use super::program::find;
use zc_kernel::spawn::HeldSignals;
use zc_run::{Error, Unavailable};

/// Its program.
const PROGRAM: &str = "ganesha.nfsd";

/// Folders in which distributions keep its plugins for file systems.
const PLUGINS: [&str; 5] = [
    "/usr/lib/x86_64-linux-gnu/ganesha",
    "/usr/lib/aarch64-linux-gnu/ganesha",
    "/usr/lib64/ganesha",
    "/usr/lib/ganesha",
    "/usr/local/lib/ganesha",
];

/// The plugin for file systems of the kernel.
const VFS: &str = "libfsalvfs.so";

/// An installed nfs-ganesha.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Ganesha {
    program: PathBuf,
    plugins: PathBuf,
}

/// Its configuration, and folders that it expects.
const CONFIG: &str = "/run/ganesha.conf";
const PID_FILE: &str = "/run/ganesha.pid";
const FOLDERS: [&str; 2] = ["/run/ganesha", "/var/lib/nfs/ganesha"];

impl Ganesha {
    /// The one of this machine.
    pub(super) fn find() -> Result<Self, Unavailable> {
        let absent = |what: &str| {
            Unavailable::unsupported(format!("there is no {what}"))
                .remedy("apt-get install nfs-ganesha nfs-ganesha-vfs")
        };
        let program = find(PROGRAM).ok_or_else(|| absent(PROGRAM))?;
        let plugins = PLUGINS.iter().map(Path::new).find(|folder| folder.join(VFS).is_file());
        let plugins = plugins.ok_or_else(|| absent(VFS))?.to_owned();
        Ok(Self { program, plugins })
    }

    /// The first line of what it says of its version.
    pub(super) fn version(&self) -> String {
        let said = Command::new(&self.program).arg("-v").output();
        let said =
            said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
        said.lines().next().unwrap_or_default().trim().to_owned()
    }

    /// Its settings, by which `export` is served under the name `name`, and nothing else is.
    fn config(&self, export: &Path, name: &str, writable: bool) -> String {
        let (plugins, export) = (self.plugins.display(), export.display());
        let access = if writable { "RW" } else { "RO" };
        format!(
            r#"NFS_KRB5 {{ Active_krb5 = false; }}
NFS_CORE_PARAM {{
    NFS_Port = {NFS_PORT};
    MNT_Port = {MOUNT_PORT};
    NFS_Protocols = 3, 4;
    Mount_Path_Pseudo = true;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Enable_UDP = false;
    Plugins_Dir = "{plugins}";
}}
NFSv4 {{ Graceless = true; RecoveryBackend = fs; Minor_Versions = 0, 1, 2; }}
EXPORT_DEFAULTS {{ SecType = sys; Squash = No_Root_Squash; Access_Type = {access}; PrivilegedPort = false; }}
EXPORT {{
    Export_Id = 1;
    Path = {export};
    Pseudo = /{name};
    Protocols = 3, 4;
    Transports = TCP;
    MaxRead = {MOST_BYTES};
    PrefRead = {MOST_BYTES};
    MaxWrite = {MOST_BYTES};
    PrefWrite = {MOST_BYTES};
    FSAL {{ Name = VFS; }}
}}
"#
        )
    }

    /// Serves the file system at `export` under the name `name`, from this mount and network
    /// namespace, `writable` or read-only, until it ends or this process is told to. What it cannot
    /// do it says to stderr.
    ///
    /// # Errors
    /// It ends.
    pub(super) fn serve(
        &self,
        export: &Path,
        name: &str,
        writable: bool,
        signals: &HeldSignals,
    ) -> zc_run::Result<()> {
        place::folders(FOLDERS)?;
        fs::write(CONFIG, self.config(export, name, writable)).map_err(cannot(CONFIG))?;
        let mut command = Command::new(&self.program);
        command.args(["-F", "-L", "STDERR", "-N", "NIV_MAJ"]);
        command.args(["-f", CONFIG, "-p", PID_FILE]);
        match place::run(command, signals, || Ok(()))? {
            Some(status) => {
                Err(Error::failed("nfs-server-ended", format!("nfs-ganesha ended: {status}")))
            }
            None => Ok(()),
        }
    }
}
