//! A line of the operator's own: `--try 'servers protocols h1 h2'`.
//!
//! It is a directive of the site, a global option (`global debug`), a line in `servers` among
//! these, any of them taken away (`without log`), a variable that Go reads (`env GOGC=400`), or a
//! sysctl of the server's network namespace. What would reach beyond the copy that is measured is
//! refused here; what Caddy does not understand, `caddy validate` says.

use std::collections::BTreeMap;

use zc_run::{Result, escape};

use super::go;
use super::lex;
use super::table::present;
use super::tree::{Config, Line, all};
use crate::candidate::{Candidate, Change, Facts};
use crate::own_line::{self, ADDRESS, FILES, PROCESS, SITE, UNFINISHED, refused};
use crate::site::Site;

/// Global options that may be tried; `servers` has a form of its own.
const OPTIONS: [&str; 3] = ["debug", "grace_period", "metrics"];

/// Directives of a site that are not tried, each with the reason.
const REFUSED: [(&str, &str); 28] = [
    ("acme_server", SITE),
    ("abort", SITE),
    ("basic_auth", SITE),
    ("basicauth", SITE),
    ("bind", ADDRESS),
    ("error", SITE),
    ("forward_auth", SITE),
    ("handle", SITE),
    ("handle_errors", SITE),
    ("handle_path", SITE),
    ("import", FILES),
    ("invoke", SITE),
    ("map", SITE),
    ("method", SITE),
    ("order", PROCESS),
    ("php_fastcgi", SITE),
    ("redir", SITE),
    ("respond", SITE),
    ("reverse_proxy", SITE),
    ("rewrite", SITE),
    ("root", SITE),
    ("route", SITE),
    ("templates", SITE),
    ("tls", SITE),
    ("tracing", PROCESS),
    ("try_files", SITE),
    ("uri", SITE),
    ("vars", SITE),
];

const EXAMPLES: &str =
    "for example: --try 'without log', --try 'servers protocols h1 h2', --try 'env GOGC=400'";

/// The candidate that a line describes.
///
/// # Errors
/// Usage: the line is no single one, or one that cannot be tried.
pub fn try_line(line: &str, config: &Config, site: &Site, facts: &Facts) -> Result<Candidate> {
    let refuse = |id: &'static str, why: &str| refused(id, line, why).help(EXAMPLES);
    let text = own_line::text(line, EXAMPLES)?;
    let Ok(words) = lex::words(text, &BTreeMap::new()) else {
        let (id, why) = UNFINISHED;
        return Err(refuse(id, why));
    };
    if words.iter().any(|word| word.is_brace("{") || word.is_brace("}")) {
        return Err(refuse("block-to-try", "a block is many lines: try those one by one"));
    }
    let words: Vec<String> = words.into_iter().map(|word| word.text).collect();
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let (is_without, texts) = match texts.as_slice() {
        ["without", rest @ ..] => (true, rest),
        all => (false, all),
    };
    let (key, args) = match texts {
        ["sysctl", ..] if !is_without => return own_line::of_sysctl(line, &words[1..], facts),
        ["env", variable] if !is_without => return of_variable(line, variable, config),
        ["global", name, ..] if OPTIONS.contains(name) => (format!("global {name}"), &texts[1..]),
        ["servers", name, ..] => (format!("servers {name}"), &texts[1..]),
        ["global" | "servers" | "env", ..] => {
            return Err(refuse("line-beyond-the-site", PROCESS));
        }
        [name, ..] => ((*name).to_owned(), texts),
        [] => return Err(refuse("line-without-a-value", "it names no directive")),
    };
    let name = key.rsplit(' ').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        let why = format!("\"{}\" is no directive", escape(name, 40));
        return Err(refuse("no-directive-to-try", &why));
    }
    // Where a log goes is zc's to say, and that there is none is a line.
    let has_files = !is_without && (name == "log" || key == "servers listener_wrappers");
    let why = REFUSED.iter().find(|(refused, _)| *refused == key).map(|(_, why)| *why);
    if let Some(why) = has_files.then_some(FILES).or(why) {
        return Err(refuse("line-beyond-the-site", why));
    }
    let block = config.blocks.get(site.index).map(Line::children).unwrap_or_default();
    if all(block, &key).count() > 1 {
        let why = "the site has several lines of this name, and which of them it is about is not \
                   clear";
        return Err(refuse("several-lines-of-this-name", why));
    }
    let now = config.in_effect(site, &key);
    if is_without && now.is_none() {
        return Err(refuse("nothing-to-take-away", "the configuration has no such line"));
    }
    let name = match is_without {
        true => format!("without {key}"),
        false => texts.join(" "),
    };
    let args = args.iter().filter(|_| !is_without).map(|word| (*word).to_owned()).collect();
    let present = present(&key, now);
    Ok(own_line::candidate(name, present, Change::Directive { name: key, args }))
}

/// The candidate of `NAME=VALUE`.
fn of_variable(line: &str, variable: &str, config: &Config) -> Result<Candidate> {
    let found = variable.split_once('=').and_then(|(name, value)| {
        let (name, _) = go::VARIABLES.iter().find(|(known, _)| *known == name)?;
        (!value.is_empty()).then_some((*name, value))
    });
    let Some((name, value)) = found else {
        let names = go::VARIABLES.map(|(name, _)| name).join(", ");
        let why = "it is no variable that Go's runtime reads, with a value";
        return Err(refused("bad-variable", line, why).help(format!("they are: {names}")));
    };
    let (text, change) = go::variable(name, value);
    Ok(own_line::candidate(text, go::present(config, name), change))
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    fn parsed(line: &str) -> Result<Candidate> {
        let text = "{\n\tservers {\n\t\tmetrics\n\t}\n}\n:80 {\n\troot * /srv\n\tlog\n\theader A \
                    b\n\theader C d\n\tfile_server\n}\n";
        let config = read(text).unwrap();
        let site = config.site(None).unwrap();
        try_line(line, &config, &site, &Facts::default())
    }

    #[test]
    fn a_line_is_a_directive_an_option_or_a_variable() {
        for (line, name, present, sets) in [
            ("without log", "without log", "log", "log"),
            ("encode  gzip", "encode gzip", "no encode (default)", "encode"),
            ("file_server browse", "file_server browse", "file_server", "file_server"),
            (
                "without servers metrics",
                "without servers metrics",
                "servers metrics",
                "servers metrics",
            ),
            (
                "servers protocols h1 h2",
                "servers protocols h1 h2",
                "no servers protocols (default)",
                "servers protocols",
            ),
            ("global debug", "global debug", "no global debug (default)", "global debug"),
            ("env GOGC=off", "env GOGC=off", "env GOGC=100 (default)", "env GOGC"),
        ] {
            let candidate = parsed(line).unwrap();
            assert_eq!((candidate.name.as_str(), candidate.present.as_str()), (name, present));
            assert_eq!(candidate.change.sets(), sets);
        }
        let sysctl = parsed("sysctl net.ipv4.tcp_notsent_lowat=1").unwrap();
        assert!(matches!(sysctl.change, Change::Sysctl { .. }));
    }

    #[test]
    fn what_reaches_beyond_the_site_or_is_no_line_is_refused() {
        for (line, id) in [
            ("", "no-line-to-try"),
            ("# log", "comment-to-try"),
            ("handle {", "block-to-try"),
            ("respond \"a", "unfinished-line"),
            ("bind 127.0.0.1", "line-beyond-the-site"),
            ("root * /etc", "line-beyond-the-site"),
            ("log access", "line-beyond-the-site"),
            ("import /etc/passwd", "line-beyond-the-site"),
            ("global admin off", "line-beyond-the-site"),
            ("global", "line-beyond-the-site"),
            ("servers", "line-beyond-the-site"),
            ("servers listener_wrappers", "line-beyond-the-site"),
            ("@a path /x", "no-directive-to-try"),
            ("header E f", "several-lines-of-this-name"),
            ("without encode", "nothing-to-take-away"),
            ("without", "line-without-a-value"),
            ("env PATH=/x", "bad-variable"),
            ("env GOGC", "bad-variable"),
            ("env GOGC=", "bad-variable"),
            ("sysctl net.ipv4.tcp_wmem", "sysctl-without-a-value"),
            ("encode\ngzip", "line-too-long"),
        ] {
            let error = parsed(line).unwrap_err();
            assert_eq!(error.id, id, "{line}: {error}");
            assert!(error.help.is_some(), "{line}");
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
