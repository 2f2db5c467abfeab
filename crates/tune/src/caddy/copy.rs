//! A configuration that serves the site beside the live server and touches nothing of it.

use zc_run::escape;

use super::answer;
use super::change::applied;
use super::own_words;
use super::render::render;
use super::tree::{Config, Line, all};
use crate::Change;
use crate::copy::{Copy, Shadow};
use crate::site::{self, Scheme, Site};

/// Global options that a copy has, too.
const KEPT: [&str; 7] =
    ["debug", "default_sni", "fallback_sni", "grace_period", "log", "metrics", "order"];

/// Global options that are the live process's alone, by what they begin with, or certificates'.
const OF_THE_PROCESS: [&str; 22] = [
    "acme_",
    "admin",
    "auto_https",
    "cert_",
    "default_bind",
    "dns",
    "ech",
    "email",
    "http_port",
    "https_port",
    "key_type",
    "local_certs",
    "ocsp_",
    "on_demand_tls",
    "persist_config",
    "preferred_chains",
    "renew",
    "servers",
    "shutdown_delay",
    "skip_install_trust",
    "storage",
    "tls_resolvers",
];

/// Directives of a site that a copy has not: `tls` it has anew.
const LEFT_OUT: [&str; 4] = ["acme_server", "bind", "tls", "tracing"];

impl Config {
    /// The configuration of one Caddy that serves `site` as the live one does, with `changes`, in
    /// one file.
    ///
    /// Other sites are left out, and so are the administration's address, storage and what gets
    /// certificates. Logs go to stdout, those that are not of requests to stderr. What the site
    /// forwards leads to a port on which nobody listens. With [`Shadow::own_location`], nothing
    /// that would answer in place of the files is left.
    pub fn copy(&self, site: &Site, shadow: &Shadow, changes: &[&Change]) -> Copy {
        let blocks = applied(self, &self.edits(site, changes));
        let mut copying = Copying { shadow, said: Vec::new(), forwarded: 0 };
        copying.tell_of_sites(self);
        // With its `servers`, and places of blocks as before.
        let edited = Self { blocks, ..Self::default() };
        let mut out = vec![copying.global(&edited, site)];
        for (at, block) in edited.blocks.iter().enumerate() {
            if at == site.index {
                out.push(copying.site(self, site, block));
            } else if block.word(0).starts_with('&') {
                out.push(copying.inside(block.clone()));
            }
        }
        let Copying { mut said, forwarded, .. } = copying;
        said.extend(site::lead_nowhere(forwarded));
        let own = site.certificates.iter().filter(|_| shadow.certificate.is_none());
        let reads = own.flat_map(|(certificate, key)| [certificate, key]).cloned().collect();
        Copy { text: render(&out), said, reads }
    }
}

/// The state of one copy.
struct Copying<'a> {
    shadow: &'a Shadow,
    said: Vec<String>,
    /// Lines that forward.
    forwarded: usize,
}

impl Copying<'_> {
    fn tell_of_sites(&mut self, config: &Config) {
        match config.blocks.iter().filter(|block| block.is_site()).count() {
            0 | 1 => {}
            2 => self.said.push("1 other site is left out".to_owned()),
            sites => self.said.push(format!("{} other sites are left out", sites - 1)),
        }
        if self.shadow.as_root && !self.shadow.is_alone {
            let what = "copies run as root: the user of the live server is not in its Caddyfile";
            self.said.push(what.to_owned());
        }
    }

    fn leave_out(&mut self, line: &Line, why: &str) {
        let words = escape(&line.words.join(" "), 80);
        self.said.push(format!("\"{words}\" ({}) is left out: {why}", line.position()));
    }

    /// The global options.
    fn global(&mut self, config: &Config, site: &Site) -> Line {
        let mut out = vec![Line::new(&["admin", "off"]), Line::new(&["auto_https", "off"])];
        let options = config.global().map(Line::children).unwrap_or_default();
        for line in options {
            let name = line.word(0);
            if name == "log" {
                let output = if line.words.len() > 1 { "stdout" } else { "stderr" };
                out.push(own_words::log(line.clone(), output));
            } else if KEPT.contains(&name) {
                out.push(line.clone());
            } else if !OF_THE_PROCESS.iter().any(|begin| name.starts_with(begin)) {
                self.leave_out(line, "zc does not know what it starts or reaches");
            }
        }
        let servers = config.blocks.get(site.index).and_then(|site| config.servers(site));
        if let Some(servers) = servers {
            let (kept, wrappers): (Vec<&Line>, Vec<&Line>) =
                servers.children().iter().partition(|line| line.word(0) != "listener_wrappers");
            for line in wrappers {
                self.leave_out(line, "zc's load speaks no other protocol around HTTP");
            }
            let kept = kept.into_iter().cloned().collect();
            out.push(Line::new(&["servers"]).with_block(kept));
        }
        Line::new::<&str>(&[]).with_block(out)
    }

    /// The site, at the copy's port.
    fn site(&mut self, config: &Config, site: &Site, block: &Line) -> Line {
        let scheme = match site.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        let (_, asked) = config.asked(&config.blocks[site.index]);
        let mut hosts: Vec<&str> = match site.name.as_str() {
            // Who asks has no name of the site.
            "" => vec![""],
            _ => asked.iter().map(|address| address.host).collect(),
        };
        // Two ports of one host are one here.
        hosts.sort_unstable();
        hosts.dedup();
        let port = self.shadow.port;
        let words: Vec<String> =
            hosts.iter().map(|host| format!("{scheme}://{host}:{port}")).collect();
        let mut lines = block.children().to_vec();
        lines.retain(|line| !LEFT_OUT.contains(&line.word(0)));
        if self.shadow.own_location {
            lines.retain(answer::is_beside_files);
            lines.push(Line::new(&["file_server"]));
        }
        if site.scheme == Scheme::Https {
            lines.push(self.tls(site, block));
        }
        let has_root = lines.iter().any(|line| line.word(0) == "root" && line.matcher().is_none());
        if let Some(root) = self.shadow.root.as_ref().filter(|_| !has_root) {
            lines.push(Line::new(&["root", "*", root]));
        }
        let lines = lines.into_iter().map(|line| self.inside(line)).collect();
        Line::new(&words).with_block(lines)
    }

    /// The certificate of the copy, with how the site encrypts.
    fn tls(&mut self, site: &Site, block: &Line) -> Line {
        let lines = || all(block.children(), "tls");
        for line in lines().flat_map(Line::children).filter(|it| it.word(0) == "client_auth") {
            self.leave_out(line, "zc's load has no certificate of a client");
        }
        let certificate = self.shadow.certificate.as_ref().or(site.certificates.first());
        own_words::tls(certificate, lines())
    }

    /// A block in which nothing leads to the live server or what stands behind it.
    fn inside(&mut self, mut line: Line) -> Line {
        if own_words::forwards(&line) {
            self.forwarded += 1;
            line = own_words::to_nowhere(line);
        }
        if line.word(0) == "log" {
            return own_words::log(line, "stdout");
        }
        if line.word(0) == "root"
            && let (Some(last), Some(root)) = (line.words.last_mut(), &self.shadow.root)
        {
            last.clone_from(root);
        }
        line.block =
            line.block.map(|block| block.into_iter().map(|line| self.inside(line)).collect());
        line
    }
}
