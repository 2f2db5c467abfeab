//! What is asked of a configuration of nginx.

use zc_run::Result;

use super::table::candidates;
use super::tree::Config;
use super::try_line::try_line;
use crate::candidate::{Candidate, Change, Facts, Offer};
use crate::configured::Configured;
use crate::copy::{Copy, Shadow};
use crate::file;
use crate::site::{Scheme, Site};

/// `keepalive_requests` where no line sets it
/// (<https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_requests>).
const KEEPALIVE_REQUESTS: u64 = 1_000;

/// A configuration of nginx, and the site of it that is tried.
#[derive(Debug, Clone)]
pub struct Nginx {
    config: Config,
    site: Site,
}

impl Nginx {
    /// The site of a name, or the first default server that answers with files.
    ///
    /// # Errors
    /// As of [`Config::site`].
    pub fn new(config: Config, server_name: Option<&str>) -> Result<Self> {
        let site = config.site(server_name)?;
        Ok(Self { config, site })
    }
}

impl Configured for Nginx {
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
            Scheme::Https => "\"listen 443 ssl http2\", or \"http2 on\" since nginx 1.25.1",
            Scheme::Http => "\"listen 80 http2\", or \"http2 on\" since nginx 1.25.1",
        }
    }

    fn http2_requests(&self) -> Option<(&'static str, u64)> {
        let name = "keepalive_requests";
        let line = self.config.in_effect(&self.site, name);
        let limit = line.and_then(|line| line.first().parse().ok());
        Some((name, limit.unwrap_or(KEEPALIVE_REQUESTS)))
    }

    fn user(&self) -> Option<(String, String)> {
        let user = self.config.main.iter().find(|directive| directive.name == "user")?;
        let name = user.first().to_owned();
        let group = user.args.get(1).unwrap_or(&name).clone();
        Some((name, group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_workers_is_that_of_their_name_unless_it_is_given() {
        let user = |line: &str| {
            let text = format!("events {{}} {line} http {{ server {{ listen 80; }} }}");
            let dump = format!("# configuration file /e/nginx.conf:\n{text}\n");
            Nginx::new(Config::parse(&dump).unwrap(), None).unwrap().user()
        };
        let pair = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
        assert_eq!(user(""), None);
        assert_eq!(user("user a;"), pair("a", "a"));
        assert_eq!(user("user a b;"), pair("a", "b"));
    }
}
