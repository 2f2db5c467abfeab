//! Parameters of a site's `listen`, as candidates need them.

use crate::nginx::{Config, Directive, Site};

/// The parameters of all `listen` of a site, without the addresses; each once.
pub(crate) fn parameters<'c>(config: &'c Config, site: &Site) -> Vec<&'c str> {
    let http = config.main.iter().filter(|directive| directive.name == "http");
    let servers = http.flat_map(Directive::children);
    let is_site = |server: &&Directive| {
        server.name == "server" && site.position == format!("{}, line {}", server.file, server.line)
    };
    let Some(server) = servers.into_iter().find(is_site) else { return Vec::new() };
    let listens = server.children().iter().filter(|directive| directive.name == "listen");
    let mut found: Vec<&str> = Vec::new();
    for parameter in listens.flat_map(|listen| listen.args.iter().skip(1)) {
        if !found.contains(&parameter.as_str()) {
            found.push(parameter);
        }
    }
    found
}

/// The name of a parameter: `backlog` of `backlog=4096`.
pub(crate) fn name(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or(parameter)
}
