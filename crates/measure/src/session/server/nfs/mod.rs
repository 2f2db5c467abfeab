//! Preparation of `zc run nfs`: an NFS server on one side of a veth pair, a client of NFS on the
//! other, and beside them zc's own server, which sends the same bytes by sendfile. The loss of the
//! server's CPU is the sender's cost, and that of the client's CPU the receiver's. With a server
//! that is already there, only the client is measured, on the whole machine; or only the server,
//! where the client is on another machine.

mod asks;
mod cells;
mod opening;
mod options;
mod place;
mod workers;

use std::sync::Arc;

use super::super::budget::Budget;
use super::super::prepare::{CALL_BUFFER, choose_cpus, usual};
use super::super::prepared::Prepared;
use super::super::progress::Progress;
use super::super::proving::cannot_run;
use super::super::seed;
use super::super::steps::Steps;
use super::asked::{Asked, Bodies};
use super::place as server_place;
use super::responses::own_load;
use super::timing::{Usual, timing};
use asks::{Afar, Asks};
use opening::File;
use place::{Kind, Place};
use zc_kernel::stop::Stop;
use zc_load::Reuse;
use zc_rig::meter::{self, InstanceLock, kernel_workers};
use zc_rig::trial;
use zc_run::factor::Head;
use zc_run::{
    Factor, FixedParams, Header, NfsCall, NfsClient, NfsOperation, NfsPlan, NfsServer,
    NfsTransport, NfsVersion, Plan, Result, SendPath, SupportRow, Traffic, Unavailable, Unsoaked,
};
use zc_servers::{
    Answer, InMount, NfsCopies, NfsServerProgram, OwnServer, Reader, ReaderProgram, Served,
    ServerRig, ServerSetup,
};

pub use options::NfsOptions;

/// The experiment's name.
const EXPERIMENT: &str = "nfs";

/// Connections of the reference to zc's own server.
const CONNECTIONS: usize = 4;

/// Versions that are usual for a client, and those that it speaks.
const OF_USER: [NfsVersion; 2] = [NfsVersion::V3, NfsVersion::V40];
const OF_KERNEL: [NfsVersion; 2] = [NfsVersion::V3, NfsVersion::V42];

/// A server that zc is to start, or one that is there.
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
enum Server {
    Ours(NfsServerProgram),
    There(Place),
}

/// A client that zc is to start, or one that another machine has started.
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
enum Client {
    Here(ReaderProgram),
    Afar(Afar),
}

/// Prepares a run up to its first block. Call it while the process has one thread.
///
/// # Errors
/// The server or the client cannot be had, or nothing can be measured here.
pub(crate) fn prepare(
    options: &NfsOptions,
    budget: &Budget,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Prepared> {
    let started_at = jiff::Timestamp::now().to_string();
    let steps = &mut Steps { budget, states: None, stop, progress };
    let is_there = options.server == NfsServer::External;
    let there = is_there.then(|| Place::there(options)).transpose()?;
    let in_mount = there.as_ref().and_then(Place::in_mount).filter(|_| by_mounts(options));
    let in_mount = in_mount.cloned();
    let (mut calls, mut unavailable) = spoken(options, in_mount.as_ref())?;
    unavailable.extend(carried(options, calls[0])?);
    let connections = connections(options, in_mount.as_ref())?;
    let server = match there {
        Some(place) => Server::There(place),
        None => Server::Ours(place::program(options)?),
    };
    let seed = seed::or_fresh(options.blocks.seed)?;
    trial::check_memory()?;
    let instance_lock = InstanceLock::claim();
    let host = meter::host();
    let cpus = choose_cpus(options.blocks.cpus, options.remote.is_none())?;
    let client = match (&options.remote, &server) {
        (Some(end), Server::There(place)) => {
            Client::Afar(Asks::from_afar(end, options, place.exported.address, steps)?)
        }
        _ => Client::Here(reader_program(options, in_mount.as_ref(), steps)?),
    };
    let mut place = match server {
        Server::Ours(program) => Place::ours(options, program, cpus, seed, steps)?,
        Server::There(place) => place,
    };
    let link = Arc::clone(place.link());
    let (mut warnings, mut client_at) = (Vec::new(), None);
    let mut asks = match client {
        Client::Afar(afar) => {
            let Afar { asks, command, same_machine, warnings: of_control } = afar;
            client_at = Some(command);
            warnings.extend(of_control);
            match same_machine {
                true => warnings.push(place::client_here()),
                false => place.client_is_elsewhere(),
            }
            asks
        }
        Client::Here(program) => {
            let shares_machine = place.shares_machine();
            warnings.extend(shares_machine.then(place::shared_machine));
            let reader = Reader::start(&program, || link.enter_receiver(), cpus.receiver)?;
            Asks::Here(reader)
        }
    };
    let wanted = opening::wanted(options, &calls, &connections, &place);
    let mut copies = (options.server == NfsServer::Knfsd).then(|| NfsCopies::on(cpus.sender));
    let opened = opening::open(wanted, &mut asks, &mut place, copies.as_mut(), steps)?;
    let File { bytes, crc32, mounts, refused } = opened;
    unavailable.extend(refused);
    calls.retain(|call| mounts.iter().any(|mount| mount.call == *call));
    let shares_machine = place.shares_machine();
    let has_server = place.has_clocks(client_at.is_some());
    warnings.extend((!has_server).then(server_place::not_found));
    // Threads of the kernel are seen in its first process id namespace alone; and what came to this
    // machine by a command, as to another, is in no clock.
    let has_client = match client_at {
        Some(_) => !shares_machine,
        None => !by_mounts(options) || !kernel_workers().is_empty(),
    };
    let all_clocks = has_server && has_client;
    let Place { up, mut served, exported, mut files, congestion, placement, kind } = place;
    if let Served::Nfs(serving) = &mut served {
        serving.find_processes(); // before the first trial, whose bytes are compared too
    }
    if let Kind::There { .. } = kind {
        (files.total_bytes, files.min_bytes, files.max_bytes) = (bytes, bytes, bytes);
    }
    let reads = options.operations.first() == Some(&NfsOperation::Read);
    let beside = match &kind {
        Kind::Ours { setup, .. } if reads => Some(setup),
        _ => None,
    };
    let asked = cells::Asked {
        calls: &calls,
        sizes: &options.sizes,
        connections: &connections,
        mounts: &mounts,
        beside_sendfile: beside.is_some(),
        file_bytes: bytes,
    };
    let (cells, cannot) = asked.cells()?;
    unavailable.extend(cannot);

    let mut http = None;
    if let Some(setup) = beside {
        let answer = Answer { path: SendPath::Sendfile, head: Head::More };
        let own: Vec<Asked<'_>> = options
            .sizes
            .iter()
            .map(|bytes| Asked { answer, bodies: Bodies::Of(*bytes) })
            .collect();
        let workers = [(answer, CONNECTIONS * own.len())];
        let server = OwnServer::start(&link, cpus.sender, &workers, setup, &congestion)?;
        http = Some(Arc::new(own_load(&link, cpus.receiver, &server, &own, Reuse::KeepAlive)?));
        served = Served::Several(vec![served, Served::Own(server)]);
    }
    let asked = cells::calls(&cells, &mounts, connections[0]);
    let origin_of = cells::origin_of(&asked, &mounts, &options.sizes, connections[0]);
    let load = asks.into_load(options.client, asked, options.depth, http);
    let timing = timing(&options.blocks, Usual::KEPT);
    let mut rig = ServerRig::new(ServerSetup {
        links: up.links.clone(),
        load,
        origin_of,
        served,
        behind: None,
        fixed: FixedParams {
            buffer_bytes: CALL_BUFFER,
            flows: connections[0],
            placement,
            ..usual(link.facts().kind, cpus, options.blocks.soaker, congestion)?
        },
        timing,
        replayed: None,
    })?;
    rig.limit_to(budget.limit(stop));
    let mut facts = link.facts().clone();
    facts.passed_over = up.passed_over;
    steps.say("looking at the machine");
    warnings.extend(link.warnings().to_vec());
    let (others, mut probes) = rig.examine(&host, &facts, instance_lock.sees_another(&[]))?;
    warnings.extend(others);
    if by_mounts(options) && matches!(kind, Kind::Ours { .. }) {
        warnings.extend(workers::warning(cpus.receiver));
    }
    let reference = cells[0].label.clone();
    let (cells, speeds, note) = cells::at_one_rate(&mut rig, cells, options, steps)?;
    probes.extend(speeds);
    warnings.extend(note);

    let plan = Plan {
        experiment: EXPERIMENT.to_owned(),
        reference,
        cells,
        fixed: rig.fixed().clone(),
        timing,
        files,
        seed,
        budget_ns: options.blocks.budget_ns,
        target: options.blocks.target,
        strict: options.blocks.strict,
        quick: false,
        factors: match connections.len() {
            1 => vec![Factor::Message, Factor::Send],
            _ => vec![Factor::Message, Factor::Flows, Factor::Send],
        },
        unsoaked: Unsoaked::None,
        states: None,
        traffic: Traffic::Nfs(NfsPlan {
            server: options.server,
            server_version: exported.server,
            shares_machine,
            client: options.client,
            client_at,
            all_clocks,
            depth: options.depth,
            file_bytes: bytes,
            crc32,
            mounts,
        }),
    };
    let header = Header {
        unavailable,
        warnings,
        probes,
        ..Header::new(started_at, options.blocks.command.clone(), plan, host, facts)
    };
    Ok(Prepared { header, bench: Box::new(rig), instance_lock })
}

/// The program of a client on this machine.
///
/// # Errors
/// It cannot be had.
fn reader_program(
    options: &NfsOptions,
    in_mount: Option<&InMount>,
    steps: &mut Steps<'_>,
) -> Result<ReaderProgram> {
    match options.client {
        NfsClient::Kernel => ReaderProgram::mounting(in_mount.is_some()),
        NfsClient::User => {
            steps.say("building the NFS client");
            ReaderProgram::given_or_compiled(options.reader.as_deref())
        }
    }
}

fn by_mounts(options: &NfsOptions) -> bool {
    options.client == NfsClient::Kernel
}

/// Calls that the client can make, each operation by each version, and rows for the others. A mount
/// that is there has one version.
///
/// # Errors
/// It speaks none of them.
fn spoken(
    options: &NfsOptions,
    in_mount: Option<&InMount>,
) -> Result<(Vec<NfsCall>, Vec<SupportRow>)> {
    let usual: Vec<NfsVersion> = match (options.client, in_mount) {
        (NfsClient::User, _) => OF_USER.into(),
        (NfsClient::Kernel, None) => OF_KERNEL.into(),
        (NfsClient::Kernel, Some(mount)) => mount.version.parse().into_iter().collect(),
    };
    let versions = if options.versions.is_empty() { &usual } else { &options.versions };
    let speaks = |version: NfsVersion| match (options.client, in_mount) {
        (NfsClient::User, _) => OF_USER.contains(&version),
        (NfsClient::Kernel, None) => true,
        (NfsClient::Kernel, Some(mount)) => mount.version == version.name(),
    };
    let of_version = |&version: &NfsVersion| {
        options.operations.iter().map(move |&operation| NfsCall { version, operation })
    };
    let (can, cannot): (Vec<NfsCall>, Vec<NfsCall>) =
        versions.iter().flat_map(of_version).partition(|call| speaks(call.version));
    let no = || match in_mount {
        None => Unavailable::unsupported("libnfs speaks the versions 3 and 4.0"),
        Some(mount) => {
            Unavailable::refused(format!("the mount is one of version {}", mount.version))
        }
    };
    let Some(first) = can.first() else {
        let usual: Vec<&str> = usual.iter().map(|version| version.name()).collect();
        return Err(no()
            .remedy(format!("--vers {}", usual.join(",")))
            .into_error("nfs-version-unavailable", "NFS"));
    };
    let rows =
        cannot.into_iter().map(|call| cannot_run(call.to_string(), &first.to_string(), no()));
    let rows = rows.collect::<Result<_>>()?;
    Ok((can, rows))
}

/// Rows for transports that NFS is not carried over here. `first` is the first call over TCP.
///
/// # Errors
/// TCP is not among those that were asked for.
fn carried(options: &NfsOptions, first: NfsCall) -> Result<Vec<SupportRow>> {
    let why_not = |transport: NfsTransport| match (transport, options.client) {
        (NfsTransport::Tcp, _) => None,
        (NfsTransport::Udp, NfsClient::User) => Some("libnfs carries NFS over TCP alone"),
        (NfsTransport::Udp, NfsClient::Kernel) => Some(
            "kernels since 5.6 have NFS over UDP only if they were built with it \
             (NFS_DISABLE_UDP_SUPPORT), and zc mounts over TCP alone",
        ),
        (NfsTransport::Rdma, _) => Some(
            "what RDMA sends goes past the sockets and the CPU that zc counts, and its links have \
             no such device",
        ),
    };
    let row = |transport: &NfsTransport| {
        let no = Unavailable::unsupported(why_not(*transport)?);
        Some(cannot_run(format!("nfs over {transport}"), &first.to_string(), no))
    };
    let rows = options.transports.iter().filter_map(row).collect::<Result<Vec<_>>>()?;
    match options.transports.first().filter(|_| rows.len() == options.transports.len()) {
        Some(only) => Err(Unavailable::unsupported(why_not(*only).unwrap_or_default())
            .remedy("--nfs-transport tcp")
            .into_error("nfs-transport-unavailable", "NFS")),
        None => Ok(rows),
    }
}

/// The numbers of connections that are compared.
///
/// # Errors
/// A mount that is there has another number.
fn connections(options: &NfsOptions, in_mount: Option<&InMount>) -> Result<Vec<usize>> {
    let of_mount = in_mount.map_or(1, |mount| mount.connections);
    match (&options.connections[..], in_mount) {
        ([], _) => Ok(vec![of_mount]),
        (asked, Some(_)) if *asked != [of_mount] => {
            let connections = if of_mount == 1 { "connection" } else { "connections" };
            Err(Unavailable::refused(format!("the mount has {of_mount} {connections}"))
                .remedy("leave --nconnect out, or name the file as HOST:/PATH")
                .into_error("nfs-connections-unavailable", "--nconnect"))
        }
        (asked, _) => Ok(asked.to_vec()),
    }
}
