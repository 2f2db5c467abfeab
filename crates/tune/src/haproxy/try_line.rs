//! A line of the operator's own: `--try 'option splice-auto'`, `--try 'global: maxconn 500'`.
//!
//! It is one line of a section, or a sysctl of the server's network namespace. Which section it is
//! for its keyword says, or a word before it: `global:`, `frontend:`, `backend:`, `proxy:` for both
//! of these. What would reach beyond the copy that is measured is refused here; what HAProxy does
//! not understand, `haproxy -c` says.

use std::collections::BTreeMap;

use zc_run::{Result, escape};

use super::change::Place;
use super::tree::{Config, key};
use super::words::split;
use crate::candidate::{Candidate, Change, Facts};
use crate::own_line::{
    self, ADDRESS, FILES, LONGEST, PROCESS, SITE, TOO_LONG, UNFINISHED, refused,
};
use crate::site::Site;

/// Keywords that are none of a site's, by what they begin with, each with the reason for which they
/// are not tried.
const REFUSED: [(&str, &str); 42] = [
    ("busy-polling", "a copy that polls takes the CPU from all others"),
    ("chroot", PROCESS),
    ("cpu-map", PROCESS),
    ("daemon", PROCESS),
    ("gid", PROCESS),
    ("group", PROCESS),
    ("localpeer", PROCESS),
    ("master-worker", PROCESS),
    ("nbproc", PROCESS),
    ("pidfile", PROCESS),
    ("stats", PROCESS),
    ("uid", PROCESS),
    ("ulimit-n", PROCESS),
    ("user", PROCESS),
    ("bind", ADDRESS),
    ("dispatch", ADDRESS),
    ("server", ADDRESS),
    ("source", ADDRESS),
    ("acl", SITE),
    ("default_backend", SITE),
    ("disabled", SITE),
    ("email-alert", SITE),
    ("errorfile", SITE),
    ("external-check", PROCESS),
    ("filter", SITE),
    ("http-after-response", SITE),
    ("http-request", SITE),
    ("http-response", SITE),
    ("mode", SITE),
    ("monitor-uri", SITE),
    ("option external-check", PROCESS),
    ("option transparent", ADDRESS),
    ("redirect", SITE),
    ("stick", SITE),
    ("tcp-request", SITE),
    ("tcp-response", SITE),
    ("use-fcgi-app", SITE),
    ("use-server", SITE),
    ("use_backend", SITE),
    ("log ", FILES),
    ("lua-", PROCESS),
    ("setenv", "it is about how lines are read"),
];

/// Keywords of the global section beside those that begin with one of [`GLOBAL_BEGINS`].
const GLOBAL: [&str; 12] = [
    "maxcomprate",
    "maxconnrate",
    "maxpipes",
    "maxsessrate",
    "maxsslconn",
    "maxsslrate",
    "nbthread",
    "noepoll",
    "nopoll",
    "noreuseport",
    "nosplice",
    "spread-checks",
];

const GLOBAL_BEGINS: [&str; 5] = ["h1-", "h2-", "profiling.", "ssl-", "tune."];

/// Keywords of the section with the servers.
const BACK: [&str; 11] = [
    "balance",
    "default-server",
    "fullconn",
    "hash-type",
    "http-reuse",
    "option prefer-last-server",
    "option redispatch",
    "option tcp-smart-connect",
    "retries",
    "timeout connect",
    "timeout server",
];

/// Keywords that are in effect if either section has them.
const BOTH: [&str; 6] = [
    "option http-keep-alive",
    "option http-no-delay",
    "option http-server-close",
    "option httpclose",
    "option splice-auto",
    "option splice-response",
];

const EXAMPLES: &str =
    "for example: --try 'option splice-auto', --try 'global: maxconn 500', --try 'no log'";

/// The sections that a keyword is for.
pub(super) fn home(key: &str) -> Place {
    let is_global =
        GLOBAL.contains(&key) || GLOBAL_BEGINS.iter().any(|begin| key.starts_with(begin));
    match key {
        _ if is_global => Place::Global,
        _ if BACK.contains(&key) => Place::Back,
        _ if BOTH.contains(&key) => Place::Both,
        _ => Place::Front,
    }
}

/// The candidate that a line describes.
///
/// # Errors
/// Usage: the line is no single one, or one that cannot be tried.
pub fn try_line(line: &str, config: &Config, site: &Site, facts: &Facts) -> Result<Candidate> {
    let refuse = |id: &'static str, why: &str| refused(id, line, why).help(EXAMPLES);
    if line.len() > LONGEST || line.trim().chars().any(char::is_control) {
        let (id, why) = TOO_LONG;
        return Err(refuse(id, why));
    }
    if line.trim().is_empty() {
        return Err(refuse("no-line-to-try", "it is empty"));
    }
    if line.trim().starts_with('#') {
        return Err(refuse("comment-to-try", "it has a comment"));
    }
    let Ok(splitted) = split(line, &BTreeMap::new()) else {
        let (id, why) = UNFINISHED;
        return Err(refuse(id, why));
    };
    let mut words = splitted.words;
    if words.first().is_some_and(|first| first == "sysctl") {
        let (name, change) = own_line::sysctl(line, &words[1..])?;
        let present = match &change {
            Change::Sysctl { name, .. } => facts.sysctl_in_words(name),
            _ => String::new(),
        };
        return Ok(own_line::candidate(name, present, change));
    }
    let typed = words.first().filter(|first| first.ends_with(':')).cloned();
    let place = match &typed {
        Some(typed) => {
            words.remove(0);
            let why = || {
                let typed = escape(typed, 40);
                refuse("no-section-to-try", &format!("no section is \"{typed}\" here"))
            };
            Some(Place::named(typed).ok_or_else(why)?)
        }
        None => None,
    };
    let key = key(&words);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    if key.is_empty() || !key.chars().all(is_name) {
        let why = format!("\"{}\" is no keyword", escape(&key, 40));
        return Err(refuse("no-directive-to-try", &why));
    }
    if super::read::opens_section(&key) {
        return Err(refuse("block-to-try", "a section is many lines: try those one by one"));
    }
    // `no log` has no address.
    let begins = if key == "log" && words[0] == "log" { "log " } else { key.as_str() };
    if let Some((_, why)) = REFUSED.iter().find(|(begin, _)| begins.starts_with(begin)) {
        return Err(refuse("line-beyond-the-site", why));
    }
    let place = place.unwrap_or_else(|| home(&key));
    let present = match config.in_effect(site, place, &key) {
        Some(present) => present.text(),
        None => format!("no {key} (default)"),
    };
    let before = typed.map(|typed| format!("{typed} ")).unwrap_or_default();
    let name = format!("{before}{}", words.join(" "));
    Ok(own_line::candidate(name, present, place.change(&words)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    fn parsed(line: &str) -> Result<Candidate> {
        let text = "global\n maxconn 10\ndefaults\n mode http\n log global\n option splice-auto\n\
                    frontend f\n bind :80\n default_backend b\n maxconn 5\nbackend b\n \
                    server s 192.0.2.9:80\n";
        let config = read(text).unwrap();
        let site = config.site(None).unwrap();
        try_line(line, &config, &site, &Facts::default())
    }

    #[test]
    fn the_section_of_a_line_is_known_or_said() {
        for (line, name, sets, present) in [
            (
                "no option  splice-auto",
                "no option splice-auto",
                "proxy option splice-auto",
                "option splice-auto",
            ),
            (
                "tune.bufsize 65536",
                "tune.bufsize 65536",
                "global tune.bufsize",
                "no tune.bufsize (default)",
            ),
            ("maxconn 9", "maxconn 9", "frontend maxconn", "maxconn 5"),
            ("global: maxconn 9", "global: maxconn 9", "global maxconn", "maxconn 10"),
            ("no log", "no log", "frontend log", "log global"),
            (
                "http-reuse always",
                "http-reuse always",
                "backend http-reuse",
                "no http-reuse (default)",
            ),
            (
                "backend: option http-server-close",
                "backend: option http-server-close",
                "backend option http-server-close",
                "no option http-server-close (default)",
            ),
        ] {
            let candidate = parsed(line).unwrap();
            assert_eq!((candidate.name.as_str(), candidate.present.as_str()), (name, present));
            assert_eq!(candidate.change.sets(), sets);
        }
        let sysctl = parsed("sysctl net.ipv4.tcp_notsent_lowat=16384").unwrap();
        assert!(matches!(sysctl.change, Change::Sysctl { .. }));
    }

    #[test]
    fn what_reaches_beyond_the_site_or_is_no_line_is_refused() {
        for (line, id) in [
            ("  ", "no-line-to-try"),
            ("# x", "comment-to-try"),
            ("option \"splice", "unfinished-line"),
            ("maxconn 5\nmaxconn 6", "line-too-long"),
            ("frontend x", "block-to-try"),
            ("defaults", "block-to-try"),
            ("section: maxconn 5", "no-section-to-try"),
            ("global:", "no-directive-to-try"),
            ("a/b c", "no-directive-to-try"),
            ("bind :81", "line-beyond-the-site"),
            ("server s 192.0.2.1:80", "line-beyond-the-site"),
            ("no busy-polling", "line-beyond-the-site"),
            ("global: user root", "line-beyond-the-site"),
            ("log /dev/log local0", "line-beyond-the-site"),
            ("http-request deny", "line-beyond-the-site"),
            ("lua-load /x.lua", "line-beyond-the-site"),
            ("stats socket /run/x", "line-beyond-the-site"),
            ("sysctl kernel.panic=1", "sysctl-of-the-machine"),
        ] {
            let error = parsed(line).unwrap_err();
            assert_eq!(error.id, id, "{line}: {error}");
            assert!(error.help.is_some(), "{line}");
        }
        assert!(parsed(&"x".repeat(2000)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_a_candidate_or_a_sentence(line in "\\PC{0,60}") {
            match parsed(&line) {
                Ok(candidate) => assert!(!candidate.name.is_empty()),
                Err(error) => assert!(!error.message.is_empty()),
            }
        }
    }
}
