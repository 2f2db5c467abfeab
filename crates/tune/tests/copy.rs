//! What a copy has and lacks, without nginx.

use zc_tune::nginx::{Config, Directive};
use zc_tune::{Change, Copy, Shadow};

fn directive(words: &str) -> Change {
    let (name, args) = words.split_once(' ').unwrap();
    Change::Directive { name: name.into(), args: args.split(' ').map(str::to_owned).collect() }
}

fn parse(files: &[(&str, &str)]) -> Config {
    let dump = files.iter().map(|(path, text)| format!("# configuration file {path}:\n{text}\n"));
    Config::parse(&dump.collect::<String>()).unwrap()
}

fn shadow() -> Shadow {
    Shadow { folder: "/f".into(), port: 8001, root: Some("/f/files".into()), ..Shadow::default() }
}

/// The copy of a configuration with these lines in http, and its http block without what every copy
/// has at its beginning.
fn copy_with(http: &str, shadow: &Shadow, changes: &[Change]) -> (Copy, Vec<Directive>) {
    let config = parse(&[("/e/nginx.conf", &format!("events {{}}\nhttp {{\n{http}\n}}\n"))]);
    let site = config.site(None).unwrap();
    let changes: Vec<&Change> = changes.iter().collect();
    let copy = config.copy(&site, shadow, &changes);
    let again = parse(&[("/f/nginx.conf", &copy.text)]);
    let http = again.main.iter().find(|line| line.name == "http").unwrap();
    let is_own = |line: &&Directive| line.name.ends_with("_temp_path");
    (copy, http.children().iter().filter(|line| !is_own(line)).cloned().collect())
}

/// The words of all lines, those of blocks after them with a space for each level.
fn lines(directives: &[Directive]) -> Vec<String> {
    let mut out = Vec::new();
    for directive in directives {
        out.push(directive.words());
        out.extend(lines(directive.children()).iter().map(|line| format!(" {line}")));
    }
    out
}

#[test]
fn logs_that_go_to_no_file_are_off_rather_than_those_of_an_outer_block() {
    let (copy, http) = copy_with(
        "access_log /l a;\nserver { listen 80; access_log syslog:server=a b; access_log off; }",
        &shadow(),
        &[],
    );
    assert_eq!(
        lines(&http),
        [
            "access_log /f/access-1.log a",
            "server",
            " listen 0.0.0.0:8001",
            " root /f/files",
            " access_log off"
        ]
    );
    assert_eq!(copy.said.len(), 1);
    let (_, http) =
        copy_with("access_log syslog:server=a b;\nserver { listen 80; }", &shadow(), &[]);
    assert_eq!(lines(&http[1..]), ["access_log off"]);
}

#[test]
fn lines_of_the_process_are_the_copy_s_and_those_of_the_host_only_a_change_s() {
    let main = "daemon on; pid /p; user a; worker_cpu_affinity 01; worker_processes 4;\nevents {}\n\
                http { server { listen 80; } }\n";
    let config = parse(&[("/e/nginx.conf", main)]);
    let site = config.site(None).unwrap();
    let text = |changes: &[&Change]| config.copy(&site, &shadow(), changes).text;
    let begin =
        "daemon off;\npid /f/nginx.pid;\nlock_file /f/nginx.lock;\nerror_log /f/error.log;\n";
    assert!(text(&[]).starts_with(&format!("{begin}worker_processes 4;\nevents {{")));
    let own = directive("worker_cpu_affinity auto");
    let expected = format!("{begin}worker_cpu_affinity auto;\nworker_processes 4;\nevents {{");
    assert!(text(&[&own]).starts_with(&expected));
}

#[test]
fn upstreams_stay_where_something_names_them_and_lead_nowhere() {
    let (copy, http) = copy_with(
        "upstream a { server a.b:80 weight=2 resolve; keepalive 4; }\nupstream unused { server b; \
         }\n\
         upstream c { zone c 64k; state /var/c; }\nmap $uri $c { default c; }\n\
         server { listen 80; location /a { proxy_pass http://a; }\n\
         location /b { other_pass a; } }",
        &shadow(),
        &[],
    );
    assert_eq!(
        lines(&http)[..6],
        [
            "upstream a",
            " server unix:/f/none.sock weight=2",
            " keepalive 4",
            "upstream c",
            " server unix:/f/none.sock",
            " zone c 64k",
        ]
    );
    assert!(copy.text.contains("proxy_pass http://unix:/f/none.sock;"), "{}", copy.text);
    assert!(!copy.text.contains("unused"), "{}", copy.text);
    assert_eq!(copy.said, ["2 lines that forward lead nowhere: they would answer 502"]);
}

#[test]
fn exceptions_of_a_site_stay() {
    let (_, http) = copy_with(
        "access_log /l; sendfile on;\nserver { listen 80;\n\
         location = /a { sendfile on; }\nlocation /b { sendfile on; access_log off; }\n\
         location /c { access_log /c; access_log /d; }\n\
         location /d { proxy_pass http://a; sendfile on; } }",
        &shadow(),
        &[directive("sendfile off"), directive("access_log /l a buffer=64k")],
    );
    let server = http.iter().find(|line| line.name == "server").unwrap();
    assert_eq!(lines(&http)[..2], ["access_log /f/access-1.log a buffer=64k", "sendfile off"]);
    assert_eq!(
        lines(&server.children()[2..]),
        [
            "location = /a",
            " sendfile on",
            "location /b",
            " sendfile off",
            " access_log off",
            "location /c",
            " access_log /f/access-1.log a buffer=64k",
            "location /d",
            " proxy_pass http://unix:/f/none.sock",
            " sendfile on",
        ]
    );
}

#[test]
fn the_own_location_serves_as_the_root_location_would() {
    let (_, http) = copy_with(
        "server { listen 80; auth_request /a; rewrite ^ /b; if ($a) { set $b 1; return 403; }\n\
         location / { gzip_static on; types { a b; } expires 1d; limit_req zone=a; root /x; \
         try_files $uri @a; } }",
        &Shadow { own_location: true, ..shadow() },
        &[directive("expires 2d"), directive("sendfile on")],
    );
    assert_eq!(
        lines(&http[1..]),
        [
            "server",
            " listen 0.0.0.0:8001",
            " root /f/files",
            " sendfile on",
            " if ($a)",
            "  set $b 1",
            " location /",
            "  gzip_static on",
            "  types",
            "   a b",
            "  expires 2d",
            "  limit_req zone=a",
            "  root /f/files",
            "  try_files $uri @a",
            " location ^~ /zc-tune/",
            "  root /f/files",
            "  gzip_static on",
            "  types",
            "   a b",
            "  expires 2d",
        ]
    );
}

#[test]
fn a_listen_has_the_options_that_another_server_sets_for_its_address() {
    let (copy, http) = copy_with(
        "server { listen 443 ssl backlog=9 deferred ipv6only=off; return 404; }\n\
         server { listen *:443 ssl http2 proxy_protocol default_server; ssl_ocsp on; \
         ssl_verify_client on; ssl_certificate a.pem; ssl_certificate_key a.key; }",
        &shadow(),
        &[Change::Listen { parameter: "reuseport".into(), on: true }],
    );
    assert_eq!(
        lines(&http[1..]),
        [
            "server",
            " listen 0.0.0.0:8001 ssl http2 backlog=9 deferred reuseport",
            " root /f/files",
            " ssl_certificate /e/a.pem",
            " ssl_certificate_key /e/a.key",
        ]
    );
    assert_eq!(
        copy.said,
        [
            "1 other server block is left out",
            "\"proxy_protocol\" of its listen (/e/nginx.conf, line 4) is left out: zc's load does \
             not use it",
            "\"ssl_verify_client on\" (/e/nginx.conf, line 4) is left out: zc's load has no \
             certificate",
        ]
    );
    assert_eq!(copy.reads, ["/e/a.pem", "/e/a.key"]);
}

#[test]
fn a_file_that_is_included_twice_is_changed_once() {
    let config = parse(&[
        (
            "/e/nginx.conf",
            "events {}\nhttp { server { listen 80; location / { include a; } location /b { \
             include a; } } }\n",
        ),
        ("/e/a", "add_header a b;\n"),
    ]);
    let site = config.site(None).unwrap();
    let diff = config.diff(&site, &[&directive("add_header c d")]);
    assert_eq!(diff, "--- /e/a\n+++ /e/a\n@@ -1,1 +1,2 @@\n add_header a b;\n+add_header c d;\n");
}

#[test]
fn what_may_be_the_live_server_s_is_told() {
    let (copy, _) = copy_with(
        "init_by_lua_block { x }\nserver { listen 80; audit_log /var/log/audit.log; allow unix:; \
         root /var/log/www; }",
        &shadow(),
        &[],
    );
    assert_eq!(
        copy.said,
        [
            "\"init_by_lua_block\" (/e/nginx.conf, line 3) runs in the copy, too",
            "\"audit_log /var/log/audit.log\" (/e/nginx.conf, line 4) stays as it is",
        ]
    );
}

#[test]
fn names_that_only_the_live_server_s_network_knows_are_addresses() {
    let (_, http) = copy_with(
        "resolver 10.0.0.2 [::1]:53 dns.local:5353 valid=5s ipv6=off;\nset_real_ip_from a.b;\n\
         set_real_ip_from 10.0.0.0/8; set_real_ip_from 2001:db8::/32;\nserver { listen 80; }",
        &shadow(),
        &[],
    );
    assert_eq!(
        lines(&http[1..5]),
        [
            "resolver 10.0.0.2 [::1]:53 127.0.0.1 valid=5s ipv6=off",
            "set_real_ip_from 127.0.0.1",
            "set_real_ip_from 10.0.0.0/8",
            "set_real_ip_from 2001:db8::/32",
        ]
    );
}

#[test]
fn lua_njs_and_lines_of_other_modules_stay_and_their_files_are_found() {
    let (copy, http) = copy_with(
        "js_import main from njs/a.js;\nlua_package_path '/l/?.lua;;';\nmore_set_headers 'A: b';\n\
         server { listen 80; vhost_traffic_status on;\nlocation /a { content_by_lua_block { x('}') } \
         }\nlocation /b { js_content main.b; }\n\
         location / { header_filter_by_lua_file lua/h.lua; } }",
        &shadow(),
        &[],
    );
    let lines = lines(&http);
    for line in [
        "js_import main from /e/njs/a.js",
        "lua_package_path /l/?.lua;;",
        "more_set_headers A: b",
        " vhost_traffic_status on",
        "  content_by_lua_block",
        "  js_content main.b",
        "  header_filter_by_lua_file /usr/local/nginx/lua/h.lua",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
    assert!(copy.text.contains("content_by_lua_block { x('}') }"), "{}", copy.text);
}
