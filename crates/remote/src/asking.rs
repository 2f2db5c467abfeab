//! The server's part of a load on another machine: sends HTTP requests to the client's machine, and
//! to no other, while the client measures there.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::protocol::{FarOrigin, FarPhase, LoadWanted, Reply, Request};
use zc_kernel::clock::monotonic_ns;
use zc_load::{Load, LoadOptions, Origin, Pace, Phase, Reuse, Trust};
use zc_rig::meter;
use zc_rig::trial::{GLANCE, StillWanted};
use zc_run::address::{canonical, ip_text};
use zc_run::{Error, Result};

/// Limit of connections, over all origins: more than a server's workers hold.
const MOST_CONNECTIONS: usize = 20_000;

/// Limit of the time for a response.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Limit of requests per second: far more than one thread sends.
pub(super) const MOST_PER_S: f64 = 1e7;

/// Limit of the delay before a phase.
pub(super) const LONGEST_DELAY_NS: u64 = 10_000_000_000;

/// A load that the client wants.
pub(super) struct Asking {
    load: Arc<Load>,
    origins: usize,
}

impl Asking {
    /// Opens the connections. `from` is the client's address, where that is known: then requests go
    /// to it, and nowhere else. Where it is not known, this zc was started by a command of the
    /// client's user, like anything else that user may start here.
    ///
    /// # Errors
    /// The request is invalid or too large, or the server does not answer.
    pub(super) fn begin(
        wanted: &LoadWanted,
        from: Option<SocketAddr>,
        still_wanted: StillWanted<'_>,
    ) -> Result<(Self, Reply)> {
        let timeout = Duration::from_nanos(wanted.timeout_ns);
        let all = wanted.connections.saturating_mul(wanted.origins.len());
        if all > MOST_CONNECTIONS || timeout > LONGEST_TIMEOUT {
            return Err(Error::usage(
                "far-end-limit",
                format!(
                    "{all} connections, or {} s for a response, are more than a far end gives",
                    timeout.as_secs()
                ),
            ));
        }
        let origin = |wanted: &FarOrigin| Origin::on(&wanted.url, place(wanted.address, from)?);
        let options = LoadOptions {
            origins: wanted.origins.iter().map(origin).collect::<Result<_>>()?,
            connections: wanted.connections,
            reuse: if wanted.keep_alive { Reuse::KeepAlive } else { Reuse::Close },
            source: None,
            headers: wanted.headers.clone(),
            trust: if wanted.checks_certificate { Trust::System } else { Trust::Anybody },
            timeout,
        };
        let origins = options.origins.len();
        let load = while_wanted(still_wanted, move || Load::start(options, || Ok(())))?;
        let same_machine = meter::boot_id().is_some_and(|own| own == wanted.boot_id);
        Ok((Self { load: Arc::new(load), origins }, Reply::Asks { same_machine }))
    }

    /// Answers a request of the session.
    ///
    /// # Errors
    /// It is not one of a load, or not valid; the server does not answer.
    pub(super) fn answer(&self, request: &Request, still_wanted: StillWanted<'_>) -> Result<Reply> {
        match *request {
            Request::Fetch { origin } => {
                let load = Arc::clone(&self.load);
                while_wanted(still_wanted, move || load.fetch(origin)).map(Reply::Fetched)
            }
            Request::Go { origin, per_s, begins_in_ns } => {
                let is_rate = per_s.is_none_or(|per_s| per_s > 0.0 && per_s <= MOST_PER_S);
                if origin >= self.origins || !is_rate || begins_in_ns > LONGEST_DELAY_NS {
                    return Err(Error::usage("protocol", "a load that there is not was asked for"));
                }
                let pace = per_s.map_or(Pace::Unpaced, |per_s| Pace::At { per_s });
                self.load.go(origin, pace, monotonic_ns().saturating_add(begins_in_ns));
                Ok(Reply::Done)
            }
            Request::Pause => {
                let load = Arc::clone(&self.load);
                let phase = while_wanted(still_wanted, move || load.pause())?;
                let per_s = responses_per_s(&phase);
                Ok(Reply::Paused(FarPhase::at_rate(&phase.into(), per_s)))
            }
            _ => Err(Error::failed("protocol", "the session is one of requests")),
        }
    }
}

/// Responses per second, in the middle of a phase. Over all of it there is one more or less at its
/// ends, which is a hundredth where there are a hundred, and the last ones are missing by the time
/// that a response takes. So it is the rate of the schedule where that was kept.
fn responses_per_s(phase: &Phase) -> f64 {
    match phase.pace {
        Pace::At { per_s } if phase.kept_its_rate() => per_s,
        _ => phase.responses_per_s(),
    }
}

/// The address that connections lead to.
///
/// # Errors
/// It is on another machine than the client's, or the client's address is not known.
fn place(wanted: Option<IpAddr>, from: Option<SocketAddr>) -> Result<SocketAddr> {
    match (wanted, from.map(canonical)) {
        (Some(wanted), Some(from)) if wanted.to_canonical() != from.ip() => Err(Error::usage(
            "foreign-target",
            format!(
                "requests go to the machine that controls this one, at {}, and not to {wanted}",
                ip_text(from)
            ),
        )
        .help("name the server by that address, or by localhost")),
        (_, Some(from)) => Ok(from),
        (Some(wanted), None) => Ok(SocketAddr::new(wanted, 0)),
        (None, None) => Err(Error::usage(
            "server-unreachable-from-far-end",
            "it is not known where the server is",
        )
        .help("name it by an address that the other machine reaches")),
    }
}

/// Runs `work`, which may take long, on a thread of its own, and waits for it as long as its result
/// is wanted. Work that is not wanted any more ends by itself, at the latest after the time for a
/// response.
pub(super) fn while_wanted<T: Send + 'static>(
    still_wanted: StillWanted<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (done, result) = channel();
    std::thread::Builder::new()
        .name("zc/asking".to_owned())
        .spawn(move || drop(done.send(work())))
        .map_err(|error| Error::os("start a thread", error))?;
    loop {
        match result.recv_timeout(GLANCE) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => still_wanted()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::failed("thread-panicked", "the thread that asks panicked"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_to_the_client_s_machine_alone() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (client, other) = (at("192.0.2.1:4000"), at("192.0.2.2:0"));
        assert_eq!(place(None, Some(client)).unwrap(), client);
        assert_eq!(place(Some(client.ip()), Some(client)).unwrap(), client);
        assert_eq!(place(Some(client.ip()), Some(at("[::ffff:192.0.2.1]:4000"))).unwrap(), client);
        let error = place(Some(other.ip()), Some(client)).unwrap_err();
        assert!(error.id == "foreign-target" && error.message.contains("192.0.2.2"), "{error:?}");
        // By a command of the user there.
        assert_eq!(place(Some(other.ip()), None).unwrap(), other);
        // In the client's zone.
        let linked = at("[fe80::1%3]:4000");
        assert_eq!(place(None, Some(linked)).unwrap(), linked);
        assert!(place(None, None).is_err());
    }
}
