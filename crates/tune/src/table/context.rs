//! What is in effect at the site, as the entries of the table ask for it.

use super::ktls_option;
use super::values::{Version, is_same};
use crate::candidate::Facts;
use crate::nginx::{Config, Scheme, Site, build_argument};

/// A site with its surroundings.
pub(super) struct Context<'a> {
    config: &'a Config,
    site: &'a Site,
    pub(super) facts: &'a Facts,
    pub(super) is_https: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(config: &'a Config, site: &'a Site, facts: &'a Facts) -> Self {
        Self { config, site, facts, is_https: site.scheme == Scheme::Https }
    }

    /// The arguments of a directive that is in effect; `None` where the default is.
    pub(super) fn value(&self, directive: &str) -> Option<String> {
        Some(self.config.in_effect(self.site, directive)?.args.join(" "))
    }

    /// Whether a switch whose default is off is on.
    pub(super) fn is_on(&self, directive: &str) -> bool {
        self.value(directive).is_some_and(|value| is_same(&value, "on"))
    }

    /// Whether the kernel encrypts what the site sends.
    pub(super) fn has_ktls_on(&self) -> bool {
        self.facts.has_ktls
            && self
                .value(ktls_option::DIRECTIVE)
                .is_some_and(|value| ktls_option::asks_for_it(&value))
    }

    /// Whether files are sent by sendfile().
    pub(super) fn sends_by_sendfile(&self) -> bool {
        self.is_on("sendfile") && (!self.is_https || self.has_ktls_on())
    }

    /// Parameters of the site's `listen`, without the address.
    pub(super) fn listen_parameters(&self) -> Vec<&'a str> {
        self.config.listen_parameters(self.site)
    }

    /// The version of nginx.
    pub(super) fn version(&self) -> Option<Version> {
        let text = self.facts.build.split("nginx/").nth(1)?;
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??, numbers.next()??))
    }

    /// The log that nginx writes where the configuration names none.
    pub(super) fn default_log(&self) -> &'a str {
        build_argument(&self.facts.build, "--http-log-path=").unwrap_or("logs/access.log")
    }
}
