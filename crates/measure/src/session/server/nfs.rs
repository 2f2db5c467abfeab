//! Preparation of `zc run nfs`: an NFS server on one side of a veth pair, a client of NFS on the other,
//! and beside them zc's own server, which sends the same bytes by sendfile. What the server's CPU loses is
//! the sender's cost, and what the client's loses the receiver's.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::super::budget::Budget;
use super::super::options::CpuPair;
use super::super::prepare::{CALL_BUFFER, choose_cpus, usual};
use super::super::prepared::Prepared;
use super::super::progress::Progress;
use super::super::proving::cannot_run;
use super::super::seed;
use super::super::steps::Steps;
use super::asked::{Asked, Bodies, body_bytes};
use super::cells::positive;
use super::place::{a_cpu_each, sides_apart};
use super::rate;
use super::responses::own_load;
use super::starting::as_soon_as_it_answers;
use super::timing::timing;
use crate::http::Reuse;
use crate::meter::{self, InstanceLock};
use crate::plan::spec::CONTROL_SUFFIX;
use crate::trial::{
    self, Asker, Exported, NfsCopies, NfsLoad, NfsServerProgram, Opened, OriginOf, OwnServer,
    Reader, ReaderProgram, Reads, SendSetup, Served, ServerRig, ServerSetup,
};
use zc_run::{
    Cell, Error, ErrorKind, Factor, FixedParams, Header, Levels, LinkKind, LinkOptions, NfsClient,
    NfsMount, NfsPlan, NfsServer, Plan, Probe, RecvPath, Result, SendPath, Severity, SoakerKind,
    SupportRow, Unavailable, Unsoaked, Warning, units,
};

/// The experiment's name.
const EXPERIMENT: &str = "nfs";

/// Connections of the reference to zc's own server.
const CONNECTIONS: usize = 4;

/// How long the server may take until the client can mount what it exports.
const START: Duration = Duration::from_secs(15);

/// How long it may take by another version: the kernel's server may let nobody open a file by version 4 in
/// its first 10 s.
const AGAIN: Duration = Duration::from_secs(12);

/// The CPUs of the kernel's workers that are bound to none, in which its client sends and receives.
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";

/// The share of the slowest cell's top speed that a chosen rate is at most. At half of it, 14,600 READs of 4k
/// per second here, the client was at work for 85 % of the time: a READ that finds it so wakes nobody, and 2.5
/// of 3.7 % that were added were found.
const SHARE: f64 = 1.0 / 3.0;

/// The memory that must be free, in copies of the file: the server's, and half of one to work with.
const COPIES: f64 = 1.5;

/// All options of `zc run nfs`.
#[derive(Debug, Clone)]
pub struct NfsOptions {
    /// The command line as it is saved in the run.
    pub command: Vec<String>,
    /// Who serves.
    pub server: NfsServer,
    /// Who reads.
    pub client: NfsClient,
    /// Versions of NFS, at least one; the first is the one that others are compared with.
    pub versions: Vec<SendPath>,
    /// Bytes of a READ, ascending, at least one.
    pub rsizes: Vec<usize>,
    /// READs at a time, at most.
    pub depth: usize,
    /// Threads of the kernel's server.
    pub threads: usize,
    /// Connections of each mount of the kernel's client.
    pub connections: usize,
    /// Bytes per second of each cell; `None` chooses a rate that the slowest can well sustain.
    pub rate_bytes_per_s: Option<f64>,
    /// Files whose bytes are served as one file; empty: generated ones.
    pub files: Vec<PathBuf>,
    /// The client's program; `None`: it is compiled.
    pub reader: Option<PathBuf>,
    /// The server's CPU (as sender) and that of the client (as receiver).
    pub cpus: Option<CpuPair>,
    /// Kind of work that the soakers do.
    pub soaker: SoakerKind,
    /// Time for the whole run, everything included.
    pub budget_ns: u64,
    /// Half-width of every ratio's interval at which the run may stop early: 0.025 is +-2.5 %.
    pub target: f64,
    /// Seed of the random order; `None` draws one.
    pub seed: Option<u64>,
    /// Lengths of warm-up, window and idle window; `None` for the usual ones.
    pub timing: [Option<u64>; 3],
    /// File that the run is saved in.
    pub out: PathBuf,
}

/// Prepares a run up to its first block. Call it while the process has one thread.
///
/// # Errors
/// The server or the client cannot be had, or nothing can be measured here.
pub(crate) fn prepare(
    options: &NfsOptions,
    budget: &Budget,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Prepared> {
    let started_at = jiff::Timestamp::now().to_string();
    let (mut versions, mut unavailable) = spoken(options)?;
    let server_program = NfsServerProgram::find(options.server, options.threads)?;
    let seed = seed::or_fresh(options.seed)?;
    trial::check_memory()?;
    let instance_lock = InstanceLock::claim();
    let host = meter::host();
    let cpus = choose_cpus(options.cpus, true)?;
    a_cpu_each(cpus)?;
    let steps = &mut Steps { budget, states: None, stop, progress };
    let reader_program = match options.client {
        NfsClient::Kernel => ReaderProgram::mounting()?,
        NfsClient::User => {
            steps.say("building the NFS client");
            ReaderProgram::given_or_compiled(options.reader.as_deref())?
        }
    };
    steps.say("bringing up the link");
    let up = sides_apart(cpus, &LinkOptions::default())?;
    let link = Arc::clone(up.links.base());
    steps.say("reading the files");
    let (setup, files) =
        trial::open_files(&options.files, seed, CALL_BUFFER, &options.rsizes, cpus.sender)?;
    let crc32 = served_whole(&setup, &options.rsizes, files.total_bytes, files.max_bytes)?;
    let congestion = trial::choose_congestion(None, &link)?;

    steps.say("starting the NFS server");
    let (serving, exported) =
        trial::start_nfs_server(server_program, &setup.files, &*link, cpus.sender, &congestion)?;
    let mut served = Served::Nfs(serving);
    let mut reader = Reader::start(&reader_program, &*link, cpus.receiver)?;
    drop(reader_program);
    let wanted = wanted(options, &versions, &exported, link.sender_address());
    let mut copies = (options.server == NfsServer::Knfsd).then(|| NfsCopies::on(cpus.sender));
    let whole = (files.total_bytes, crc32);
    let (mounts, refused) =
        first_reads(wanted, &mut reader, &mut served, copies.as_mut(), whole, steps)?;
    unavailable.extend(refused);
    versions.retain(|version| mounts.iter().any(|mount| mount.version == *version));
    if let Served::Nfs(serving) = &mut served {
        serving.find_processes(); // before the first trial, whose bytes are compared too
    }
    let (cells, too_long) = cells(&versions, &options.rsizes, &mounts)?;
    unavailable.extend(too_long);

    let own: Vec<Asked<'_>> = options
        .rsizes
        .iter()
        .map(|bytes| Asked { path: SendPath::Sendfile, bodies: Bodies::Of(*bytes) })
        .collect();
    let workers = [(SendPath::Sendfile, CONNECTIONS * own.len())];
    let server = OwnServer::start(&link, cpus.sender, &workers, &setup, &congestion)?;
    let http = own_load(&link, cpus.receiver, &server, &own, Reuse::KeepAlive)?;
    let reads = reads(&cells, &mounts);
    let origin_of = origin_of(&reads, &mounts, &options.rsizes);
    let load = NfsLoad::new(reader, reads, options.depth, Arc::new(http));
    let timing = timing(options.timing, false);
    let mut rig = ServerRig::new(ServerSetup {
        links: up.links.clone(),
        load: Asker::Nfs(Arc::new(load)),
        origin_of,
        served: Served::Several(vec![served, Served::Own(server)]),
        fixed: FixedParams {
            buffer_bytes: CALL_BUFFER,
            flows: 1,
            ..usual(LinkKind::Veth, cpus, options.soaker, congestion)?
        },
        timing,
        replayed: None,
    })?;
    let mut facts = link.facts().clone();
    facts.passed_over = up.passed_over;
    steps.say("looking at the machine");
    let mut warnings = link.warnings().to_vec();
    let (others, mut probes) = rig.examine(&host, &facts, instance_lock.sees_another(&[]))?;
    warnings.extend(others);
    if options.client == NfsClient::Kernel {
        let mask = std::fs::read_to_string(WORKERS).unwrap_or_default();
        warnings.extend((!is_only(&mask, cpus.receiver)).then(workers_anywhere));
    }
    let reference = cells[0].label.clone();
    let (cells, speeds) = at_one_rate(&mut rig, cells, options.rate_bytes_per_s, steps)?;
    probes.extend(speeds);

    let plan = Plan {
        experiment: EXPERIMENT.to_owned(),
        reference,
        cells,
        fixed: rig.fixed().clone(),
        timing,
        files,
        seed,
        budget_ns: options.budget_ns,
        target: options.target,
        factors: vec![Factor::Message, Factor::Send],
        unsoaked: Unsoaked::None,
        states: None,
        server: None,
        responses: None,
        nfs: Some(NfsPlan {
            server: options.server,
            server_version: exported.server,
            client: options.client,
            depth: options.depth,
            file_bytes: setup.files.total_bytes(),
            crc32,
            connections: options.connections,
            mounts,
        }),
    };
    let header = Header {
        unavailable,
        warnings,
        probes,
        ..Header::new(started_at, options.command.clone(), plan, host, facts)
    };
    Ok(Prepared { header, bench: Box::new(rig), instance_lock })
}

/// The versions that the client speaks, and rows for the others.
///
/// # Errors
/// It speaks none of them.
fn spoken(options: &NfsOptions) -> Result<(Vec<SendPath>, Vec<SupportRow>)> {
    let speaks = |version: &SendPath| match options.client {
        NfsClient::User => matches!(version, SendPath::Nfs3 | SendPath::Nfs40),
        NfsClient::Kernel => true,
    };
    let (can, cannot): (Vec<SendPath>, Vec<SendPath>) =
        options.versions.iter().partition(|version| speaks(version));
    let no = || Unavailable::unsupported("libnfs speaks the versions 3 and 4.0");
    let Some(first) = can.first() else {
        return Err(no().remedy("--vers 3,4.0").into_error("NFS"));
    };
    let rows =
        cannot.into_iter().map(|version| cannot_run(version.to_string(), first.name(), no()));
    let rows = rows.collect::<Result<_>>()?;
    Ok((can, rows))
}

/// CRC-32 of the bytes of all files, if a server can have them in memory.
///
/// # Errors
/// There is no room for them, or a READ would be longer than the file.
fn served_whole(setup: &SendSetup, rsizes: &[usize], total: u64, longest: u64) -> Result<u32> {
    let most = rsizes.iter().copied().max().unwrap_or_default() as u64;
    // Those of the reference are not put together.
    if longest < most {
        return Err(Error::input(format!(
            "the longest READ has {most} bytes, and the longest file {longest}"
        ))
        .help("give longer files, or none"));
    }
    trial::check_room((total as f64 * COPIES) as u64)?;
    trial::checksum(&setup.files)
}

/// Whether a mask of CPUs, in hexadecimal, has this one and no other.
fn is_only(mask: &str, cpu: usize) -> bool {
    let digits = mask.trim().chars().rev().filter(|digit| *digit != ',');
    let words: Vec<u32> = digits.filter_map(|digit| digit.to_digit(16)).collect();
    let set: u32 = words.iter().map(|word| word.count_ones()).sum();
    set == 1 && words.get(cpu / 4).is_some_and(|word| word >> (cpu % 4) & 1 == 1)
}

/// The warning that a part of the client's cost may be the server's.
fn workers_anywhere() -> Warning {
    let text = "the kernel's client works in threads of the kernel that may be on the server's CPU too: the costs of \
                both ends together are right, and what is the client's alone is not certain";
    Warning::new("nfs-workers", Severity::Doubt, text).remedy(format!(
        "as root, write the mask of the client's CPU into {WORKERS} (it is the machine's, for every \
         workqueue), and what was there afterwards"
    ))
}

/// What the client is to open, in this order: each version once, or a mount for each version and size.
fn wanted(
    options: &NfsOptions,
    versions: &[SendPath],
    exported: &Exported,
    server: IpAddr,
) -> Vec<NfsMount> {
    let by_user = |version| {
        let url = exported.url(server, version);
        vec![NfsMount::to_be(version, None, url)]
    };
    let by_kernel = |version| {
        let mount = |rsize: &usize| {
            let url = exported.mount(server, version, *rsize, options.connections);
            NfsMount::to_be(version, Some(*rsize as u64), url)
        };
        options.rsizes.iter().map(mount).collect()
    };
    let of = |version: &SendPath| match options.client {
        NfsClient::User => by_user(*version),
        NfsClient::Kernel => by_kernel(*version),
    };
    versions.iter().flat_map(of).collect()
}

/// Opens what is `wanted`, and reads the file once by each: it must have so many bytes and this CRC-32.
/// Returns what was agreed on, and rows for what is not to be had.
///
/// # Errors
/// Nothing can be opened: the last attempt's error. The server has ended; the file is another one.
fn first_reads(
    wanted: Vec<NfsMount>,
    reader: &mut Reader,
    served: &mut Served,
    mut copies: Option<&mut NfsCopies>,
    (bytes, crc32): (u64, u32),
    steps: &mut Steps<'_>,
) -> Result<(Vec<NfsMount>, Vec<SupportRow>)> {
    let (mut mounts, mut refused) = (Vec::new(), Vec::new());
    let last = wanted.last().cloned();
    let mut failed = None;
    for mount in wanted {
        steps.say(&format!("first READs by {}", name(&mount)));
        let patience = match mounts.is_empty() {
            true => START,
            // What was waited for at one size need not be at the next.
            false if failed == Some(mount.version) => Duration::ZERO,
            false => AGAIN,
        };
        let mut before = None;
        let opened = as_soon_as_it_answers(patience, served, steps, || {
            before = copies.as_mut().and_then(|copies| copies.watch());
            reader.open(&mount.url)
        });
        match opened {
            Ok(opened) => {
                checked(&mount, opened, bytes, crc32)?;
                let after = copies.as_ref().and_then(|copies| copies.counts());
                let since = |way: usize| Some(after?[way] - before?[way]);
                mounts.push(NfsMount {
                    largest_read: opened.largest_read,
                    spliced: since(0),
                    copied: since(1),
                    ..mount
                });
            }
            // The last of them says why there is nothing to measure.
            Err(error) if mounts.is_empty() && Some(&mount) == last.as_ref() => return Err(error),
            Err(error) if error.kind == ErrorKind::Unsupported => {
                let no = Unavailable::unsupported(error.message);
                refused.push(cannot_run(name(&mount), "", no)?);
            }
            // It answers, so there is something that it does not do by this version.
            Err(error) if error.kind == ErrorKind::Remote && !mounts.is_empty() => {
                failed = Some(mount.version);
                let no = Unavailable::refused(error.message);
                refused.push(cannot_run(name(&mount), "", no)?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((mounts, refused))
}

/// The name of a mount: that of its version, or of its cell.
fn name(mount: &NfsMount) -> String {
    match mount.rsize {
        None => mount.version.to_string(),
        Some(rsize) => label(mount.version, rsize),
    }
}

/// The label of a cell.
fn label(path: SendPath, bytes: u64) -> String {
    format!("{} {path}", units::size_text(bytes))
}

/// # Errors
/// What the client read is not what was to be served.
fn checked(mount: &NfsMount, opened: Opened, bytes: u64, crc32: u32) -> Result<()> {
    if (opened.bytes, opened.crc32) == (bytes, crc32) {
        return Ok(());
    }
    Err(Error::failed(format!(
        "the file has {} bytes (CRC-32 {:08x}) instead of {bytes} ({crc32:08x}) as {} reads it",
        opened.bytes,
        opened.crc32,
        name(mount)
    )))
}

/// A cell for each version and size of a READ, one of the reference for each size, and the A/A control.
/// Each size is compared with the next smaller one, other versions and the reference with the first
/// version at the same size. Sizes that the server does not allow are rows.
fn cells(
    versions: &[SendPath],
    rsizes: &[usize],
    mounts: &[NfsMount],
) -> Result<(Vec<Cell>, Vec<SupportRow>)> {
    let label = |path: SendPath, bytes: usize| label(path, bytes as u64);
    let cell = |path: SendPath, bytes: usize, by: Option<String>| Cell {
        label: label(path, bytes),
        levels: Levels { message_bytes: Some(bytes), ..Levels::default() },
        by,
        ..Cell::of_paths(path, RecvPath::Recv)
    };
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    let first = versions[0];
    let mut smaller: Option<usize> = None;
    for bytes in rsizes {
        let mut of_first = false;
        for version in versions {
            let Some(mount) = mounts.iter().find(|mount| mount.is_for(*version, *bytes)) else {
                continue; // a row tells why
            };
            if let Some(no) = not_of_this_size(mount, *bytes as u64) {
                cannot.push((label(*version, *bytes), no));
                continue;
            }
            let by = match *version == first {
                true => smaller.map(|bytes| label(first, bytes)),
                false => of_first.then(|| label(first, *bytes)),
            };
            of_first |= *version == first;
            can.push(cell(*version, *bytes, by));
        }
        if of_first {
            can.push(cell(SendPath::Sendfile, *bytes, Some(label(first, *bytes))));
            smaller = Some(*bytes);
        }
    }
    // The first is the reference, which no run is without.
    let reference = can.first().map(|first: &Cell| first.label.clone());
    let reference = reference.or_else(|| cannot.first().map(|(label, _)| label.clone()));
    let reference = reference.unwrap_or_default();
    let row = |(label, no)| cannot_run(label, &reference, no);
    let cannot = cannot.into_iter().map(row).collect::<Result<_>>()?;
    let control = can.first().map(|first| Cell {
        label: format!("{reference}{CONTROL_SUFFIX}"),
        control: true,
        ..first.clone()
    });
    can.extend(control);
    Ok((can, cannot))
}

/// Why READs of so many bytes are not to be had there; `None`: they are.
fn not_of_this_size(mount: &NfsMount, bytes: u64) -> Option<Unavailable> {
    let most = units::size_text(mount.largest_read);
    match mount.rsize {
        None => (bytes > mount.largest_read)
            .then(|| Unavailable::refused(format!("the server allows READs of {most} at most"))),
        Some(_) => (bytes != mount.largest_read)
            .then(|| Unavailable::refused(format!("client and server agreed on READs of {most}"))),
    }
}

/// What the client reads in the cells, each once: the file's number is that of its mount.
fn reads(cells: &[Cell], mounts: &[NfsMount]) -> Vec<Reads> {
    let of = |cell: &Cell| {
        let bytes = body_bytes(cell);
        let file = mounts.iter().position(|mount| mount.is_for(cell.send, bytes))?;
        Some(Reads { file, bytes })
    };
    cells.iter().filter(|cell| !cell.control).filter_map(of).collect()
}

/// The place of a cell: in [`reads`], or after them by size.
fn origin_of(reads: &[Reads], mounts: &[NfsMount], rsizes: &[usize]) -> OriginOf {
    let (reads, mounts, rsizes) = (reads.to_vec(), mounts.to_vec(), rsizes.to_vec());
    Box::new(move |cell| {
        let bytes = body_bytes(cell);
        match cell.send {
            SendPath::Sendfile => {
                rsizes.iter().position(|each| *each == bytes).map(|size| reads.len() + size)
            }
            version => reads
                .iter()
                .position(|each| each.bytes == bytes && mounts[each.file].is_for(version, bytes)),
        }
    })
}

/// Gives all cells one rate in bytes per second, which is typed or what the slowest of them can well
/// sustain, and adds the positive control.
fn at_one_rate(
    rig: &mut ServerRig,
    mut cells: Vec<Cell>,
    typed: Option<f64>,
    steps: &mut Steps<'_>,
) -> Result<(Vec<Cell>, Vec<Probe>)> {
    let speeds = rate::top_speeds(rig, &cells, steps)?;
    let mut bytes_per_s = BTreeMap::new();
    for cell in cells.iter().filter(|cell| !cell.control) {
        let per_s = speeds.get(&cell.label).copied().unwrap_or_default();
        bytes_per_s.insert(cell.label.clone(), per_s * body_bytes(cell) as f64);
    }
    let slowest = rate::slowest(&bytes_per_s)?;
    let rate = typed.unwrap_or_else(|| rate::round_below(slowest * SHARE));
    for cell in &mut cells {
        cell.levels.rate_bytes_per_s = Some(rate);
    }
    if let Some(first) = cells.first() {
        let bytes = body_bytes(first);
        rig.set_rate(rate / bytes as f64, bytes as u64, typed.is_none());
        let unit_s = meter::unit_time().as_secs_f64();
        let positive = positive(first, speeds[&first.label], bytes as u64, unit_s);
        cells.push(positive);
    }
    let probe = |(cell, bytes_per_s)| Probe::TopSpeed { cell, bytes_per_s };
    Ok((cells, bytes_per_s.into_iter().map(probe).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::Support;

    fn mounts(versions: &[SendPath], largest_read: u64) -> Vec<NfsMount> {
        let mount = |version: &SendPath| NfsMount {
            largest_read,
            ..NfsMount::to_be(*version, None, String::new())
        };
        versions.iter().map(mount).collect()
    }

    #[test]
    fn each_size_is_compared_with_the_next_smaller_one_and_others_at_the_same_size() {
        let versions = [SendPath::Nfs3, SendPath::Nfs40];
        let rsizes = [4096, 65_536];
        let (cells, cannot) = cells(&versions, &rsizes, &mounts(&versions, 1 << 20)).unwrap();
        let seen: Vec<(&str, Option<&str>)> =
            cells.iter().map(|cell| (cell.label.as_str(), cell.by.as_deref())).collect();
        assert_eq!(
            seen,
            [
                ("4k nfs-v3", None),
                ("4k nfs-v4.0", Some("4k nfs-v3")),
                ("4k sendfile", Some("4k nfs-v3")),
                ("64k nfs-v3", Some("4k nfs-v3")),
                ("64k nfs-v4.0", Some("64k nfs-v3")),
                ("64k sendfile", Some("64k nfs-v3")),
                ("4k nfs-v3 (A/A)", None),
            ]
        );
        assert!(cannot.is_empty());
        let reads = reads(&cells, &mounts(&versions, 1 << 20));
        let seen: Vec<_> = reads.iter().map(|each| (each.file, each.bytes)).collect();
        assert_eq!(seen, [(0, 4096), (1, 4096), (0, 65_536), (1, 65_536)]);
        let place = origin_of(&reads, &mounts(&versions, 1 << 20), &rsizes);
        let places: Vec<_> = cells.iter().map(&place).collect();
        assert_eq!(places, [0, 1, 4, 2, 3, 5, 0].map(Some));
    }

    #[test]
    fn a_mask_of_one_cpu_is_told_from_others() {
        assert!(is_only("2\n", 1) && is_only("00000001,00000000\n", 32) && is_only("0010", 4));
        for (mask, cpu) in [("3\n", 1), ("2", 0), ("", 0), ("1", 4), ("00000001,00000001", 32)] {
            assert!(!is_only(mask, cpu), "{mask} {cpu}");
        }
    }

    #[test]
    fn where_each_size_has_a_mount_of_its_own_another_size_than_was_asked_for_is_a_row() {
        let mount = |rsize, largest_read| NfsMount {
            largest_read,
            ..NfsMount::to_be(SendPath::Nfs3, Some(rsize), String::new())
        };
        let mounts =
            [mount(3072, 2048), mount(4096, 4096), mount(5120, 4096), mount(65_536, 65_536)];
        let rsizes = [3072, 4096, 5120, 65_536];
        let (cells, cannot) = cells(&[SendPath::Nfs3], &rsizes, &mounts).unwrap();
        let reads = reads(&cells, &mounts);
        let seen: Vec<_> = reads.iter().map(|each| (each.file, each.bytes)).collect();
        assert_eq!(seen, [(1, 4096), (3, 65_536)]);
        assert_eq!(cells[0].label, "4k nfs-v3");
        let Support::No(no) = &cannot[1].support else { panic!("{cannot:?}") };
        assert_eq!((cannot.len(), cannot[1].name.as_str()), (2, "5k nfs-v3"));
        assert_eq!(no.reason, "client and server agreed on READs of 4k");
        let place = origin_of(&reads, &mounts, &rsizes);
        let of = |label: &str| cells.iter().find(|cell| cell.label == label).and_then(&place);
        assert_eq!([of("64k nfs-v3"), of("4k sendfile"), of("64k sendfile")], [1, 3, 5].map(Some));
    }

    #[test]
    fn a_size_that_the_server_refuses_is_a_row_and_is_compared_with_nothing() {
        let versions = [SendPath::Nfs3];
        let (cells, cannot) = cells(&versions, &[4096, 65_536], &mounts(&versions, 4096)).unwrap();
        assert_eq!(cells.len(), 3, "{cells:?}");
        assert_eq!(cannot[0].name, "64k nfs-v3");
        let none = super::cells(&versions, &[65_536], &mounts(&versions, 4096)).unwrap_err();
        assert!(none.message.contains("at most"), "{none:?}");
    }
}
