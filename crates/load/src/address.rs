//! Chooses the address of a server, and says why there is no connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::io::Errno;

use super::options::LoadOptions;
use super::origin::Origin;
use super::tls;
use zc_kernel::tcp;
use zc_run::address::ip_text;
use zc_run::{Error, Result, in_words};

/// Time for which one of several addresses is tried.
const TO_TRY: Duration = Duration::from_secs(3);

/// The address of `origin` to use: its only one, or the first that accepts a connection.
pub(super) fn choose_address(origin: &Origin, options: &LoadOptions) -> Result<SocketAddr> {
    if let [only] = origin.addresses[..] {
        return Ok(only);
    }
    let mut last = None;
    for address in &origin.addresses {
        match try_address(*address, options) {
            Ok(()) => return Ok(*address),
            Err(error) => last = Some(cannot_connect(origin, *address, options.source, &error)),
        }
    }
    Err(last.unwrap_or_else(|| {
        Error::remote("host-without-address", format!("{} has no address", origin.quoted()))
    }))
}

fn try_address(address: SocketAddr, options: &LoadOptions) -> io::Result<()> {
    let socket = tcp::begin_connect(address, options.source)?;
    tcp::wait_connected(&socket, options.timeout.min(TO_TRY))
}

/// A connection of `origin` that cannot be had, as an error.
pub(super) fn cannot_connect(
    origin: &Origin,
    address: SocketAddr,
    source: Option<SocketAddr>,
    error: &io::Error,
) -> Error {
    let url = origin.quoted();
    if let Some((id, why, help)) = tls::why(error) {
        return Error::remote(id, format!("cannot connect to {url} with TLS: {why}")).help(help);
    }
    match (Errno::from_io_error(error), source) {
        (Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT | Errno::INVAL), Some(source)) => {
            Error::usage(
                "source-address-unusable",
                format!(
                    "cannot connect from {} to {address}: {}",
                    ip_text(source),
                    in_words(error)
                ),
            )
            .help(
                "--source must be an address of this machine (ip address shows them), of the \
                     same IP version; or its ports are used up",
            )
        }
        (Some(Errno::MFILE | Errno::NFILE), _) => Error::failed(
            "too-many-open-files",
            format!("cannot connect to {url}: {}", in_words(error)),
        )
        .help("use fewer connections, or raise the limit: ulimit -n"),
        _ => Error::remote(
            "cannot-connect",
            format!("cannot connect to {url} at {address}: {}", in_words(error)),
        )
        .help("check that the server runs and listens there: ss -ltn"),
    }
}
