//! Location of the server: one of zc's on one side of a veth pair, or one that is already there,
//! which packets reach by their usual way, or whose packets go to a client on another machine.

use std::sync::Arc;

use super::options::NfsOptions;
use crate::session::options::CpuPair;
use crate::session::server::place::{a_cpu_each, is_here, sides_apart};
use crate::session::steps::Steps;
use zc_rig::link::Link;
use zc_rig::trial::{self, SendSetup, Up};
use zc_run::address::{has_zone, ip_text};
use zc_run::{
    Error, FileSetFacts, LinkKind, LinkOptions, NfsOperation, NfsServer, Placement, Result,
    Severity, Warning, escape,
};
use zc_servers::{Exported, Found, InMount, NfsServerProgram, Served};

/// The memory that must be free, in copies of the file: the server's, and half of one to work with.
const COPIES: f64 = 1.5;

/// Bytes of a file that are read at most where it is not zc's: what a server has in memory after
/// the first READs of it.
const MOST: u64 = 64 << 20;

/// A server, and the way to it.
pub(super) struct Place {
    pub(super) up: Up,
    pub(super) served: Served,
    pub(super) exported: Exported,
    pub(super) files: FileSetFacts,
    pub(super) congestion: String,
    pub(super) placement: Placement,
    pub(super) kind: Kind,
}

/// Whether the server is zc's own.
pub(super) enum Kind {
    /// It serves these files, whose bytes have this CRC-32 once the client has opened them.
    Ours { setup: SendSetup, crc32: u32 },
    /// It was there, and its file may be in a mount.
    There { in_mount: Option<InMount>, shares_machine: bool },
}

impl Place {
    /// Starts zc's server.
    ///
    /// # Errors
    /// Its processes cannot be started; there is no link whose sides are apart; files cannot be
    /// used.
    pub(super) fn ours(
        options: &NfsOptions,
        program: NfsServerProgram,
        cpus: CpuPair,
        seed: u64,
        steps: &mut Steps<'_>,
    ) -> Result<Self> {
        a_cpu_each(cpus)?;
        steps.say("bringing up the link");
        let up = sides_apart(cpus, &LinkOptions::default())?;
        let link = Arc::clone(up.links.base());
        steps.say("reading the files");
        let (buffer, sizes) = (crate::session::prepare::CALL_BUFFER, &options.sizes);
        let (setup, files) = trial::open_files(&options.files, seed, buffer, sizes, cpus.sender)?;
        fits(sizes, &files)?;
        let writes = writes(options);
        let crc32 = match writes {
            true => zc_servers::written_crc32(files.total_bytes),
            false => trial::checksum(&setup.files)?,
        };
        let congestion = trial::usual_congestion(&*link);
        steps.say("starting the NFS server");
        let (serving, exported) =
            zc_servers::start_nfs_server(program, &setup.files, &*link, cpus.sender, writes)?;
        Ok(Self {
            up,
            served: Served::Nfs(serving),
            exported,
            files,
            congestion,
            placement: Placement::Separate,
            kind: Kind::Ours { setup, crc32 },
        })
    }

    /// A server that is there. One that another machine reads from is on this one.
    ///
    /// # Errors
    /// No file is named, or none that can be; WRITEs are asked for; there is no way to the server;
    /// a client on another machine does not reach it.
    pub(super) fn there(options: &NfsOptions) -> Result<Self> {
        let Some(file) = &options.file else {
            return Err(Error::usage(
                "nfs-file-missing",
                "--nfs-server external needs a file of that server",
            )
            .help("--nfs-file HOST:/PATH, or a file in a mount of this machine"));
        };
        if writes(options) {
            return Err(Error::usage(
                "nfs-write-needs-own-server",
                "--write is for a server of zc's, whose file is a copy",
            )
            .help("--nfs-server ganesha or knfsd"));
        }
        let (exported, in_mount) = Exported::named(file)?;
        let shares_machine = is_here(exported.address)?;
        if options.remote.is_some() {
            reached_from_afar(&exported, in_mount.is_some(), shares_machine)?;
        }
        let up = match exported.address.ip().is_loopback() {
            true => trial::bring_up(&[LinkKind::Loopback], 0, 0, &LinkOptions::default(), &[])?,
            false => trial::towards(exported.address)?,
        };
        let found = match shares_machine {
            true => Found::of_nfs_at(exported.address.ip()),
            false => Found::default(),
        };
        Ok(Self {
            congestion: trial::default_congestion(&**up.links.base()),
            up,
            served: Served::RanAlready(found),
            exported,
            files: FileSetFacts {
                origin: "given".to_owned(),
                files: 1,
                total_bytes: 0,
                min_bytes: 0,
                max_bytes: 0,
                filesystem: "nfs".to_owned(),
                skipped: Vec::new(),
            },
            placement: Placement::Free,
            kind: Kind::There { in_mount, shares_machine },
        })
    }

    /// A mount of this machine that has the file of a server that is there.
    pub(super) fn in_mount(&self) -> Option<&InMount> {
        match &self.kind {
            Kind::Ours { .. } => None,
            Kind::There { in_mount, .. } => in_mount.as_ref(),
        }
    }

    pub(super) fn link(&self) -> &Arc<dyn Link> {
        self.up.links.base()
    }

    /// Bytes of the file that are read at most; `None`: all.
    pub(super) fn most(&self) -> Option<u64> {
        matches!(self.kind, Kind::There { .. }).then_some(MOST)
    }

    /// Says on which machine the client is, if that is another one than this.
    pub(super) fn client_is_elsewhere(&mut self) {
        if let Kind::There { shares_machine, .. } = &mut self.kind {
            *shares_machine = false;
        }
    }

    /// Whether the CPU clocks of the server are known, if it is on this machine:
    /// `reached_from_afar` is one that a client on another machine asks.
    pub(super) fn has_clocks(&self, reached_from_afar: bool) -> bool {
        match &self.served {
            Served::RanAlready(found) => {
                found.is_known() || !(self.shares_machine() || reached_from_afar)
            }
            _ => true,
        }
    }

    /// Whether a server that was there is on this machine, and the client too.
    pub(super) fn shares_machine(&self) -> bool {
        matches!(self.kind, Kind::There { shares_machine: true, .. })
    }
}

/// Whether anything is written.
fn writes(options: &NfsOptions) -> bool {
    options.operations.iter().any(|each| *each != NfsOperation::Read)
}

/// The program of a server of zc's.
///
/// # Errors
/// It cannot be had here.
pub(super) fn program(options: &NfsOptions) -> Result<NfsServerProgram> {
    match options.server {
        NfsServer::Knfsd => NfsServerProgram::knfsd(options.threads),
        NfsServer::Ganesha | NfsServer::External => NfsServerProgram::ganesha(),
    }
}

/// Checks that a server can have the files in memory, and that calls of these sizes fit into them.
///
/// # Errors
/// They do not.
fn fits(sizes: &[usize], files: &FileSetFacts) -> Result<()> {
    let most = sizes.iter().copied().max().unwrap_or_default() as u64;
    // Those of the reference are not put together.
    if files.max_bytes < most {
        return Err(Error::input(
            "file-too-short",
            format!(
                "the longest READ or WRITE has {most} bytes, and the longest file {}",
                files.max_bytes
            ),
        )
        .help("give longer files, or none"));
    }
    trial::check_room((files.total_bytes as f64 * COPIES) as u64)
}

/// # Errors
/// The server is not on this machine, or a client on another machine does not reach it by its
/// address.
fn reached_from_afar(exported: &Exported, is_in_mount: bool, is_here: bool) -> Result<()> {
    let (file, address) = (escape(&exported.server, 200), exported.address);
    if is_in_mount {
        return Err(Error::usage(
            "mounted-here",
            format!("\"{file}\" is in a mount of this machine"),
        )
        .help("with --via the server is on this machine: name the file as HOST:/PATH"));
    }
    if !is_here {
        return Err(Error::usage("server-elsewhere", format!(
            "the server of \"{file}\" is not on this machine, whose CPUs are measured: packets to \
             {} would leave it",
            ip_text(address)
        ))
        .help("run zc where the server is, and leave --via out to measure the client"));
    }
    if address.ip().is_loopback() || has_zone(address) {
        return Err(Error::usage(
            "server-unreachable-from-far-end",
            format!("the other machine does not reach the server of \"{file}\""),
        )
        .help("name the server by an address that the other machine reaches"));
    }
    Ok(())
}

/// The warning that the client is on this machine although a command led to it.
pub(super) fn client_here() -> Warning {
    let text = "the client of NFS runs on this machine too, and what it takes is in every cost";
    Warning::new("load-here", Severity::Withhold, text)
        .remedy("--via 'ssh HOST' of another machine")
}

/// The warning that costs are of both ends.
pub(super) fn shared_machine() -> Warning {
    let text = "the NFS server is on this machine: what it costs is in every cost of the client";
    Warning::new("nfs-server-here", Severity::Note, text)
        .remedy("--nfs-server ganesha or knfsd tells both ends apart")
}
