//! What answers the requests of a host: files, or something else.

use super::tree::{Line, all};
use super::words::words;
use crate::values::matches_any_path;

/// What answers in place of the files in a block, always.
///
/// A `RewriteRule` behind a `RewriteCond` may, which shows when it is asked.
pub(super) fn instead_of_files(block: &[Line]) -> Option<&Line> {
    let has_rules = all(block, "RewriteEngine").last().is_some_and(|line| line.first_is("on"));
    let mut is_conditional = false;
    block.iter().find(|line| {
        let words = words(&line.args);
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let is_root = |path: &str| matches!(path, "/" | "/*");
        let after_condition = std::mem::replace(&mut is_conditional, line.is("RewriteCond"));
        match line.name.to_ascii_lowercase().as_str() {
            "rewriterule" if has_rules && !after_condition => {
                let flags = word(2).trim_matches(['[', ']']).to_ascii_lowercase();
                let mut flags = flags.split(',').map(str::trim);
                let is_elsewhere = word(1).contains("://")
                    || flags
                        .any(|flag| flag.starts_with('r') || matches!(flag, "p" | "proxy" | "f"));
                is_elsewhere && matches_any_path(word(0))
            }
            "redirect" => words.iter().rev().nth(1).is_some_and(|path| is_root(path)),
            "redirectpermanent" | "redirecttemp" => is_root(word(0)),
            "redirectmatch" => words.iter().rev().nth(1).is_some_and(|p| matches_any_path(p)),
            "proxypass" | "wsgiscriptalias" | "jkmount" => is_root(word(0)) && word(1) != "!",
            "proxypassmatch" | "wsgiscriptaliasmatch" => {
                matches_any_path(word(0)) && word(1) != "!"
            }
            "sethandler" => !word(0).eq_ignore_ascii_case("none") && word(0) != "default-handler",
            "location" => is_root(word(0)) && instead_inside(line.children()),
            _ => false,
        }
    })
}

/// The same inside `<Location />`, where `ProxyPass` has no path.
fn instead_inside(block: &[Line]) -> bool {
    let is_pass = |line: &Line| line.is("ProxyPass") && !line.first_is("!");
    instead_of_files(block).is_some() || block.iter().any(is_pass)
}

/// Whether a line may answer some requests in place of the files, or delay them.
pub(super) fn may_answer(line: &Line) -> bool {
    let lower = line.name.to_ascii_lowercase();
    match lower.as_str() {
        "require" => !line.args.eq_ignore_ascii_case("all granted"),
        "allow" => !line.args.eq_ignore_ascii_case("from all"),
        "authtype" => !line.first_is("none"),
        "setoutputfilter" => line.args.to_ascii_uppercase().contains("RATE_LIMIT"),
        "deny" | "redirect" | "redirectmatch" | "redirectpermanent" | "redirecttemp"
        | "rewriterule" | "secruleengine" | "sethandler" => true,
        name => name.starts_with("luahook") || name.starts_with("dos") || name.starts_with("qs_"),
    }
}

/// What is left out where files are asked in a location of zc's own: what may answer, and what it
/// needs.
pub(super) fn is_for_answering(lower: &str) -> bool {
    const NAMES: [&str; 11] = [
        "action",
        "allow",
        "deny",
        "fallbackresource",
        "jkmount",
        "luamaphandler",
        "luaquickhandler",
        "order",
        "satisfy",
        "secruleengine",
        "sethandler",
    ];
    const BEGINS: [&str; 8] =
        ["auth", "luahook", "proxypass", "qs_", "redirect", "require", "rewrite", "wsgi"];
    NAMES.contains(&lower) || BEGINS.iter().any(|begin| lower.starts_with(begin))
}

/// Whether a line forwards what is asked below a path, so that files do not answer it, and the
/// path.
pub(super) fn elsewhere(line: &Line) -> Option<String> {
    const NAMES: [&str; 6] = [
        "proxypass",
        "proxypassmatch",
        "scriptalias",
        "scriptaliasmatch",
        "wsgiscriptalias",
        "jkmount",
    ];
    let path = line.first();
    let is_elsewhere = NAMES.contains(&line.name.to_ascii_lowercase().as_str());
    (is_elsewhere && !matches!(path.as_str(), "/" | "/*")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_always_answers_is_no_file() {
        let answers = |text: &str| {
            let line = |text: &str| {
                let (name, args) = text.split_once(' ').unwrap();
                Line::new(name, args)
            };
            instead_of_files(&text.split('\n').map(line).collect::<Vec<_>>()).is_some()
        };
        for text in [
            "Redirect permanent / https://a/",
            "redirect / https://a/",
            "RedirectMatch 301 ^/(.*)$ https://a/$1",
            "RewriteEngine on\nRewriteRule ^ https://a%{REQUEST_URI} [L,R=301]",
            "ProxyPass / http://a/",
            "ProxyPass \"/\" \"balancer://a/\"",
            "WSGIScriptAlias / /srv/a.wsgi",
            "SetHandler application/x-httpd-php",
        ] {
            assert!(answers(text), "{text}");
        }
        for text in [
            "Redirect /old https://a/",
            "Redirect gone /old",
            "RewriteRule ^ https://a/ [R]",
            "RewriteEngine On\nRewriteCond %{HTTPS} off\nRewriteRule ^ https://a/ [R]",
            "RewriteEngine On\nRewriteRule ^/old/(.*)$ /new/$1 [PT]",
            "ProxyPass /app http://a/",
            "ProxyPass / !",
            "SetHandler None",
            "DocumentRoot /",
        ] {
            assert!(!answers(text), "{text}");
        }
        let inner = vec![Line::new("ProxyPass", "http://a/")];
        assert!(instead_of_files(&[Line::section("Location", "\"/\"", inner)]).is_some());
    }
}
