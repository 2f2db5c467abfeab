//! `zc run nfs`: what a READ of NFS costs server and client, by its size. It takes some of the options of
//! `zc run`, and refuses the others instead of ignoring them.

use super::experiment::{OF_BLOCKS, command, takes_no_other, told, watched};
use super::run_args::RunArgs;
use super::{interrupt, quiet, resolve};
use zc_measure::session::{self, NfsOptions};
use zc_run::nearest::unknown;
use zc_run::{
    Cell, Error, Experiment, Factor, NfsClient, NfsServer, RecvPath, Result, SendPath, units,
};

/// The options of its own that it takes, and those of a sender.
const TAKES: [&str; 10] = [
    "--nfs-server",
    "--nfs-client",
    "--vers",
    "--rsize",
    "--depth",
    "--nconnect",
    "--nfs-threads",
    "--nfs-reader",
    "--files",
    "--rate",
];
/// The default budget.
pub(super) const BUDGET: &str = "3min";
/// What is read where nothing is said.
const VERSIONS: &str = "3,4.0";
const VERSIONS_OF_MOUNTS: &str = "3,4.2";
const RSIZES: &str = "4k,16k,64k,256k,1m";
const DEPTH: u64 = 4;
const CONNECTIONS: u64 = 1;
const THREADS: u64 = 8;
/// The sizes of a READ that are allowed.
const LEAST_RSIZE: u64 = 1 << 10;
const MOST_RSIZE: u64 = 1 << 20;
/// More than any client has outstanding.
const MOST_DEPTH: u64 = 1024;
/// NFS_MAX_CONNECTIONS of Linux, fs/nfs/fs_context.c.
const MOST_CONNECTIONS: u64 = 16;
/// NFSD_MAXSERVS of Linux, fs/nfsd/nfssvc.c.
const MOST_THREADS: u64 = 8192;

/// How to begin.
pub(super) const EXAMPLE: &str = "zc run nfs --vers 3 --rsize 4k,64k,1m";

/// Measures NFS and prints the result; `given` are the options that were typed.
///
/// # Errors
/// An argument is not valid, server or client cannot be had, nothing could be measured, or a run ended
/// early.
pub(super) fn run(args: &RunArgs, given: &[String]) -> Result<()> {
    takes_no_other(Experiment::Nfs, &[&TAKES, &OF_BLOCKS], given, EXAMPLE)?;
    let options = options(args, command())?;
    resolve::check_out(&options.out, args.out.is_some())?;
    let at_most = args.quiet.at_most()?;
    let stop = interrupt::flag()?;
    quiet::wait(at_most, &stop)?;
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
    let server = server.map_err(unknown)?.unwrap_or(NfsServer::Ganesha);
    let client = nfs.nfs_client.as_deref().map(str::parse::<NfsClient>).transpose();
    let client = client.map_err(unknown)?.unwrap_or(NfsClient::User);
    let (in_kernel, mounts) = (server == NfsServer::Knfsd, client == NfsClient::Kernel);
    for (option, is_misplaced, needs) in [
        ("--nfs-threads", nfs.nfs_threads.is_some() && !in_kernel, "--nfs-server knfsd"),
        ("--nconnect", nfs.nconnect.is_some() && !mounts, "--nfs-client kernel"),
        ("--nfs-reader", nfs.nfs_reader.is_some() && mounts, "--nfs-client user"),
    ] {
        if is_misplaced {
            return Err(Error::usage(format!("{option} is for {needs}"))
                .help(format!("leave {option} out, or add {needs}")));
        }
    }
    let versions_of_client = match client {
        NfsClient::User => VERSIONS,
        NfsClient::Kernel => VERSIONS_OF_MOUNTS,
    };
    let number = |option, text: &Option<String>, usual, most| match text {
        None => Ok(usual),
        Some(text) => {
            units::count("number", text, 1..=most).map_err(|error| resolve::of(option, error))
        }
    };
    let depth = number("--depth", &nfs.depth, DEPTH, MOST_DEPTH)?;
    let connections = number("--nconnect", &nfs.nconnect, CONNECTIONS, MOST_CONNECTIONS)?;
    let threads = number("--nfs-threads", &nfs.nfs_threads, THREADS, MOST_THREADS)?;
    Ok(NfsOptions {
        command,
        server,
        client,
        versions: versions(nfs.vers.as_deref().unwrap_or(versions_of_client))?,
        rsizes: rsizes(nfs.rsize.as_deref().unwrap_or(RSIZES))?,
        depth: depth as usize,
        threads: threads as usize,
        connections: connections as usize,
        rate_bytes_per_s: rate(args)?,
        files: args.files.clone(),
        reader: nfs.nfs_reader.clone(),
        cpus: args.cpus.as_deref().map(|text| resolve::cpus(text, false)).transpose()?,
        soaker: resolve::soaker(args)?,
        budget_ns: resolve::budget(args.budget.as_deref(), BUDGET)?,
        target: resolve::target(args)?,
        seed: resolve::seed(args.seed.as_deref())?,
        timing: [
            duration("--warmup", &args.warmup)?,
            duration("--window", &args.window)?,
            duration("--idle", &args.idle)?,
        ],
        out: args.out.clone().unwrap_or_else(|| resolve::default_out(&jiff::Zoned::now())),
    })
}

/// The rate that was typed; `None` leaves the choice to zc.
fn rate(args: &RunArgs) -> Result<Option<f64>> {
    let mut cell = Cell::of_paths(SendPath::Nfs3, RecvPath::Recv);
    let levels = args.factors.levels()?;
    levels
        .iter()
        .filter(|level| level.factor == Factor::Rate)
        .for_each(|level| level.put(&mut cell));
    Ok(cell.levels.rate_bytes_per_s)
}

/// Each version once, in the order in which they were typed.
fn versions(text: &str) -> Result<Vec<SendPath>> {
    let mut all = Vec::new();
    for word in text.split(',').map(str::trim) {
        // As the option of mount(8): 4 is 4.0 where no minor version is said.
        let name = if word == "4" { "4.0" } else { word };
        let known = SendPath::NFS.into_iter().find(|path| path.nfs_version() == Some(name));
        let version = known.ok_or_else(|| {
            let shown = zc_run::escape(word, 40);
            Error::usage(format!("--vers: \"{shown}\" is no version of NFS"))
                .help("3, 4.0, 4.1 and 4.2 are")
        })?;
        if !all.contains(&version) {
            all.push(version);
        }
    }
    Ok(all)
}

/// Each size once, ascending.
fn rsizes(text: &str) -> Result<Vec<usize>> {
    let mut all = Vec::new();
    for word in text.split(',').map(str::trim) {
        let bytes = units::size(word, LEAST_RSIZE..=MOST_RSIZE)
            .map_err(|error| resolve::of("--rsize", error))?;
        if bytes % LEAST_RSIZE != 0 {
            let shown = zc_run::escape(word, 40);
            return Err(Error::usage(format!("--rsize: \"{shown}\" is no size of a READ here"))
                .help("1k to 1m, in steps of 1k"));
        }
        all.push(bytes as usize);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_mount_8() {
        assert_eq!(versions("3, 4,4.0").unwrap(), [SendPath::Nfs3, SendPath::Nfs40]);
        assert_eq!(versions("4.2").unwrap(), [SendPath::Nfs42]);
        for wrong in ["", "2", "4.3", "v3", "3,,4"] {
            assert!(versions(wrong).unwrap_err().message.starts_with("--vers"), "{wrong}");
        }
    }

    #[test]
    fn sizes_of_a_read_are_ascending_and_within_what_servers_allow() {
        assert_eq!(rsizes("64k,1k,64k").unwrap(), [1024, 65_536]);
        for wrong in ["512", "2m", "1025", "", "64kB"] {
            assert!(rsizes(wrong).unwrap_err().message.starts_with("--rsize"), "{wrong}");
        }
    }
}
