//! A configuration that serves the site beside the live server and touches nothing of it.

use zc_run::escape;

use super::answer;
use super::change;
use super::logs::{self, Logs};
use super::one_listen;
use super::outside::outside;
use super::own_location;
use super::paths;
use super::render::render;
use super::select::{LeftOut, select};
use super::tls;
use super::tree::{Config, Directive, NEW};
use super::upstream;
use crate::Change;
use crate::copy::{Copy, Shadow};
use crate::site::{self, Scheme, Site};

/// Of the main context: what the copy says itself, or what is the live process's alone.
const OF_THE_PROCESS: [&str; 9] = [
    "daemon",
    "debug_points",
    "error_log",
    "google_perftools_profiles",
    "lock_file",
    "master_process",
    "pid",
    "user",
    "working_directory",
];

/// Of the main context: left out, as zc decides about CPUs and rights. A change may set them.
const OF_THE_HOST: [&str; 5] = [
    "worker_cpu_affinity",
    "worker_priority",
    "worker_rlimit_core",
    "worker_rlimit_nofile",
    "worker_rlimit_sigpending",
];

impl Config {
    /// The configuration of one nginx in the foreground that serves `site` as the live one does,
    /// with `changes`, in one file.
    ///
    /// Other servers, `stream` and `mail` are left out. Paths that nginx writes to are in the
    /// folder of `shadow`, relative ones it reads are made absolute. The one `listen` keeps the
    /// parameters of the site's, but those of the address. What the site forwards goes to a socket
    /// that does not exist, so those locations answer 502.
    ///
    /// With [`Shadow::own_location`], files are asked below
    /// [`OWN_LOCATION`](crate::OWN_LOCATION): a location that inherits from server and http, has
    /// what `location /` sets for sending, logging and compression, and none of the authentication,
    /// limits and rewrites that would answer instead.
    ///
    /// A change is made where its directive is in effect for the files of the site, in all
    /// locations that set it; else in the server block.
    pub fn copy(&self, site: &Site, shadow: &Shadow, changes: &[&Change]) -> Copy {
        let edits = change::of_directives(self, site, changes);
        let (main, left_out) = select(self, site, &edits);
        let mut copying = Copying {
            config: self,
            site,
            shadow,
            changes,
            logs: Logs::default(),
            caches: 0,
            forwarded: 0,
            said: said_of(&left_out),
            reads: Vec::new(),
        };
        let main = copying.main(main);
        let Copying { mut said, reads, forwarded, .. } = copying;
        said.extend(site::lead_nowhere(forwarded));
        said.extend(outside(&main, shadow));
        Copy { text: render(&main), said, reads }
    }
}

/// Sentences about what was left out.
fn said_of(left_out: &LeftOut) -> Vec<String> {
    let servers = match left_out.servers {
        0 => None,
        1 => Some("1 other server block is left out".to_owned()),
        servers => Some(format!("{servers} other server blocks are left out")),
    };
    let block = |name: &String| format!("the block \"{}\" is left out", escape(name, 60));
    servers.into_iter().chain(left_out.blocks.iter().map(block)).collect()
}

/// The state of one copy.
struct Copying<'a> {
    config: &'a Config,
    site: &'a Site,
    shadow: &'a Shadow,
    changes: &'a [&'a Change],
    logs: Logs,
    caches: usize,
    forwarded: usize,
    said: Vec<String>,
    reads: Vec<String>,
}

impl Copying<'_> {
    fn in_folder(&self, name: &str) -> String {
        format!("{}/{name}", self.shadow.folder)
    }

    fn leave_out(&mut self, directive: &Directive, why: &str) {
        let words = escape(&directive.words(), 80);
        let words = if directive.block.is_some() { escape(&directive.name, 80) } else { words };
        self.said.push(format!("\"{words}\" ({}) is left out: {why}", directive.position()));
    }

    fn main(&mut self, directives: Vec<Directive>) -> Vec<Directive> {
        let level = directives.iter().rfind(|directive| directive.name == "error_log");
        let error_log = match level {
            Some(log) => logs::error_log(log, &self.shadow.folder),
            None => Directive::new("error_log", [self.in_folder("error.log")]),
        };
        let mut out = vec![
            Directive::new("daemon", ["off"]),
            Directive::new("pid", [self.in_folder("nginx.pid")]),
            Directive::new("lock_file", [self.in_folder("nginx.lock")]),
            error_log,
        ];
        out.extend(self.user(directives.iter().find(|directive| directive.name == "user")));
        for mut directive in directives {
            let name = directive.name.as_str();
            if OF_THE_PROCESS.contains(&name) {
                continue;
            }
            if OF_THE_HOST.contains(&name) && directive.id != NEW {
                self.leave_out(&directive, "zc decides on CPUs and limits of its servers");
                continue;
            }
            if let Some(block) = directive.block.take() {
                directive.block = Some(match name {
                    "http" => self.http(block),
                    _ => block.into_iter().filter(|line| line.name != "debug_connection").collect(),
                });
            }
            self.reads.extend(paths::make_absolute(&mut directive, self.config, self.shadow));
            out.push(directive);
        }
        out
    }

    /// The user of the workers.
    fn user(&mut self, configured: Option<&Directive>) -> Option<Directive> {
        if !self.shadow.as_root {
            return None;
        }
        if self.shadow.is_alone {
            return Some(Directive::new("user", ["root"]));
        }
        let configured = configured?;
        if !self.shadow.known_user {
            self.leave_out(configured, "there is no such user or group");
            return None;
        }
        Some(configured.clone())
    }

    fn http(&mut self, block: Vec<Directive>) -> Vec<Directive> {
        let mut out = Vec::new();
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            if kind == "client_body" || self.shadow.has_module(kind) {
                let path = self.in_folder(&format!("temp-{kind}"));
                out.push(Directive::new(&format!("{kind}_temp_path"), [path]));
            }
        }
        // Without one, nginx writes to the log that it was built with.
        let has_log = block.iter().any(|directive| directive.name == "access_log");
        if !has_log && self.shadow.has_module("log") {
            out.push(Directive::new("access_log", [self.in_folder("access.log")]));
        }
        out.extend(self.block(block, Level::Http));
        let (out, count) = upstream::reduce(out, &self.shadow.nowhere());
        self.forwarded += count;
        out
    }

    /// The directives of a block that is in http.
    fn block(&mut self, block: Vec<Directive>, level: Level) -> Vec<Directive> {
        let has_log = |block: &[Directive]| block.iter().any(|line| line.name == "access_log");
        let had_log = has_log(&block);
        let mut out: Vec<Directive> =
            block.into_iter().filter_map(|directive| self.one(directive, level)).collect();
        // Without one, it would inherit that of an outer block.
        if had_log && !has_log(&out) {
            out.push(Directive::new("access_log", ["off"]));
        }
        out
    }

    /// One directive that is in http or a block of it; None leaves it out.
    fn one(&mut self, mut directive: Directive, level: Level) -> Option<Directive> {
        if self.shadow.own_location && level != Level::Location {
            if answer::is_for_answering(&directive.name) {
                return None;
            }
            if directive.name == "if" {
                let block = directive.block.take().unwrap_or_default();
                let is_kept = |line: &Directive| !answer::is_for_answering(&line.name);
                directive.block = Some(block.into_iter().filter(is_kept).collect());
            }
        }
        match directive.name.as_str() {
            name if name.ends_with("_temp_path") => return None,
            name if name.ends_with("_cache_path") => {
                self.caches += 1;
                let path = self.in_folder(&format!("cache-{}", self.caches));
                let further = directive.args.iter().skip(1).cloned();
                let args = std::iter::once(path).chain(further).collect();
                directive.set_args(args);
            }
            "error_log" => return Some(logs::error_log(&directive, &self.shadow.folder)),
            "access_log" => {
                let log = self.logs.access_log(&directive, &self.shadow.folder);
                if log.is_none() {
                    self.leave_out(&directive, "it goes to no file");
                }
                return log;
            }
            "root" | "alias" if self.shadow.root.is_some() => {
                // A prefix that ends in a slash is replaced by one that does.
                let end = if directive.name == "alias" { "/" } else { "" };
                directive.set_args(vec![format!("{}{end}", self.shadow.files())]);
            }
            "server" if level == Level::Http => {
                directive.block = directive.block.take().map(|block| self.server(block));
                return Some(directive);
            }
            _ => {}
        }
        let is_https = self.site.scheme == Scheme::Https;
        let has_stand_in = self.shadow.certificate.is_some();
        match tls::place(&directive.name, directive.first(), is_https, has_stand_in) {
            tls::Place::Stays => {}
            tls::Place::LeftOut => return None,
            tls::Place::Told(why) => {
                self.leave_out(&directive, why);
                return None;
            }
        }
        upstream::without_names(&mut directive);
        if upstream::pass_to_nowhere(&mut directive, &self.shadow.nowhere()) {
            self.forwarded += 1;
        }
        self.reads.extend(paths::make_absolute(&mut directive, self.config, self.shadow));
        if matches!(directive.name.as_str(), "location" | "if" | "limit_except") {
            let block = directive.block.take();
            directive.block = block.map(|block| self.block(block, Level::Location));
        }
        Some(directive)
    }

    /// The site's server block.
    fn server(&mut self, block: Vec<Directive>) -> Vec<Directive> {
        let (listen, said) = one_listen::listen(self.config, self.site, self.shadow, self.changes);
        self.said.extend(said);
        let mut out = vec![listen];
        let certificate = self.shadow.certificate.as_ref();
        if let Some((certificate, key)) = certificate.filter(|_| self.site.scheme == Scheme::Https)
        {
            self.reads.extend([certificate.clone(), key.clone()]);
            out.push(Directive::new("ssl_certificate", [certificate]));
            out.push(Directive::new("ssl_certificate_key", [key]));
        }
        let has_root = block.iter().any(|directive| directive.name == "root");
        if self.shadow.root.is_some() && !has_root {
            out.push(Directive::new("root", [self.shadow.files()]));
        }
        let others = block.into_iter().filter(|directive| directive.name != "listen").collect();
        out.extend(self.block(others, Level::Server));
        if self.shadow.own_location {
            let location = own_location::location(&out, &self.shadow.files());
            out.push(location);
        }
        out
    }
}

/// Where a directive stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Http,
    Server,
    Location,
}
