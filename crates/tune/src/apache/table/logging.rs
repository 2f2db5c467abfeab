//! Whether and how requests are logged. Path and format of the present log stay, so that the line
//! can be taken over as it is.

use super::context::Context;
use crate::candidate::{Candidate, Change, Offer};
use crate::entry::InEffect as _;
use crate::values::is_same;

const LOG: &str = "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#customlog";
const BUFFER: &str = "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#bufferedlogs";

/// A condition that never holds. Without a `CustomLog` of its own, a host would write to the main
/// server's.
const NEVER: &str = "expr=false";

/// No log, and a log with or without a buffer.
pub(super) fn offers(context: &Context<'_>) -> Vec<Offer> {
    let Some(log) = context.line("CustomLog") else {
        let why = "there is none, and which format it would have is not known: try one by --try";
        return vec![Offer::Not { name: "CustomLog".to_owned(), why: why.to_owned() }];
    };
    let words = log.words();
    let mut offers = Vec::new();
    let is_condition = |word: &&String| word.starts_with("env=") || word.starts_with("expr=");
    if !words.iter().any(|word| word == NEVER) {
        let args: Vec<String> = words
            .iter()
            .filter(|word| !is_condition(word))
            .cloned()
            .chain([NEVER.to_owned()])
            .collect();
        offers.push(Offer::Try(Candidate {
            name: format!("CustomLog {}", args.join(" ")),
            present: format!("CustomLog {}", words.join(" ")),
            change: Change::Directive { name: "CustomLog".to_owned(), args },
            reason: "each request makes a line, and a write() for it; this one is never written"
                .to_owned(),
            reference: LOG.to_owned(),
        }));
    }
    let value = context.value("BufferedLogs");
    let is_on = value.as_deref().is_some_and(|value| is_same(value, "on"));
    let tried = if is_on { "Off" } else { "On" };
    offers.push(Offer::Try(Candidate {
        name: format!("BufferedLogs {tried}"),
        present: value.map_or("BufferedLogs Off (default)".to_owned(), |value| {
            format!("BufferedLogs {value}")
        }),
        change: Change::Directive { name: "BufferedLogs".to_owned(), args: vec![tried.to_owned()] },
        reason: "a line without a buffer is a write() for each request".to_owned(),
        reference: BUFFER.to_owned(),
    }));
    offers
}
