//! What is asked of a configuration of Apache.

use zc_run::Result;

use super::table::candidates;
use super::tree::{Config, last};
use super::try_line::try_line;
use crate::candidate::{Candidate, Change, Facts, Offer};
use crate::configured::Configured;
use crate::copy::{Copy, Shadow};
use crate::file;
use crate::site::{Scheme, Site};

/// A configuration of Apache, and the host of it that is tried.
#[derive(Debug, Clone)]
pub struct Apache {
    config: Config,
    site: Site,
}

impl Apache {
    /// The host of a name, or the first of an address that answers with files.
    ///
    /// # Errors
    /// As of [`Config::site`].
    pub fn new(config: Config, server_name: Option<&str>) -> Result<Self> {
        let site = config.site(server_name)?;
        Ok(Self { config, site })
    }
}

impl Configured for Apache {
    fn site(&self) -> &Site {
        &self.site
    }

    fn candidates(&self, _: &Facts) -> Vec<Offer> {
        candidates(&self.config, &self.site)
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
            Scheme::Https => "\"Protocols h2 http/1.1\" with mod_http2",
            Scheme::Http => "\"Protocols h2c http/1.1\" with mod_http2",
        }
    }

    /// mod_http2 does not count by `MaxKeepAliveRequests`.
    fn http2_requests(&self) -> Option<(&'static str, u64)> {
        None
    }

    fn user(&self) -> Option<(String, String)> {
        let of = |name: &str| Some(last(&self.config.lines, name)?.first());
        Some((of("User")?, of("Group")?))
    }
}
