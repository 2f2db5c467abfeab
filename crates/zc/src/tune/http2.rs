//! `--http2`: whether a site can be asked by HTTP/2, and with how many connections. h2load asks,
//! which each user installs: zc's own load speaks HTTP/1.1.

use std::path::PathBuf;

use super::super::folder::Folder;
use super::reading::in_path;
use zc_run::{Error, Result};
use zc_servers::Http2;
use zc_tune::{Configured, Scheme};

/// Connections that share the GETs: few, so that each carries several requests at once, which is
/// what HTTP/2 is for.
const CONNECTIONS: u64 = 4;

/// The most of them: each is a process.
const MOST_CONNECTIONS: u64 = 32;

/// Requests of a trial: those of top speed, or half a second of the highest rate.
const REQUESTS: u64 = 2_600;

/// The way to ask a site by HTTP/2.
///
/// # Errors
/// - [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no h2load.
/// - [`ErrorKind::Input`](zc_run::ErrorKind): the site does not speak HTTP/2, or ends connections
///   too soon for it.
pub(super) fn http2(configured: &dyn Configured) -> Result<Asking> {
    if !configured.site().http2 {
        let message = "--http2 asks by HTTP/2, which the site does not speak";
        return Err(Error::input("site-without-http2", message).help(format!(
            "{} makes it do so, --server-name chooses another site, without --http2 it is asked \
             by HTTP/1.1",
            configured.http2_line()
        )));
    }
    let limit = configured.http2_requests();
    let of_limit = limit.as_ref().map(|(_, limit)| connections(*limit));
    let connections = of_limit.unwrap_or(Some(CONNECTIONS as usize)).ok_or_else(|| {
        let (name, limit) = limit.unwrap_or_default();
        let message = format!(
            "the site ends a connection after {limit} requests ({name}), and h2load does not open \
             another"
        );
        Error::input("connections-too-short", message)
            .help("leave --http2 out, or raise it in a copy of the configuration for -c")
    })?;
    let program = in_path("h2load").ok_or_else(|| {
        Error::unsupported("h2load-missing", "--http2 asks with h2load, which is not in the PATH")
            .help("apt install nghttp2-client; without --http2 the site is asked by HTTP/1.1")
    })?;
    Ok(Asking { program, connections })
}

/// How many connections it takes, of which none has more requests than `limit`.
fn connections(limit: u64) -> Option<usize> {
    let connections = REQUESTS.div_ceil(limit.max(1)).max(CONNECTIONS);
    (connections <= MOST_CONNECTIONS).then_some(connections as usize)
}

/// See [`http2`].
#[derive(Debug, Clone)]
pub(super) struct Asking {
    program: PathBuf,
    connections: usize,
}

impl Asking {
    /// The same with a folder for what h2load reads and writes.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be made.
    pub(super) fn within(self, folder: &Folder) -> Result<Http2> {
        let Self { program, connections } = self;
        Ok(Http2 { program, folder: folder.make("h2load")?, connections })
    }
}

/// What the figures are by HTTP/2, in sentences; `left_out` of so many requests of the mix are not
/// asked for.
pub(super) fn said(http2: &Http2, scheme: Scheme, left_out: usize) -> Vec<String> {
    let contents = match scheme {
        Scheme::Https => "contents by HTTP/1.1 before that",
        Scheme::Http => "contents only where the copies speak HTTP/1.1 too",
    };
    let mut said = vec![
        format!(
            "h2load sends plain GETs over {} connections and each other kind of request over its \
             own, all opened for each trial and before its window, so that handshakes and new \
             connections are in no figure; it sends every 10 ms what is due, and latency counts \
             from when a request was sent",
            http2.connections
        ),
        format!(
            "h2load tells the status of each response and the sum of their lengths: the sum is \
             compared once for each copy, {contents}"
        ),
    ];
    if left_out > 0 {
        said.push(format!(
            "{left_out} requests of the mix are not asked by HTTP/2: h2load sends the same headers \
             with all requests of a connection, and more kinds of ranges and conditions would be \
             too many connections"
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_connection_has_more_requests_than_the_site_permits() {
        assert_eq!([1_000_000, 1_000, 100, 82].map(connections), [4, 4, 26, 32].map(Some));
        assert_eq!([81, 1, 0].map(connections), [None; 3]);
        for limit in 82..2_000 {
            assert!(connections(limit).unwrap() as u64 * limit >= REQUESTS, "{limit}");
        }
    }
}
