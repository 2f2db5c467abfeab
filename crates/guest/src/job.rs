//! What a guest is to do: passed to its first process as a file of its initial file system.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a guest has the folder that it shares with the host.
pub const SHARE: &str = "/run/zc/share";
/// A folder in the guest's memory whose files are copied into the shared one when the job has ended.
/// Files are made there by the rights of the guest, and in the shared folder by those of the host's
/// user.
pub const OUT: &str = "/run/zc/out";
/// Where a guest has the program that it was started by.
pub const OWN_PROGRAM: &str = "/run/zc/zc";
/// A file in the guest's memory that has the token of its job.
pub const TOKEN: &str = "/run/zc/token";
/// Its folder for temporary files, in memory.
pub(crate) const TEMPORARY: &str = "/run/zc/tmp";

/// Where the first process finds its job, and the modules that it loads.
pub(crate) const JOB: &str = "job.json";
pub(crate) const MODULES: &str = "modules";

/// The names of the ports by which output and exit code leave.
pub(crate) const OUTPUT_PORT: &str = "out";
pub(crate) const CODE_PORT: &str = "code";

/// How lines begin by which the first process says on the console what it cannot do.
pub(crate) const SAYS: &str = "zc-guest: ";

/// A command, and what it finds in the guest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program, and its arguments.
    pub words: Vec<OsString>,
    /// Its current folder, one of the host's.
    pub folder: PathBuf,
    /// Its environment, besides HOME and TMPDIR.
    pub environment: Vec<(OsString, OsString)>,
    /// The guest's name.
    pub host_name: String,
    /// Modules that are loaded before, where the kernel has them as modules.
    pub modules: Vec<String>,
    /// A file of the shared folder that is copied into [`OUT`] before.
    pub take_in: Option<OsString>,
    /// What is put into [`TOKEN`], for nobody else's eyes.
    pub token: Option<String>,
    /// The address of eth0, `10.9.0.1/24`, on a wire to another guest.
    pub address: Option<String>,
    /// The host's folder of modules, `lib/modules`; set by [`boot`](crate::boot).
    pub tree: Option<PathBuf>,
    /// Whether there is a shared folder; set by [`boot`](crate::boot).
    pub shares: bool,
}
