//! Parameters of the site's `listen`.

use super::super::listen::name as parameter_name;
use super::context::Context;
use crate::candidate::{Candidate, Change, Offer};

const REFERENCE: &str = "https://nginx.org/en/docs/http/ngx_http_core_module.html#listen";

/// nginx's own queue on Linux (NGX_LISTEN_BACKLOG).
const DEFAULT_BACKLOG: &str = "511";

/// A parameter: how it is given, its value without it, and why it may matter.
const PARAMETERS: [(&str, &str, &str); 2] = [
    (
        "reuseport",
        "one socket for all workers",
        "each worker has a socket of its own, so that they do not wake for the same connection",
    ),
    (
        "backlog=4096",
        DEFAULT_BACKLOG,
        "connections that come in a burst wait in the queue instead of being tried again a \
         second later",
    ),
];

/// Each parameter that the `listen` does not have, and those that it has left out.
pub(super) fn offers(context: &Context<'_>) -> Vec<Offer> {
    let own = context.listen_parameters();
    let offer = |(tried, without, reason): &(&str, &str, &str)| {
        let name = parameter_name(tried);
        let has = own.iter().find(|own| parameter_name(own) == name);
        let (line, present, change) = match has {
            Some(has) => (
                format!("listen without {has}"),
                format!("listen {has}"),
                Change::Listen { parameter: (*has).to_owned(), on: false },
            ),
            None => (
                format!("listen {tried}"),
                format!("listen without {name}: {without} (default)"),
                Change::Listen { parameter: (*tried).to_owned(), on: true },
            ),
        };
        Offer::Try(Candidate {
            name: line,
            present,
            change,
            reason: (*reason).to_owned(),
            reference: REFERENCE.to_owned(),
        })
    };
    PARAMETERS.iter().map(offer).collect()
}
