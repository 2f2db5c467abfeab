//! What is asked of a configuration of HAProxy.

use zc_run::Result;

use super::table::candidates;
use super::tree::Config;
use super::try_line::try_line;
use crate::candidate::{Candidate, Change, Facts, Offer};
use crate::configured::Configured;
use crate::copy::{Copy, Shadow};
use crate::file;
use crate::site::{Scheme, Site};

/// A configuration of HAProxy, and the proxy of it that is tried.
#[derive(Debug, Clone)]
pub struct HAProxy {
    config: Config,
    site: Site,
}

impl HAProxy {
    /// The proxy of a name, or the first whose servers answer.
    ///
    /// # Errors
    /// As of [`Config::site`].
    pub fn new(config: Config, name: Option<&str>) -> Result<Self> {
        let site = config.site(name)?;
        Ok(Self { config, site })
    }
}

impl Configured for HAProxy {
    fn site(&self) -> &Site {
        &self.site
    }

    fn candidates(&self, facts: &Facts) -> Vec<Offer> {
        candidates(&self.config, &self.site, facts)
    }

    fn try_line(&self, line: &str, facts: &Facts) -> Result<Candidate> {
        try_line(line, &self.config, &self.site, facts)
    }

    fn copy(&self, shadow: &Shadow, changes: &[&Change]) -> Copy {
        self.config.copy(&self.site, shadow, changes)
    }

    fn diff(&self, changes: &[&Change], path_of: &dyn Fn(&str) -> String) -> String {
        let mut config = self.config.clone();
        file::rename(&mut config.files, path_of);
        config.diff(&self.site, changes)
    }

    fn http2_line(&self) -> &'static str {
        match self.site.scheme {
            Scheme::Https => "\"alpn h2,http/1.1\" behind \"bind\"",
            Scheme::Http => "\"proto h2\" behind \"bind\"",
        }
    }

    /// It ends none by their number.
    fn http2_requests(&self) -> Option<(&'static str, u64)> {
        None
    }

    fn user(&self) -> Option<(String, String)> {
        let of = |name: &str| Some(self.config.global(name)?.word(1).to_owned());
        Some((of("user")?, of("group")?))
    }
}
