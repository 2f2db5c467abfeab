//! What is in effect at the site, as the entries of the table ask for it.

use super::super::build;
use super::super::tree::Config;
use super::ktls_option;
use super::need::Need;
use crate::candidate::Facts;
use crate::entry::InEffect;
use crate::site::{Scheme, Site};
use crate::values::{self, Version, is_same};

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

    /// The log that nginx writes where the configuration names none.
    pub(super) fn default_log(&self) -> &'a str {
        build::argument(&self.facts.build, "--http-log-path=").unwrap_or("logs/access.log")
    }
}

impl InEffect<Need> for Context<'_> {
    fn value(&self, directive: &str) -> Option<String> {
        Some(self.config.in_effect(self.site, directive)?.args.join(" "))
    }

    fn version(&self) -> Option<Version> {
        values::version(&self.facts.build, "nginx/")
    }

    fn missing(&self, need: Need) -> Option<String> {
        let because = |why: &str| Some(why.to_owned());
        match need {
            Need::Sendfile if !self.is_on("sendfile") => {
                because("it has an effect only with \"sendfile on\"")
            }
            Need::Sendfile if self.is_https && !self.has_ktls_on() => {
                because("over TLS nginx sends by sendfile() only where the kernel encrypts (kTLS)")
            }
            Need::Buffers if self.sends_by_sendfile() => {
                because("files are sent by sendfile(), past these buffers")
            }
            Need::Built(option) if !self.facts.build.contains(option) => {
                Some(format!("this nginx was built without {option}"))
            }
            _ => None,
        }
    }
}
