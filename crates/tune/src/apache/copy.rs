//! A configuration that serves the site beside the live server and touches nothing of it.

use std::collections::HashSet;

use zc_run::escape;

use super::answer;
use super::change;
use super::logs::{self, Logs};
use super::outside::outside;
use super::render::render;
use super::site::MAIN;
use super::tree::{Config, Line, NEW, last};
use super::words::{joined, quoted};
use crate::Change;
use crate::copy::{Copy, OWN_LOCATION, Shadow};
use crate::site::{Scheme, Site};

/// What the copy says itself, or what is the live process's alone.
const OF_THE_PROCESS: [&str; 13] = [
    "coredumpdirectory",
    "defaultruntimedir",
    "defaultstatedir",
    "documentroot",
    "errorlog",
    "group",
    "listen",
    "lockfile",
    "namevirtualhost",
    "pidfile",
    "scoreboardfile",
    "serverroot",
    "user",
];

/// Files that modules write to.
const FILES: [&str; 10] = [
    "cachelockpath",
    "davlockdb",
    "forensiclog",
    "ldapsharedcachefile",
    "rewritelock",
    "rewritelog",
    "scriptlog",
    "scriptsock",
    "secauditlog",
    "secdebuglog",
];

/// Folders that modules write to.
const FOLDERS: [&str; 5] =
    ["cacheroot", "secauditlogstoragedir", "secdatadir", "sectmpdir", "secuploaddir"];

/// Modules that are left out with all that they start, by what their directives begin with.
const LEFT_OUT: [(&str, &str); 5] = [
    ("jk", "its files are the live server's"),
    ("md", "it asks a certificate authority"),
    ("heartbeat", "it sends to other hosts"),
    ("sslstapling", "it asks a host of the authority"),
    ("wsgi", "it starts processes"),
];

impl Config {
    /// The configuration of one Apache in the foreground that serves `site` as the live one does,
    /// with `changes`, in one file.
    ///
    /// Other hosts are left out. Paths that Apache writes to are in the folder of `shadow`. What the
    /// site forwards is left out, so those paths answer 404.
    ///
    /// The files of `shadow` stand for those of the site: what `<Directory>` sections say of the
    /// site's `DocumentRoot` is said of them. With [`Shadow::own_location`], nothing that would
    /// answer in their place is left: no authentication, redirects, rewrites and handlers.
    ///
    /// A change is made where its directive is in effect for the files of the site.
    pub fn copy(&self, site: &Site, shadow: &Shadow, changes: &[&Change]) -> Copy {
        let edits = change::of_directives(self, site, changes);
        let changed = Config { lines: change::applied(self, &edits), ..self.clone_without_lines() };
        let over = self.sections_over(site.index, &self.document_root(site.index));
        let host = self.host(site.index).map(|line| line.id);
        // Lines may have been added before it.
        let index = changed.lines.iter().position(|line| Some(line.id) == host).unwrap_or(MAIN);
        let options = changed.around(index, "Options").into_iter().cloned().collect();
        let mut copying = Copying {
            config: &changed,
            site,
            shadow,
            host,
            options,
            over: over.into_iter().map(|section| section.id).collect(),
            logs: Logs::default(),
            forwarded: 0,
            told: HashSet::new(),
            mapped: Vec::new(),
            said: Vec::new(),
            reads: Vec::new(),
        };
        let lines = copying.main();
        let Copying { mut said, reads, forwarded, .. } = copying;
        match forwarded {
            0 => {}
            1 => said.push("1 line that forwards is left out".to_owned()),
            _ => said.push(format!("{forwarded} lines that forward are left out")),
        }
        let overrides = self.in_effect(site, "AllowOverride");
        if shadow.root.is_some() && overrides.is_some_and(|line| !line.first_is("none")) {
            said.push("the site's .htaccess files are not in the copies".to_owned());
        }
        said.extend(outside(&lines, shadow));
        Copy { text: render(&lines), said, reads }
    }

    fn clone_without_lines(&self) -> Self {
        Self {
            lines: Vec::new(),
            files: Vec::new(),
            said: Vec::new(),
            root: self.root.clone(),
            build: self.build.clone(),
            modules: self.modules.clone(),
        }
    }
}

/// The state of one copy.
struct Copying<'a> {
    config: &'a Config,
    site: &'a Site,
    shadow: &'a Shadow,
    /// The id of the site's section; `None`: it is the main server.
    host: Option<u32>,
    /// What it says outside of sections of its files about what is permitted in folders.
    options: Vec<Line>,
    /// The ids of the sections that hold for its folder of files, in the order in which they apply.
    over: Vec<u32>,
    logs: Logs,
    forwarded: usize,
    /// Modules of which it was told that they are left out.
    told: HashSet<&'static str>,
    /// These sections for the folder of the copy.
    mapped: Vec<(usize, Line)>,
    said: Vec<String>,
    reads: Vec<String>,
}

impl Copying<'_> {
    fn in_folder(&self, name: &str) -> String {
        format!("{}/{name}", self.shadow.folder)
    }

    fn leave_out(&mut self, line: &Line, why: &str) {
        let words = escape(&line.text(), 80);
        self.said.push(format!("\"{words}\" ({}) is left out: {why}", line.position()));
    }

    fn line(name: &str, path: &str) -> Line {
        Line::new(name, quoted(path))
    }

    fn main(&mut self) -> Vec<Line> {
        let config = self.config;
        let hosts = config.lines.iter().filter(|line| line.is("VirtualHost")).count();
        let own = config.lines.iter().find(|line| Some(line.id) == self.host);
        match hosts - usize::from(own.is_some()) {
            0 => {}
            1 => self.said.push("1 other host is left out".to_owned()),
            others => self.said.push(format!("{others} other hosts are left out")),
        }
        let mut out = vec![Self::line("DefaultRuntimeDir", &self.shadow.folder)];
        for line in &config.lines {
            if !line.is("VirtualHost") {
                // Where it stands it decides where modules are looked for.
                match line.is("ServerRoot") {
                    true => out.push(line.clone()),
                    false => out.extend(self.one(line)),
                }
            }
        }
        let port = self.shadow.port;
        let protocol = if self.site.scheme == Scheme::Https { " https" } else { "" };
        out.push(Self::line("PidFile", &self.in_folder("apache.pid")));
        out.push(Self::line("ErrorLog", &self.in_folder("error.log")));
        out.push(Line::new("Listen", format!("0.0.0.0:{port}{protocol}")));
        if last(&config.lines, "ServerName").is_none() {
            // Without one Apache asks a name server for its own.
            out.push(Line::new("ServerName", "localhost"));
        }
        out.extend(self.user());
        let mut host = self.of_host();
        match own {
            Some(own) => {
                host.extend(own.children().iter().filter_map(|line| self.one(line)));
                out.push(Line::section("VirtualHost", format!("*:{port}"), host));
            }
            None => out.extend(host),
        }
        out.extend(self.files());
        out
    }

    /// The user and the group of the workers. Apache does not serve as root.
    fn user(&self) -> Vec<Line> {
        if !self.shadow.as_root {
            return Vec::new();
        }
        let lines = ["User", "Group"].map(|name| (name, last(&self.config.lines, name)));
        let of_config = |(name, line): (&str, Option<&Line>)| match line {
            Some(line) if self.shadow.known_user => line.clone(),
            _ => Line::new(name, "#65534"),
        };
        lines.map(of_config).to_vec()
    }

    /// What the host of the copy begins with.
    fn of_host(&mut self) -> Vec<Line> {
        let mut out = Vec::new();
        if self.shadow.root.is_some() {
            out.push(Self::line("DocumentRoot", &self.root()));
        }
        let is_https = self.site.scheme == Scheme::Https;
        if let Some((certificate, key)) = self.shadow.certificate.clone().filter(|_| is_https) {
            out.push(Self::line("SSLCertificateFile", &certificate));
            out.push(Self::line("SSLCertificateKeyFile", &key));
            self.reads.extend([certificate, key]);
        }
        out
    }

    /// The folder of files in place of the site's.
    fn root(&self) -> String {
        self.shadow.root.as_deref().unwrap_or_default().trim_end_matches('/').to_owned()
    }

    /// The sections for the files of the copy, at its end: their paths are one, so that the last
    /// counts.
    fn files(&mut self) -> Vec<Line> {
        if self.shadow.root.is_none() {
            return Vec::new();
        }
        let own = format!("{}{}", self.root(), OWN_LOCATION.trim_end_matches('/'));
        let mut mapped = std::mem::take(&mut self.mapped);
        mapped.sort_by_key(|(order, _)| *order);
        let mut out = Vec::new();
        if self.shadow.is_link {
            let followed = Line::new("Options", "FollowSymLinks");
            out.push(Line::section("Directory", quoted(&self.root()), vec![followed.clone()]));
            // What is behind the link has what the site says. This is the default, too.
            let options = std::iter::once(followed).chain(std::mem::take(&mut self.options));
            out.push(Line::section("Directory", quoted(&own), options.collect()));
        }
        out.extend(mapped.into_iter().map(|(_, section)| Line { args: quoted(&own), ..section }));
        if self.shadow.own_location && self.config.has_module("authz_core_module") {
            let all = vec![Line::new("Require", "all granted")];
            out.push(Line::section("Directory", quoted(&own), all));
        }
        out
    }

    /// One line; `None` leaves it out.
    fn one(&mut self, line: &Line) -> Option<Line> {
        let lower = line.name.to_ascii_lowercase();
        let has_root = lower == "documentroot" && self.shadow.root.is_none();
        if OF_THE_PROCESS.contains(&lower.as_str()) && !has_root {
            return None;
        }
        if FILES.contains(&lower.as_str()) {
            let path = self.in_folder(&lower);
            return Some(Line { args: quoted(&path), ..line.clone() });
        }
        if FOLDERS.contains(&lower.as_str()) {
            return Some(Line { args: quoted(&self.shadow.folder), ..line.clone() });
        }
        if self.shadow.own_location && answer::is_for_answering(&lower) {
            return None;
        }
        let is_module =
            |name: &str| lower == "loadmodule" && line.first() == format!("{name}_module");
        let left_out = LEFT_OUT.iter().find(|(name, _)| lower.starts_with(name) || is_module(name));
        if let Some((name, why)) = left_out {
            if lower != "loadmodule" && self.told.insert(*name) {
                self.leave_out(line, why);
            }
            return None;
        }
        match lower.as_str() {
            "customlog" | "transferlog" | "globallog" => {
                let log = self.logs.access_log(line, &self.shadow.folder);
                if log.is_none() {
                    self.leave_out(line, "it goes to no file");
                }
                return log;
            }
            "mutex" => return Some(logs::mutex(line, &self.shadow.folder)),
            "authncachesocache" | "cachesocache" | "sslsessioncache" => {
                let mut words = line.words();
                if let Some(first) = words.first_mut() {
                    *first = logs::of_folder(first, &self.shadow.folder);
                }
                return Some(Line { args: joined(&words), ..line.clone() });
            }
            "sslusestapling" => {
                self.leave_out(line, "it asks a host of the authority");
                return None;
            }
            "sslverifyclient" if !line.first_is("none") => {
                self.leave_out(line, "zc's load has no certificate");
                return None;
            }
            "hostnamelookups" if !line.first_is("off") => {
                self.leave_out(line, "there is no name server beside the copies");
                return None;
            }
            "rewritemap" if line.words().get(1).is_some_and(|to| to.starts_with("prg:")) => {
                self.leave_out(line, "it starts a program");
                return None;
            }
            "sslcertificatefile" | "sslcertificatekeyfile" | "sslcertificatechainfile" => {
                if self.shadow.certificate.is_some() || self.site.scheme == Scheme::Http {
                    return None;
                }
                self.reads.push(self.config.in_root(&line.first()));
            }
            "loadmodule" => {
                self.reads.extend(line.words().get(1).map(|path| self.config.in_root(path)));
            }
            "proxypass" | "proxypassmatch" | "balancermember" | "proxyset" => {
                self.forwarded += 1;
                return None;
            }
            "proxy" | "proxymatch" if line.block.is_some() => {
                self.forwarded += line.children().len();
                return None;
            }
            _ if lower.starts_with("proxypassreverse") => return None,
            _ => {}
        }
        let Some(block) = &line.block else { return Some(line.clone()) };
        let block = block.iter().filter_map(|line| self.one(line)).collect();
        let section = Line { block: Some(block), ..line.without_block() };
        let of_files = self.over.iter().position(|id| *id == line.id);
        // One that a change has made is the last.
        let is_new = line.id == NEW && line.is("Directory");
        match of_files.or(is_new.then_some(self.over.len())) {
            Some(order) if self.shadow.root.is_some() => {
                self.mapped.push((order, section));
                None
            }
            _ => Some(section),
        }
    }
}
