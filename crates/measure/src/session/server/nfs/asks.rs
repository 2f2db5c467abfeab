//! The client of NFS: on this machine, or on another one that is told when to read.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::options::NfsOptions;
use crate::session::remote::{self, Control};
use crate::session::remote_end::RemoteEnd;
use crate::session::steps::Steps;
use zc_load::Load;
use zc_remote::carry::Carried;
use zc_remote::{Client, Duties, FarFile, FarReads, NfsWanted, Transport};
use zc_rig::meter;
use zc_run::{Error, NfsClient, NfsMount, Result, Warning};
use zc_servers::{Asker, CallsOf, Exported, NfsLoad, Opened, Reader, RemoteLoad, ToOpen};

/// A client that listens.
pub(super) enum Asks {
    Here(Reader),
    There(FarReads<Box<dyn Transport>>),
}

/// A client on another machine, whose server is on this one.
pub(super) struct Afar {
    pub(super) asks: Asks,
    /// The command that reached the other machine.
    pub(super) command: String,
    /// Whether it is this machine.
    pub(super) same_machine: bool,
    pub(super) warnings: Vec<Warning>,
}

impl Asks {
    /// Has another machine start the client.
    ///
    /// # Errors
    /// It is not reached by a command, or not at all; it has no such client.
    pub(super) fn from_afar(
        end: &RemoteEnd,
        options: &NfsOptions,
        address: SocketAddr,
        steps: &mut Steps<'_>,
    ) -> Result<Afar> {
        let RemoteEnd::Via { command, .. } = end else {
            return Err(Error::usage(
                "nfs-client-needs-command",
                "only a command of yours can start a client of NFS elsewhere",
            )
            .help("--via 'ssh HOST' in place of --remote"));
        };
        steps.say("connecting to the other machine");
        let stop = steps.stop;
        let mut carrying = |carried: &Carried| steps.progress.carrying(carried);
        let control = remote::control(end, Duties::ReadsNfs, stop, &mut carrying)?;
        let Control { connection, transport, warnings, .. } = control;
        steps.say("starting the NFS client there");
        let wanted = NfsWanted {
            boot_id: meter::boot_id().unwrap_or_default(),
            client: options.client,
            address: address.ip(),
        };
        let reads = FarReads::start(Client::new(connection, transport), wanted)?;
        let same_machine = reads.same_machine();
        Ok(Afar { asks: Self::There(reads), command: command.clone(), same_machine, warnings })
    }

    /// Has it open a file, and read it once.
    ///
    /// # Errors
    /// Same as [`Reader::open`]; or the other machine is gone.
    pub(super) fn open(
        &mut self,
        mount: &NfsMount,
        exported: &Exported,
        most: Option<u64>,
    ) -> Result<Opened> {
        let operation = mount.call.operation;
        match self {
            Self::Here(reader) => reader.open(&ToOpen { operation, most, what: &mount.url }),
            Self::There(reads) => reads.open(FarFile {
                file: exported.path(),
                call: mount.call,
                // Of a client that sends them of any size it is not used.
                size: mount.size.map_or(1, |size| size as usize),
                connections: mount.connections,
                most: most.unwrap_or(u64::MAX),
            }),
        }
    }

    /// The load of a rig, with requests to zc's own server beside a client of this machine.
    pub(super) fn into_load(
        self,
        client: NfsClient,
        calls: Vec<CallsOf>,
        depth: usize,
        http: Option<Arc<Load>>,
    ) -> Asker {
        match self {
            Self::Here(reader) => {
                Asker::Nfs(Arc::new(NfsLoad::new(reader, client, calls, depth, http)))
            }
            Self::There(reads) => {
                let load: Arc<Mutex<dyn RemoteLoad>> =
                    Arc::new(Mutex::new(reads.into_load(calls, depth)));
                Asker::There(load)
            }
        }
    }
}
