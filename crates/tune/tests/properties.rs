//! Properties of the parser that hold for any text.

use proptest::prelude::*;
use zc_tune::nginx::{Config, Directive, render};
use zc_tune::{Change, Shadow};

/// Everything of a tree but where it is written.
fn shape(directives: &[Directive]) -> String {
    let one = |directive: &Directive| {
        let block = directive.block.as_deref().map(shape);
        format!("{:?} {:?} {:?} {block:?};", directive.name, directive.args, directive.lua)
    };
    directives.iter().map(one).collect()
}

fn dump(text: &str) -> String {
    format!("# configuration file /etc/nginx/nginx.conf:\n{text}\n")
}

/// Text of pieces that mean something to nginx or Lua.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        "\n",
        "\t",
        "\r\n",
        ";",
        ";\n",
        "{",
        "}",
        "}\n",
        "\"",
        "'",
        "\\",
        "#",
        "$",
        "${",
        ")",
        "a",
        "ä",
        "server {",
        "location / {",
        "http {",
        "events {}",
        "listen 80;",
        "content_by_lua_block {",
        "include ",
        "geo ",
        "--",
        "[[",
        "]]",
        "[=[",
        "# configuration file /a:\n",
        "/a",
        "*",
        "root /x;",
        "sendfile on;",
        "if ($a = \"b\") {",
        "proxy_pass http://a;",
        "access_log /l main;",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

/// A site with random lines in all of its contexts.
fn site() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "sendfile on;",
        "sendfile off;",
        "access_log /l main;",
        "access_log off;",
        "access_log syslog:server=a;",
        "error_log /e;",
        "root a;",
        "alias /a/;",
        "return 301 /;",
        "rewrite ^ http://a permanent;",
        "proxy_pass http://a;",
        "listen 80;",
        "listen 443 ssl http2 reuseport;",
        "listen unix:/a;",
        "listen [::]:80 default_server;",
        "listen;",
        "server_name a *.a ~b;",
        "ssl_certificate a;",
        "ssl_certificate_key $a;",
        "if ($a) { return 404; }",
        "upstream a { server a; }",
        "location;",
        "location {}",
        "location = /a { sendfile on; }",
        "server;",
        "server a;",
        "location ~* \\.a$ { access_log off; location b { root; } }",
        "include;",
        "user;",
        "events;",
        "http;",
        "root;",
        "access_log;",
        "error_log;",
        "ssl_conf_command Options KTLS;",
        "add_header a;",
        "x_by_lua_block { }",
        "x_temp_path;",
        "x_cache_path;",
        "stream {}",
        "worker_connections 1;",
        "# a\n",
        "\n",
        "js_import;",
        "load_module a;",
    ]);
    let lines = || prop::collection::vec(line.clone(), 0..8).prop_map(|lines| lines.join(" "));
    (lines(), lines(), lines(), lines(), lines(), lines()).prop_map(
        |(main, events, http, one, two, location)| {
            format!(
                "{main}\nevents {{ {events} }}\nhttp {{\n{http}\nserver {{ {one} }}\n{http}server \
                 {{\n{two}\nlocation / {{ {location} }} }}\n}}\n"
            )
        },
    )
}

/// Balanced configurations.
fn configuration() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z_]{1,8}",
        r#""([a-z ;{}#']|\\"|\\\\|\\n|\\x){0,8}""#,
        r"'([a-z ;{}#]|\\'|\$\{a\})*'",
        r"[a-z$.*^~]([a-z]|\\ |\\;|\$\{x\}|[}#'=/])*",
    ];
    let words = prop::collection::vec(word, 1..4);
    let line = words.clone().prop_map(|words| format!("{} ;\n", words.join(" ")));
    let lua = Just("x_by_lua_block { a = '}' --}\n b = [[ } ]] }\n".to_owned());
    prop_oneof![4 => line, 1 => lua].prop_recursive(4, 60, 6, move |inner| {
        (words.clone(), prop::collection::vec(inner, 0..6))
            .prop_map(|(words, block)| format!("{} {{ # }}\n{}}}", words.join(" "), block.concat()))
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![text(), ".*", "(# configuration file \
     /[ab]:\n|include [ab*];|\n|a;|b \\{)*"]) {
        let _ = Config::parse(&text);
        let _ = Config::parse(&dump(&text));
    }

    #[test]
    fn any_site_is_copied_and_changed(text in site(), name in prop::option::of("[ab.*~]{0,3}")) {
        let config = Config::parse(&dump(&text)).unwrap();
        let changes = [
            Change::Directive { name: "sendfile".into(), args: vec!["off".into()] },
            Change::Directive { name: "access_log".into(), args: vec!["/l".into(), "a b".into()] },
            Change::Directive { name: "worker_connections".into(), args: vec![] },
            Change::Directive { name: "ssl_conf_command".into(), args: vec!["Options".into()] },
            Change::Listen { parameter: "reuseport".into(), on: true },
            Change::Listen { parameter: "backlog=1".into(), on: false },
        ];
        let changes: Vec<&Change> = changes.iter().collect();
        let site = match config.site(name.as_deref()) {
            Ok(site) => site,
            Err(_) => config.site(None).unwrap(),
        };
        let others = [
            Shadow { root: Some("/r".into()), own_location: true, ..Shadow::default() },
            Shadow {
                certificate: Some(("/c".into(), "/k".into())),
                as_root: true,
                ..Shadow::default()
            },
        ];
        for shadow in others {
            let copy = config.copy(&site, &shadow, &changes);
            let again = Config::parse(&dump(&copy.text)).unwrap();
            let http = again.main.iter().filter(|line| line.name == "http");
            let is_server = |line: &&Directive| line.name == "server" && line.block.is_some();
            let servers: Vec<_> = http.flat_map(Directive::children).filter(is_server).collect();
            prop_assert_eq!(servers.len(), 1, "{}", copy.text);
            let listens = servers[0].children().iter().filter(|line| line.name == "listen");
            prop_assert_eq!(listens.count(), 1, "{}", copy.text);
        }
        let diff = config.diff(&site, &changes);
        prop_assert!(diff.starts_with("--- /etc/nginx/nginx.conf\n+++ /etc/nginx/nginx.conf\n@@ \
         -"), "{}", diff);
    }

    #[test]
    fn what_is_rendered_is_read_as_the_same_tree(text in prop_oneof![text(), configuration()]) {
        if let Ok(config) = Config::parse(&dump(&text)) {
            let again = Config::parse(&dump(&render(&config.main))).unwrap();
            prop_assert_eq!(shape(&config.main), shape(&again.main));
        }
    }

    #[test]
    fn what_is_balanced_is_read(text in configuration()) {
        let config = Config::parse(&dump(&text));
        prop_assert!(config.is_ok(), "{:?}", config.err());
    }
}
