//! The table of candidates of Caddy: which lines are worth a try in a Caddyfile, and which cannot
//! be tried here.
//!
//! What Caddy does for a request is decided by its source more than by its configuration, which
//! says little about sending: lines that cost are mostly those that a site can do without.

use super::go;
use super::tree::{Config, Line};
use crate::candidate::{Candidate, Change, Offer};
use crate::site::{Scheme, Site};
use crate::values::{Version, version};

/// Since when `metrics` is a global option and not one of `servers`.
const METRICS_ARE_GLOBAL: Version = (2, 9, 0);

const OPTIONS: &str = "https://caddyserver.com/docs/caddyfile/options";

/// Lines that are tried without, where they are in effect, each with the reason.
const WITHOUT: [(&str, &str, &str); 4] = [
    (
        "log",
        "each request makes a line of JSON with all its headers, and a call that writes it",
        "https://caddyserver.com/docs/caddyfile/directives/log",
    ),
    ("servers metrics", METRICS, OPTIONS),
    ("global metrics", METRICS, OPTIONS),
    ("global debug", "each request makes lines that tell how it was handled", OPTIONS),
];

const METRICS: &str = "each request is counted and timed for each handler that it passes";

/// Lines that operators ask about and that zc cannot try.
const LEFT_OUT: [(&str, &str); 4] = [
    (
        "encode",
        "zc's load asks for no encoding, so that responses have the lengths of the log; where a \
         client does, Go does not use sendfile(2) behind it, for what stays as it is either",
    ),
    ("env GOMAXPROCS", "zc gives the server one CPU, on which more threads take turns"),
    (
        "sysctls such as net.ipv4.tcp_congestion_control",
        "zc gives Caddy no listening socket, which could have them for itself, and the copies share \
         a network namespace",
    ),
    ("servers timeouts", "what they end are connections that wait, and zc's load does not"),
];

/// The candidates for a site, in the order of the table, and what is not tried.
pub fn candidates(config: &Config, site: &Site) -> Vec<Offer> {
    let mut offers: Vec<Offer> =
        WITHOUT.iter().filter_map(|entry| without(config, site, entry)).collect();
    offers.push(protocols(config, site));
    offers.extend(go::percents(config).map(|percent| {
        let (name, change) = go::variable("GOGC", percent);
        Offer::Try(Candidate {
            name,
            present: go::present(config, "GOGC"),
            change,
            reason: "the garbage collector runs less often, and the heap grows for it: more memory"
                .to_owned(),
            reference: "https://go.dev/doc/gc-guide#GOGC".to_owned(),
        })
    }));
    offers.extend(LEFT_OUT.iter().map(|(name, why)| not(name, why)));
    offers
}

fn not(name: &str, why: &str) -> Offer {
    Offer::Not { name: name.to_owned(), why: why.to_owned() }
}

/// A line of [`WITHOUT`]; `None` if this version has it elsewhere.
fn without(config: &Config, site: &Site, entry: &(&str, &str, &str)) -> Option<Offer> {
    let (key, reason, reference) = *entry;
    let is_global = version(&config.build, "Caddy ").is_some_and(|it| it >= METRICS_ARE_GLOBAL);
    let line = config.in_effect(site, key);
    if line.is_none() && key.ends_with(" metrics") && is_global != (key == "global metrics") {
        return None;
    }
    let Some(line) = line else { return Some(not(key, "it is not in effect")) };
    Some(Offer::Try(Candidate {
        name: format!("without {key}"),
        present: present(key, Some(line)),
        change: Change::Directive { name: key.to_owned(), args: Vec::new() },
        reason: reason.to_owned(),
        reference: reference.to_owned(),
    }))
}

/// A line as it is now, with where it stands: `servers metrics`.
pub(super) fn present(key: &str, line: Option<&Line>) -> String {
    match (line, key.split_once(' ')) {
        (Some(line), Some((place, _))) => format!("{place} {}", line.words.join(" ")),
        (Some(line), None) => line.words.join(" "),
        (None, _) => format!("no {key} (default)"),
    }
}

/// HTTP/3, which each response over TLS offers.
fn protocols(config: &Config, site: &Site) -> Offer {
    const KEY: &str = "servers protocols";
    if site.scheme == Scheme::Http {
        return not(KEY, "without TLS there is no HTTP/3 to leave out");
    }
    let line = config.in_effect(site, KEY);
    let has_h3 = line.is_none_or(|line| line.words.iter().any(|word| word == "h3"));
    let line_now = match line {
        Some(line) => present(KEY, Some(line)),
        None => format!("{KEY} h1 h2 h3 (default)"),
    };
    let tried = if has_h3 { "protocols h1 h2" } else { "protocols h1 h2 h3" };
    Offer::Try(Candidate {
        name: format!("servers {tried}"),
        present: line_now,
        change: Change::Directive {
            name: KEY.to_owned(),
            args: tried.split(' ').map(str::to_owned).collect(),
        },
        reason: "each response offers HTTP/3 in a header (Alt-Svc)".to_owned(),
        reference: OPTIONS.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;
    use crate::candidate::testing::{names, tried, why};

    fn offers(text: &str) -> Vec<Offer> {
        let config = read(text).unwrap();
        candidates(&config, &config.site(None).unwrap())
    }

    #[test]
    fn a_site_with_defaults_is_tried_with_go_s_variable() {
        let offers = offers(":80 {\n\tfile_server\n}\n");
        assert_eq!(names(&offers)[..2], ["env GOGC=200", "env GOGC=400"]);
        let all = tried(&offers);
        assert!(all.iter().all(|it| !it.reason.is_empty() && it.reference.starts_with("http")));
        assert_eq!(all[0].present, "env GOGC=100 (default)");
        for key in ["log", "servers metrics", "global debug"] {
            assert_eq!(why(&offers, key), Some("it is not in effect"), "{key}");
        }
        assert_eq!(why(&offers, "global metrics"), None);
        assert!(why(&offers, "servers protocols").is_some() && why(&offers, "encode").is_some());
    }

    #[test]
    fn what_is_in_effect_is_tried_without() {
        let offers = offers(
            "{\n\tdebug\n\tservers {\n\t\tmetrics\n\t\tprotocols h1 h2\n\t}\n}\na.test {\n\tlog \
             {\n\t\toutput discard\n\t}\n\tfile_server\n}\n",
        );
        assert_eq!(
            names(&offers)[..4],
            [
                "without log",
                "without servers metrics",
                "without global debug",
                "servers protocols h1 h2 h3",
            ]
        );
        let present: Vec<&str> = tried(&offers).iter().map(|it| it.present.as_str()).collect();
        assert_eq!(
            present[..4],
            ["log", "servers metrics", "global debug", "servers protocols h1 h2"]
        );
        let over_tls = self::offers("a.test {\n\tfile_server\n}\n");
        assert_eq!(names(&over_tls)[0], "servers protocols h1 h2");
        assert_eq!(tried(&over_tls)[0].present, "servers protocols h1 h2 h3 (default)");
    }

    #[test]
    fn metrics_are_where_the_version_has_them_or_where_they_stand() {
        let mut config = read("{\n\tmetrics\n}\n:80 {\n\tfile_server\n}\n").unwrap();
        let of = |config: &Config| candidates(config, &config.site(None).unwrap());
        assert!(names(&of(&config)).contains(&"without global metrics"));
        config.build = "Caddy 2.9.1".to_owned();
        config.blocks.remove(0);
        assert!(why(&of(&config), "global metrics").is_some());
        assert_eq!(why(&of(&config), "servers metrics"), None);
    }
}
