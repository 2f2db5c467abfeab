//! The site that is tried, and what of it are files.

use zc_run::{Error, Result, escape};

use super::address::{Address, addresses};
use super::answer;
use super::lex;
use super::tree::{Config, Line, all};
use crate::site::{self, Scheme, Site};

impl Config {
    /// Chooses the site that is tried: that of a name, or without one the first that answers with
    /// files, then the first.
    ///
    /// # Errors
    /// There is no site, or none of that name.
    pub fn site(&self, name: Option<&str>) -> Result<Site> {
        let all = 0..self.blocks.len();
        let sites: Vec<usize> = all.filter(|at| self.blocks[*at].is_site()).collect();
        let Some(&first) = sites.first() else {
            let main = escape(self.files.first().map_or("", |file| &file.path), 300);
            let message = format!("file \"{main}\" has no site");
            let help = self.unset().unwrap_or_else(|| "caddy validate --config FILE".to_owned());
            return Err(Error::input("no-http-server", message).help(help));
        };
        let find = |is_it: &dyn Fn(&Line) -> bool| {
            sites.iter().copied().find(|at| is_it(&self.blocks[*at]))
        };
        let (index, why) = if let Some(wanted) = name {
            let index = find(&|site| addresses(site).any(|address| address.host == wanted));
            let hosts = || sites.iter().flat_map(|at| addresses(&self.blocks[*at]));
            let known = hosts().map(|address| address.host).filter(|host| !host.is_empty());
            let none = || site::no_such_name("site", wanted, known);
            (index.ok_or_else(none)?, "it has this address")
        } else if let Some(index) = find(&|site| answer::answers_files(site.children())) {
            (index, "it is the first that answers with files")
        } else {
            (first, "it is the first, and none answers with files")
        };
        Ok(self.describe(index, why))
    }

    /// The sentence about variables that have no value.
    fn unset(&self) -> Option<String> {
        let all = self.files.iter().flat_map(|file| lex::unset(&file.text, &self.variables));
        let mut names: Vec<String> = all.map(|name| escape(name, 60)).collect();
        names.sort();
        names.dedup();
        let places = site::first_places(names);
        (!places.is_empty()).then(|| format!("variables that zc's environment has not: {places}"))
    }

    /// The addresses that are asked: those with TLS, or all where none has it.
    pub(super) fn asked<'s>(&self, site: &'s Line) -> (Scheme, Vec<Address<'s>>) {
        let all: Vec<Address<'s>> = addresses(site).collect();
        let tls: Vec<Address<'s>> =
            all.iter().filter(|one| self.is_https(site, one)).copied().collect();
        if tls.is_empty() { (Scheme::Http, all) } else { (Scheme::Https, tls) }
    }

    fn describe(&self, index: usize, why: &str) -> Site {
        let block = &self.blocks[index];
        let (scheme, asked) = self.asked(block);
        let mut said = Vec::new();
        if addresses(block).count() > asked.len() {
            said.push("the site has http and https: https is tried".to_owned());
        }
        let found = answer::may_answer(block.children()).into_iter();
        said.extend(self.unset());
        // With its block it would be too long for a sentence.
        said.extend(site::may_answer(found.map(|line| (line.words.join(" "), line.position()))));
        let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let is_name = |host: &&str| !host.is_empty() && host.chars().all(of_name);
        let files = |line: &Line| {
            let is_pair = line.words.len() == 3 && line.word(1).contains('/');
            is_pair.then(|| (line.word(1).to_owned(), line.word(2).to_owned()))
        };
        Site {
            name: asked.iter().map(|one| one.host).find(is_name).unwrap_or_default().to_owned(),
            position: block.position(),
            why: why.to_owned(),
            scheme,
            http2: self.speaks_http2(block, scheme),
            answers_files: answer::answers_files(block.children()),
            certificates: all(block.children(), "tls").filter_map(files).collect(),
            said,
            index,
        }
    }

    /// Whether clients may use HTTP/2: over TLS, unless `protocols` leaves it out, and without TLS
    /// if that has `h2c`.
    fn speaks_http2(&self, site: &Line, scheme: Scheme) -> bool {
        let servers = self.servers(site).map(Line::children).unwrap_or_default();
        let protocols = all(servers, "protocols").last();
        let has = |name: &str| protocols.map(|line| line.words.iter().any(|word| word == name));
        match scheme {
            Scheme::Https => has("h2").unwrap_or(true),
            Scheme::Http => has("h2c").unwrap_or(false),
        }
    }

    /// The `servers` of the global options that is for the listener of a site: one of its address,
    /// else one for all.
    pub(super) fn servers(&self, site: &Line) -> Option<&Line> {
        let (http, https) = self.ports();
        let (_, asked) = self.asked(site);
        let port = asked.first().map_or(https, |address| address.port(http, https));
        let options = self.global()?.children();
        let is_its = |line: &&Line| line.word(1).rsplit(':').next() == Some(port);
        all(options, "servers")
            .find(is_its)
            .or_else(|| all(options, "servers").find(|line| line.words.len() == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    fn site(text: &str) -> Site {
        read(text).unwrap().site(None).unwrap()
    }

    const SITES: &str = "{\n\tservers :443 {\n\t\tprotocols h1 h2\n\t}\n\tservers {\n\t\tprotocols \
                         h1\n\t}\n}\n&(named) {\n\trespond 200\n}\nproxy.test \
                         {\n\treverse_proxy localhost:1\n}\n*.test, http://files.test, \
                         www.test {\n\tfile_server\n\ttls /c.pem /k.pem\n}\n";

    #[test]
    fn the_first_site_with_files_is_tried_or_that_of_a_name() {
        let found = site(SITES);
        assert_eq!((found.name.as_str(), found.index), ("www.test", 3));
        assert_eq!(found.scheme, Scheme::Https);
        assert!(found.http2 && found.answers_files);
        assert_eq!(found.certificates, [("/c.pem".to_owned(), "/k.pem".to_owned())]);
        assert!(found.said[0].contains("https is tried"), "{:?}", found.said);
        let config = read(SITES).unwrap();
        let proxy = config.site(Some("proxy.test")).unwrap();
        assert!(!proxy.answers_files && proxy.certificates.is_empty());
        assert!(proxy.said[0].starts_with("\"reverse_proxy localhost:1\" ("), "{:?}", proxy.said);
        let error = config.site(Some("x.test")).unwrap_err();
        assert_eq!(error.id, "no-such-server-name");
        assert!(error.help.unwrap().contains("\"proxy.test\", \"*.test\""));
    }

    #[test]
    fn http2_is_spoken_over_tls_unless_it_is_left_out() {
        for (servers, address, is_spoken) in [
            ("", "a.test", true),
            ("", ":80", false),
            ("protocols h1", "a.test", false),
            ("protocols h1 h2c", ":80", true),
        ] {
            let text = format!("{{\n\tservers {{\n\t\t{servers}\n\t}}\n}}\n{address} {{\n}}\n");
            assert_eq!(site(&text).http2, is_spoken, "{text}");
        }
        let found = site(":80 {\n\trespond {$B} {$A}\n}\n");
        assert_eq!(found.name, "");
        assert_eq!(found.said[0], "variables that zc's environment has not: A, B");
    }

    #[test]
    fn without_a_site_there_is_none() {
        let error = read("{$NAME} {\n\tfile_server\n}\n").unwrap().site(None).unwrap_err();
        assert_eq!(error.help.unwrap(), "variables that zc's environment has not: NAME");
        for text in ["", "{\n\tdebug\n}\n", "(a) {\n}\n"] {
            assert_eq!(read(text).unwrap().site(None).unwrap_err().id, "no-http-server", "{text}");
        }
    }
}
