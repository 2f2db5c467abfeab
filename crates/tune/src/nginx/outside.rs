//! What a copy might still have of the live server: directives of modules that are not known here.

use zc_run::escape;

use super::tree::Directive;
use crate::copy::Shadow;

/// Code of the site that runs when nginx starts, whatever is asked.
const RUN_AT_START: [&str; 6] = [
    "exit_worker_by_lua",
    "init_by_lua",
    "init_worker_by_lua",
    "js_periodic",
    "perl_modules",
    "perl_require",
];

/// Sentences about what stays and looks like a file or a socket of the live server.
pub(super) fn outside(main: &[Directive], shadow: &Shadow) -> Vec<String> {
    let is_live = |arg: &String| {
        let begins = ["/var/log/", "/run/", "/var/run/", "/var/cache/", "/dev/log", "unix:/"];
        let own = [shadow.folder.clone(), format!("unix:{}", shadow.folder), shadow.files()];
        let is_own = own.iter().any(|own| !own.is_empty() && arg.starts_with(own.as_str()));
        !is_own && begins.iter().any(|begin| arg.starts_with(begin))
    };
    let mut out = Vec::new();
    let mut open: Vec<&Directive> = main.iter().rev().collect();
    while let Some(directive) = open.pop() {
        open.extend(directive.children().iter().rev());
        if RUN_AT_START.iter().any(|begin| directive.name.starts_with(begin)) {
            let name = escape(&directive.name, 60);
            out.push(format!("\"{name}\" ({}) runs in the copy, too", directive.position()));
            continue;
        }
        let is_path = matches!(
            directive.name.as_str(),
            "allow" | "deny" | "set_real_ip_from" | "root" | "alias"
        );
        if !is_path && directive.args.iter().any(is_live) {
            let words = escape(&directive.words(), 100);
            out.push(format!("\"{words}\" ({}) stays as it is", directive.position()));
        }
    }
    out
}
