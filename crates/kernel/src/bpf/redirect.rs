//! The proxy inside the kernel: redirecting what arrives on one socket to another.

use std::os::fd::AsRawFd;

use aya::include_bytes_aligned;
use aya::maps::{Map, MapData, SockMap};
use aya::programs::SkSkb;
use aya::{Ebpf, maps::MapError};

use super::load::{BpfError, Stage, innermost_error, missing, object, program};

const PROGRAM: &str = "redirect_all";

static OBJECT: &[u8] = include_bytes_aligned!("redirect.bpf.o");

/// Two connections, of which everything that arrives on the first from now on is sent from the
/// second by the kernel. Dropping it ends that; what the kernel has not sent by then is lost.
///
/// The kernel keeps what it has still to send in no socket's buffer, so a slow peer of the second
/// connection does not slow down the sender to the first (`sk_psock_skb_redirect` in
/// net/core/skmsg.c queues without a limit).
///
/// # References
/// - [Documentation/bpf/map_sockmap.rst]
/// - [bpf-helpers(7)], bpf_sk_redirect_map
///
/// [Documentation/bpf/map_sockmap.rst]: https://docs.kernel.org/bpf/map_sockmap.html
/// [bpf-helpers(7)]: https://man7.org/linux/man-pages/man7/bpf-helpers.7.html
#[derive(Debug)]
pub struct Redirect {
    /// Programs and maps.
    _ebpf: Ebpf,
}

impl Redirect {
    /// Loads the program with bpf(2) and puts `source` and `target`, two connections of TCP, into
    /// its maps. What has arrived on `source` by now is not redirected.
    ///
    /// # Errors
    /// - At [`Stage::Map`] or [`Stage::Load`]: EPERM without CAP_BPF and CAP_NET_ADMIN, EINVAL if
    ///   the kernel has no socket maps.
    /// - At [`Stage::Attach`]: EINVAL from kernels whose verdicts need a parser (before 5.10);
    ///   EOPNOTSUPP, EINVAL if one of the sockets is not a connection of TCP.
    ///
    /// # References
    /// [bpf(2)]
    ///
    /// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
    #[doc(alias = "bpf")]
    #[doc(alias = "BPF_MAP_TYPE_SOCKMAP")]
    #[doc(alias = "BPF_SK_SKB_STREAM_VERDICT")]
    pub fn between(source: &impl AsRawFd, target: &impl AsRawFd) -> Result<Self, BpfError> {
        let mut ebpf = object(OBJECT)?;
        let sources = sockets(&mut ebpf, "sources")?.fd().try_clone();
        let sources = sources.map_err(|error| innermost_error(Stage::Map, &error))?;
        let verdict: &mut SkSkb = program(&mut ebpf, PROGRAM)?;
        verdict.load().map_err(|error| innermost_error(Stage::Load, &error))?;
        verdict.attach(&sources).map_err(|error| innermost_error(Stage::Attach, &error))?;
        // Sockets take the programs of a map when they are put into it. The target comes first:
        // there must be one when the first packet arrives.
        sockets(&mut ebpf, "targets")?.set(0, target, 0).map_err(no_socket)?;
        sockets(&mut ebpf, "sources")?.set(0, source, 0).map_err(no_socket)?;
        Ok(Self { _ebpf: ebpf })
    }
}

fn sockets<'e>(ebpf: &'e mut Ebpf, name: &str) -> Result<SockMap<&'e mut MapData>, BpfError> {
    ebpf.map_mut(name)
        .ok_or_else(|| missing(Stage::Map, format!("the object has no map \"{name}\"")))
        .and_then(|map: &mut Map| SockMap::try_from(map).map_err(no_map))
}

fn no_map(error: MapError) -> BpfError {
    innermost_error(Stage::Map, &error)
}

fn no_socket(error: MapError) -> BpfError {
    innermost_error(Stage::Attach, &error)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;

    use super::*;
    use crate::testing::connection;

    #[test]
    fn what_arrives_on_one_connection_leaves_by_the_other() {
        let (mut client, source) = connection();
        let (target, mut server) = connection();
        let redirect = match Redirect::between(&source, &target) {
            Ok(redirect) => redirect,
            Err(error) => return eprintln!("skipped: no socket map: {error}"),
        };
        let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at * 7 + at / 256) as u8).collect();
        let mut got = vec![0; bytes.len()];
        std::thread::scope(|scope| {
            scope.spawn(|| client.write_all(&bytes).unwrap());
            server.read_exact(&mut got).unwrap();
        });
        assert!(got == bytes, "other bytes arrived than were sent");
        // What the target receives is for who reads it.
        server.write_all(b"answer").unwrap();
        let mut answer = [0; 6];
        (&target).read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"answer");
        drop(redirect);
        target.shutdown(Shutdown::Write).unwrap();
        assert_eq!(server.read(&mut got).unwrap(), 0);
    }
}
