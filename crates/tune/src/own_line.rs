//! A line of the operator's own, `--try 'sendfile_max_chunk 4k'`: what is the same for all servers.

use zc_run::{Error, Result, escape};

use crate::candidate::{Candidate, Change, Facts};

/// Longest line, in bytes.
pub(crate) const LONGEST: usize = 1000;

/// Why a directive is none that is tried.
pub(crate) const PROCESS: &str = "it is about the server's process, which zc starts and ends";
pub(crate) const ADDRESS: &str = "zc gives each copy an address and a port of its own";
pub(crate) const SITE: &str =
    "it is about what the site serves, which has to stay the same to be compared";
pub(crate) const FILES: &str =
    "it names files that the server writes, which zc keeps in a folder of its own";

/// Why a text is no line, after the id of the error.
pub(crate) const TOO_LONG: (&str, &str) =
    ("line-too-long", "it is too long, or has control characters such as a line feed");
pub(crate) const UNFINISHED: (&str, &str) =
    ("unfinished-line", "a quote or \"\\\" in it has no end");

pub(crate) fn refused(id: &'static str, line: &str, why: &str) -> Error {
    Error::usage(id, format!("\"{}\" cannot be tried: {why}", escape(line.trim(), 80)))
}

/// The one line of a text, without the spaces around it; `examples` are those of an error.
pub(crate) fn text<'l>(line: &'l str, examples: &'static str) -> Result<&'l str> {
    let text = line.trim();
    let (id, why) = if text.len() > LONGEST || text.chars().any(char::is_control) {
        TOO_LONG
    } else if text.is_empty() {
        ("no-line-to-try", "it is empty")
    } else if text.starts_with('#') {
        ("comment-to-try", "it has a comment")
    } else {
        return Ok(text);
    };
    Err(refused(id, line, why).help(examples))
}

pub(crate) fn candidate(name: String, present: String, change: Change) -> Candidate {
    Candidate {
        name,
        present,
        change,
        reason: "given by --try".to_owned(),
        reference: "--try".to_owned(),
    }
}

/// The candidate of the words behind `sysctl`.
pub(crate) fn of_sysctl(line: &str, args: &[String], facts: &Facts) -> Result<Candidate> {
    let help = "for example: --try 'sysctl net.ipv4.tcp_notsent_lowat=131072'";
    let text = args.join(" ");
    let Some((name, value)) = text.split_once('=') else {
        return Err(refused("sysctl-without-a-value", line, "it has no \"=\"").help(help));
    };
    // sysctl(8) takes both separators.
    let (name, value) = (name.trim().replace('/', "."), value.trim());
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_path = !name.is_empty()
        && name.chars().all(is_name)
        && name.split('.').all(|part| !part.is_empty());
    if !is_path || value.is_empty() {
        return Err(refused("bad-sysctl", line, "it is no name=value").help(help));
    }
    if !name.starts_with("net.") {
        let why = "only the sysctls below \"net.\" can be those of a network namespace, and others \
                   are the whole machine's";
        return Err(refused("sysctl-of-the-machine", line, why).help(help));
    }
    let present = facts.sysctl_in_words(&name);
    let text = format!("sysctl {name}={value}");
    Ok(candidate(text, present, Change::Sysctl { name, value: value.to_owned() }))
}
