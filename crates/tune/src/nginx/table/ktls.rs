//! Encryption by the kernel, which `ssl_conf_command Options KTLS` asks OpenSSL for. Only then does
//! nginx use sendfile() for TLS (since 1.21.4).

use super::context::Context;
use super::ktls_option::{DIRECTIVE, asks_for_it};
use crate::candidate::{Candidate, Change, Offer};
use crate::entry::InEffect as _;

const REFERENCE: &str = "https://docs.kernel.org/networking/tls.html; \
                         https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_conf_command";

/// kTLS switched on, or off where the configuration has it, for a site that speaks TLS.
pub(super) fn offer(context: &Context<'_>) -> Offer {
    let not =
        |why: &str| Offer::Not { name: format!("{DIRECTIVE} Options KTLS"), why: why.to_owned() };
    if !context.facts.has_ktls {
        return not("this kernel has no kTLS");
    }
    let value = context.value(DIRECTIVE);
    let tried = match value.as_deref() {
        None => "KTLS",
        Some(value) if asks_for_it(value) => "-KTLS",
        Some(_) => return not("the line would replace another ssl_conf_command: try it by --try"),
    };
    let present = match value {
        Some(value) => format!("{DIRECTIVE} {value}"),
        None => format!("no {DIRECTIVE} (default)"),
    };
    Offer::Try(Candidate {
        name: format!("{DIRECTIVE} Options {tried}"),
        present,
        change: Change::Directive {
            name: DIRECTIVE.to_owned(),
            args: vec!["Options".to_owned(), tried.to_owned()],
        },
        reason: "the kernel encrypts, so that files are sent by sendfile() and not copied into \
                 nginx"
            .to_owned(),
        reference: REFERENCE.to_owned(),
    })
}
