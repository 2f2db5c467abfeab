//! Command-line words of the processes that zc starts for its own use.

/// First argument of a process that zc starts for its own use (`/proc/self/exe`); the second says
/// which.
pub const INTERNAL: &str = "--internal";
/// The process that restores the host's state (`zc_measure::session::states::watchdog`).
pub const WATCHDOG: &str = "watchdog";
/// The process that keeps a server (`zc_servers::keep_server`).
pub const KEEPER: &str = "keeper";
/// The process that starts several servers as one (`zc_servers::serve_copies`); the argument after
/// it is the file that lists them.
pub const COPIES: &str = "copies";
/// The process that removes a folder when the one that made it is gone (`zc tune`); the argument
/// after it is the folder.
pub const FOLDER: &str = "folder";
/// The process that serves NFS (`zc_servers::serve_nfs`); the argument after it is its job as
/// JSON.
pub const NFS_SERVE: &str = "nfs-serve";
/// The process that reads from mounts of NFS (`zc_servers::read_by_mounts`); the arguments after it
/// are the files by which it is told what to do.
pub const NFS_READ: &str = "nfs-read";
/// A process with soakers or a load of its own (`meter`); the argument after it is its job as JSON.
pub const HELPER: &str = "helper";
/// The first process of a guest (`zc_guest::first_process`).
pub const GUEST_INIT: &str = "guest-init";
/// The process that boots a guest for lab/run (`zc_guest::boot`); the arguments after it say which.
pub const GUEST: &str = "guest";
