//! `zc run nfs`: what a READ or WRITE of NFS costs server and client, by its size. It takes some of
//! the options of `zc run`, and refuses the others instead of ignoring them.

use super::experiment::{OF_BLOCKS, command, takes_no_other, told, watched};
use super::run_args::RunArgs;
use super::{earlier, interrupt, quiet, resolve};
use zc_measure::session::{self, NfsOptions};
use zc_rig::privileges::{self, Work};
use zc_run::nearest::unknown;
use zc_run::{
    Cell, Error, Experiment, Factor, NfsClient, NfsOperation, NfsServer, NfsTransport, NfsVersion,
    Result, Transfer, units,
};

/// The options of its own that it takes, those of a sender, and those of another machine: --remote
/// is refused for a reason of its own.
const OWN: [&str; 17] = [
    "--nfs-server",
    "--nfs-client",
    "--nfs-file",
    "--vers",
    "--nfs-transport",
    "--write",
    "--rsize",
    "--depth",
    "--nconnect",
    "--nfs-threads",
    "--nfs-reader",
    "--files",
    "--rate",
    "--via",
    "--remote",
    "--carry",
    "--no-carry",
];
/// All options that it takes.
pub(super) const TAKES: [&[&str]; 2] = [&OWN, &OF_BLOCKS];
/// Default sizes.
const SIZES: &str = "4k,16k,64k,256k,1m";
const DEPTH: u64 = 4;
const THREADS: u64 = 8;
/// The sizes of a READ or WRITE that are allowed.
const LEAST_SIZE: u64 = 1 << 10;
const MOST_SIZE: u64 = 1 << 20;
/// More than any client has outstanding.
const MOST_DEPTH: u64 = 1024;
/// NFS_MAX_CONNECTIONS of Linux, fs/nfs/fs_context.c.
const MOST_CONNECTIONS: u64 = 16;
/// NFSD_MAXSERVS of Linux, fs/nfsd/nfssvc.c.
const MOST_THREADS: u64 = 8192;

/// An example command.
pub(super) const EXAMPLE: &str = "zc run nfs --vers 3 --rsize 4k,64k,1m";

/// Measures NFS and prints the result; `given` are the options that were typed.
///
/// # Errors
/// An argument is not valid, server or client cannot be had, nothing could be measured, or a run
/// ended early.
pub(super) fn run(args: &RunArgs, given: &[String]) -> Result<()> {
    takes_no_other(Experiment::Nfs, &TAKES, given, EXAMPLE)?;
    let options = options(args, command())?;
    resolve::check_out(&options.out, args.out.is_some(), args.format)?;
    let at_most = args.quiet.at_most()?;
    let stop = interrupt::flag()?;
    quiet::wait(at_most, &stop)?;
    if args.remote.is_given() {
        privileges::keep_for(Work::TowardsFarEnd {
            starts_commands: args.starts_commands(),
            realtime: false,
        })?;
    }
    let outcome = watched(options.budget_ns, &stop, |interim, stop, watcher| {
        session::run_nfs(&options, interim, stop, watcher)
    })?;
    told(outcome, &options.out, args.format)
}

fn options(args: &RunArgs, command: Vec<String>) -> Result<NfsOptions> {
    let nfs = &args.nfs;
    let duration = |option, text: &Option<String>| {
        resolve::optional_duration(option, text.as_deref(), 1_000_000)
    };
    let server = nfs.nfs_server.as_deref().map(str::parse::<NfsServer>).transpose();
    let usual = if nfs.nfs_file.is_some() { NfsServer::External } else { NfsServer::Ganesha };
    let server = server.map_err(unknown)?.unwrap_or(usual);
    let client = nfs.nfs_client.as_deref().map(str::parse::<NfsClient>).transpose();
    let client = client.map_err(unknown)?.unwrap_or(NfsClient::User);
    let (in_kernel, mounts) = (server == NfsServer::Knfsd, client == NfsClient::Kernel);
    let (is_there, is_ours) = (server == NfsServer::External, "--nfs-server ganesha or knfsd");
    for (option, is_misplaced, needs) in [
        ("--nfs-file", nfs.nfs_file.is_some() && !is_there, "--nfs-server external"),
        ("--files", !args.files.is_empty() && is_there, is_ours),
        ("--nfs-threads", nfs.nfs_threads.is_some() && !in_kernel, "--nfs-server knfsd"),
        ("--nconnect", nfs.nconnect.is_some() && !mounts, "--nfs-client kernel"),
        ("--nfs-reader", nfs.nfs_reader.is_some() && mounts, "--nfs-client user"),
    ] {
        if is_misplaced {
            return Err(Error::usage(format!("{option} is for {needs}"))
                .help(format!("leave {option} out, or add {needs}")));
        }
    }
    if args.remote.is_given() {
        afar(args)?;
    }
    let number = |option, text: &Option<String>, usual, most| match text {
        None => Ok(usual),
        Some(text) => {
            units::count("number", text, 1..=most).map_err(|error| resolve::of(option, error))
        }
    };
    let depth = number("--depth", &nfs.depth, DEPTH, MOST_DEPTH)?;
    let out = args.out.clone().unwrap_or_else(|| resolve::default_out(&jiff::Zoned::now()));
    let earlier = match args.factors.text(Factor::Rate) {
        None => earlier::rates(&out, Experiment::Nfs.name()),
        Some(_) => Vec::new(),
    };
    let threads = number("--nfs-threads", &nfs.nfs_threads, THREADS, MOST_THREADS)?;
    Ok(NfsOptions {
        command,
        server,
        client,
        remote: args.remote.end()?,
        file: nfs.nfs_file.clone(),
        versions: nfs.vers.as_deref().map(versions).transpose()?.unwrap_or_default(),
        transports: nfs.nfs_transport.as_deref().map(transports).transpose()?.unwrap_or_default(),
        operations: nfs.write.as_deref().map_or(Ok(vec![NfsOperation::Read]), operations)?,
        sizes: sizes(nfs.rsize.as_deref().unwrap_or(SIZES))?,
        depth: depth as usize,
        threads: threads as usize,
        connections: nfs.nconnect.as_deref().map(connections).transpose()?.unwrap_or_default(),
        rate_bytes_per_s: rate(args)?,
        earlier,
        files: args.files.clone(),
        reader: nfs.nfs_reader.clone(),
        cpus: args.cpus.as_deref().map(|text| resolve::cpus(text, false)).transpose()?,
        soaker: resolve::soaker(args)?,
        budget_ns: resolve::budget(args.budget.as_deref(), Experiment::Nfs.definition().budget)?,
        target: resolve::target(args)?,
        strict: args.strict,
        seed: resolve::seed(args.seed.as_deref())?,
        timing: [
            duration("--warmup", &args.warmup)?,
            duration("--window", &args.window)?,
            duration("--idle", &args.idle)?,
        ],
        out,
    })
}

/// Checks what a client on another machine needs.
fn afar(args: &RunArgs) -> Result<()> {
    let refused = |message: &str, help: &str| Err(Error::usage(message).help(help));
    if !args.remote.is_by_command() {
        return refused(
            "--remote: only a command of yours can start a client of NFS on another machine",
            "--via 'ssh HOST' in place of --remote",
        );
    }
    if args.nfs.nfs_file.is_none() {
        return refused(
            "zc's own NFS server is in a network namespace, which no other machine reaches",
            "--nfs-file HOST:/PATH names a file that this machine exports",
        );
    }
    if args.nfs.nfs_reader.is_some() {
        return refused(
            "--nfs-reader names a program here, which the other machine has not",
            "leave --nfs-reader out: the other machine compiles one",
        );
    }
    Ok(())
}

/// The rate that was typed; `None` leaves the choice to zc.
fn rate(args: &RunArgs) -> Result<Option<f64>> {
    let mut cell = Cell::with_transfer(Transfer::Server);
    let levels = args.factors.levels()?;
    levels
        .iter()
        .filter(|level| level.factor == Factor::Rate)
        .for_each(|level| level.put(&mut cell));
    Ok(cell.levels.rate_bytes_per_s)
}

/// Each of the comma-separated words once, in the order in which they were typed.
fn each_once<T: PartialEq>(text: &str, mut of: impl FnMut(&str) -> Result<T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for word in text.split(',').map(str::trim) {
        let each = of(word)?;
        if !all.contains(&each) {
            all.push(each);
        }
    }
    Ok(all)
}

fn versions(text: &str) -> Result<Vec<NfsVersion>> {
    each_once(text, |word| {
        // As the option of mount(8): 4 is 4.0 where no minor version is said.
        let name = if word == "4" { "4.0" } else { word };
        name.parse::<NfsVersion>().map_err(|_| {
            let shown = zc_run::escape(word, 40);
            Error::usage(format!("--vers: \"{shown}\" is no version of NFS"))
                .help("3, 4.0, 4.1 and 4.2 are")
        })
    })
}

fn transports(text: &str) -> Result<Vec<NfsTransport>> {
    each_once(text, |word| word.parse::<NfsTransport>().map_err(unknown))
}

fn operations(text: &str) -> Result<Vec<NfsOperation>> {
    each_once(text, |word| match word {
        "async" => Ok(NfsOperation::Write),
        "sync" => Ok(NfsOperation::WriteSync),
        _ => {
            let shown = zc_run::escape(word, 40);
            Err(Error::usage(format!("--write: \"{shown}\" is no kind of WRITE"))
                .help("--write async, --write sync, or --write async,sync"))
        }
    })
}

fn connections(text: &str) -> Result<Vec<usize>> {
    each_once(text, |word| {
        let number = units::count("number", word, 1..=MOST_CONNECTIONS);
        number.map(|number| number as usize).map_err(|error| resolve::of("--nconnect", error))
    })
}

/// Each size once, ascending.
fn sizes(text: &str) -> Result<Vec<usize>> {
    let mut all = each_once(text, |word| {
        let bytes = units::size(word, LEAST_SIZE..=MOST_SIZE)
            .map_err(|error| resolve::of("--rsize", error))?;
        if bytes % LEAST_SIZE != 0 {
            let shown = zc_run::escape(word, 40);
            return Err(Error::usage(format!("--rsize: \"{shown}\" is no size of a call here"))
                .help("1k to 1m, in steps of 1k"));
        }
        Ok(bytes as usize)
    })?;
    all.sort_unstable();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_mount_8() {
        assert_eq!(versions("3, 4,4.0").unwrap(), [NfsVersion::V3, NfsVersion::V40]);
        assert_eq!(versions("4.2").unwrap(), [NfsVersion::V42]);
        for wrong in ["", "2", "4.3", "v3", "3,,4"] {
            assert!(versions(wrong).unwrap_err().message.starts_with("--vers"), "{wrong}");
        }
    }

    #[test]
    fn sizes_of_a_call_are_ascending_and_within_what_servers_allow() {
        assert_eq!(sizes("64k,1k,64k").unwrap(), [1024, 65_536]);
        for wrong in ["512", "2m", "1025", "", "64kB"] {
            assert!(sizes(wrong).unwrap_err().message.starts_with("--rsize"), "{wrong}");
        }
    }

    #[test]
    fn kinds_of_writes_and_numbers_of_connections_are_each_said_once() {
        assert_eq!(
            operations("sync,async,sync").unwrap(),
            [NfsOperation::WriteSync, NfsOperation::Write]
        );
        assert_eq!(connections("4,1, 4").unwrap(), [4, 1]);
        for wrong in ["", "fsync", "read"] {
            assert!(operations(wrong).unwrap_err().message.starts_with("--write"), "{wrong}");
        }
        for wrong in ["", "0", "17", "x"] {
            assert!(connections(wrong).unwrap_err().message.starts_with("--nconnect"), "{wrong}");
        }
    }
}
