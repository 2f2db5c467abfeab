//! A line of the operator's own: `--try 'option splice-auto'`.
//!
//! It is one line of a section, or a sysctl of the server's network namespace. Its keyword says
//! which section it is for. What would reach beyond the copy that is measured is refused here; what
//! HAProxy does not understand, `haproxy -c` says.

use std::collections::BTreeMap;

use zc_run::{Result, escape};

use super::tree::{Config, key};
use super::words::split;
use crate::candidate::{Candidate, Change, Facts};
use crate::own_line::{self, ADDRESS, FILES, PROCESS, SITE, UNFINISHED, refused};
use crate::site::Site;

/// Keywords that are none of a site's, by what they begin with, each with the reason for which they
/// are not tried.
const REFUSED: [(&str, &str); 41] = [
    ("busy-polling", "a copy that polls takes the CPU from all others"),
    ("chroot", PROCESS),
    ("cpu-map", PROCESS),
    ("daemon", PROCESS),
    ("external-check", PROCESS),
    ("gid", PROCESS),
    ("group", PROCESS),
    ("localpeer", PROCESS),
    ("lua-", PROCESS),
    ("master-worker", PROCESS),
    ("nbproc", PROCESS),
    ("pidfile", PROCESS),
    ("setenv", PROCESS),
    ("stats", PROCESS),
    ("uid", PROCESS),
    ("ulimit-n", PROCESS),
    ("user", PROCESS),
    ("bind", ADDRESS),
    ("dispatch", ADDRESS),
    ("option transparent", ADDRESS),
    ("server", ADDRESS),
    ("source", ADDRESS),
    ("acl", SITE),
    ("default-server", SITE),
    ("default_backend", SITE),
    ("disabled", SITE),
    ("email-alert", SITE),
    ("errorfile", SITE),
    ("filter", SITE),
    ("http-after-response", SITE),
    ("http-check", SITE),
    ("http-request", SITE),
    ("http-response", SITE),
    ("mode", SITE),
    ("monitor", SITE),
    ("redirect", SITE),
    ("stick", SITE),
    ("tcp-", SITE),
    ("use-", SITE),
    ("use_backend", SITE),
    ("log ", FILES),
];

const EXAMPLES: &str =
    "for example: --try 'option splice-auto', --try 'tune.bufsize 65536', --try 'no log'";

/// The candidate that a line describes.
///
/// # Errors
/// Usage: the line is no single one, or one that cannot be tried.
pub fn try_line(line: &str, config: &Config, site: &Site, facts: &Facts) -> Result<Candidate> {
    let refuse = |id: &'static str, why: &str| refused(id, line, why).help(EXAMPLES);
    let text = own_line::text(line, EXAMPLES)?;
    let Ok(split) = split(text, &BTreeMap::new()) else {
        let (id, why) = UNFINISHED;
        return Err(refuse(id, why));
    };
    let words = split.words;
    if let Some(("sysctl", args)) = words.split_first().map(|(name, args)| (name.as_str(), args)) {
        return own_line::of_sysctl(line, args, facts);
    }
    let key = key(&words);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    if key.is_empty() || !key.chars().all(is_of_name) {
        let why = format!("\"{}\" is no keyword", escape(&key, 40));
        return Err(refuse("no-directive-to-try", &why));
    }
    if super::read::opens_section(&key) {
        return Err(refuse("block-to-try", "a section is many lines: try those one by one"));
    }
    // `no log` has no address.
    let begins = if words[0] == "log" { "log " } else { key.as_str() };
    if let Some((_, why)) = REFUSED.iter().find(|(begin, _)| begins.starts_with(begin)) {
        return Err(refuse("line-beyond-the-site", why));
    }
    let present = match config.in_effect(site, &key) {
        Some(present) => present.text(),
        None => format!("no {key} (default)"),
    };
    let name = words.join(" ");
    Ok(own_line::candidate(name, present, Change::Directive { name: key, args: words }))
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
    fn lines_are_read_as_haproxy_reads_them() {
        for (line, name, sets, present) in [
            (
                "no option  splice-auto",
                "no option splice-auto",
                "option splice-auto",
                "option splice-auto",
            ),
            (
                "tune.bufsize 65536 # more",
                "tune.bufsize 65536",
                "tune.bufsize",
                "no tune.bufsize (default)",
            ),
            ("maxconn 9", "maxconn 9", "maxconn", "maxconn 5"),
            ("no log", "no log", "log", "log global"),
            ("http-reuse always", "http-reuse always", "http-reuse", "no http-reuse (default)"),
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
            ("a/b c", "no-directive-to-try"),
            ("bind :81", "line-beyond-the-site"),
            ("server s 192.0.2.1:80", "line-beyond-the-site"),
            ("no busy-polling", "line-beyond-the-site"),
            ("global: user root", "no-directive-to-try"),
            ("user root", "line-beyond-the-site"),
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
