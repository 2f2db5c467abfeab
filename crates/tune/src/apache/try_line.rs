//! A line of the operator's own: `--try 'EnableSendfile On'`.
//!
//! It is one simple directive of Apache, or a sysctl of the server's network namespace. What would
//! reach beyond the copy that is measured (its process, its files, its addresses) is refused here;
//! what Apache does not understand, `apache2 -t` says.

use zc_run::Result;

use super::tree::Config;
use super::words::{has_open_quote, take_word, words};
use crate::candidate::{Candidate, Change, Facts};
use crate::own_line::{self, ADDRESS, FILES, PROCESS, SITE, UNFINISHED, refused};
use crate::site::Site;

/// Directives that are none of a site's, by what they begin with, each with the reason for which
/// they are not tried.
const REFUSED: [(&str, &str); 43] = [
    ("chrootdir", PROCESS),
    ("coredumpdirectory", PROCESS),
    ("defaultruntimedir", PROCESS),
    ("defaultstatedir", PROCESS),
    ("group", PROCESS),
    ("lockfile", PROCESS),
    ("pidfile", PROCESS),
    ("scoreboardfile", PROCESS),
    ("serverroot", PROCESS),
    ("user", PROCESS),
    ("mutex", PROCESS),
    ("listen ", ADDRESS),
    ("define", READING),
    ("undefine", READING),
    ("include", READING),
    ("loadfile", READING),
    ("loadmodule", READING),
    ("use ", READING),
    ("alias", SITE),
    ("authname", SITE),
    ("authtype", SITE),
    ("balancermember", SITE),
    ("documentroot", SITE),
    ("heartbeat", SITE),
    ("jk", SITE),
    ("md", SITE),
    ("proxy", SITE),
    ("redirect", SITE),
    ("rewrite", SITE),
    ("scriptalias", SITE),
    ("server", SITE),
    ("sethandler", SITE),
    ("sslcertificate", SITE),
    ("sslengine", SITE),
    ("sslstapling", SITE),
    ("sslusestapling", SITE),
    ("sslverifyclient", SITE),
    ("wsgi", SITE),
    ("errorlog", FILES),
    ("forensiclog", FILES),
    ("scriptlog", FILES),
    ("secauditlog", FILES),
    ("hostnamelookups", "there is no name server beside the copies"),
];

/// What begins like one of these and is tried all the same.
const TRIED: [&str; 3] = ["serverlimit", "serversignature", "servertokens"];

const READING: &str = "it is about which lines and modules there are, and zc tries one line";

const EXAMPLES: &str = "for example: --try 'EnableSendfile On', --try 'MaxKeepAliveRequests 0'";

/// The candidate that a line describes.
///
/// # Errors
/// Usage: the line is no single directive, or one that cannot be tried.
pub fn try_line(line: &str, config: &Config, site: &Site, facts: &Facts) -> Result<Candidate> {
    let refuse = |id: &'static str, why: &str| refused(id, line, why).help(EXAMPLES);
    let text = own_line::text(line, EXAMPLES)?;
    if text.starts_with('<') {
        return Err(refuse("block-to-try", "a section is many lines: try those one by one"));
    }
    if text.ends_with('\\') || has_open_quote(text) {
        let (id, why) = UNFINISHED;
        return Err(refuse(id, why));
    }
    let mut rest = text;
    let name = take_word(&mut rest);
    let args = words(rest);
    if name == "sysctl" {
        return own_line::of_sysctl(line, &args, facts);
    }
    if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        let why = format!("\"{}\" is no name of a directive", zc_run::escape(&name, 40));
        return Err(refuse("no-directive-to-try", &why));
    }
    let lower = format!("{} ", name.to_ascii_lowercase());
    let is_tried = TRIED.iter().any(|tried| lower.trim_end() == *tried);
    let known = REFUSED.iter().find(|(begin, _)| lower.starts_with(begin) && !is_tried);
    if let Some((_, why)) = known {
        return Err(refuse("line-beyond-the-site", why));
    }
    if args.is_empty() {
        return Err(refuse("line-without-a-value", "it has no value"));
    }
    if args.iter().any(|arg| arg.starts_with('|')) {
        return Err(refuse("line-beyond-the-site", "it starts a program"));
    }
    let present = match config.in_effect(site, &name) {
        Some(present) => format!("{} {}", present.name, present.words().join(" ")),
        None => format!("no {name} (default)"),
    };
    let text = format!("{name} {}", args.join(" "));
    Ok(own_line::candidate(text, present, Change::Directive { name, args }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::read::Start;
    use super::*;

    fn parsed(line: &str) -> Result<Candidate> {
        let text = "Listen 80\nEnableSendfile Off\n<VirtualHost *:80>\nDocumentRoot /srv\n\
                    CustomLog /l \"%h %r\"\n</VirtualHost>\n";
        let mut files = BTreeMap::from([("/e/a.conf", text)]);
        let config = Config::read("/e/a.conf", &Start::default(), &mut files).unwrap();
        let site = config.site(None).unwrap();
        try_line(line, &config, &site, &Facts::default())
    }

    #[test]
    fn lines_are_read_as_apache_reads_them() {
        for (line, name, args, present) in [
            ("EnableSendfile  On", "EnableSendfile On", &["On"][..], "EnableSendfile Off"),
            (
                "maxkeepaliverequests 0",
                "maxkeepaliverequests 0",
                &["0"],
                "no maxkeepaliverequests (default)",
            ),
            (
                "Header set X 'a \"b'",
                "Header set X a \"b",
                &["set", "X", "a \"b"],
                "no Header (default)",
            ),
            ("customlog /m common", "customlog /m common", &["/m", "common"], "CustomLog /l %h %r"),
            ("ServerTokens Prod", "ServerTokens Prod", &["Prod"], "no ServerTokens (default)"),
        ] {
            let candidate = parsed(line).unwrap();
            assert_eq!((candidate.name.as_str(), candidate.present.as_str()), (name, present));
            let Change::Directive { args: read, .. } = candidate.change else { panic!("{line}") };
            assert_eq!(read, args, "{line}");
        }
        let sysctl = parsed("sysctl net.ipv4.tcp_notsent_lowat=16384").unwrap();
        assert!(matches!(sysctl.change, Change::Sysctl { .. }));
    }

    #[test]
    fn what_reaches_beyond_the_site_or_is_no_line_is_refused() {
        for (line, id) in [
            ("  ", "no-line-to-try"),
            ("EnableSendfile", "line-without-a-value"),
            ("<Directory />", "block-to-try"),
            ("# EnableSendfile On", "comment-to-try"),
            ("EnableSendfile On\nEnableMMAP Off", "line-too-long"),
            ("EnableSendfile On\\", "unfinished-line"),
            ("Header set X 'a", "unfinished-line"),
            ("Header set X 'a\\'", "unfinished-line"),
            ("../x On", "no-directive-to-try"),
            ("\"Enable Sendfile\" On", "no-directive-to-try"),
            ("Listen 8080", "line-beyond-the-site"),
            ("PidFile /run/x.pid", "line-beyond-the-site"),
            ("USER root", "line-beyond-the-site"),
            ("Include /etc/apache2/x.conf", "line-beyond-the-site"),
            ("ServerName a", "line-beyond-the-site"),
            ("CustomLog \"|/bin/sh -c x\" common", "line-beyond-the-site"),
            ("ErrorLog /x", "line-beyond-the-site"),
            ("sysctl kernel.panic=1", "sysctl-of-the-machine"),
        ] {
            let error = parsed(line).unwrap_err();
            assert_eq!(error.id, id, "{line}: {error}");
            assert!(error.help.is_some(), "{line}");
        }
        assert!(parsed(&"x".repeat(2000)).is_err());
        for line in ["ListenBacklog 9", "UseCanonicalName Off", "ServerLimit 2"] {
            assert!(parsed(line).is_ok(), "{line}");
        }
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
