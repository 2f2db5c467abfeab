//! How the requests of a log were made, by version of HTTP and TLS, beside how the mix is asked: one
//! version and one scheme stand for all, and that is said.

use zc_access_log::Spoken;
use zc_tune::nginx::{Scheme, Site};

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
        let spoken = Spoken { tls: Some(1.0), http2: Some(0.62), http3: Some(0.0) };
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
}
