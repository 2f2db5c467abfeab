//! Resolved configuration of one cell: the plan's fixed parameters with the cell's levels in place,
//! what its paths are built from, and whether it can run.

use std::sync::Arc;

use super::bursts::Bursts;
use super::datagrams;
use super::factor::EFFECTS;
use super::limit::Limit;
use super::placement::thread_cpus;
use super::receiving::RecvConfig;
use super::sockets;
use super::worker::TrialError;
use crate::link::Link;
use crate::path::SendSetup;
use crate::tls::{TlsKeying, TlsSecret};
use zc_kernel::bpf::AckBurn;
use zc_kernel::descriptors::{self, Room};
use zc_run::{
    Cell, Clients, Datagrams, Error, FixedParams, ProxyPath, RecvPath, Result, SendPath,
    SocketFacts, Transfer, Unavailable,
};

/// Descriptors of a flow at most, with both ends on this machine: three for each socket (the path
/// and the trial have their own), four of pipes, two of rings, two to meter its threads.
const DESCRIPTORS_OF_A_FLOW: u64 = 14;

/// Those of its proxy at most: three for each socket and one to listen, two of a pipe, one of a ring,
/// four of a BPF program with its maps, one to meter its thread.
const DESCRIPTORS_OF_A_PROXY: u64 = 15;

/// Descriptors other than those of files and flows: namespaces, /proc, the soakers' meters, the
/// saved run.
const OTHER_DESCRIPTORS: u64 = 60;

/// Resolved configuration of one cell.
#[derive(Debug, Clone)]
pub(super) struct CellConfig {
    pub(super) cell: Cell,
    pub(super) send: SendPath,
    pub(super) recv: RecvPath,
    pub(super) fixed: FixedParams,
    pub(super) setup: SendSetup,
    /// What it sends, if not a stream.
    pub(super) datagrams: Option<Datagrams>,
    /// The paced clients that it sends to, if not over flows.
    pub(super) clients: Option<Clients>,
    /// The congestion control that its sockets are to use; `None`: whichever.
    pub(super) congestion: Option<String>,
    /// Burns the cell's cost in softirq context, if it has one.
    pub(super) burner: Option<Arc<AckBurn>>,
    /// Time limit of waiting for its trials.
    pub(super) limit: Limit,
}

impl CellConfig {
    /// Puts the levels of `cell` in place of what the plan holds fixed.
    ///
    /// # Errors
    /// zc is not what sends and receives.
    pub(super) fn resolve(
        cell: &Cell,
        fixed: &FixedParams,
        setup: &SendSetup,
    ) -> std::result::Result<Self, TrialError> {
        let Transfer::Paths { send, recv } = cell.transfer else {
            let no = Unavailable::unsupported("a server sends in its own way");
            return Err(TrialError::CannotRun(no.remedy("zc run server measures it")));
        };
        let fixed = fixed.at(&cell.levels);
        let mut setup = setup.clone();
        for effect in EFFECTS {
            effect.set_up(cell, &fixed, &mut setup);
        }
        let datagrams = fixed.datagrams(cell.transfer);
        setup.datagrams = datagrams.unwrap_or(setup.datagrams);
        let congestion = fixed.set_congestion().map(str::to_owned);
        let (clients, limit, cell) = (fixed.clients(), Limit::default(), cell.clone());
        let burner = None;
        Ok(Self { cell, send, recv, fixed, setup, datagrams, clients, congestion, burner, limit })
    }

    /// Flows of a trial: all clients are in one.
    pub(super) fn flows(&self) -> usize {
        if self.clients.is_some() { 1 } else { self.fixed.flows }
    }

    /// The bursts at the cell's rate.
    pub(super) fn paced(&self) -> Bursts {
        Bursts::paced(&self.fixed, self.cell.levels.message_bytes)
    }

    /// The bursts of a trial without a rate limit.
    pub(super) fn unpaced(&self) -> Bursts {
        Bursts::unpaced(&self.fixed, self.cell.levels.message_bytes)
    }

    /// The CPUs that sender threads may run on.
    pub(super) fn sender_cpus(&self) -> Vec<usize> {
        thread_cpus(&self.fixed, self.fixed.sender_cpu)
    }

    /// The CPUs that threads on the receiver's side may run on.
    pub(super) fn receiver_cpus(&self) -> Vec<usize> {
        thread_cpus(&self.fixed, self.fixed.receiver_cpu)
    }

    /// Whether a proxy is between sender and receiver. The receiver is on the sender's side then.
    pub(super) fn has_proxy(&self) -> bool {
        ProxyPath::of(&self.fixed) != ProxyPath::None
    }

    /// Keys for the connections of a trial, if its paths encrypt.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub(super) fn keying(&self) -> Result<Option<TlsKeying>> {
        let records = self.fixed.tls(self.cell.transfer);
        records.map(|records| Ok(TlsKeying { records, secret: TlsSecret::new()? })).transpose()
    }

    /// Configuration of the receivers, who have the sender's keys; in proofs they compute a
    /// checksum.
    pub(super) fn recv_config(&self, checksum: bool, keying: Option<TlsKeying>) -> RecvConfig {
        let buffer_bytes = self.fixed.recv_buffer_bytes;
        RecvConfig {
            path: self.recv,
            buffer_bytes,
            cpus: if self.has_proxy() { self.sender_cpus() } else { self.receiver_cpus() },
            checksum,
            keying,
            datagrams: self.datagrams,
        }
    }

    /// Checks that the cell can run over `link`, and raises the limit of descriptors if its flows
    /// need that.
    ///
    /// # Errors
    /// The cell cannot run, with the reason.
    pub(super) fn check(&self, link: &dyn Link) -> std::result::Result<(), TrialError> {
        let kind = link.facts().kind;
        self.check_keys()?;
        let refused =
            |datagrams| datagrams::refuse(datagrams, &self.cell, &self.fixed, link.facts());
        if let Some(no) = self.datagrams.and_then(refused) {
            return Err(TrialError::CannotRun(no));
        }
        let no = EFFECTS.iter().find_map(|effect| effect.refuse(&self.cell, &self.fixed, kind));
        let ends = if link.far_end().is_some() { 1 } else { 2 };
        no.map_or_else(|| self.make_room(ends), |no| Err(TrialError::CannotRun(no)))
    }

    /// Checks that what encrypts and what decrypts go together. A receiver that drops its bytes may
    /// drop records.
    ///
    /// # Errors
    /// They do not.
    fn check_keys(&self) -> std::result::Result<(), TrialError> {
        let Self { send, recv, .. } = self;
        match (send.form().is_encrypted(), recv.decrypts() || recv.drops_bytes()) {
            (true, false) => Err(TrialError::CannotRun(
                Unavailable::unsupported(format!("{recv} does not decrypt what {send} encrypts"))
                    .remedy("--recv tls-recv does, and --recv recv-trunc drops it"),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that its sockets use what was asked for.
    ///
    /// # Errors
    /// They do not.
    pub(super) fn check_sockets(&self, found: &SocketFacts) -> std::result::Result<(), TrialError> {
        sockets::check(found, self.congestion.as_deref(), &self.fixed)
            .map_err(TrialError::CannotRun)
    }

    /// `ends` of each client have a socket on this machine.
    fn make_room(&self, ends: u64) -> std::result::Result<(), TrialError> {
        let flows = self.flows();
        let of_clients = self.clients.map_or(0, |clients| clients.count as u64);
        let proxy = if self.has_proxy() { DESCRIPTORS_OF_A_PROXY } else { 0 };
        let needed = (flows as u64)
            .saturating_mul(DESCRIPTORS_OF_A_FLOW + proxy)
            .saturating_add(of_clients * ends)
            .saturating_add(self.setup.files.files.len() as u64 + OTHER_DESCRIPTORS);
        let room = descriptors::raise_limit(needed)
            .map_err(|error| Error::os("raise the limit of open files", error))?;
        match room {
            Room::There => Ok(()),
            Room::No { hard } => Err(TrialError::CannotRun(
                Unavailable::refused(format!(
                    "{} need up to {needed} open files, and RLIMIT_NOFILE, raised as far as \
                     allowed, is {hard}",
                    match of_clients {
                        0 => format!("{flows} flows"),
                        clients => format!("{clients} clients"),
                    }
                ))
                .remedy(format!("as root: ulimit -Hn {}", needed.next_power_of_two())),
            )),
        }
    }
}
