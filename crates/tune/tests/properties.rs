//! Properties of the parser that hold for any text.

use proptest::prelude::*;
use zc_tune::Change;
use zc_tune::nginx::{Config, Directive, Shadow, render};

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
    fn no_text_makes_it_panic(text in prop_oneof![text(), ".*"]) {
        let _ = Config::parse(&text);
        if let Ok(config) = Config::parse(&dump(&text)) {
            if let Ok(site) = config.site(None) {
                let changes = [
                    Change::Directive { name: "sendfile".into(), args: vec!["off".into()] },
                    Change::Directive { name: "access_log".into(), args: vec!["off".into()] },
                    Change::Directive { name: "worker_connections".into(), args: vec!["1".into()] },
                    Change::Listen { parameter: "reuseport".into(), on: true },
                ];
                let changes: Vec<&Change> = changes.iter().collect();
                for own_location in [false, true] {
                    let shadow = Shadow { own_location, root: Some("/r".into()), ..Shadow::default() };
                    let copy = config.copy(&site, &shadow, &changes);
                    prop_assert!(Config::parse(&dump(&copy.text)).is_ok(), "{}", copy.text);
                }
                let _ = config.diff(&site, &changes);
            }
        }
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
