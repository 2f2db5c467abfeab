//! The site that is tried: a `frontend` or `listen`, and the section whose servers answer for it.

use zc_run::{Error, Result, escape};

use super::answer;
use super::tree::{Config, Line, Section};
use crate::site::{self, Scheme, Site};
use crate::values::{self, Version};

/// Since when `alpn h2,http/1.1` is the default of HTTPS.
const ALPN_IS_DEFAULT: Version = (2, 8, 0);

/// The section whose servers answer for a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Behind {
    pub(super) index: usize,
    /// Whether it is the default, and not one that requests are chosen for.
    pub(super) is_default: bool,
}

impl Config {
    /// Chooses the proxy that is tried: that of a name, or without one the first whose requests its
    /// servers answer, those in `mode http` before others, then the first.
    ///
    /// # Errors
    /// Nothing listens, or there is no proxy of that name.
    pub fn site(&self, name: Option<&str>) -> Result<Site> {
        let listens = |section: &Section| {
            section.is_front()
                && section.last("bind").is_some()
                && section.last("disabled").is_none()
        };
        let all = 0..self.sections.len();
        let fronts: Vec<usize> = all.filter(|at| listens(&self.sections[*at])).collect();
        let Some(&first) = fronts.first() else {
            let main = self.files.first().map_or("", |file| &file.path);
            let main = escape(main, 300);
            let message = format!("file \"{main}\" has no frontend or listen with a \"bind\"");
            return Err(Error::input("no-http-server", message)
                .help("-c names the configuration, or a folder of several files"));
        };
        let find =
            |is_it: &dyn Fn(usize) -> bool| fronts.iter().copied().find(|front| is_it(*front));
        let name_of = |front: usize| self.sections[front].name();
        let answers = |front: usize| self.answers_files(front);
        let (index, why) = if let Some(wanted) = name {
            let index = find(&|front| name_of(front) == wanted).ok_or_else(|| {
                site::no_such_name("frontend", wanted, fronts.iter().map(|front| name_of(*front)))
            })?;
            (index, "it is the one of this name")
        } else if let Some(index) = find(&|front| self.is_http(front) && answers(front)) {
            (index, "it is the first whose servers answer requests")
        } else if let Some(index) = find(&answers) {
            (index, "it is the first whose servers answer, and none is in \"mode http\"")
        } else {
            (first, "it is the first, and none has servers that answer always")
        };
        Ok(self.describe(index, why))
    }

    /// The section whose servers answer for a proxy: its default, itself, or the first that its
    /// rules choose.
    pub(super) fn behind(&self, index: usize) -> Behind {
        let of = |line: &Line| {
            let is_it = |section: &Section| section.is_back() && section.name() == line.word(1);
            self.sections.iter().position(is_it)
        };
        if let Some(index) = self.of_proxy(index, "default_backend").and_then(of) {
            return Behind { index, is_default: true };
        }
        let own = Behind { index, is_default: true };
        if self.has_servers(index) {
            return own;
        }
        let lines = self.sections[index].lines.iter();
        let mut rules = lines.filter(|line| line.word(0) == "use_backend");
        rules.find_map(of).map_or(own, |index| Behind { index, is_default: false })
    }

    fn has_servers(&self, index: usize) -> bool {
        let section = &self.sections[index];
        let is_server = |line: &Line| {
            matches!(line.word(0), "server" | "server-template" | "dispatch" | "use-fcgi-app")
        };
        section.is_back() && section.lines.iter().any(is_server)
    }

    /// Whether all that is asked of a proxy is answered by its servers.
    fn answers_files(&self, index: usize) -> bool {
        let behind = self.behind(index);
        let is_tls = self.is_tls(index);
        let is_forwarded = |at: usize| !answer::is_instead_of_servers(&self.sections[at], is_tls);
        behind.is_default
            && self.has_servers(behind.index)
            && is_forwarded(index)
            && is_forwarded(behind.index)
    }

    /// Its lines `bind`.
    pub(super) fn binds(&self, index: usize) -> impl Iterator<Item = &Line> {
        self.sections[index].lines.iter().filter(|line| line.word(0) == "bind")
    }

    /// The `bind` that is asked: of those with and without TLS the first with it.
    pub(super) fn bind(&self, index: usize) -> Option<&Line> {
        self.binds(index).find(|line| line.has("ssl")).or_else(|| self.binds(index).next())
    }

    fn is_tls(&self, index: usize) -> bool {
        self.bind(index).is_some_and(|line| line.has("ssl"))
    }

    /// What is to be known of a proxy.
    fn describe(&self, index: usize, why: &str) -> Site {
        let front = &self.sections[index];
        let behind = self.behind(index);
        let back = &self.sections[behind.index];
        let is_tls = self.is_tls(index);
        let mut said = Vec::new();
        if !self.is_http(index) {
            said.push("it is in \"mode tcp\", and asked by HTTP without TLS to servers".to_owned());
        }
        let others: &[Line] = if behind.index == index { &[] } else { &back.lines };
        let found = front.lines.iter().chain(others).filter(|line| answer::may_answer(line));
        said.extend(site::may_answer(found.map(|line| (line.text(), line.position()))));
        Site {
            name: front.name().to_owned(),
            position: front.header.position(),
            why: format!("{why} ({})", escape(&back.header.text(), 100)),
            scheme: if is_tls { Scheme::Https } else { Scheme::Http },
            http2: self.speaks_http2(index),
            answers_files: self.answers_files(index),
            certificates: if is_tls { self.certificates(index) } else { Vec::new() },
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
                let version = values::version(&self.build, "Proxy version ");
                let is_since = version.is_some_and(|version| version >= ALPN_IS_DEFAULT);
                bind.has("ssl") && is_since && !bind.has("no-alpn")
            }
        }
    }

    /// Certificates, folders or lists of them, each of which may hold its key or have it beside it.
    fn certificates(&self, index: usize) -> Vec<(String, String)> {
        let base = self.global("crt-base").map(|line| format!("{}/", line.word(1)));
        let path = |name: &str| match &base {
            Some(base) if !name.starts_with('/') => format!("{base}{name}"),
            _ => name.to_owned(),
        };
        let bind = self.bind(index);
        let names = ["crt", "crt-list"].into_iter().filter_map(|word| bind?.behind(word));
        names.map(|name| (path(name), path(name))).collect()
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
