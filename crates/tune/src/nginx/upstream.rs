//! What a site forwards, sent to nowhere: a copy must not reach what stands behind the live server,
//! and names that only its network knows would keep nginx from starting.

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

/// The block of an `upstream` whose servers are `nowhere`, and how many it has.
pub(super) fn to_nowhere(block: Vec<Directive>, nowhere: &str) -> (Vec<Directive>, usize) {
    let mut count = 0;
    let mut out = Vec::with_capacity(block.len());
    for mut directive in block {
        match directive.name.as_str() {
            "server" => {
                count += 1;
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
    if count == 0 {
        out.insert(0, Directive::new("server", [nowhere]));
    }
    (out, count)
}
