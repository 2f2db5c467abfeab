//! The site that is tried, as whoever copies and asks it has to know it, and sentences about it
//! that are the same for all servers.

use zc_run::{Error, escape};

/// How many names or places a sentence has.
const NAMED: usize = 5;

/// Whether the site is asked with or without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Without.
    Http,
    /// With.
    Https,
}

/// The part of a configuration that answers for one host: nginx's `server` block, Apache's
/// `VirtualHost`.
#[derive(Debug, Clone)]
pub struct Site {
    /// The first of its names; empty if it has none.
    pub name: String,
    /// Its file, and the line on which it begins.
    pub position: String,
    /// Why it is this one: a sentence.
    pub why: String,
    /// The scheme of its address. Of several schemes, https.
    pub scheme: Scheme,
    /// Whether clients may use HTTP/2.
    pub http2: bool,
    /// Whether requests for `/...` are answered by files. Where they are not,
    /// [`Shadow::own_location`](crate::Shadow::own_location) is the way.
    pub answers_files: bool,
    /// Its certificates and keys, absolute where they are files.
    pub certificates: Vec<(String, String)>,
    /// Sentences about what of the site is not asked, and what may answer in place of the files.
    pub said: Vec<String>,
    /// Its place among those of the configuration.
    pub(crate) index: usize,
}

/// The error that nothing, such as no `host`, has the wanted name; `names` are those there are.
pub(crate) fn no_such_name<S: AsRef<str>>(
    what: &str,
    wanted: &str,
    names: impl Iterator<Item = S>,
) -> Error {
    let known: Vec<String> =
        names.take(NAMED).map(|name| format!("\"{}\"", escape(name.as_ref(), 100))).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let message = format!("no {what} is named \"{}\"", escape(wanted, 100));
    Error::usage("no-such-server-name", message)
        .help(format!("names of the configuration: {known}"))
}

/// The first of several places, and how many more there are.
pub(crate) fn first_places(mut places: Vec<String>) -> String {
    let more = places.len().saturating_sub(NAMED);
    places.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", places.join(", "))
}

/// The sentence about so many lines that forward, in a copy.
pub(crate) fn lead_nowhere(lines: usize) -> Option<String> {
    match lines {
        0 => None,
        1 => Some("1 line that forwards leads nowhere: it would answer 502".to_owned()),
        _ => Some(format!("{lines} lines that forward lead nowhere: they would answer 502")),
    }
}

/// Sentences about lines that may answer in place of the files, from the words and the position of
/// each.
pub(crate) fn may_answer(lines: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let sentence = |(words, position): (String, String)| {
        let words = escape(&words, 80);
        format!("\"{words}\" ({position}) may answer or delay requests for files")
    };
    let mut found: Vec<String> = lines.map(sentence).collect();
    let more = found.len().saturating_sub(2 * NAMED);
    if more > 0 {
        found.truncate(2 * NAMED);
        found.push(format!("{more} more lines may answer or delay requests for files"));
    }
    found
}
