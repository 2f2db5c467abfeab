//! The process that serves: it makes the place in which the server finds its export and its state, and
//! waits for it. `zc --internal nfs-serve`, kept by the keeper of every server of zc's.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};

use super::super::kept::{Kept, OWN_PROGRAM, Wanted};
use super::ganesha::{Ganesha, MOUNT_PORT, NFS_PORT};
use super::port_mapper;
use crate::internal::{INTERNAL, NFS_SERVE};
use crate::link::Link;
use crate::workload::FileSet;
use zc_kernel::netns::unshare_mounts;
use zc_kernel::privileges::has_capabilities;
use zc_run::{Error, Result, SendPath, Unavailable};

/// What is hidden from the server by folders that are empty: the host's sockets, locks and state.
const HIDDEN: [&str; 2] = ["/run", "/var/lib"];

/// Where it finds what zc made for it.
const EXPORT: &str = "/run/zc-export";
const CONFIG: &str = "/run/ganesha.conf";
const PID_FILE: &str = "/run/ganesha.pid";

/// Folders that it expects.
const FOLDERS: [&str; 3] = ["/run/ganesha", "/run/rpcbind", "/var/lib/nfs/ganesha"];

/// The congestion control of this network namespace.
const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Where local programs find the port mapper.
const RPCBIND_SOCKET: &str = "/run/rpcbind.sock";

/// The export's name, and that of its one file.
const NAME: &str = "zc";
const FILE: &str = "file";

/// How long it may take to end after SIGTERM, before it is killed.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is to be served: a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    ganesha: Ganesha,
    /// The files whose bytes, one after the other, are the file that is served.
    sources: Vec<PathBuf>,
    /// The congestion control of what it sends.
    congestion: String,
}

/// What a server exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The program and its version.
    pub server: String,
}

impl Exported {
    /// The URL of the file as libnfs knows it, at an address of the server's.
    pub fn url(&self, address: std::net::IpAddr, version: SendPath) -> String {
        let version = if version == SendPath::Nfs3 { 3 } else { 4 };
        format!(
            "nfs://{address}/{NAME}/{FILE}?version={version}&nfsport={NFS_PORT}&mountport={MOUNT_PORT}"
        )
    }
}

/// Why this process cannot start nfs-ganesha; `None`: it can. To be asked before a link is brought up: a
/// user gets a user namespace for that, in which the process has all capabilities.
pub fn why_no_server() -> Option<Unavailable> {
    let is_first = fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
    (!has_capabilities() || !is_first).then(|| {
        Unavailable::refused(
            "nfs-ganesha opens files by their handles, for which it needs CAP_DAC_READ_SEARCH",
        )
        .remedy("run as root")
    })
}

/// Starts nfs-ganesha on `cpu`, on the sender's side of a link. It serves one file with the bytes of all
/// `files`, and sends with this congestion control.
///
/// # Errors
/// It is not installed, or may not be used; its processes cannot be started.
pub fn start_server(
    files: &FileSet,
    link: &dyn Link,
    cpu: usize,
    congestion: &str,
) -> Result<(Kept, Exported)> {
    const WHAT: &str = "the NFS server \"ganesha\"";
    let ganesha = Ganesha::find().map_err(|no| no.into_error(WHAT))?;
    let own = std::process::id();
    let source = |file: &File| PathBuf::from(format!("/proc/{own}/fd/{}", file.as_raw_fd()));
    let sources = files.files.iter().map(|each| source(&each.file)).collect();
    let exported = Exported { server: ganesha.version() };
    let job = serde_json::to_string(&Job { ganesha, sources, congestion: congestion.to_owned() })
        .map_err(|_| Error::failed("what is to be served cannot be said"))?;
    let words = [OWN_PROGRAM, INTERNAL, NFS_SERVE, &job].map(str::to_owned).into();
    let wanted =
        Wanted { what: "the NFS server".to_owned(), words, cpus: vec![cpu], patience: PATIENCE };
    Ok((Kept::start(wanted, || link.enter_sender())?, exported))
}

/// The whole life of the process that serves.
///
/// # Errors
/// The place cannot be made, or the server ends.
pub fn serve(job: &str) -> Result<()> {
    let job: Job =
        serde_json::from_str(job).map_err(|_| Error::usage("the job is not understood"))?;
    unshare_mounts().map_err(cannot("a mount namespace"))?;
    for folder in HIDDEN {
        empty(folder).map_err(cannot(folder))?;
    }
    for folder in FOLDERS.into_iter().chain([EXPORT]) {
        fs::create_dir_all(folder).map_err(cannot(folder))?;
    }
    // A file system of its own, as servers tell exports apart by theirs.
    let sources = job.sources.iter().map(File::open).collect::<io::Result<Vec<_>>>();
    let sources = sources.map_err(cannot("the files"))?;
    empty(EXPORT).map_err(cannot(EXPORT))?;
    copy(sources, &Path::new(EXPORT).join(FILE)).map_err(cannot("the file"))?;
    fs::write(CONFIG, job.ganesha.config(Path::new(EXPORT), NAME)).map_err(cannot(CONFIG))?;
    // That of the network namespace, which is zc's: servers of NFS choose none.
    fs::write(CONGESTION, &job.congestion).map_err(cannot("its congestion control"))?;
    port_mapper::start(Path::new(RPCBIND_SOCKET)).map_err(cannot("a port mapper"))?;
    let status = job
        .ganesha
        .command(Path::new(CONFIG), Path::new(PID_FILE))
        .status()
        .map_err(|error| Error::os("start nfs-ganesha", error))?;
    Err(Error::failed(format!("nfs-ganesha ended: {status}")))
}

/// What could not be made of the place.
fn cannot(what: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::os(format!("make a place for the NFS server: {what}"), error)
}

/// Mounts an empty file system in memory.
fn empty(folder: &str) -> io::Result<()> {
    mount("zc", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"size=100%")
        .map_err(Into::into)
}

fn copy(sources: Vec<File>, to: &Path) -> io::Result<()> {
    let mut into = File::create_new(to)?;
    for mut source in sources {
        io::copy(&mut source, &mut into)?;
    }
    Ok(())
}
