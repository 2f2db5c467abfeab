//! `zc run nfs`: what a READ or WRITE of NFS costs server and client, by its size.

use super::earlier;
use super::experiment::{command, conduct, print_outcome};
use super::nfs_args::{Each, NfsArgs};
use super::remote::Towards;
use zc_measure::session::{BlockOptions, Kind, NfsOptions, RemoteEnd};
use zc_run::{
    Cell, Error, Experiment, Factor, NfsClient, NfsOperation, NfsServer, Result, Transfer,
};

/// The default number of threads of the kernel's server.
const THREADS: u64 = 8;

/// Measures NFS and prints the result.
///
/// # Errors
/// An argument is not valid, server or client cannot be had, nothing could be measured, or a run
/// ended early.
pub(super) fn run(args: &NfsArgs) -> Result<()> {
    let options = options(args, command())?;
    args.measuring.check(&options.blocks.out)?;
    let towards = options.remote.is_some().then(Towards::by_command);
    let outcome = conduct(Kind::Nfs(&options), &args.measuring.length.quiet, towards)?;
    print_outcome(outcome, &options.blocks.out, args.measuring.format)
}

fn options(args: &NfsArgs, command: Vec<String>) -> Result<NfsOptions> {
    let usual = if args.nfs_file.is_some() { NfsServer::External } else { NfsServer::Ganesha };
    let server = args.nfs_server.unwrap_or(usual);
    let client = args.nfs_client.unwrap_or(NfsClient::User);
    let (in_kernel, mounts) = (server == NfsServer::Knfsd, client == NfsClient::Kernel);
    let (is_there, is_ours) = (server == NfsServer::External, "--nfs-server ganesha or knfsd");
    for (option, is_misplaced, needs) in [
        ("--nfs-file", args.nfs_file.is_some() && !is_there, "--nfs-server external"),
        ("--files", !args.files.paths.is_empty() && is_there, is_ours),
        ("--nfs-threads", args.nfs_threads.is_some() && !in_kernel, "--nfs-server knfsd"),
        ("--nconnect", args.nconnect.is_some() && !mounts, "--nfs-client kernel"),
        ("--nfs-reader", args.nfs_reader.is_some() && mounts, "--nfs-client user"),
    ] {
        if is_misplaced {
            return Err(Error::usage("option-needs-another", format!("{option} is for {needs}"))
                .help(format!("leave {option} out, or add {needs}")));
        }
    }
    let NfsArgs { measuring, block, .. } = args;
    let out = measuring.out();
    let earlier = match args.rate.is_given(Factor::Rate) {
        false => earlier::rates(&out, Experiment::Nfs.name()),
        true => Vec::new(),
    };
    Ok(NfsOptions {
        blocks: BlockOptions { earlier, ..block.options(measuring, command, out, false)? },
        server,
        client,
        remote: remote(args)?,
        file: args.nfs_file.clone(),
        versions: listed(args.vers.as_ref()),
        transports: listed(args.nfs_transport.as_ref()),
        operations: args.write.clone().map_or(vec![NfsOperation::Read], |Each(kinds)| kinds),
        sizes: args.rsize.0.clone(),
        depth: args.depth as usize,
        threads: args.nfs_threads.unwrap_or(THREADS) as usize,
        connections: listed(args.nconnect.as_ref()),
        rate_bytes_per_s: rate(args),
        files: args.files.paths.clone(),
        reader: args.nfs_reader.clone(),
    })
}

/// The values of an option; none leaves the choice to the session.
fn listed<T: Clone>(typed: Option<&Each<T>>) -> Vec<T> {
    typed.map_or_else(Vec::new, |each| each.0.clone())
}

/// The machine with the client, if it is another one, and whether it can have what was asked for.
fn remote(args: &NfsArgs) -> Result<Option<RemoteEnd>> {
    let refused =
        |message: &str, help: &str| Err(Error::usage("incompatible-with-via", message).help(help));
    if args.via.is_given() && args.nfs_file.is_none() {
        return refused(
            "zc's own NFS server is in a network namespace, which no other machine reaches",
            "--nfs-file HOST:/PATH names a file that this machine exports",
        );
    }
    if args.via.is_given() && args.nfs_reader.is_some() {
        return refused(
            "--nfs-reader names a program here, which the other machine has not",
            "leave --nfs-reader out: the other machine compiles one",
        );
    }
    args.via.end(None)
}

/// The rate that was typed; `None` leaves the choice to zc.
fn rate(args: &NfsArgs) -> Option<f64> {
    let mut cell = Cell::with_transfer(Transfer::Server);
    args.rate.levels().for_each(|level| level.put(&mut cell));
    cell.levels.rate_bytes_per_s
}
