//! The arguments of `zc run nfs`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::factor_args::{FactorArgs, Takes};
use super::kernel_args::KernelArgs;
use super::known::{count, named, typed};
use super::option_groups::{BlockArgs, FilesArgs, MeasuringArgs, budget_of};
use super::remote::ViaArgs;
use zc_run::factor::FactorOption;
use zc_run::nearest::unknown;
use zc_run::{
    Error, Experiment, Factor, NfsClient, NfsOperation, NfsServer, NfsTransport, NfsVersion,
    Result, units,
};

/// The sizes of a READ or WRITE that are allowed.
const LEAST_SIZE: u64 = 1 << 10;
const MOST_SIZE: u64 = 1 << 20;
/// More than any client has outstanding.
const MOST_DEPTH: u64 = 1024;
/// NFS_MAX_CONNECTIONS of Linux, fs/nfs/fs_context.c.
const MOST_CONNECTIONS: u64 = 16;
/// NFSD_MAXSERVS of Linux, fs/nfsd/nfssvc.c.
const MOST_THREADS: u64 = 8192;

/// The question of the experiment, and what it needs.
pub(super) fn about() -> String {
    format!(
        "{}\n\nNeeds gcc and libnfs-dev for the client that zc compiles, or --nfs-client kernel; \
         and for a server of its own root and nfs-ganesha, or --nfs-server knfsd.",
        Experiment::Nfs.definition().question
    )
}

/// The options of `zc run nfs`.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("budget", budget_of(Experiment::Nfs.definition().budget)))]
pub(super) struct NfsArgs {
    /// Who serves: knfsd, ganesha, external (--nfs-file) [default: ganesha; with --nfs-file
    /// external]
    #[arg(long, value_name = "SERVER", value_parser = named::<NfsServer>(NfsServer::NAMES),
          hide_possible_values = true)]
    pub(super) nfs_server: Option<NfsServer>,
    /// Who asks: kernel (a mount), user (libnfs) [default: user]
    #[arg(long, value_name = "CLIENT", value_parser = named::<NfsClient>(NfsClient::NAMES),
          hide_possible_values = true)]
    pub(super) nfs_client: Option<NfsClient>,
    /// A file of a server that is there: HOST:/PATH, or one in a mount of this machine. The
    /// client's cost is measured; with --via the server's, which is on this machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) nfs_file: Option<String>,
    /// Versions of NFS, separated by commas: 3, 4.0, 4.1, 4.2 [default: 3,4.0; of a mount 3,4.2]
    #[arg(long, value_name = "VERSIONS", allow_hyphen_values = true,
          value_parser = typed(versions))]
    pub(super) vers: Option<Each<NfsVersion>>,
    /// Transports, separated by commas: tcp, udp, rdma. What cannot be had is a row with the reason
    /// [default: tcp]
    #[arg(long, value_name = "NAMES", allow_hyphen_values = true, value_parser = typed(transports))]
    pub(super) nfs_transport: Option<Each<NfsTransport>>,
    /// WRITEs in place of READs: async (UNSTABLE, with a COMMIT after the last), sync (FILE_SYNC),
    /// or both, separated by a comma
    #[arg(long, value_name = "KINDS", allow_hyphen_values = true, value_parser = typed(operations))]
    pub(super) write: Option<Each<NfsOperation>>,
    /// Bytes of a READ or WRITE, separated by commas, 1k to 1m
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true, value_parser = typed(sizes),
          default_value = "4k,16k,64k,256k,1m")]
    pub(super) rsize: Each<usize>,
    /// READs or WRITEs at a time, at most
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "4",
          value_parser = count("number", 1..=MOST_DEPTH))]
    pub(super) depth: u64,
    /// Connections of a mount, separated by commas [default: 1]
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true,
          value_parser = typed(connections))]
    pub(super) nconnect: Option<Each<usize>>,
    /// Threads of the server knfsd [default: 8]
    #[arg(long, value_name = "N", allow_hyphen_values = true,
          value_parser = count("number", 1..=MOST_THREADS))]
    pub(super) nfs_threads: Option<u64>,
    /// A program in place of the client that zc compiles with libnfs: crates/servers has its source
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::FilePath)]
    pub(super) nfs_reader: Option<PathBuf>,
    #[command(flatten)]
    pub(super) files: FilesArgs,
    #[command(flatten)]
    pub(super) via: ViaArgs,
    #[command(flatten)]
    pub(super) measuring: MeasuringArgs,
    #[command(flatten)]
    pub(super) block: BlockArgs,
    #[command(flatten)]
    pub(super) kernels: KernelArgs,
    /// Last, as it inserts its option among the others.
    #[command(flatten)]
    pub(super) rate: FactorArgs<Rate>,
}

/// The option of the rate.
#[derive(Debug, Clone, Default)]
pub(super) struct Rate;

impl Takes for Rate {
    fn options() -> impl Iterator<Item = FactorOption> {
        let option = Factor::Rate.definition().option();
        option.map(|option| FactorOption { after: "files", ..option }).into_iter()
    }
}

/// Values that were separated by commas, each once. A type of its own, as clap takes a bare vector
/// for an option that is given more than once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Each<T>(pub(super) Vec<T>);

impl<T: PartialEq> Each<T> {
    /// In the order in which they were typed.
    fn parse(text: &str, mut parse: impl FnMut(&str) -> Result<T>) -> Result<Self> {
        let mut all = Vec::new();
        for word in text.split(',').map(str::trim) {
            let each = parse(word)?;
            if !all.contains(&each) {
                all.push(each);
            }
        }
        Ok(Self(all))
    }
}

fn versions(text: &str) -> Result<Each<NfsVersion>> {
    Each::parse(text, |word| {
        // As the option of mount(8): 4 is 4.0 where no minor version is said.
        let name = if word == "4" { "4.0" } else { word };
        name.parse()
            .map_err(|_| wrong(word, "is no version of NFS").help("3, 4.0, 4.1 and 4.2 are"))
    })
}

fn transports(text: &str) -> Result<Each<NfsTransport>> {
    Each::parse(text, |word| word.parse::<NfsTransport>().map_err(unknown))
}

fn operations(text: &str) -> Result<Each<NfsOperation>> {
    Each::parse(text, |word| match word {
        "async" => Ok(NfsOperation::Write),
        "sync" => Ok(NfsOperation::WriteSync),
        _ => Err(wrong(word, "is no kind of WRITE")
            .help("--write async, --write sync, or --write async,sync")),
    })
}

fn connections(text: &str) -> Result<Each<usize>> {
    Each::parse(text, |word| {
        units::count("number", word, 1..=MOST_CONNECTIONS).map(|number| number as usize)
    })
}

/// Each size once, ascending.
fn sizes(text: &str) -> Result<Each<usize>> {
    let mut all = Each::parse(text, |word| {
        let bytes = units::size(word, LEAST_SIZE..=MOST_SIZE)?;
        match bytes % LEAST_SIZE {
            0 => Ok(bytes as usize),
            _ => Err(wrong(word, "is no size of a call here").help("1k to 1m, in steps of 1k")),
        }
    })?;
    all.0.sort_unstable();
    Ok(all)
}

fn wrong(word: &str, what: &str) -> Error {
    Error::usage("invalid-value", format!("\"{}\" {what}", zc_run::escape(word, 40)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_mount_8() {
        assert_eq!(versions("3, 4,4.0").unwrap().0, [NfsVersion::V3, NfsVersion::V40]);
        assert_eq!(versions("4.2").unwrap().0, [NfsVersion::V42]);
        for wrong in ["", "2", "4.3", "v3", "3,,4"] {
            assert!(versions(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_of_a_call_are_ascending_and_within_what_servers_allow() {
        assert_eq!(sizes("64k,1k,64k").unwrap().0, [1024, 65_536]);
        for wrong in ["512", "2m", "1025", "", "64kB"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn kinds_of_writes_and_numbers_of_connections_are_each_said_once() {
        assert_eq!(
            operations("sync,async,sync").unwrap().0,
            [NfsOperation::WriteSync, NfsOperation::Write]
        );
        assert_eq!(connections("4,1, 4").unwrap().0, [4, 1]);
        for wrong in ["", "fsync", "read"] {
            assert!(operations(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "17", "x"] {
            assert!(connections(wrong).is_err(), "{wrong}");
        }
    }
}
