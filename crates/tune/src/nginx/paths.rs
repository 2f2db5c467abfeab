//! Paths of a configuration that are relative to a folder of nginx, made absolute: a copy is in
//! another folder.

use super::tree::{Config, Directive};
use crate::copy::Shadow;

/// Files that nginx completes with the folder of its main file (`ngx_conf_full_name` with
/// `conf_prefix`).
const IN_FOLDER: [&str; 18] = [
    "auth_basic_user_file",
    "auth_jwt_key_file",
    "geoip_city",
    "geoip_country",
    "geoip_org",
    "modsecurity_rules_file",
    "perl_require",
    "ssl_certificate",
    "ssl_certificate_key",
    "ssl_client_certificate",
    "ssl_crl",
    "ssl_dhparam",
    "ssl_ech_file",
    "ssl_password_file",
    "ssl_session_ticket_key",
    "ssl_stapling_file",
    "ssl_trusted_certificate",
    "xslt_stylesheet",
];

/// Those of nginx's own connections to upstreams: `proxy_ssl_certificate`.
const OF_UPSTREAMS: [&str; 4] =
    ["_ssl_certificate", "_ssl_certificate_key", "_ssl_crl", "_ssl_trusted_certificate"];

/// Files and folders that it completes with its prefix.
const IN_PREFIX: [&str; 4] = ["alias", "load_module", "perl_modules", "root"];

/// Which argument of a directive is a path, and to what it is relative.
fn relative(name: &str, args: &[String]) -> Option<(usize, bool)> {
    let last = args.len().checked_sub(1)?;
    let in_folder = IN_FOLDER.contains(&name) || OF_UPSTREAMS.iter().any(|end| name.ends_with(end));
    match name {
        _ if in_folder => Some((0, true)),
        "js_include" | "js_path" => Some((0, true)),
        "js_import" => Some((last, true)),
        name if IN_PREFIX.contains(&name) => Some((0, false)),
        name if name.ends_with("_by_lua_file") => {
            Some((usize::from(name == "set_by_lua_file"), false))
        }
        _ => None,
    }
}

/// Makes the path of a directive absolute, if it has one. Returns it if nginx opens it when it
/// starts.
pub(super) fn make_absolute(
    directive: &mut Directive,
    config: &Config,
    shadow: &Shadow,
) -> Option<String> {
    let (index, is_in_folder) = relative(&directive.name, &directive.args)?;
    let path = directive.args.get(index)?;
    let full = if is_in_folder { config.in_folder(path) } else { shadow.in_prefix(path) };
    if full != *path {
        let mut args = directive.args.clone();
        args[index].clone_from(&full);
        directive.set_args(args);
    }
    let is_opened = full.starts_with('/') && !full.contains('$');
    (is_opened && (is_in_folder || directive.name == "load_module")).then_some(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_one_of_two_folders() {
        let config =
            Config::parse("# configuration file /etc/nginx/nginx.conf:\nevents {}\n").unwrap();
        let shadow = Shadow { build: "--prefix=/usr/share/nginx".into(), ..Shadow::default() };
        for (words, expected) in [
            ("root html", "root /usr/share/nginx/html"),
            ("root $documents", "root $documents"),
            ("ssl_certificate a.pem", "ssl_certificate /etc/nginx/a.pem"),
            ("ssl_certificate data:$a", "ssl_certificate data:$a"),
            ("ssl_certificate_key engine:a:b", "ssl_certificate_key engine:a:b"),
            ("proxy_ssl_crl a", "proxy_ssl_crl /etc/nginx/a"),
            ("js_import main from a.js", "js_import main from /etc/nginx/a.js"),
            ("js_import a.js", "js_import /etc/nginx/a.js"),
            ("load_module modules/a.so", "load_module /usr/share/nginx/modules/a.so"),
            ("set_by_lua_file $a b.lua", "set_by_lua_file $a /usr/share/nginx/b.lua"),
            ("index a.html", "index a.html"),
        ] {
            let (name, args) = words.split_once(' ').unwrap();
            let mut directive = Directive::new(name, args.split(' '));
            make_absolute(&mut directive, &config, &shadow);
            assert_eq!(directive.words(), expected);
        }
    }
}
