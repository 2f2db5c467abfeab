//! The process that serves: it makes the place in which the server finds its export and its state,
//! and waits for it. `zc --internal nfs-serve`, kept by the keeper of every server of zc's.

use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal_hook::consts::SIGTERM;

use super::super::kept::{Kept, OWN_PROGRAM, Wanted};
use super::super::own_state::may_mount;
use super::exported::Exported;
use super::ganesha::Ganesha;
use super::knfsd::Knfsd;
use super::place::{self, cannot};
use super::port_mapper;
use super::serving::Serving;
use zc_kernel::spawn::HeldSignals;
use zc_rig::internal::{INTERNAL, NFS_SERVE};
use zc_rig::link::Link;
use zc_rig::workload::FileSet;
use zc_run::{Error, NfsServer, Result, Unavailable};

/// Folders hidden from the server by empty ones: the host's sockets, locks and state.
const HIDDEN: [&str; 2] = ["/run", "/var/lib"];

/// The folder in which the server finds the export that zc made for it.
const EXPORT: &str = "/run/zc-export";

/// The socket at which local programs find the port mapper, and a folder that they look for.
const RPCBIND_SOCKET: &str = "/run/rpcbind.sock";
const RPCBIND: &str = "/run/rpcbind";

/// The export's name, and that of its one file.
const NAME: &str = "zc";
const FILE: &str = "file";

/// Time allowed for ending after SIGTERM, before it is killed.
const PATIENCE: Duration = Duration::from_secs(3);

/// The server's job: a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    program: Program,
    /// The files whose bytes, one after the other, are the file that is served.
    sources: Vec<PathBuf>,
    cpu: usize,
    /// Whether clients may write the file.
    writable: bool,
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
    /// nfs-ganesha.
    ///
    /// # Errors
    /// It is not installed; this process may not start it.
    pub fn ganesha() -> Result<Self> {
        let why =
            "nfs-ganesha opens files by their handles, for which it needs CAP_DAC_READ_SEARCH";
        Self::that_may_start(Ganesha::find().map(Program::Ganesha), why, NfsServer::Ganesha)
    }

    /// The kernel's, with so many threads.
    ///
    /// # Errors
    /// This kernel has none, or nfs-utils are not installed; this process may not start it.
    pub fn knfsd(threads: usize) -> Result<Self> {
        let why = "the kernel's NFS server is started with CAP_SYS_ADMIN";
        Self::that_may_start(Knfsd::find(threads).map(Program::Knfsd), why, NfsServer::Knfsd)
    }

    fn that_may_start(
        found: std::result::Result<Program, Unavailable>,
        why_not: &str,
        server: NfsServer,
    ) -> Result<Self> {
        let may = |found| match may_mount() {
            true => Ok(Self(found)),
            false => Err(Unavailable::refused(why_not).remedy("run as root")),
        };
        found.and_then(may).map_err(|no| {
            no.into_error("nfs-server-unavailable", format!("the NFS server \"{server}\""))
        })
    }
}

impl Program {
    fn version(&self) -> String {
        match self {
            Self::Ganesha(ganesha) => ganesha.version(),
            Self::Knfsd(knfsd) => knfsd.version(),
        }
    }

    fn exported(&self, address: IpAddr) -> Exported {
        let roots = match self {
            Self::Ganesha(_) => [format!("/{NAME}"), format!("/{NAME}")],
            Self::Knfsd(_) => [EXPORT.to_owned(), "/".to_owned()],
        };
        let server = self.version();
        let address = SocketAddr::new(address, 0);
        Exported { server, address, roots, name: FILE.to_owned(), has_our_ports: true }
    }
}

/// Starts an NFS server on `cpu`, on the sender's side of a link. It serves one file with the bytes
/// of all `files`, which clients may write or not.
///
/// # Errors
/// Its processes cannot be started.
pub fn start_server(
    program: ServerProgram,
    files: &FileSet,
    link: &dyn Link,
    cpu: usize,
    writable: bool,
) -> Result<(Serving, Exported)> {
    let ServerProgram(program) = program;
    let own = std::process::id();
    let source = |file: &File| PathBuf::from(format!("/proc/{own}/fd/{}", file.as_raw_fd()));
    let sources = files.files.iter().map(|each| source(&each.file)).collect();
    let exported = program.exported(link.sender_address());
    let in_kernel = matches!(program, Program::Knfsd(_));
    let job = Job { program, sources, cpu, writable };
    let job = serde_json::to_string(&job)
        .map_err(|_| Error::failed("protocol", "what is to be served cannot be said"))?;
    let wanted = Wanted {
        what: "the NFS server".to_owned(),
        words: [OWN_PROGRAM, INTERNAL, NFS_SERVE, &job].map(str::to_owned).into(),
        cpus: vec![cpu],
        patience: PATIENCE,
        has_own_state: false,
    };
    let kept = Kept::start(wanted, || link.enter_sender())?;
    Ok((Serving::new(kept, in_kernel.then_some(cpu)), exported))
}

/// The whole life of the process that serves.
///
/// # Errors
/// The place cannot be made, or the server ends.
pub fn serve(job: &str) -> Result<()> {
    let job: Job = serde_json::from_str(job)
        .map_err(|_| Error::usage("protocol", "the job is not understood"))?;
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
    port_mapper::start(Path::new(RPCBIND_SOCKET)).map_err(cannot("a port mapper"))?;
    match job.program {
        Program::Ganesha(ganesha) => ganesha.serve(Path::new(EXPORT), NAME, job.writable, &signals),
        Program::Knfsd(knfsd) => knfsd.serve(EXPORT, job.writable, job.cpu, &signals),
    }
}
