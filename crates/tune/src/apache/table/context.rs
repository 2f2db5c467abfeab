//! What is in effect at the site, as the entries of the table ask for it.

use super::super::tree::{Config, Line};
use super::need::Need;
use crate::entry::InEffect;
use crate::site::{Scheme, Site};
use crate::values::{Version, is_same};

/// A site with its surroundings.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) site: &'a Site,
    pub(super) is_https: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(config: &'a Config, site: &'a Site) -> Self {
        Self { config, site, is_https: site.scheme == Scheme::Https }
    }

    /// The line that is in effect.
    pub(super) fn line(&self, directive: &str) -> Option<&'a Line> {
        self.config.in_effect(self.site, directive)
    }

    /// Whether a switch is on, whose default is given.
    fn is_on(&self, directive: &str, default: bool) -> bool {
        self.value(directive).map_or(default, |value| is_same(&value, "on"))
    }

    /// Whether files are sent by sendfile().
    fn sends_by_sendfile(&self) -> bool {
        self.is_on("EnableSendfile", false) && !self.is_https
    }
}

impl InEffect<Need> for Context<'_> {
    fn value(&self, directive: &str) -> Option<String> {
        Some(self.line(directive)?.words().join(" "))
    }

    fn version(&self) -> Option<Version> {
        self.config.version()
    }

    fn missing(&self, need: Need) -> Option<String> {
        let because = |why: &str| Some(why.to_owned());
        match need {
            Need::Plain if self.is_https => because(
                "over TLS mod_ssl reads files to encrypt them, so nothing is sent by sendfile()",
            ),
            Need::Reads if self.sends_by_sendfile() => {
                because("files are sent by sendfile(), so nothing is mapped")
            }
            Need::Buffers if self.sends_by_sendfile() => {
                because("files are sent by sendfile(), past these buffers")
            }
            Need::Buffers if self.is_on("EnableMMAP", true) => {
                because("files are mapped, and not read into these buffers")
            }
            Need::Threads if self.config.has_module("mpm_prefork_module") => {
                because("a process of the prefork MPM has one thread")
            }
            Need::Module(module) if !self.config.has_module(module) => {
                Some(format!("this Apache has no {module}"))
            }
            Need::Since(since) if self.version().is_some_and(|version| version < since) => {
                let (major, minor, patch) = since;
                Some(format!("Apache has it since {major}.{minor}.{patch}"))
            }
            _ => None,
        }
    }
}
