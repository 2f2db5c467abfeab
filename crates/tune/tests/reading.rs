//! What is told about a configuration: bad input, and which server is the site.

use zc_tune::nginx::{Config, Directive};
use zc_tune::{Scheme, Site};

fn dump(files: &[(&str, &str)]) -> String {
    files.iter().map(|(path, text)| format!("# configuration file {path}:\n{text}\n")).collect()
}

fn main_file(text: &str) -> String {
    dump(&[("/e/nginx.conf", text)])
}

fn names(directives: &[Directive]) -> Vec<&str> {
    directives.iter().map(|directive| directive.name.as_str()).collect()
}

fn refusal(dump: &str) -> String {
    Config::parse(dump).unwrap_err().message
}

#[test]
fn a_text_that_is_no_configuration_is_told_with_file_and_line() {
    let at = |text: &str| {
        let message = refusal(&main_file(text));
        message.strip_prefix("file \"/e/nginx.conf\", ").unwrap().to_owned()
    };
    assert_eq!(at("a;\n}\n"), "line 2: unexpected \"}\"");
    assert_eq!(at("\na {\n b;\n"), "line 2: block \"a\" is not closed");
    assert_eq!(at("a {\n b \"c;\n}\n"), "line 2: a quote \" is not closed");
    assert_eq!(at("a\n 'b'c;"), "line 2: unexpected \"c\" after a closing quote");
    assert_eq!(
        at("a;\nb c\n"),
        "line 3: the file ends within a directive, where \";\" or \"}\" is expected"
    );
    assert_eq!(
        at("\n\na_by_lua_block {\n '}' \n"),
        "line 3: the code of \"a_by_lua_block\" is not closed"
    );
    assert_eq!(at("include b;\n"), "line 1: the included file \"/e/b\" is not in the dump");
    assert_eq!(at("include nginx.conf;"), "line 1: more than 64 blocks and includes in each other");
    assert_eq!(
        at(&"a {\n".repeat(10_000)),
        "line 65: more than 64 blocks and includes in each other"
    );
    let doubling: Vec<(String, String)> = (0..60)
        .map(|index| (format!("/e/{index}"), format!("include {0};\ninclude {0};\nx;", index + 1)))
        .chain([("/e/60".into(), "x;".into())])
        .collect();
    let doubling: Vec<(&str, &str)> =
        doubling.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert!(refusal(&dump(&doubling)).ends_with("more than 1000000 directives"));
    assert!(refusal("events {}").contains("not what nginx -T prints"));
    assert!(refusal("").contains("not what nginx -T prints"));
}

#[test]
fn directives_know_their_file_and_line() {
    let config = Config::parse(&dump(&[
        ("/e/nginx.conf", "a;\nhttp { # b\n  include c/*;\n  d\n  e;\n}\n"),
        ("/e/c/2", "\n\nx '\n' y;z;"),
        ("/e/c/10", "types { include /e/t; }"),
        ("/e/t", "text/html html;"),
    ]))
    .unwrap();
    let http = &config.main[1];
    assert_eq!(names(http.children()), ["types", "x", "z", "d"]);
    let at: Vec<_> = http.children().iter().map(|line| (&*line.file, line.line)).collect();
    assert_eq!(at, [("/e/c/10", 1), ("/e/c/2", 3), ("/e/c/2", 4), ("/e/nginx.conf", 4)]);
    assert_eq!(http.children()[0].children()[0].words(), "text/html html");
}

#[test]
fn lua_is_kept_as_it_is() {
    let code = "\n  local t = { '}' } -- don't }\n  ngx.say([[ } ]])\n";
    let text = format!("http {{\nset_by_lua_block $a{{{code}}}\ninit_by_lua_block {{}}\nx;}}");
    let config = Config::parse(&main_file(&text)).unwrap();
    let [set, init, x] = config.main[0].children() else { panic!("{config:?}") };
    assert_eq!((set.lua.as_deref(), set.args.as_slice()), (Some(code), &["$a".to_owned()][..]));
    assert_eq!(init.lua.as_deref(), Some(""));
    assert_eq!(x.line, 7);
}

#[test]
fn a_file_that_was_made_from_a_dump_has_markers_as_comments() {
    let inner = "# configuration file /old/a:\nevents {}\n# configuration file /old/b:\nhttp { \
     include c;\n\
                 # configuration file /old/d:\nserver { listen 80; }\n}\nx;\n";
    let config = Config::parse(&dump(&[("/e/nginx.conf", inner), ("/e/c", "y;\n")])).unwrap();
    assert_eq!(names(&config.main), ["events", "http", "x"]);
    assert_eq!(names(config.main[1].children()), ["y", "server"]);
    let paths: Vec<_> = config.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["/e/nginx.conf", "/e/c"]);
    assert_eq!(config.files[0].text, inner);
}

fn site_of(text: &str, name: Option<&str>) -> (Site, Config) {
    let config = Config::parse(&main_file(&format!("events {{}}\nhttp {{\n{text}\n}}\n"))).unwrap();
    (config.site(name).unwrap(), config)
}

#[test]
fn the_default_server_that_answers_with_files_is_the_site() {
    let line = |text: &str, name: Option<&str>| {
        let (site, _) = site_of(text, name);
        site.position.rsplit_once(' ').unwrap().1.parse::<u32>().unwrap() - 2
    };
    // Of several servers of one address the first, unless another is the default.
    assert_eq!(line("server { listen 80; }\nserver { listen 80; }", None), 1);
    assert_eq!(line("server { listen 80; }\nserver { listen *:80 default_server; }", None), 2);
    assert_eq!(line("server {}\nserver { listen 80 default; }", None), 2);
    // Redirections and proxies are none.
    assert_eq!(line("server { return 301 https://a; }\nserver { listen 443 ssl; }", None), 2);
    assert_eq!(
        line("server { location / { proxy_pass http://a; } }\nserver { listen 81; }", None),
        2
    );
    assert_eq!(
        line("server { location ~ .* { fastcgi_pass a; } }\nserver { listen 81; }", None),
        2
    );
    assert_eq!(line("server { return 404; }\nserver { listen 80; }", None), 2);
    assert_eq!(line("server { listen unix:/a; }\nserver { listen 81; }", None), 2);
    assert_eq!(line("server { return 404; }\nserver { return 405; }", None), 1);
    assert_eq!(line("server { server_name a b; }\nserver { server_name *.b; }", Some("c.b")), 2);
}

#[test]
fn a_site_tells_what_is_not_asked() {
    let (site, _) = site_of(
        "limit_rate 1m;\nserver { listen 80; listen 443 ssl http2; server_name a.b; auth_basic \
         off;\n\
         location /api { proxy_pass http://a; }\nlocation ~ \\.php$ { fastcgi_pass a; }\n\
         location / { deny all; location /x/ { proxy_pass http://a; } } }",
        Some("A.B"),
    );
    assert_eq!((site.scheme, site.http2, site.answers_files), (Scheme::Https, true, true));
    assert_eq!((site.name.as_str(), site.why.as_str()), ("a.b", "its server_name matches \"A.B\""));
    assert_eq!(
        site.said,
        [
            "the site has http and https: https is tried",
            "answered by proxy_pass, so not asked: location \"/api\" (line 5 of \
             /e/nginx.conf), \"/x/\" (line 7 of \
         /e/nginx.conf)",
            "answered by fastcgi_pass, so not asked: location \"~ \\.php$\" (line 6 of \
             /e/nginx.conf)",
            "\"limit_rate 1m\" (/e/nginx.conf, line 3) may answer or delay requests for files",
            "\"deny all\" (/e/nginx.conf, line 7) may answer or delay requests for files",
        ]
    );
}

#[test]
fn a_name_that_no_server_has_is_told_with_those_there_are() {
    let config =
        Config::parse(&main_file("http { server { server_name a b; } server { server_name _; } }"));
    let error = config.unwrap().site(Some("c")).unwrap_err();
    assert_eq!(error.message, "no server block is named \"c\"");
    assert_eq!(error.help.unwrap(), "names of the configuration: \"a\", \"b\"");
    for (text, what) in
        [("events {}", "http block"), ("http { map a b {} }", "server block in its http block")]
    {
        let error = Config::parse(&main_file(text)).unwrap().site(None).unwrap_err();
        assert_eq!(error.message, format!("file \"/e/nginx.conf\" has no {what}"));
    }
}

#[test]
fn the_innermost_directive_is_in_effect() {
    let (site, config) = site_of(
        "sendfile on; gzip on; aio on;\nserver { listen 80; gzip off; aio off; location / { aio \
         threads; } \
         location /a { sendfile off; } }",
        None,
    );
    let in_effect = |name: &str| config.in_effect(&site, name).map(Directive::words);
    assert_eq!(in_effect("sendfile").unwrap(), "sendfile on");
    assert_eq!(in_effect("gzip").unwrap(), "gzip off");
    assert_eq!(in_effect("aio").unwrap(), "aio threads");
    assert_eq!(in_effect("tcp_nopush"), None);
}
