//! Opening what is to be read or written, for the first time: what client and server agree on, and
//! whether the file is the right one.

use std::time::Duration;

use super::asks::Asks;
use super::cells::label;
use super::options::NfsOptions;
use super::place::{Kind, Place};
use crate::session::proving::cannot_run;
use crate::session::server::starting::as_soon_as_it_answers;
use crate::session::steps::Steps;
use zc_run::address::ip_text;
use zc_run::{
    Error, ErrorKind, NfsCall, NfsClient, NfsMount, Result, SupportRow, Transfer, Unavailable,
};
use zc_servers::{NfsCopies, Opened};

/// Time allowed to the server until the client can mount its export.
const START: Duration = Duration::from_secs(15);

/// Time allowed to it by another version: the kernel's server may let nobody open a file by version
/// 4 in its first 10 s.
const AGAIN: Duration = Duration::from_secs(12);

/// A file that has been opened.
pub(super) struct File {
    /// Bytes of it that are read or written.
    pub(super) bytes: u64,
    /// Their CRC-32.
    pub(super) crc32: u32,
    pub(super) mounts: Vec<NfsMount>,
    /// Rows for what is not to be had.
    pub(super) refused: Vec<SupportRow>,
}

/// Mounts for the client to open, in this order: one for each kind of call, or one for each kind,
/// size and number of connections.
pub(super) fn wanted(
    options: &NfsOptions,
    calls: &[NfsCall],
    connections: &[usize],
    place: &Place,
) -> Vec<NfsMount> {
    let exported = &place.exported;
    let of_sizes = |call: NfsCall| {
        let each = |size: &usize, connections: &usize| {
            let url = exported.mount(call, *size, *connections);
            NfsMount::to_be(call, Some(*size as u64), *connections, url)
        };
        let of = |size| connections.iter().map(move |connections| each(size, connections));
        options.sizes.iter().flat_map(of).collect()
    };
    let of = |call: &NfsCall| match (options.client, place.in_mount()) {
        (NfsClient::User, _) => vec![NfsMount::to_be(*call, None, 1, exported.url(call.version))],
        (NfsClient::Kernel, Some(mount)) => {
            vec![NfsMount::to_be(*call, None, mount.connections, mount.path.clone())]
        }
        (NfsClient::Kernel, None) => of_sizes(*call),
    };
    calls.iter().flat_map(of).collect()
}

/// Opens what is `wanted`, and reads the file once by each, after it was written where it is to be.
/// All must read the same: what zc has the server export, if it is zc's.
///
/// # Errors
/// Nothing can be opened: the last attempt's error. The server has ended; the file is another one.
pub(super) fn open(
    wanted: Vec<NfsMount>,
    asks: &mut Asks,
    place: &mut Place,
    mut copies: Option<&mut NfsCopies>,
    steps: &mut Steps<'_>,
) -> Result<File> {
    let most = place.most();
    let is_there = matches!(place.kind, Kind::There { .. });
    let (mut mounts, mut refused) = (Vec::<NfsMount>::new(), Vec::new());
    let mut whole = match &place.kind {
        Kind::Ours { crc32, .. } => Some((place.files.total_bytes, *crc32)),
        Kind::There { .. } => None,
    };
    let last = wanted.last().cloned();
    let mut failed = None;
    for mount in wanted {
        steps.say(&format!("first calls by {}", name(&mount)));
        // One that is there is not just starting, and what was waited for at one size need not be
        // at the next.
        let patience = if is_there || failed == Some(mount.call) {
            Duration::ZERO
        } else if mounts.is_empty() {
            START
        } else {
            AGAIN
        };
        let mut before = None;
        let opened = as_soon_as_it_answers(patience, &mut place.served, steps, || {
            before = copies.as_mut().and_then(|copies| copies.watch());
            asks.open(&mount, &place.exported, most)
        });
        match opened {
            Ok(opened) => {
                let Opened { bytes, largest, crc32 } = opened;
                let (bytes, crc32) = *whole.get_or_insert((bytes, crc32));
                checked(&mount, opened, bytes, crc32)?;
                let after = copies.as_ref().and_then(|copies| copies.counts());
                let since = |way: usize| Some(after?[way] - before?[way]);
                let (spliced, copied) = (since(0), since(1));
                mounts.push(NfsMount { largest, spliced, copied, ..mount });
            }
            // The last of them says why there is nothing to measure.
            Err(error) if mounts.is_empty() && Some(&mount) == last.as_ref() => {
                return Err(match is_there && error.kind == ErrorKind::Remote {
                    true => error.help(format!(
                        "whether {} serves NFS, and exports that path to this machine",
                        ip_text(place.exported.address)
                    )),
                    false => error,
                });
            }
            Err(error) if error.kind == ErrorKind::Unsupported => {
                let no = Unavailable::unsupported(error.message);
                refused.push(cannot_run(name(&mount), "", no)?);
            }
            // It answers, so there is something that it does not do by this version; one that is
            // there may do another.
            Err(error) if error.kind == ErrorKind::Remote && (is_there || !mounts.is_empty()) => {
                failed = Some(mount.call);
                let no = Unavailable::refused(error.message);
                refused.push(cannot_run(name(&mount), "", no)?);
            }
            Err(error) => return Err(error),
        }
    }
    let (bytes, crc32) = whole.unwrap_or_default();
    Ok(File { bytes, crc32, mounts, refused })
}

/// The name of a mount: that of its path, or of its cell.
fn name(mount: &NfsMount) -> String {
    match mount.size {
        None => mount.call.to_string(),
        Some(size) => label(Transfer::Nfs(mount.call), size, None),
    }
}

/// # Errors
/// The client read other bytes than the server was to serve.
fn checked(mount: &NfsMount, opened: Opened, bytes: u64, crc32: u32) -> Result<()> {
    if (opened.bytes, opened.crc32) == (bytes, crc32) {
        return Ok(());
    }
    Err(Error::failed(
        "wrong-bytes",
        format!(
            "the file has {} bytes (CRC-32 {:08x}) instead of {bytes} ({crc32:08x}) as {} reads it",
            opened.bytes,
            opened.crc32,
            name(mount)
        ),
    ))
}
