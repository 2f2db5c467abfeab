//! Configurations of nginx: what `nginx -T` prints, or one file of it.

use zc_tune::nginx::{Config, render};
use zc_tune::{Change, Shadow};

/// What stands before a text that has no marker of its own.
const MARKER: &str = "# configuration file /e/nginx.conf:\n";

/// Texts to begin a corpus with.
pub const SEEDS: [(&str, &str); 3] = [
    (
        "seed-site",
        "user nobody;\nevents { worker_connections 9; }\nhttp {\n  sendfile on;\n  access_log \
         /l main;\n  server {\n    listen 80 default_server;\n    server_name a *.b;\n    root \
         /w;\n    location / { tcp_nopush on; }\n    location ~ \\.php$ { fastcgi_pass \
         unix:/p; }\n  }\n}\n",
    ),
    (
        "seed-dump",
        "# configuration file /e/nginx.conf:\nevents {}\nhttp { include s/*; upstream u { server \
         a; } }\n\n# configuration file /e/s/a:\nserver { listen 443 ssl; ssl_certificate c; \
         ssl_certificate_key k; if ($a = \"b\") { return 301 /; } location /a { proxy_pass \
         http://u; } }\n\n",
    ),
    (
        "seed-lua",
        "events {}\nhttp { init_by_lua_block { a = \"}\" --}\n b = [[ } ]] }\n geo $g { default \
         0; } map $a $b { \"x y\" 1; } server { content_by_lua_block { x() } root '/a b'; } }\n",
    ),
];

fn changes() -> [Change; 4] {
    let directive = |name: &str, args: &[&str]| Change::Directive {
        name: name.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
    };
    [
        directive("sendfile", &["off"]),
        directive("access_log", &["/l", "a b"]),
        directive("worker_connections", &["1"]),
        Change::Listen { parameter: "reuseport".to_owned(), on: true },
    ]
}

/// Reads a dump, or a file as the only one of a dump: an error is a sentence; what is rendered is
/// read again as the same; each site can be copied and changed.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let dump = match text.starts_with('#') {
        true => text.into_owned(),
        false => format!("{MARKER}{text}\n"),
    };
    let config = match Config::parse(&dump) {
        Ok(config) => config,
        Err(error) => {
            assert!(!error.message.is_empty());
            return;
        }
    };
    let rendered = render(&config.main);
    let again = Config::parse(&format!("{MARKER}{rendered}\n")).expect("what was rendered");
    assert_eq!(render(&again.main), rendered);
    let changes = changes();
    let changes: Vec<&Change> = changes.iter().collect();
    let Ok(site) = config.site(None) else { return };
    for own_location in [false, true] {
        let root = own_location.then(|| "/f/files".to_owned());
        let folder = "/f".to_owned();
        let shadow = Shadow { folder, port: 1, root, own_location, ..Shadow::default() };
        let copy = config.copy(&site, &shadow, &changes);
        let copy = Config::parse(&format!("{MARKER}{}\n", copy.text)).expect("a copy");
        copy.site(None).expect("a site in a copy");
    }
    config.diff(&site, &changes);
}
