//! The site that is tried: one `<VirtualHost>`, or the main server, and what of it are files
//! (<https://httpd.apache.org/docs/2.4/vhosts/details.html>).

use std::collections::HashSet;

use zc_run::{Error, Result, escape};

use super::answer;
use super::build;
use super::tree::{Config, Line, all, last};
use crate::glob;
use crate::site::{self, Scheme, Site};
use crate::values::Version;

/// The index of the main server.
pub(super) const MAIN: usize = usize::MAX;

impl Config {
    /// Chooses the host that is tried: that of a `ServerName` or `ServerAlias`, or without a name
    /// the first of an address that answers with files, then any that does, then the first; the
    /// main server where there is no other.
    ///
    /// # Errors
    /// Nothing listens, or there is no host of that name.
    pub fn site(&self, name: Option<&str>) -> Result<Site> {
        if last(&self.lines, "Listen").is_none() {
            let main = self.files.first().map_or("", |file| &file.path);
            let message = format!("file \"{}\" has no \"Listen\"", escape(main, 300));
            return Err(Error::input("no-http-server", message).help("apache2ctl -S"));
        }
        let hosts: Vec<usize> = (0..self.lines.len()).filter(|&at| self.is_host(at)).collect();
        let (index, why) = match name {
            Some(name) => self.named(&hosts, name)?,
            None => self.default(&hosts),
        };
        Ok(self.describe(index, why))
    }

    fn is_host(&self, at: usize) -> bool {
        self.lines[at].is("VirtualHost") && self.lines[at].block.is_some()
    }

    /// The lines of a host that are not the main server's.
    pub(super) fn host(&self, index: usize) -> Option<&Line> {
        self.lines.get(index)
    }

    /// The lines of a host, then those of the main server, which it inherits.
    pub(super) fn blocks(&self, index: usize) -> Vec<&[Line]> {
        let host = self.host(index).map(Line::children);
        host.into_iter().chain([self.lines.as_slice()]).collect()
    }

    /// The line that is in effect for a host, of directives with one value outside of sections.
    pub(super) fn of_host(&self, index: usize, name: &str) -> Option<&Line> {
        self.blocks(index).into_iter().find_map(|block| last(block, name))
    }

    /// The folder of a host's files.
    pub(super) fn document_root(&self, index: usize) -> String {
        let path = self.of_host(index, "DocumentRoot").map(Line::first);
        let path = self.in_root(&path.unwrap_or_else(|| "htdocs".to_owned()));
        path.trim_end_matches('/').to_owned()
    }

    /// A path as Apache completes it.
    pub(super) fn in_root(&self, path: &str) -> String {
        if path.starts_with('/') || path.is_empty() {
            return path.to_owned();
        }
        let given = last(&self.lines, "ServerRoot").map(Line::first);
        let root = given.unwrap_or_else(|| self.root.clone());
        format!("{}/{path}", root.trim_end_matches('/'))
    }

    fn answers_files(&self, index: usize) -> bool {
        answer::instead_of_files(&self.lines).is_none() && self.has_files(index)
    }

    /// Whether nothing in a host's own lines answers in place of files.
    fn has_files(&self, index: usize) -> bool {
        self.host(index).is_none_or(|host| answer::instead_of_files(host.children()).is_none())
    }

    /// What is to be known of a host.
    fn describe(&self, index: usize, why: String) -> Site {
        let is_tls = self.of_host(index, "SSLEngine").is_some_and(|line| !line.first_is("off"));
        let protocols = self.of_host(index, "Protocols").map(Line::words).unwrap_or_default();
        let main = || format!("{}, the main server", self.files[0].path);
        let mut said = self.said.clone();
        said.extend(self.elsewhere(index));
        said.extend(self.may_answer(index));
        Site {
            name: self.names(index).into_iter().next().unwrap_or_default(),
            position: self.host(index).map_or_else(main, Line::position),
            why,
            scheme: if is_tls { Scheme::Https } else { Scheme::Http },
            http2: self.has_module("http2_module")
                && protocols.iter().any(|name| name == if is_tls { "h2" } else { "h2c" }),
            answers_files: self.answers_files(index),
            certificates: if is_tls { self.certificates(index) } else { Vec::new() },
            said,
            index,
        }
    }

    /// Certificates with their keys, which a certificate may hold itself.
    fn certificates(&self, index: usize) -> Vec<(String, String)> {
        let of = |block: &[Line]| -> Vec<(String, String)> {
            let paths = |name: &str| -> Vec<String> {
                all(block, name).map(|line| self.in_root(&line.first())).collect()
            };
            let keys = paths("SSLCertificateKeyFile");
            let pairs = paths("SSLCertificateFile").into_iter().enumerate();
            pairs
                .map(|(at, path)| {
                    let key = keys.get(at).unwrap_or(&path).clone();
                    (path, key)
                })
                .collect()
        };
        let found = self.blocks(index).into_iter().map(of).find(|found| !found.is_empty());
        found.unwrap_or_default()
    }

    /// The `ServerName` of a host, without scheme and port, and its aliases.
    fn names(&self, index: usize) -> Vec<String> {
        let block = self.host(index).map_or(self.lines.as_slice(), Line::children);
        let name = last(block, "ServerName").map(|line| bare(&line.first()).to_owned());
        let aliases = all(block, "ServerAlias").flat_map(Line::words);
        name.into_iter().chain(aliases).collect()
    }

    /// The host of a name, and why.
    fn named(&self, hosts: &[usize], wanted: &str) -> Result<(usize, String)> {
        let all = hosts.iter().copied().chain([MAIN]);
        let is_named = |index: &usize| self.names(*index).iter().any(|name| is_same(name, wanted));
        if let Some(index) = all.clone().find(is_named) {
            let why = format!("its name matches \"{}\"", escape(wanted, 100));
            return Ok((index, why));
        }
        Err(site::no_such_name("host", wanted, all.flat_map(|index| self.names(index))))
    }

    /// The host that is tried if none is named, and why.
    fn default(&self, hosts: &[usize]) -> (usize, String) {
        let Some(&first) = hosts.first() else {
            return (MAIN, "there is no other host".to_owned());
        };
        // The main server's lines are those of all hosts.
        let is_main = answer::instead_of_files(&self.lines).is_none();
        let has_files = |index: usize| is_main && self.has_files(index);
        let mut addresses: HashSet<String> = HashSet::new();
        for &index in hosts {
            let of_host = self.lines[index].words();
            let is_first = of_host.iter().any(|address| !addresses.contains(address));
            let address = of_host.first().cloned().unwrap_or_default();
            addresses.extend(of_host);
            if is_first && has_files(index) {
                let why = format!(
                    "it is the default host of {}, the first whose default host answers with files",
                    escape(&address, 100)
                );
                return (index, why);
            }
        }
        match hosts.iter().find(|&&index| has_files(index)) {
            Some(&index) => (index, "it is the first host that answers with files".to_owned()),
            None => (first, "no host answers with files, and it is the first".to_owned()),
        }
    }

    /// Sentences about paths that are not answered by files.
    fn elsewhere(&self, index: usize) -> Vec<String> {
        let mut found: Vec<(&str, Vec<String>)> = Vec::new();
        for line in self.blocks(index).into_iter().flatten() {
            let Some(path) = answer::elsewhere(line) else { continue };
            let place = format!("\"{}\" ({})", escape(&path, 60), line.position());
            match found.iter_mut().find(|(name, _)| line.is(name)) {
                Some((_, places)) => places.push(place),
                None => found.push((&line.name, vec![place])),
            }
        }
        let sentence = |(name, places): (&str, Vec<String>)| {
            let (name, places) = (escape(name, 60), site::first_places(places));
            format!("answered by {name}, so not asked: {places}")
        };
        found.into_iter().map(sentence).collect()
    }

    /// Sentences about lines that may answer in place of the files.
    fn may_answer(&self, index: usize) -> Vec<String> {
        let root = self.document_root(index);
        let of_files = self.sections_over(index, &root).into_iter().flat_map(Line::children);
        let outside = self.blocks(index).into_iter().flatten();
        let found = outside.chain(of_files).filter(|line| answer::may_answer(line));
        site::may_answer(found.map(|line| (line.text(), line.position())))
    }

    /// Whether Apache has a module, by its identifier.
    pub(super) fn has_module(&self, name: &str) -> bool {
        self.modules.has(name)
    }

    /// The version of Apache.
    pub(super) fn version(&self) -> Option<Version> {
        build::version(&self.build)
    }
}

/// A `ServerName` without its scheme and its port.
fn bare(name: &str) -> &str {
    let name = name.split_once("://").map_or(name, |(_, name)| name);
    name.split(':').next().unwrap_or(name)
}

/// Whether a name or an alias, which may have `*` and `?`, is a host's.
fn is_same(name: &str, host: &str) -> bool {
    let [name, host] = [name, host].map(str::to_lowercase);
    // A dot is a letter as any other to Apache (`ap_strcasecmp_match`), and a slash is in no name.
    name == host || glob::matches(&name, &host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_scheme_and_port() {
        assert_eq!(bare("https://a.test:443"), "a.test");
        assert!(is_same("*.a.test", "www.A.test") && is_same("a.test", "A.TEST"));
        assert!(!is_same("*.a.test", "a.test") && !is_same("", "a"));
    }
}
