//! What a copy might still have of the live server: lines of modules that are not known here.

use zc_run::escape;

use super::tree::Line;
use crate::copy::Shadow;

/// Code of the site that runs when Apache starts, whatever is asked.
const RUN_AT_START: [&str; 5] =
    ["luainherit", "passenger", "perlmodule", "perlpostconfigrequire", "perlrequire"];

/// What the folders of a live server begin with.
const LIVE: [&str; 7] = [
    "/dev/log",
    "/run/",
    "/var/cache/",
    "/var/lib/apache2/",
    "/var/lock/",
    "/var/log/",
    "/var/run/",
];

/// Directives whose paths are only read or compared.
const READ: [&str; 9] = [
    "alias",
    "aliasmatch",
    "allow",
    "deny",
    "loadfile",
    "loadmodule",
    "rewriterule",
    "scriptalias",
    "typesconfig",
];

/// Sentences about what stays and looks like a file or a socket of the live server.
pub(super) fn outside(lines: &[Line], shadow: &Shadow) -> Vec<String> {
    let own: Vec<&str> = [Some(shadow.folder.as_str()), shadow.root.as_deref()]
        .into_iter()
        .flatten()
        .filter(|own| !own.is_empty())
        .collect();
    let is_live = |word: &String| {
        !own.iter().any(|own| word.contains(own))
            && (word.starts_with('|') || LIVE.iter().any(|begin| word.starts_with(begin)))
    };
    let mut out = Vec::new();
    let mut open: Vec<&Line> = lines.iter().rev().collect();
    while let Some(line) = open.pop() {
        open.extend(line.children().iter().rev());
        let lower = line.name.to_ascii_lowercase();
        let what = if RUN_AT_START.iter().any(|begin| lower.starts_with(begin)) {
            "runs in the copy, too"
        } else if line.block.is_none()
            && !READ.contains(&lower.as_str())
            && line.words().iter().any(is_live)
        {
            "stays as it is"
        } else {
            continue;
        };
        let words = escape(&line.text(), 100);
        out.push(format!("\"{words}\" ({}) {what}", line.position()));
    }
    out
}
