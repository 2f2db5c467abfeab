//! What changes mean for a configuration: which directives are replaced, added or taken away.

use super::context::{self, Chain, Home};
use super::listen;
use super::tree::{Config, Directive, all};
use crate::Change;
use crate::site::{Scheme, Site};

/// One directive that is written.
#[derive(Debug, Clone)]
pub(super) struct Edit<'a> {
    /// The directive that is there now.
    pub(super) at: &'a Directive,
    pub(super) spot: Spot,
    pub(super) name: String,
    pub(super) args: Vec<String>,
}

/// Where it is written, seen from the one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    InPlace,
    /// Nowhere: the one that is there is taken away.
    Without,
    /// As the first in its block.
    FirstInside,
    Before,
    After,
}

/// Whether a context can have several of a directive that all count, so that another is added.
fn is_list(name: &str) -> bool {
    let names = ["add_header", "add_trailer", "env", "error_page", "ssl_conf_command"];
    let ends = ["_set_header", "_param", "_zone", "_cache_path", "_ssl_conf_command"];
    names.contains(&name) || ends.iter().any(|end| name.ends_with(end))
}

/// Whether two of a list say something about the same thing, so that one replaces the other:
/// headers of one name; `Options KTLS` and `Options -KTLS`.
fn is_about_the_same(name: &str, one: &[String], other: &[String]) -> bool {
    let bare = |args: &[String]| -> Vec<String> {
        args.iter().map(|arg| arg.trim_start_matches('-').to_owned()).collect()
    };
    match name.ends_with("ssl_conf_command") {
        true => bare(one) == bare(other),
        false => one.first() == other.first(),
    }
}

/// The edits of directives.
pub(super) fn of_directives<'a>(
    config: &'a Config,
    site: &Site,
    changes: &[&Change],
) -> Vec<Edit<'a>> {
    let chains = context::chains(config, site);
    let mut out: Vec<Edit<'a>> = Vec::new();
    for change in changes {
        let Change::Directive { name, args } = change else { continue };
        let edits = match context::home(name) {
            Home::Main => in_main(config, name, args),
            Home::Events => match config.block("events") {
                Some(events) => in_chains(&[vec![events]], events, name, args),
                None => Vec::new(),
            },
            home => match (config.block("http"), config.server(site)) {
                (Some(http), _) if home == Home::Http => in_chains(&chains, http, name, args),
                (_, Some(server)) => in_chains(&chains, server, name, args),
                _ => Vec::new(),
            },
        };
        for edit in edits {
            let is_again = |other: &Edit<'_>| {
                (other.at.id, other.spot, &other.name) == (edit.at.id, edit.spot, &edit.name)
                    && !is_list(name)
            };
            out.retain(|other| !is_again(other));
            out.push(edit);
        }
    }
    out
}

/// Edits of a directive in the main context. A new one stands before `events`.
fn in_main<'a>(config: &'a Config, name: &str, args: &[String]) -> Vec<Edit<'a>> {
    let edits = in_block(&config.main, name, args);
    let before = config.block("events").or_else(|| config.block("http"));
    match before {
        Some(before) if edits.is_empty() => vec![edit(before, Spot::Before, name, args)],
        _ => edits,
    }
}

fn edit<'a>(at: &'a Directive, spot: Spot, name: &str, args: &[String]) -> Edit<'a> {
    Edit { at, spot, name: name.to_owned(), args: args.to_vec() }
}

/// Edits wherever a directive is in effect in one of the chains; where it is not in the first of
/// them, one as the first of `otherwise`, too.
fn in_chains<'a>(
    chains: &[Chain<'a>],
    otherwise: &'a Directive,
    name: &str,
    args: &[String],
) -> Vec<Edit<'a>> {
    let setter = |chain: &Chain<'a>| {
        chain.iter().copied().find(|block| all(block.children(), name).next().is_some())
    };
    let mut setters: Vec<&'a Directive> = Vec::new();
    let mut is_missing = chains.is_empty();
    for (index, chain) in chains.iter().enumerate() {
        match setter(chain) {
            None => is_missing |= index == 0,
            // A location that writes no log is an exception that stays.
            Some(block) if index > 0 && is_unlogged(block, name) => {}
            Some(block) if setters.iter().all(|other| other.id != block.id) => setters.push(block),
            Some(_) => {}
        }
    }
    let mut out: Vec<Edit<'a>> =
        setters.into_iter().flat_map(|block| in_block(block.children(), name, args)).collect();
    if is_missing {
        out.push(edit(otherwise, Spot::FirstInside, name, args));
    }
    out
}

fn is_unlogged(block: &Directive, name: &str) -> bool {
    name == "access_log" && all(block.children(), name).all(|directive| directive.first() == "off")
}

/// Edits of a directive directly in a block that has it; none in one that does not.
fn in_block<'a>(block: &'a [Directive], name: &str, args: &[String]) -> Vec<Edit<'a>> {
    let of_list = is_list(name);
    let is_replaced = |other: &&Directive| !of_list || is_about_the_same(name, &other.args, args);
    let mut replaced = all(block, name).filter(is_replaced);
    match (replaced.next(), all(block, name).last()) {
        (Some(first), _) => {
            let mut out = vec![edit(first, Spot::InPlace, name, args)];
            out.extend(replaced.map(|other| edit(other, Spot::Without, name, args)));
            out
        }
        (None, Some(last)) => vec![edit(last, Spot::After, name, args)],
        (None, None) => Vec::new(),
    }
}

/// The arguments of a `listen` with the changes of its parameters.
pub(super) fn parameters(args: &[String], changes: &[&Change]) -> Vec<String> {
    let mut out = args.to_vec();
    for change in changes {
        let Change::Listen { parameter, on } = change else { continue };
        let name = listen::name(parameter);
        // The address is no parameter.
        let mut index = 0;
        out.retain(|arg| {
            index += 1;
            index == 1 || listen::name(arg) != name
        });
        if *on {
            out.push(parameter.clone());
        }
    }
    out
}

/// The `listen` directives of a site over TCP, of its scheme.
pub(super) fn listens<'a>(server: &'a Directive, scheme: Scheme) -> Vec<&'a Directive> {
    let of_tcp: Vec<&'a Directive> = all(server.children(), "listen")
        .filter(|listen| !listen::has(listen, "quic"))
        .filter(|listen| matches!(listen::address(listen), listen::Address::Tcp { .. }))
        .collect();
    let of_tls: Vec<_> =
        of_tcp.iter().copied().filter(|listen| listen::has(listen, "ssl")).collect();
    // With `ssl on` no `listen` has the parameter.
    if scheme == Scheme::Https && !of_tls.is_empty() { of_tls } else { of_tcp }
}

/// The `listen` that has the options of the socket a site's `listen` is about: another server's,
/// if one has set some for this address.
pub(super) fn owner<'a>(config: &'a Config, listen: &'a Directive) -> &'a Directive {
    let address = listen::address(listen);
    let servers = config.block("http").map(Directive::children).unwrap_or_default();
    let mut listens = all(servers, "server").flat_map(|server| all(server.children(), "listen"));
    let is_owner = |other: &&Directive| {
        listen::sets_socket(other)
            && !listen::has(other, "quic")
            && listen::address(other) == address
    };
    if listen::sets_socket(listen) { listen } else { listens.find(is_owner).unwrap_or(listen) }
}

/// The edits of `listen`.
pub(super) fn of_listens<'a>(
    config: &'a Config,
    site: &Site,
    changes: &[&Change],
) -> Vec<Edit<'a>> {
    let changes: Vec<&Change> =
        changes.iter().copied().filter(|change| matches!(change, Change::Listen { .. })).collect();
    let Some(server) = config.server(site).filter(|_| !changes.is_empty()) else {
        return Vec::new();
    };
    let (of_the_socket, others): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| match change {
            Change::Listen { parameter, .. } => listen::is_of_the_socket(parameter),
            _ => false,
        });
    let listens = listens(server, site.scheme);
    if listens.is_empty() {
        let args = parameters(&["80".to_owned()], &changes);
        return vec![edit(server, Spot::FirstInside, "listen", &args)];
    }
    let mut out: Vec<(&'a Directive, Vec<String>)> = Vec::new();
    let mut change = |listen: &'a Directive, changes: &[&Change]| {
        let known = out.iter_mut().find(|(other, _)| other.id == listen.id);
        match known {
            Some((_, args)) => *args = parameters(args, changes),
            None => out.push((listen, parameters(&listen.args, changes))),
        }
    };
    for listen in listens {
        change(owner(config, listen), &of_the_socket);
        change(listen, &others);
    }
    let is_changed = |(listen, args): &(&Directive, Vec<String>)| listen.args != *args;
    let edit =
        |(listen, args): (&'a Directive, Vec<String>)| edit(listen, Spot::InPlace, "listen", &args);
    out.into_iter().filter(is_changed).map(edit).collect()
}
