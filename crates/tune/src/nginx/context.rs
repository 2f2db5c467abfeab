//! Contexts: where a directive is in effect for the files of a site, by nginx's inheritance
//! (<https://nginx.org/en/docs/dev/development_guide.html#http_conf>): the innermost context that
//! has it counts, and it alone.

use super::answer;
use super::listen;
use super::site;
use super::tree::{Config, Directive, all};
use crate::site::Site;

/// Where a directive goes that no context has yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Main,
    Events,
    Http,
    Server,
}

/// The context for a directive that no context has yet.
pub(super) fn home(name: &str) -> Home {
    const MAIN: [&str; 12] = [
        "daemon",
        "debug_points",
        "env",
        "load_module",
        "lock_file",
        "master_process",
        "pcre_jit",
        "pid",
        "quic_bpf",
        "thread_pool",
        "timer_resolution",
        "user",
    ];
    const EVENTS: [&str; 7] = [
        "accept_mutex",
        "accept_mutex_delay",
        "debug_connection",
        "multi_accept",
        "use",
        "worker_aio_requests",
        "worker_connections",
    ];
    const HTTP: [&str; 5] = ["geo", "http2_recv_buffer_size", "log_format", "map", "split_clients"];
    let is_of_http = HTTP.contains(&name)
        || name.ends_with("_cache_path")
        || name.ends_with("_zone")
        || name.starts_with("variables_hash_")
        || name.starts_with("server_names_hash_");
    match name {
        name if EVENTS.contains(&name) => Home::Events,
        name if MAIN.contains(&name) || name.starts_with("worker_") => Home::Main,
        name if name.starts_with("ssl_engine") => Home::Main,
        _ if is_of_http => Home::Http,
        _ => Home::Server,
    }
}

/// Blocks from the innermost context to the outermost but main, in which a directive is looked for.
pub(super) type Chain<'a> = Vec<&'a Directive>;

/// The chains of all contexts that answer with the site's files, that of `location /` first.
/// Locations of one exact path, named and internal ones are left out: they are exceptions.
pub(super) fn chains<'a>(config: &'a Config, site: &Site) -> Vec<Chain<'a>> {
    let Some((http, server)) = config.block("http").zip(config.server(site)) else {
        return Vec::new();
    };
    let root = site::root_location(server.children());
    let mut out: Vec<Chain<'a>> = vec![root.into_iter().chain([server, http]).collect()];
    let mut open: Vec<Chain<'a>> = vec![vec![server, http]];
    while let Some(outer) = open.pop() {
        let Some(block) = outer.first() else { continue };
        for location in site::locations(block.children()) {
            let mut chain = outer.clone();
            chain.insert(0, location);
            if root.is_none_or(|root| root.id != location.id) && is_of_files(location) {
                out.push(chain.clone());
            }
            open.push(chain);
        }
    }
    out
}

fn is_of_files(location: &Directive) -> bool {
    let (modifier, pattern) = answer::pattern(location);
    let has_internal = all(location.children(), "internal").next().is_some();
    modifier != "="
        && !pattern.starts_with('@')
        && !has_internal
        && answer::instead_of_files(location.children()).is_none()
}

impl Config {
    /// The directive that is in effect for the site's files at `/`: that of the innermost of
    /// `location /`, the server, http and main; or that in `events`. For directives with one value:
    /// of several in one context, the first.
    pub fn in_effect(&self, site: &Site, name: &str) -> Option<&Directive> {
        let chain = chains(self, site).into_iter().next().unwrap_or_default();
        let blocks = chain.into_iter().chain(self.block("events"));
        let mut found = blocks.filter_map(|block| all(block.children(), name).next());
        found.next().or_else(|| all(&self.main, name).next())
    }

    /// The parameters of all `listen` of a site, without the addresses; each once.
    pub(crate) fn listen_parameters(&self, site: &Site) -> Vec<&str> {
        let server = self.server(site).map(Directive::children).unwrap_or_default();
        let mut found: Vec<&str> = Vec::new();
        for parameter in all(server, "listen").flat_map(listen::parameters) {
            if !found.contains(&parameter.as_str()) {
                found.push(parameter);
            }
        }
        found
    }
}
