//! What is asked of a Caddyfile.

use zc_run::Result;

use super::table::candidates;
use super::tree::Config;
use super::try_line::try_line;
use crate::candidate::{Candidate, Change, Facts, Offer};
use crate::configured::Configured;
use crate::copy::{Copy, Shadow};
use crate::file;
use crate::site::{Scheme, Site};

/// A Caddyfile, and the site of it that is tried.
#[derive(Debug, Clone)]
pub struct Caddy {
    config: Config,
    site: Site,
}

impl Caddy {
    /// The site of a name, or the first that answers with files.
    ///
    /// # Errors
    /// As of [`Config::site`].
    pub fn new(config: Config, name: Option<&str>) -> Result<Self> {
        let site = config.site(name)?;
        Ok(Self { config, site })
    }
}

impl Configured for Caddy {
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
            Scheme::Https => "\"protocols h1 h2\" in \"servers\"",
            Scheme::Http => "\"protocols h1 h2c\" in \"servers\"",
        }
    }

    /// It ends none by their number.
    fn http2_requests(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// Its user is that of whoever starts it.
    fn user(&self) -> Option<(String, String)> {
        None
    }
}
