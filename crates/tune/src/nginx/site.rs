//! The site that is tried: one `server` block, and what of it are files.

use std::collections::HashMap;

use zc_run::{Error, Result, escape};

use super::answer;
use super::listen::{self, Address};
use super::server_name;
use super::tree::{Config, Directive, all};
use crate::file::completed;
use crate::site::{self, Scheme, Site};
use crate::values::matches_any_path;

impl Config {
    /// Chooses the server block that is tried: that of `server_name` as nginx chooses it for a
    /// `Host`, or without one the default server of the first `listen` whose default server
    /// answers with files, then any that does, then the first.
    ///
    /// # Errors
    /// There is no http block, or no server block, or none of that name.
    pub fn site(&self, server_name: Option<&str>) -> Result<Site> {
        let main = self.files.first().map_or("", |file| &file.path);
        let none = |what: &str| {
            let message = format!("file \"{}\" has no {what}", escape(main, 300));
            Error::input("no-http-server", message).help("nginx -T")
        };
        let http = self.block("http").ok_or_else(|| none("http block"))?.children();
        let servers: Vec<usize> = (0..http.len()).filter(|&at| is_server(&http[at])).collect();
        let first = *servers.first().ok_or_else(|| none("server block in its http block"))?;
        let (index, why) = match server_name {
            Some(host) => named(http, &servers, host)?,
            None => default(http, &servers, first),
        };
        Ok(self.describe(http, index, why))
    }

    /// What is to be known of server `index`.
    fn describe(&self, http: &[Directive], index: usize, why: String) -> Site {
        let server = &http[index];
        let children = server.children();
        let is_on = |name: &str, children: &[Directive]| {
            all(children, name).any(|directive| directive.first() == "on")
        };
        let listens = || all(children, "listen");
        let is_tls = is_on("ssl", children) || listens().any(|listen| listen::has(listen, "ssl"));
        let scheme = if is_tls { Scheme::Https } else { Scheme::Http };
        let is_mixed = is_tls
            && listens().any(|listen| !listen::has(listen, "ssl") && !listen::has(listen, "quic"))
            && !is_on("ssl", children);
        let mut said = Vec::new();
        if is_mixed {
            said.push("the site has http and https: https is tried".to_owned());
        }
        said.extend(elsewhere(children));
        said.extend(may_answer(http, children));
        Site {
            name: names(server).next().unwrap_or_default().to_owned(),
            position: server.position(),
            why,
            scheme,
            http2: is_on("http2", children)
                || is_on("http2", http)
                || listens().any(|listen| listen::has(listen, "http2")),
            answers_files: answers_files(children),
            certificates: self.certificates(http, children),
            said,
            index,
        }
    }

    /// Certificates with their keys, of the server or else of the http block.
    fn certificates(&self, http: &[Directive], server: &[Directive]) -> Vec<(String, String)> {
        let of = |block: &[Directive]| -> Vec<(String, String)> {
            let paths = |name| all(block, name).map(|line| self.in_folder(line.first()));
            paths("ssl_certificate").zip(paths("ssl_certificate_key")).collect()
        };
        let own = of(server);
        if own.is_empty() { of(http) } else { own }
    }

    /// A path of a certificate, relative to the folder of the main file. What begins with a
    /// variable, `data:`, `engine:` or `store:` is no file and stays.
    pub(super) fn in_folder(&self, path: &str) -> String {
        let is_no_file = ["$", "data:", "engine:", "store:"].iter().any(|p| path.starts_with(p));
        match is_no_file || path.is_empty() {
            true => path.to_owned(),
            false => completed(path, self.folder()),
        }
    }

    /// The server block of a site.
    pub(super) fn server(&self, site: &Site) -> Option<&Directive> {
        self.block("http")?.children().get(site.index)
    }
}

/// Whether it is a block of `server`.
pub(super) fn is_server(directive: &Directive) -> bool {
    directive.name == "server" && directive.block.is_some()
}

/// The names of a server.
fn names(server: &Directive) -> impl Iterator<Item = &str> {
    let lines = all(server.children(), "server_name");
    lines.flat_map(|line| line.args.iter().map(String::as_str))
}

/// The `location` blocks directly in a block.
pub(super) fn locations(block: &[Directive]) -> impl Iterator<Item = &Directive> {
    all(block, "location").filter(|directive| directive.block.is_some())
}

/// The location that answers `/...` where no other is more specific, if there is one.
pub(super) fn root_location(server: &[Directive]) -> Option<&Directive> {
    let of = |wanted: &dyn Fn(&str, &str) -> bool| {
        locations(server).find(|location| {
            let (modifier, pattern) = answer::pattern(location);
            wanted(modifier, pattern)
        })
    };
    of(&|modifier, pattern| modifier == "^~" && pattern == "/")
        .or_else(|| of(&|modifier, pattern| modifier.starts_with('~') && matches_any_path(pattern)))
        .or_else(|| of(&|modifier, pattern| modifier.is_empty() && pattern == "/"))
}

/// Whether requests for `/...` are answered by files.
fn answers_files(server: &[Directive]) -> bool {
    answer::instead_of_files(server).is_none()
        && root_location(server)
            .is_none_or(|location| answer::instead_of_files(location.children()).is_none())
}

/// The server for a name, and why.
fn named(http: &[Directive], servers: &[usize], host: &str) -> Result<(usize, String)> {
    let mut best: Option<(server_name::Rank, usize)> = None;
    for &index in servers {
        let ranks = names(&http[index]).filter_map(|name| server_name::rank(name, host));
        let rank = ranks.max();
        if let Some(rank) = rank.filter(|rank| best.is_none_or(|(other, _)| *rank > other)) {
            best = Some((rank, index));
        }
    }
    if let Some((_, index)) = best {
        let why = format!("its server_name matches \"{}\"", escape(host, 100));
        return Ok((index, why));
    }
    let known = servers
        .iter()
        .flat_map(|&index| names(&http[index]))
        .filter(|name| !name.is_empty() && *name != "_");
    Err(site::no_such_name("server block", host, known))
}

/// The server that is tried if none is named, and why.
fn default(http: &[Directive], servers: &[usize], first: usize) -> (usize, String) {
    let mut order: Vec<Address> = Vec::new();
    let mut defaults: HashMap<Address, (usize, bool)> = HashMap::new();
    for &index in servers {
        let mut addresses: Vec<(Address, bool)> = all(http[index].children(), "listen")
            .filter(|listen| !listen::has(listen, "quic"))
            .map(|listen| (listen::address(listen), listen::is_default(listen)))
            .collect();
        if addresses.is_empty() {
            addresses.push((listen::default_address(), false));
        }
        for (address, is_default) in addresses {
            match defaults.get_mut(&address) {
                None => {
                    order.push(address.clone());
                    defaults.insert(address, (index, is_default));
                }
                Some(found) if is_default && !found.1 => *found = (index, true),
                Some(_) => {}
            }
        }
    }
    let is_tcp = |address: &&Address| matches!(address, Address::Tcp { .. });
    for address in order.iter().filter(is_tcp) {
        let index = defaults[address].0;
        if answers_files(http[index].children()) {
            let why = format!(
                "it is the default server of {}, the first whose default server answers with files",
                address.text()
            );
            return (index, why);
        }
    }
    match servers.iter().find(|&&index| answers_files(http[index].children())) {
        Some(&index) => (index, "it is the first server block that answers with files".to_owned()),
        None => {
            let why = "no server block answers with files, and it is the first default server";
            let index = order.first().map_or(first, |address| defaults[address].0);
            (index, why.to_owned())
        }
    }
}

/// Sentences about locations that are not answered by files.
fn elsewhere(server: &[Directive]) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut blocks: Vec<&Directive> = locations(server).collect();
    while let Some(location) = blocks.pop() {
        blocks.extend(locations(location.children()));
        let Some(answers) = answer::instead_of_files(location.children()) else { continue };
        let pattern = escape(&location.args.join(" "), 60);
        let place = format!("\"{pattern}\" (line {} of {})", location.line, location.file);
        match found.iter_mut().find(|(name, _)| *name == answers.name) {
            Some((_, places)) => places.push(place),
            None => found.push((answers.name.clone(), vec![place])),
        }
    }
    let sentence = |(name, mut places): (String, Vec<String>)| {
        places.sort();
        let (name, places) = (escape(&name, 60), site::first_places(places));
        format!("answered by {name}, so not asked: location {places}")
    };
    found.into_iter().map(sentence).collect()
}

/// Sentences about directives that may answer in place of the files.
fn may_answer(http: &[Directive], server: &[Directive]) -> Vec<String> {
    let location = root_location(server).map(Directive::children).unwrap_or_default();
    let found = http.iter().chain(server).chain(location);
    let found = found.filter(|directive| answer::may_answer(directive));
    site::may_answer(found.map(|directive| (directive.words(), directive.position())))
}
