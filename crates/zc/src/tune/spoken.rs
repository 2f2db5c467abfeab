//! How the requests of a log were made, by version of HTTP, TLS and connection, beside how the mix
//! is asked: one version, one scheme and one number of requests on a connection stand for all, and
//! that is said.

use std::num::NonZeroU64;

use zc_access_log::Spoken;
use zc_load::Reuse;
use zc_tune::{Scheme, Site};

/// A share that is none.
const NONE: f64 = 0.0005;

/// What is said of it, in sentences. `spoken` is `None` without a log.
pub(super) fn said(spoken: Option<&Spoken>, site: &Site, by_http2: bool) -> Vec<String> {
    let asked = if by_http2 { "HTTP/2" } else { "HTTP/1.1" };
    let mut version = match spoken.map(|spoken| (spoken.http2, spoken.http3)) {
        Some((Some(http2), http3)) => {
            let http3 = http3.unwrap_or_default();
            let shares = [("HTTP/2", http2), ("HTTP/3", http3), ("HTTP/1", 1.0 - http2 - http3)];
            let some = shares.into_iter().filter(|(_, share)| *share > NONE);
            let some: Vec<String> =
                some.map(|(version, share)| format!("{} by {version}", percent(share))).collect();
            format!("of the log's requests came {}; all are asked by {asked}", some.join(", "))
        }
        Some(_) => format!(
            "the log does not tell the versions of HTTP of its requests; all are asked by {asked}"
        ),
        None => format!("all is asked by {asked}"),
    };
    if site.http2 && !by_http2 {
        version.push_str(" (the site speaks HTTP/2 too: --http2)");
    }
    let mut said = vec![version];
    let is_tls = site.scheme == Scheme::Https;
    let others = |with: &f64| if is_tls { 1.0 - with > NONE } else { *with > NONE };
    if let Some(with) = spoken.and_then(|spoken| spoken.tls).filter(others) {
        said.push(format!(
            "{} of the log's requests came over TLS, where it tells; all are asked {}",
            percent(with),
            if is_tls { "over TLS" } else { "without" }
        ));
    }
    said
}

/// How many requests a connection carries: so many as were typed, else as those of the log do on
/// average.
pub(super) fn reuse(typed: Option<u64>, spoken: Option<&Spoken>) -> Reuse {
    let of_log = || Some(spoken?.requests_per_connection?.round() as u64);
    typed.or_else(of_log).and_then(NonZeroU64::new).map_or(Reuse::KeepAlive, Reuse::Requests)
}

/// It in a sentence, with the number of connections to a copy.
pub(super) fn connections(number: u64, reuse: Reuse, typed: Option<u64>, has_log: bool) -> String {
    match reuse {
        Reuse::Requests(requests) => {
            let why = if typed.is_some() { "" } else { ", as in the log on average" };
            format!(
                "{number} connections at a time to each copy (--connections) carry {requests} \
                 requests each{why}; what a new one costs, with a TLS session that is resumed \
                 where the server permits it, is in the figures"
            )
        }
        Reuse::KeepAlive | Reuse::Close => {
            let why = if has_log {
                ", as the log does not tell how many requests they carry"
            } else {
                ""
            };
            format!(
                "{number} connections to each copy (--connections) are kept{why}, so that \
                 handshakes and new connections are in no figure (--requests-per-connection)"
            )
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use zc_tune::nginx::Config;

    use super::*;

    fn site(listen: &str) -> Site {
        let text = format!(
            "# configuration file /e/nginx.conf:\nevents {{}}\n\
             http {{ server {{ listen {listen}; root /srv; }} }}\n"
        );
        Config::parse(&text).unwrap().site(None).unwrap()
    }

    #[test]
    fn the_versions_of_the_log_and_the_one_that_is_asked_are_said() {
        let spoken =
            Spoken { tls: Some(1.0), http2: Some(0.62), http3: Some(0.0), ..Spoken::default() };
        let both = said(Some(&spoken), &site("443 ssl http2"), true);
        assert_eq!(
            both,
            [
                "of the log's requests came 62.0 % by HTTP/2, 38.0 % by HTTP/1; all are asked by HTTP/2"
            ]
        );
        let other = said(Some(&spoken), &site("443 ssl http2"), false).concat();
        assert!(
            other.ends_with("asked by HTTP/1.1 (the site speaks HTTP/2 too: --http2)"),
            "{other}"
        );
        let plain = said(Some(&spoken), &site("80"), false);
        assert_eq!(
            plain[1],
            "100.0 % of the log's requests came over TLS, where it tells; all are asked without"
        );
        let unknown = said(Some(&Spoken::default()), &site("80"), false);
        assert!(unknown.concat().contains("does not tell the versions"), "{unknown:?}");
        assert_eq!(said(None, &site("80"), false), ["all is asked by HTTP/1.1"]);
    }

    #[test]
    fn a_connection_carries_what_was_typed_or_what_the_log_tells() {
        let of_log = Spoken { requests_per_connection: Some(12.4), ..Spoken::default() };
        let requests = |requests| Reuse::Requests(NonZeroU64::new(requests).unwrap());
        assert_eq!(reuse(None, Some(&of_log)), requests(12));
        assert_eq!(reuse(Some(3), Some(&of_log)), requests(3));
        assert_eq!(reuse(None, Some(&Spoken::default())), Reuse::KeepAlive);
        let said = connections(16, requests(12), None, true);
        assert!(said.starts_with("16 connections at a time to each copy"), "{said}");
        assert!(said.contains("carry 12 requests each, as in the log"), "{said}");
        let said = connections(256, Reuse::KeepAlive, None, true);
        assert!(said.starts_with("256 ") && said.contains("the log does not tell"), "{said}");
    }
}
