//! The server's part of a client of NFS on another machine: reads a file of a server on the
//! client's machine, and of no other, while the client measures there.
//!
//! It compiles a program or mounts, as whoever it is. So it is one only where the command that
//! started it says so (`zc serve --stdio --nfs`), which whoever started it may as well have told it
//! to do in a shell. What is mounted is made here, of parts that are checked: a client names an
//! address, a path and numbers.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::asking::{LONGEST_DELAY_NS, MOST_PER_S, while_wanted};
use super::protocol::{FarFile, FarPhase, NfsWanted, Reply, Request};
use zc_kernel::clock::monotonic_ns;
use zc_rig::meter;
use zc_rig::trial::{self, StillWanted};
use zc_rig::workload::available_bytes;
use zc_run::{Error, NfsClient, NfsOperation, NfsVersion, Result};
use zc_servers::{Calling, Exported, NfsOrder, Opened, Reader, ReaderProgram, ToOpen};

/// Limit of files that are opened: more than there are versions, sizes and numbers of connections.
const MOST_FILES: usize = 4096;

/// Limit of a path's length in bytes (PATH_MAX).
const LONGEST_PATH: usize = 4096;

/// Limit of the bytes of a file that are read.
const MOST_OF_FILE: u64 = 1 << 30;

/// Limit of a READ in bytes.
const MOST_OF_READ: usize = 1 << 20;

/// Limit of READs at a time: more than any client has outstanding.
const MOST_DEPTH: usize = 1024;

/// Limit of a mount's connections: NFS_MAX_CONNECTIONS of Linux, fs/nfs/fs_context.c.
const MOST_CONNECTIONS: usize = 16;

/// A client of NFS, which waits for orders.
pub(super) struct Reads {
    calling: Arc<Mutex<Calling>>,
    client: NfsClient,
    address: IpAddr,
    opened: usize,
}

impl Reads {
    /// Starts the client, on the CPU that a receiver gets. It is `allowed` where the command that
    /// started this zc says so.
    ///
    /// # Errors
    /// It is not allowed, or there is no such client here.
    pub(super) fn begin(
        wanted: &NfsWanted,
        allowed: bool,
        still_wanted: StillWanted<'_>,
    ) -> Result<(Self, Reply)> {
        if !allowed {
            return Err(Error::usage(
                "nfs-client-not-offered",
                "this zc was not started to be a client of NFS",
            )
            .help("--via 'ssh HOST' in place of --remote starts one that is"));
        }
        let NfsWanted { client, address, .. } = *wanted;
        let calling = while_wanted(still_wanted, move || start(client))?;
        let same_machine = meter::boot_id().is_some_and(|own| own == wanted.boot_id);
        let calling = Arc::new(Mutex::new(calling));
        Ok((Self { calling, client, address, opened: 0 }, Reply::Asks { same_machine }))
    }

    /// Answers a request of the session.
    ///
    /// # Errors
    /// It is not one of a client of NFS, or not valid; the server does not answer.
    pub(super) fn answer(
        &mut self,
        request: &Request,
        still_wanted: StillWanted<'_>,
    ) -> Result<Reply> {
        let calling = Arc::clone(&self.calling);
        match request {
            Request::OpenNfs(file) => {
                if self.opened == MOST_FILES {
                    return Err(Error::usage(
                        "far-end-limit",
                        "more files were asked for than a far end opens",
                    ));
                }
                let what = what(self.client, self.address, file)?;
                let most = Some(file.most);
                let opened = while_wanted(still_wanted, move || {
                    let operation = NfsOperation::Read;
                    taken(&calling).open(&ToOpen { operation, most, what: &what })
                });
                let Opened { bytes, largest, crc32 } = opened?;
                self.opened += 1;
                Ok(Reply::OpenedNfs { bytes, largest, crc32 })
            }
            Request::GoNfs { .. } => {
                let order = order(request, self.opened, available_bytes());
                let order = order.ok_or_else(|| {
                    Error::usage(
                        "far-end-limit",
                        "READs were asked for that a far end does not make",
                    )
                })?;
                taken(&calling).go(order).map(|()| Reply::Done)
            }
            Request::Pause => {
                let phase = while_wanted(still_wanted, move || taken(&calling).pause())?;
                let phase =
                    phase.ok_or_else(|| Error::failed("protocol", "nothing is being read"))?;
                let per_s = phase.responses_per_s.unwrap_or_default();
                Ok(Reply::Paused(FarPhase::at_rate(&phase, per_s)))
            }
            _ => Err(Error::failed("protocol", "the session is one of a client of NFS")),
        }
    }
}

fn start(client: NfsClient) -> Result<Calling> {
    let program = match client {
        NfsClient::User => ReaderProgram::given_or_compiled(None),
        NfsClient::Kernel => ReaderProgram::mounting(false),
    };
    let program = program.map_err(|error| {
        let help = match client {
            NfsClient::User => "there: apt-get install gcc libc6-dev libnfs-dev",
            NfsClient::Kernel => {
                "there: a kernel with CONFIG_NFS_FS, and root (--via 'ssh root@HOST'); \
                 --nfs-client user needs neither"
            }
        };
        Error { help: Some(help.to_owned()), ..error }
    })?;
    let (_, cpu) = trial::choose_cpus(&trial::allowed_cpus()?);
    Reader::start(&program, || Ok(()), cpu).map(Calling::by)
}

/// The URL or mount to open for a requested file.
///
/// # Errors
/// This client of NFS does not read such a file.
fn what(client: NfsClient, address: IpAddr, wanted: &FarFile) -> Result<String> {
    let FarFile { file, call, size, connections, most } = wanted;
    let by_client = match client {
        NfsClient::User => matches!(call.version, NfsVersion::V3 | NfsVersion::V40),
        NfsClient::Kernel => true,
    };
    let speaks = by_client && call.operation == NfsOperation::Read;
    let fits = file.len() <= LONGEST_PATH
        && (1..=MOST_OF_READ).contains(size)
        && (1..=MOST_CONNECTIONS).contains(connections)
        && (1..=MOST_OF_FILE).contains(most);
    if !speaks || !fits {
        return Err(Error::usage("protocol", "a file was asked for that a far end does not read"));
    }
    let exported = Exported::of_server(address, file)?;
    Ok(match client {
        NfsClient::User => exported.url(call.version),
        NfsClient::Kernel => exported.mount(*call, *size, *connections),
    })
}

/// READs that are wanted, of so many files that are open; `None`: it is more than a far end makes.
fn order(request: &Request, opened: usize, available: Option<u64>) -> Option<NfsOrder> {
    let Request::GoNfs { file, bytes, depth, per_s, begins_in_ns } = *request else { return None };
    let is_rate = per_s.is_none_or(|per_s| per_s > 0.0 && per_s <= MOST_PER_S);
    let fits = (1..=MOST_OF_READ).contains(&bytes) && (1..=MOST_DEPTH).contains(&depth);
    if file >= opened || !is_rate || !fits || begins_in_ns > LONGEST_DELAY_NS {
        return None;
    }
    let has_room = available.is_none_or(|available| (bytes * depth) as u64 <= available / 2);
    let begin_ns = monotonic_ns().saturating_add(begins_in_ns);
    has_room.then_some(NfsOrder { file, bytes, depth, per_s, calls: None, begin_ns })
}

/// A panic while it was held leaves nothing half done that the next answer would not show.
fn taken(calling: &Mutex<Calling>) -> MutexGuard<'_, Calling> {
    calling.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::NfsCall;

    const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn call(version: NfsVersion, operation: NfsOperation) -> NfsCall {
        NfsCall { version, operation }
    }

    fn file() -> FarFile {
        FarFile {
            file: "/srv/file".to_owned(),
            call: call(NfsVersion::V3, NfsOperation::Read),
            size: 4096,
            connections: 1,
            most: 1 << 26,
        }
    }

    #[test]
    fn what_is_read_is_made_here_of_parts_and_its_server_is_the_one_that_was_named() {
        let user = what(NfsClient::User, SERVER, &file()).unwrap();
        assert_eq!(user, "nfs://192.0.2.1/srv/file?version=3");
        let mount =
            FarFile { call: call(NfsVersion::V42, NfsOperation::Read), connections: 4, ..file() };
        let kernel = what(NfsClient::Kernel, SERVER, &mount).unwrap();
        assert!(kernel.starts_with("192.0.2.1:/srv vers=4.2,"), "{kernel}");
        assert!(kernel.contains("addr=192.0.2.1,") && kernel.contains(",rsize=4096,"), "{kernel}");
        assert!(kernel.ends_with(",nconnect=4 file"), "{kernel}");
    }

    #[test]
    fn what_a_far_end_does_not_read_is_refused() {
        let of_call = |call: NfsCall| FarFile { call, ..file() };
        let of_file = |path: &str| FarFile { file: path.to_owned(), ..file() };
        let (user, kernel) = (NfsClient::User, NfsClient::Kernel);
        for (client, wrong) in [
            (user, of_call(call(NfsVersion::V42, NfsOperation::Read))),
            (user, of_call(call(NfsVersion::V3, NfsOperation::Write))),
            (kernel, of_call(call(NfsVersion::V42, NfsOperation::WriteSync))),
            (user, of_file("srv/file")),
            (user, of_file("/srv/")),
            (kernel, of_file("/srv vers=3,addr=192.0.2.9 file")),
            (user, of_file("/file?version=3&auto-traverse-mounts=1")),
            (kernel, of_file(&"/a".repeat(3000))),
            (kernel, FarFile { size: 0, ..file() }),
            (kernel, FarFile { size: (1 << 20) + 1, ..file() }),
            (kernel, FarFile { connections: 0, ..file() }),
            (kernel, FarFile { connections: 17, ..file() }),
            (user, FarFile { most: 0, ..file() }),
            (user, FarFile { most: u64::MAX, ..file() }),
        ] {
            assert!(what(client, SERVER, &wrong).is_err(), "{client} {wrong:?}");
        }
    }

    #[test]
    fn reads_have_bounds() {
        let go = |file, bytes, depth, per_s, begins_in_ns| {
            order(&Request::GoNfs { file, bytes, depth, per_s, begins_in_ns }, 2, Some(1 << 30))
        };
        let right = go(1, 4096, 4, Some(100.0), 1000).unwrap();
        assert_eq!((right.file, right.bytes, right.depth), (1, 4096, 4));
        assert_eq!((right.per_s, right.calls), (Some(100.0), None));
        assert!(go(0, 1 << 20, 512, None, 0).is_some());
        for wrong in [
            go(2, 4096, 4, None, 0),
            go(0, 0, 4, None, 0),
            go(0, (1 << 20) + 1, 4, None, 0),
            go(0, 4096, 0, None, 0),
            go(0, 4096, 1025, None, 0),
            go(0, 4096, 4, Some(0.0), 0),
            go(0, 4096, 4, Some(-1.0), 0),
            go(0, 4096, 4, Some(f64::NAN), 0),
            go(0, 4096, 4, Some(1e9), 0),
            go(0, 4096, 4, None, u64::MAX),
            go(0, 1 << 20, 513, None, 0),
        ] {
            assert_eq!(wrong, None);
        }
        assert_eq!(order(&Request::Pause, 2, None), None);
    }
}
