//! Properties of the reader of Apache's configurations that hold for any text.

use std::collections::BTreeMap;

use proptest::prelude::*;
use zc_run::Result;
use zc_tune::apache::{Config, Line, Start, render};
use zc_tune::{Change, Shadow};

const MAIN: &str = "/e/a.conf";

fn read(text: &str) -> Result<Config> {
    Config::read(MAIN, &Start::default(), &mut BTreeMap::from([(MAIN, text)]))
}

/// Everything of a tree but where it is written.
fn shape(lines: &[Line]) -> String {
    let one = |line: &Line| {
        let block = line.block.as_deref().map(shape);
        format!("{:?} {:?} {:?} {block:?};", line.name, line.words(), line.code)
    };
    lines.iter().map(one).collect()
}

/// Text of pieces that mean something to Apache.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        "\n",
        "\t",
        "\r\n",
        "\\\n",
        "\\",
        "\"",
        "'",
        "#",
        "${",
        "}",
        "<",
        ">",
        "</",
        "a",
        "ä",
        "\u{fffd}",
        "\u{b}",
        "<Directory />\n",
        "</Directory>\n",
        "<IfModule !x>\n",
        "</IfModule>\n",
        "<VirtualHost *:80>\n",
        "</VirtualHost>\n",
        "<LuaHookLog a>\n",
        "</LuaHookLog>\n",
        "<If \"%{X} > 1\">\n",
        "</If>\n",
        "Include a.conf\n",
        "IncludeOptional *\n",
        "Define X y\n",
        "Header a\\ \n",
        "Listen 80\n",
        "DocumentRoot /x\n",
        "CustomLog /l \"%r\"\n",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

/// A site with random lines in all of its contexts.
fn site() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "EnableSendfile On",
        "enablesendfile off",
        "CustomLog /l main",
        "CustomLog |x main",
        "CustomLog",
        "ErrorLog /e",
        "DocumentRoot /srv/a",
        "DocumentRoot",
        "Redirect / http://a",
        "RewriteRule ^ - [F]",
        "RewriteEngine On",
        "RewriteCond a b",
        "ProxyPass / http://a",
        "Listen 80",
        "SSLEngine On",
        "SSLCertificateFile a",
        "ServerName a:80",
        "ServerAlias *.a ?b",
        "ServerRoot",
        "User",
        "Mutex",
        "Mutex file:/x y",
        "SSLSessionCache",
        "Options",
        "Options -Indexes +FollowSymLinks",
        "Options All",
        "AllowOverride All",
        "<Directory /srv>\nAllowOverride All\n</Directory>",
        "<Directory \"/srv/*\">\n</Directory>",
        "<Directory ~ x>\n</Directory>",
        "<Directory>\n</Directory>",
        "<Location />\nProxyPass http://a\n</Location>",
        "<VirtualHost>\n</VirtualHost>",
        "<LuaHookLog a>\n}\n</LuaHookLog>",
        "LoadModule",
        "LoadModule ssl_module m/mod_ssl.so",
        "MDomain a",
        "BalancerMember x",
        "Header set A b",
        "\"odd name\" x",
        "a \\x",
    ]);
    let lines = || prop::collection::vec(line.clone(), 0..8).prop_map(|lines| lines.join("\n"));
    (lines(), lines(), lines(), lines()).prop_map(|(main, one, two, folder)| {
        format!(
            "Listen 80\n{main}\n<VirtualHost *:80>\n{one}\n</VirtualHost>\n<Directory /srv/a/>\n\
             {folder}\n</Directory>\n<VirtualHost *:443 [::]:443>\n{two}\n</VirtualHost>\n"
        )
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![text(), ".*", "(</?[ab]>\n|[ab] \\\\\n)*"]) {
        let _ = read(&text);
    }

    #[test]
    fn any_site_is_copied_and_changed(text in site(), name in prop::option::of("[ab.*?]{0,3}")) {
        let config = read(&text).unwrap();
        let directive = |name: &str, args: &[&str]| Change::Directive {
            name: name.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        };
        let changes = [
            directive("EnableSendfile", &["Off"]),
            directive("CustomLog", &["/l", "a \"b\\"]),
            directive("AllowOverride", &["None"]),
            directive("ThreadsPerChild", &[]),
            directive("Header", &["set", "A", "c"]),
            Change::Sysctl { name: "net.a".into(), value: "1".into() },
        ];
        let changes: Vec<&Change> = changes.iter().collect();
        let site = match config.site(name.as_deref()) {
            Ok(site) => site,
            Err(_) => config.site(None).unwrap(),
        };
        let own = Shadow {
            folder: "/f".into(),
            port: 8001,
            root: Some("/f/files".into()),
            own_location: true,
            is_link: true,
            ..Shadow::default()
        };
        for shadow in [own, Shadow { as_root: true, ..Shadow::default() }] {
            for changes in [&[], &changes[..]] {
                let copy = config.copy(&site, &shadow, changes);
                let again = read(&copy.text).unwrap();
                let named = |name: &str| {
                    let is = |line: &&Line| line.name.eq_ignore_ascii_case(name);
                    again.lines.iter().filter(is).count()
                };
                prop_assert!(named("VirtualHost") <= 1, "{}", copy.text);
                prop_assert_eq!((named("Listen"), named("PidFile")), (1, 1), "{}", copy.text);
                let forwards = copy.text.contains("http://a");
                prop_assert!(!(forwards && shadow.own_location), "{}", copy.text);
            }
        }
        let diff = config.diff(&site, &changes);
        prop_assert!(diff.starts_with("--- /e/a.conf\n+++ /e/a.conf\n@@ -"), "{}", diff);
    }

    #[test]
    fn what_is_rendered_is_read_as_the_same_tree(text in text()) {
        if let Ok(config) = read(&text) {
            let again = read(&render(&config.lines)).unwrap();
            prop_assert_eq!(shape(&config.lines), shape(&again.lines));
        }
    }
}
