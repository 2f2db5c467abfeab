//! What answers the requests of a location: files, or something else.

use super::tree::Directive;
use crate::values::matches_any_path;

/// What answers in place of the files in a block, always.
pub(super) fn instead_of_files(block: &[Directive]) -> Option<&Directive> {
    block.iter().find(|directive| {
        let name = directive.name.as_str();
        match name {
            "return" | "empty_gif" | "stub_status" | "js_content" | "perl" | "echo" => true,
            "rewrite" => {
                let flag = directive.args.get(2).map(String::as_str);
                let is_redirect = matches!(flag, Some("permanent" | "redirect"))
                    || directive.args.get(1).is_some_and(|target| target.contains("://"));
                is_redirect && matches_any_path(directive.first())
            }
            "content_by_lua" | "content_by_lua_block" | "content_by_lua_file" => true,
            _ => name.ends_with("_pass"),
        }
    })
}

/// Whether a directive may answer some requests in place of the files, or delay them.
pub(super) fn may_answer(directive: &Directive) -> bool {
    let is_off = directive.args.len() == 1 && directive.first() == "off";
    match directive.name.as_str() {
        "auth_basic" | "auth_request" | "auth_jwt" | "modsecurity" | "mirror" => !is_off,
        "allow" | "deny" | "limit_req" | "limit_conn" | "internal" | "return" | "rewrite"
        | "secure_link" | "auth_oidc" => true,
        "limit_rate" => directive.first() != "0",
        "if" => directive.children().iter().any(may_answer_inside),
        name => {
            let of_lua = ["access_by_lua", "rewrite_by_lua", "server_rewrite_by_lua"];
            of_lua.iter().any(|lua| name.starts_with(lua)) || name == "js_access"
        }
    }
}

/// The same of a directive inside `if`.
fn may_answer_inside(directive: &Directive) -> bool {
    may_answer(directive) || directive.name.ends_with("_pass")
}

/// What is left out above a location of zc's own: what may answer, and what it needs.
pub(super) fn is_for_answering(name: &str) -> bool {
    let names = ["allow", "deny", "satisfy", "return", "rewrite", "break", "mirror", "modsecurity"];
    let prefixes = [
        "auth_",
        "limit_req",
        "limit_conn",
        "limit_rate",
        "access_by_lua",
        "rewrite_by_lua",
        "server_rewrite_by_lua",
        "secure_link",
        "mirror_",
        "js_access",
    ];
    // Zones are no limits, and locations left in place refer to them.
    let is_zone = name.ends_with("_zone");
    !is_zone && (names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

/// A location's modifier (`=`, `^~`, `~`, `~*` or none) and its pattern. nginx accepts both in one
/// word.
pub(super) fn pattern(location: &Directive) -> (&str, &str) {
    if let [modifier, pattern, ..] = location.args.as_slice() {
        return (modifier, pattern);
    }
    let text = location.first();
    let modifiers = ["=", "^~", "~*", "~"];
    let found = modifiers.iter().find(|modifier| text.starts_with(**modifier));
    found.map_or(("", text), |modifier| (modifier, &text[modifier.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_a_modifier_and_a_pattern() {
        for (words, expected) in [
            ("/", ("", "/")),
            ("= /a", ("=", "/a")),
            ("=/a", ("=", "/a")),
            ("~*\\.png$", ("~*", "\\.png$")),
            ("^~ /x/", ("^~", "/x/")),
            ("@app", ("", "@app")),
        ] {
            let location = Directive::new("location", words.split(' '));
            assert_eq!(pattern(&location), expected);
        }
    }

    #[test]
    fn what_always_answers_is_no_file() {
        let answers = |name: &str, args: &str| {
            let directive = Directive::new(name, args.split(' '));
            instead_of_files(&[directive]).is_some()
        };
        assert!(answers("return", "301 https://$host$request_uri"));
        assert!(answers("proxy_pass", "http://a"));
        assert!(answers("rewrite", "^ https://$host$request_uri? permanent"));
        assert!(!answers("rewrite", "^/old/(.*)$ /new/$1 last"));
        assert!(!answers("try_files", "$uri =404"));
        assert!(!answers("proxy_pass_header", "Server"));
    }
}
