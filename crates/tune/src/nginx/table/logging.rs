//! Whether and how requests are logged. The path of the present log stays, so that the line can be
//! taken over as it is.

use super::context::Context;
use crate::candidate::{Candidate, Change, Offer};
use crate::entry::InEffect as _;
use crate::values::is_same;

const DIRECTIVE: &str = "access_log";
const REFERENCE: &str = "https://nginx.org/en/docs/http/ngx_http_log_module.html#access_log";

/// Buffering as it is tried.
const BUFFERED: [&str; 2] = ["buffer=64k", "flush=5s"];

/// Why logging is tried at all.
const REASON: &str = "a line without a buffer is a write() for each request";

/// No log, and a log with the other kind of buffering than it has; where there is no log, one.
pub(super) fn offers(context: &Context<'_>) -> Vec<Offer> {
    let default = format!("{} combined", context.default_log());
    let value = context.value(DIRECTIVE);
    let present = match &value {
        Some(value) => format!("{DIRECTIVE} {value}"),
        None => format!("{DIRECTIVE} {default} (default)"),
    };
    let candidate = |args: Vec<String>, reason: &str| {
        Offer::Try(Candidate {
            name: format!("{DIRECTIVE} {}", args.join(" ")),
            present: present.clone(),
            change: Change::Directive { name: DIRECTIVE.to_owned(), args },
            reason: reason.to_owned(),
            reference: REFERENCE.to_owned(),
        })
    };
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let value = value.unwrap_or_else(|| default.clone());
    if is_same(&value, "off") {
        return vec![candidate(words(&default), "what the log would cost")];
    }
    let args = words(&value);
    let is_buffering =
        |word: &String| ["buffer=", "flush=", "gzip"].iter().any(|begin| word.starts_with(begin));
    let plain: Vec<String> = args.iter().filter(|word| !is_buffering(word)).cloned().collect();
    let is_plain = plain.len() == args.len();
    let is_file = !args.first().is_some_and(|path| path.starts_with("syslog:"));
    let off = candidate(vec!["off".to_owned()], "each request makes a line, and a write() for it");
    let mut offers = vec![off];
    if !is_plain {
        offers.push(candidate(plain, REASON));
    } else if is_file {
        // The format has to be named before the buffer (ngx_http_log_set_log()).
        let format = (plain.len() == 1).then(|| "combined".to_owned());
        let buffered = plain.into_iter().chain(format).chain(BUFFERED.map(str::to_owned));
        offers.push(candidate(buffered.collect(), REASON));
    }
    offers
}
