//! What a site forwards, sent to nowhere: a copy must not reach what stands behind the live server,
//! and names that only its network knows would keep nginx from starting.

use std::collections::HashSet;

use super::tree::Directive;

/// Directives that forward, and what their target begins with.
const PASS: [(&str, &str); 6] = [
    ("proxy_pass", "http://"),
    ("fastcgi_pass", ""),
    ("uwsgi_pass", ""),
    ("scgi_pass", ""),
    ("grpc_pass", ""),
    ("memcached_pass", ""),
];

/// Sends a directive that forwards to `nowhere`; says whether it is one.
pub(super) fn pass_to_nowhere(directive: &mut Directive, nowhere: &str) -> bool {
    let Some((_, scheme)) = PASS.iter().find(|(name, _)| *name == directive.name) else {
        return false;
    };
    directive.set_args(vec![format!("{scheme}{nowhere}")]);
    true
}

/// Whether nginx would ask a name server for a host, with or without a port.
fn is_name(host: &str) -> bool {
    let is_address = host.starts_with('[')
        || host.starts_with("unix:")
        || host.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':' | b'/'))
        || host.matches(':').count() > 1;
    !is_address
}

/// Puts an address in place of names that nginx looks up when it starts, which fails where the copy
/// runs.
pub(super) fn without_names(directive: &mut Directive) {
    if !matches!(directive.name.as_str(), "resolver" | "set_real_ip_from") {
        return;
    }
    let address = |arg: &String| match !arg.contains('=') && is_name(arg) {
        true => "127.0.0.1".to_owned(),
        false => arg.clone(),
    };
    let args: Vec<String> = directive.args.iter().map(address).collect();
    if args != directive.args {
        directive.set_args(args);
    }
}

/// Words in arguments: what may be the name of an upstream.
fn words(directives: &[Directive]) -> HashSet<String> {
    let mut out = HashSet::new();
    let mut open: Vec<&Directive> = directives.iter().collect();
    while let Some(directive) = open.pop() {
        open.extend(directive.children());
        // In `map` the name may be a key, too.
        for text in directive.args.iter().chain([&directive.name]).chain(&directive.lua) {
            let is_end =
                |letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'));
            out.extend(text.split(is_end).map(str::to_owned));
        }
    }
    out
}

/// The directives of http without the upstreams that nothing else names, and with the servers of
/// the others at `nowhere`; and how many servers those are.
pub(super) fn reduce(http: Vec<Directive>, nowhere: &str) -> (Vec<Directive>, usize) {
    let is_upstream = |directive: &Directive| directive.name == "upstream";
    let (upstreams, others): (Vec<_>, Vec<_>) = http.into_iter().partition(is_upstream);
    let named = words(&others);
    let mut count = 0;
    let mut out = Vec::with_capacity(others.len());
    for mut upstream in upstreams {
        if named.contains(upstream.first()) {
            let block = upstream.block.take().unwrap_or_default();
            upstream.block = Some(to_nowhere(block, nowhere, &mut count));
            out.push(upstream);
        }
    }
    out.extend(others);
    (out, count)
}

/// The block of an `upstream` whose servers are `nowhere`.
fn to_nowhere(block: Vec<Directive>, nowhere: &str, count: &mut usize) -> Vec<Directive> {
    let mut has_server = false;
    let mut out = Vec::with_capacity(block.len());
    for mut directive in block {
        match directive.name.as_str() {
            "server" => {
                has_server = true;
                *count += 1;
                let is_kept = |arg: &&String| *arg != "resolve" && !arg.starts_with("service=");
                let further = directive.args.iter().skip(1).filter(is_kept).cloned();
                let args = std::iter::once(nowhere.to_owned()).chain(further).collect();
                directive.set_args(args);
                out.push(directive);
            }
            // Servers that were added while the live server ran, in a file.
            "state" => {}
            _ => out.push(directive),
        }
    }
    if !has_server {
        out.insert(0, Directive::new("server", [nowhere]));
    }
    out
}
