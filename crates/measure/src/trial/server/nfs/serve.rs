//! The process that serves: it makes the place in which the server finds its export and its state, and
//! waits for it. `zc --internal nfs-serve`, kept by the keeper of every server of zc's.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal_hook::consts::SIGTERM;

use super::super::kept::{Kept, OWN_PROGRAM, Wanted};
use super::ganesha::Ganesha;
use super::knfsd::Knfsd;
use super::place::{self, MOUNT_PORT, NFS_PORT, cannot};
use super::port_mapper;
use super::serving::Serving;
use crate::internal::{INTERNAL, NFS_SERVE};
use crate::link::Link;
use crate::workload::FileSet;
use zc_kernel::privileges::has_capabilities;
use zc_kernel::spawn::HeldSignals;
use zc_run::{Error, NfsServer, Result, SendPath, Unavailable};

/// What is hidden from the server by folders that are empty: the host's sockets, locks and state.
const HIDDEN: [&str; 2] = ["/run", "/var/lib"];

/// Where it finds what zc made for it.
const EXPORT: &str = "/run/zc-export";

/// The congestion control of this network namespace.
const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Where local programs find the port mapper, and a folder that they look for.
const RPCBIND_SOCKET: &str = "/run/rpcbind.sock";
const RPCBIND: &str = "/run/rpcbind";

/// The export's name, and that of its one file.
const NAME: &str = "zc";
const FILE: &str = "file";

/// How long it may take to end after SIGTERM, before it is killed.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is to be served: a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    program: Program,
    /// The files whose bytes, one after the other, are the file that is served.
    sources: Vec<PathBuf>,
    /// The congestion control of what it sends.
    congestion: String,
    cpu: usize,
}

/// A server that this machine has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerProgram(Program);

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Program {
    Ganesha(Ganesha),
    Knfsd(Knfsd),
}

impl ServerProgram {
    /// The one of this machine. The kernel's has so many threads.
    ///
    /// # Errors
    /// It is not installed, or is not in this kernel; this process may not start it.
    pub fn find(server: NfsServer, threads: usize) -> Result<Self> {
        let found = match server {
            NfsServer::Ganesha => Ganesha::find().map(Program::Ganesha),
            NfsServer::Knfsd => Knfsd::find(threads).map(Program::Knfsd),
        };
        let may = |found| why_not(server).map_or(Ok(Self(found)), Err);
        found.and_then(may).map_err(|no| no.into_error(format!("the NFS server \"{server}\"")))
    }
}

impl Program {
    fn version(&self) -> String {
        match self {
            Self::Ganesha(ganesha) => ganesha.version(),
            Self::Knfsd(knfsd) => knfsd.version(),
        }
    }

    fn exported(&self) -> Exported {
        let roots = match self {
            Self::Ganesha(_) => [format!("/{NAME}"), format!("/{NAME}")],
            Self::Knfsd(_) => [EXPORT.to_owned(), "/".to_owned()],
        };
        Exported { server: self.version(), roots }
    }
}

/// What a server exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The program and its version.
    pub server: String,
    /// The export's path by version 3 and by version 4.
    roots: [String; 2],
}

impl Exported {
    /// The path of the export.
    fn root(&self, version: SendPath) -> &str {
        &self.roots[usize::from(version != SendPath::Nfs3)]
    }

    /// The URL of the file as libnfs knows it, at an address of the server's.
    pub fn url(&self, address: IpAddr, version: SendPath) -> String {
        // What stands before the last slash is mounted; for the root that is another one.
        let root = self.root(version);
        let version = if version == SendPath::Nfs3 { 3 } else { 4 };
        format!(
            "nfs://{address}{root}/{FILE}?version={version}&nfsport={NFS_PORT}&mountport={MOUNT_PORT}"
        )
    }

    /// Where and how the kernel's client mounts it, and the file there: SOURCE OPTIONS FILE. Each has
    /// connections of its own (nosharecache); a server that is gone is an error (soft). Nothing is locked,
    /// and the server need not call back.
    pub fn mount(
        &self,
        address: IpAddr,
        version: SendPath,
        rsize: usize,
        connections: usize,
    ) -> String {
        let root = self.root(version);
        let number = version.nfs_version().unwrap_or_default();
        let of_version = match version {
            SendPath::Nfs3 => {
                format!(
                    "nolock,mountproto=tcp,mountvers=3,mountaddr={address},mountport={MOUNT_PORT}"
                )
            }
            _ => "clientaddr=0.0.0.0".to_owned(),
        };
        let several = match connections {
            1 => String::new(),
            several => format!(",nconnect={several}"),
        };
        format!(
            "{address}:{root} vers={number},proto=tcp,port={NFS_PORT},addr={address},{of_version},\
             rsize={rsize},sec=sys,soft,timeo=50,retrans=1,nosharecache{several} {FILE}"
        )
    }
}

/// Why this process cannot start it; `None`: it can. To be asked before a link is brought up: a user gets a
/// user namespace for that, in which the process has all capabilities.
fn why_not(server: NfsServer) -> Option<Unavailable> {
    let is_first = fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
    let why = match server {
        NfsServer::Ganesha => {
            "nfs-ganesha opens files by their handles, for which it needs CAP_DAC_READ_SEARCH"
        }
        NfsServer::Knfsd => "the kernel's NFS server is started with CAP_SYS_ADMIN",
    };
    (!has_capabilities() || !is_first).then(|| Unavailable::refused(why).remedy("run as root"))
}

/// Starts an NFS server on `cpu`, on the sender's side of a link. It serves one file with the bytes of all
/// `files`, and sends with this congestion control.
///
/// # Errors
/// Its processes cannot be started.
pub fn start_server(
    program: ServerProgram,
    files: &FileSet,
    link: &dyn Link,
    cpu: usize,
    congestion: &str,
) -> Result<(Serving, Exported)> {
    let ServerProgram(program) = program;
    let own = std::process::id();
    let source = |file: &File| PathBuf::from(format!("/proc/{own}/fd/{}", file.as_raw_fd()));
    let sources = files.files.iter().map(|each| source(&each.file)).collect();
    let exported = program.exported();
    let in_kernel = matches!(program, Program::Knfsd(_));
    let job = Job { program, sources, congestion: congestion.to_owned(), cpu };
    let job = serde_json::to_string(&job)
        .map_err(|_| Error::failed("what is to be served cannot be said"))?;
    let wanted = Wanted {
        what: "the NFS server".to_owned(),
        words: [OWN_PROGRAM, INTERNAL, NFS_SERVE, &job].map(str::to_owned).into(),
        cpus: vec![cpu],
        patience: PATIENCE,
    };
    let kept = Kept::start(wanted, || link.enter_sender())?;
    Ok((Serving::new(kept, in_kernel.then_some(cpu)), exported))
}

/// The whole life of the process that serves.
///
/// # Errors
/// The place cannot be made, or the server ends.
pub fn serve(job: &str) -> Result<()> {
    let job: Job =
        serde_json::from_str(job).map_err(|_| Error::usage("the job is not understood"))?;
    // Before there is another thread.
    let signals =
        HeldSignals::hold(&[SIGTERM]).map_err(|error| Error::os("block signals", error))?;
    place::enter(&HIDDEN)?;
    place::folders([RPCBIND, EXPORT])?;
    // A file system of its own, as servers tell exports apart by theirs.
    let sources = job.sources.iter().map(File::open).collect::<io::Result<Vec<_>>>();
    let sources = sources.map_err(cannot("the files"))?;
    place::empty(EXPORT).map_err(cannot(EXPORT))?;
    place::join(sources, &Path::new(EXPORT).join(FILE)).map_err(cannot("the file"))?;
    // That of the network namespace, which is zc's: servers of NFS choose none.
    fs::write(CONGESTION, &job.congestion).map_err(cannot("its congestion control"))?;
    port_mapper::start(Path::new(RPCBIND_SOCKET)).map_err(cannot("a port mapper"))?;
    match job.program {
        Program::Ganesha(ganesha) => ganesha.serve(Path::new(EXPORT), NAME, &signals),
        Program::Knfsd(knfsd) => knfsd.serve(EXPORT, job.cpu, &signals),
    }
}
