//! The arguments of `zc run nfs`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::known::known;
use zc_run::{NfsClient, NfsServer};

/// What `zc run nfs` takes beside the options of every run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "NFS (zc run nfs)")]
pub(super) struct NfsArgs {
    /// Who serves: knfsd, ganesha, external (--nfs-file) [default: ganesha; with --nfs-file
    /// external]
    #[arg(long, value_name = "SERVER", value_parser = known(NfsServer::NAMES.iter().copied()),
          hide_possible_values = true)]
    pub(super) nfs_server: Option<String>,
    /// Who asks: kernel (a mount), user (libnfs) [default: user]
    #[arg(long, value_name = "CLIENT", value_parser = known(NfsClient::NAMES.iter().copied()),
          hide_possible_values = true)]
    pub(super) nfs_client: Option<String>,
    /// A file of a server that is there: HOST:/PATH, or one in a mount of this machine. The
    /// client's cost is measured; with --via the server's, which is on this machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) nfs_file: Option<String>,
    /// Versions of NFS, separated by commas: 3, 4.0, 4.1, 4.2 [default: 3,4.0; of a mount 3,4.2]
    #[arg(long, value_name = "VERSIONS", allow_hyphen_values = true)]
    pub(super) vers: Option<String>,
    /// Transports, separated by commas: tcp, udp, rdma. What cannot be had is a row with the reason
    /// [default: tcp]
    #[arg(long, value_name = "NAMES", allow_hyphen_values = true)]
    pub(super) nfs_transport: Option<String>,
    /// WRITEs in place of READs: async (UNSTABLE, with a COMMIT after the last), sync (FILE_SYNC),
    /// or both, separated by a comma
    #[arg(long, value_name = "KINDS", allow_hyphen_values = true)]
    pub(super) write: Option<String>,
    /// Bytes of a READ or WRITE, separated by commas, 1k to 1m [default: 4k,16k,64k,256k,1m]
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub(super) rsize: Option<String>,
    /// READs or WRITEs at a time, at most [default: 4]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) depth: Option<String>,
    /// Connections of a mount, separated by commas [default: 1]
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true)]
    pub(super) nconnect: Option<String>,
    /// Threads of the server knfsd [default: 8]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) nfs_threads: Option<String>,
    /// A program in place of the client that zc compiles with libnfs: crates/servers has its source
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::FilePath)]
    pub(super) nfs_reader: Option<PathBuf>,
}

impl NfsArgs {
    /// Whether any of them was typed.
    pub(super) fn is_given(&self) -> bool {
        let Self {
            nfs_server,
            nfs_client,
            nfs_file,
            vers,
            nfs_transport,
            write,
            rsize,
            depth,
            nconnect,
            nfs_threads,
            nfs_reader,
        } = self;
        [nfs_server, nfs_client, nfs_file, vers, nfs_transport]
            .into_iter()
            .chain([write, rsize, depth, nconnect, nfs_threads])
            .any(Option::is_some)
            || nfs_reader.is_some()
    }
}
