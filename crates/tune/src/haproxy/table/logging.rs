//! Whether requests are logged.

use super::super::change::Place;
use super::entry::{Context, reference};
use crate::candidate::{Candidate, Offer};

/// No log, and none of requests without an error.
pub(super) fn offers(context: &Context<'_>) -> Vec<Offer> {
    let Some(log) = context.line("log").filter(|log| !log.is_no()) else {
        let why = "the site has none, and where it would go is not known";
        return vec![Offer::Not { name: "log".to_owned(), why: why.to_owned() }];
    };
    let offer = |line: &str, present: String, reason: &str, section: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Offer::Try(Candidate {
            name: line.to_owned(),
            present,
            change: Place::Front.change(&words),
            reason: reason.to_owned(),
            reference: reference(section),
        })
    };
    let reason = "each request makes a line, and a call that sends it";
    let mut offers = vec![offer("no log", log.text(), reason, "4-no%20log")];
    let is_on = context.line("option dontlog-normal").is_some_and(|line| !line.is_no());
    if !is_on {
        let present = "no option dontlog-normal (default)".to_owned();
        let reason = "only requests with an error make a line";
        let section = "4-option%20dontlog-normal";
        offers.push(offer("option dontlog-normal", present, reason, section));
    }
    offers
}
