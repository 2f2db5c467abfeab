//! The site that is tried: a `frontend` or `listen`, and the section whose servers answer for it.

use zc_run::{Error, Result, escape};

use super::answer;
use super::build;
use super::tree::{Config, Line, Section};
use crate::site::{self, Scheme, Site};
use crate::values::Version;

/// Since when `alpn h2,http/1.1` is the default of HTTPS.
const ALPN_IS_DEFAULT: Version = (2, 8, 0);

/// The section whose servers answer for a proxy, by its index, and why it is this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behind {
    pub(super) index: usize,
    /// Whether it is the default, and not one of those that requests are chosen for.
    pub(super) is_default: bool,
}

impl Config {
    /// Chooses the proxy that is tried: that of a name, or without one the first whose requests its
    /// servers answer, those in `mode http` before others, then the first.
    ///
    /// # Errors
    /// Nothing listens, or there is no proxy of that name.
    pub fn site(&self, name: Option<&str>) -> Result<Site> {
        let fronts: Vec<usize> = (0..self.sections.len()).filter(|&at| self.listens(at)).collect();
        let Some(&first) = fronts.first() else {
            let main = self.files.first().map_or("", |file| &file.path);
            let message = format!(
                "file \"{}\" has no \"frontend\" or \"listen\" with a \"bind\"",
                escape(main, 300)
            );
            return Err(Error::input("no-http-server", message)
                .help("-c names the configuration, or a folder of several files"));
        };
        if let Some(wanted) = name {
            let of = |at: &usize| self.sections[*at].name();
            let Some(&index) = fronts.iter().find(|at| of(at) == wanted) else {
                let names = fronts.iter().map(of);
                return Err(site::no_such_name("frontend", wanted, names));
            };
            return Ok(self.describe(index, "it is the one of this name".to_owned()));
        }
        let by =
            |is_wanted: &dyn Fn(usize) -> bool| fronts.iter().copied().find(|at| is_wanted(*at));
        let in_http = |at| self.is_http(at) && self.answers_files(at);
        let (index, why) = match (by(&in_http), by(&|at| self.answers_files(at))) {
            (Some(index), _) => (index, "it is the first whose servers answer requests"),
            (None, Some(index)) => {
                (index, "it is the first whose servers answer, and none is in \"mode http\"")
            }
            (None, None) => (first, "it is the first, and none has servers that answer always"),
        };
        Ok(self.describe(index, why.to_owned()))
    }

    /// Whether a section is a proxy that clients can come to.
    fn listens(&self, at: usize) -> bool {
        let section = &self.sections[at];
        section.is_front() && section.last("bind").is_some() && section.last("disabled").is_none()
    }

    /// The section whose servers answer for a proxy: its default, or else the first that its rules
    /// choose, or itself.
    pub(super) fn behind(&self, index: usize) -> Behind {
        let of = |line: &Line| self.named(Section::is_back, line.word(1));
        let default = self.of_proxy(index, "default_backend").and_then(of);
        if let Some(index) = default {
            return Behind { index, is_default: true };
        }
        let is_own = self.sections[index].is_back() && self.has_servers(index);
        let chosen = self.sections[index].all("use_backend").find_map(of);
        match chosen.filter(|_| !is_own) {
            Some(index) => Behind { index, is_default: false },
            None => Behind { index, is_default: true },
        }
    }

    fn has_servers(&self, index: usize) -> bool {
        let keys = ["server", "server-template", "dispatch"];
        keys.iter().any(|key| self.sections[index].last(key).is_some())
    }

    /// Whether all that is asked of a proxy is answered by its servers.
    fn answers_files(&self, index: usize) -> bool {
        let behind = self.behind(index);
        let forwards = |at: usize| answer::instead_of_servers(&self.sections[at]).is_none();
        behind.is_default
            && self.has_servers(behind.index)
            && forwards(index)
            && forwards(behind.index)
    }

    /// The `bind` that is asked: of those with and without TLS the first with it.
    pub(super) fn bind(&self, index: usize) -> Option<&Line> {
        let section = &self.sections[index];
        section.all("bind").find(|line| line.has("ssl")).or_else(|| section.all("bind").next())
    }

    /// What is to be known of a proxy.
    fn describe(&self, index: usize, why: String) -> Site {
        let section = &self.sections[index];
        let behind = self.behind(index);
        let is_tls = self.bind(index).is_some_and(|line| line.has("ssl"));
        let back = &self.sections[behind.index];
        let why = match behind.index == index {
            true => why,
            false => format!("{why} ({})", escape(&back.header.text(), 100)),
        };
        let mut said = Vec::new();
        if !self.is_http(index) {
            said.push(
                "it is in \"mode tcp\": what crosses it is asked by HTTP without TLS of the servers"
                    .to_owned(),
            );
        }
        let mut lines: Vec<&Line> = section.lines.iter().collect();
        if behind.index != index {
            lines.extend(&back.lines);
        }
        let found = lines.into_iter().filter(|line| answer::may_answer(line));
        said.extend(site::may_answer(found.map(|line| (line.text(), line.position()))));
        Site {
            name: section.name().to_owned(),
            position: section.header.position(),
            why,
            scheme: if is_tls { Scheme::Https } else { Scheme::Http },
            http2: self.speaks_http2(index),
            answers_files: self.answers_files(index),
            certificates: if is_tls { self.certificates_of(index) } else { Vec::new() },
            said,
            index,
        }
    }

    /// Whether clients may use HTTP/2. Without TLS those that begin with it at once may, too, which
    /// no browser does.
    fn speaks_http2(&self, index: usize) -> bool {
        let Some(bind) = self.bind(index).filter(|_| self.is_http(index)) else { return false };
        match bind.behind("alpn") {
            Some(names) => names.split(',').any(|name| name.trim() == "h2"),
            None if bind.behind("proto") == Some("h2") => true,
            None => {
                let is_since = self.version().is_some_and(|version| version >= ALPN_IS_DEFAULT);
                bind.has("ssl") && is_since && !bind.has("no-alpn")
            }
        }
    }

    /// Certificates, each of which may hold its key or have it beside it.
    fn certificates_of(&self, index: usize) -> Vec<(String, String)> {
        let Some(bind) = self.bind(index) else { return Vec::new() };
        let names = ["crt", "crt-list"].into_iter().filter_map(|word| bind.behind(word));
        let paths = names.flat_map(|name| match self.certificates.get(name) {
            Some(paths) => paths.clone(),
            None => vec![self.in_crt_base(name)],
        });
        paths.map(|path| (path.clone(), path)).collect()
    }

    pub(super) fn version(&self) -> Option<Version> {
        build::version(&self.build)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    fn site(text: &str) -> Site {
        read(text).unwrap().site(None).unwrap()
    }

    #[test]
    fn the_site_is_the_first_whose_servers_answer() {
        let text = "defaults\n mode http\nlisten stats\n bind :8404\n stats enable\n\
                    frontend plain\n bind :80\n redirect scheme https if !{ ssl_fc }\n \
                    default_backend b\nfrontend off\n bind :81\n disabled\n default_backend b\n\
                    frontend www\n bind :82\n bind :443 ssl crt /c.pem alpn h2,http/1.1\n \
                    use_backend a if { path /a }\n default_backend b\n\
                    backend a\n server s 192.0.2.9:80\nbackend b\n server s 192.0.2.9:80\n \
                    http-request deny if { src 192.0.2.1 }\n";
        let found = site(text);
        assert_eq!((found.name.as_str(), found.scheme), ("www", Scheme::Https));
        assert!(found.answers_files && found.http2, "{found:?}");
        assert_eq!(found.certificates, [("/c.pem".to_owned(), "/c.pem".to_owned())]);
        assert!(found.why.contains("(backend b)"), "{}", found.why);
        assert!(found.said.concat().contains("\"http-request deny if { src 192.0.2.1 }\""));
        assert_eq!(found.position, "/e/haproxy.cfg, line 14");
        let config = read(text).unwrap();
        assert_eq!(config.site(Some("stats")).unwrap().name, "stats");
        let error = config.site(Some("off")).unwrap_err();
        assert_eq!(error.id, "no-such-server-name");
        assert!(error.help.is_some_and(|help| help.contains("\"plain\", \"www\"")));
    }

    #[test]
    fn a_proxy_without_a_default_is_that_of_its_first_rule() {
        let text = "frontend f\n bind :80\n use_backend none if x\n use_backend b if y\n\
                    backend b\n server s 192.0.2.9:80\n";
        let config = read(text).unwrap();
        assert_eq!(config.behind(0), Behind { index: 1, is_default: false });
        let found = config.site(None).unwrap();
        assert!(!found.answers_files && !found.http2);
        assert!(found.said[0].contains("mode tcp"), "{:?}", found.said);
        // The default may be inherited, and a listen answers itself.
        let text = "defaults\n mode http\n default_backend b\nbackend b\n server s 192.0.2.9:80\n\
                    frontend f\n bind :80\ndefaults\nlisten l\n bind :81\n server s 192.0.2.9:80\n";
        let config = read(text).unwrap();
        assert_eq!((config.behind(2).index, config.behind(4).index), (1, 4));
        assert!(config.is_http(2) && !config.is_http(4));
        assert!(site(text).answers_files);
    }

    #[test]
    fn where_nothing_listens_there_is_no_site() {
        for text in ["", "global\n", "frontend f\n", "backend b\n server s 192.0.2.9:80\n"] {
            assert_eq!(read(text).unwrap().site(None).unwrap_err().id, "no-http-server", "{text}");
        }
    }
}
