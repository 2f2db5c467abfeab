//! Configurations of HAProxy: what a copy has and lacks, the changes as a diff, and properties that
//! hold for any text; and copies given to the HAProxy of this machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use zc_run::Result;
use zc_tune::haproxy::{Config, HAProxy, Section, Start, render};
use zc_tune::{Candidate, Change, Configured, Copy, Facts, Offer, Scheme, Shadow};

const MAIN: &str = "/e/haproxy.cfg";

fn try_read(text: &str) -> Result<Config> {
    let build = "HAProxy version 2.6.12 2026/10/17\n".to_owned();
    Config::read(MAIN, Start { build, ..Start::default() }, &mut BTreeMap::from([(MAIN, text)]))
}

#[track_caller]
fn read(text: &str) -> HAProxy {
    HAProxy::new(try_read(text).unwrap(), None).unwrap()
}

fn shadow() -> Shadow {
    Shadow {
        folder: "/t/copy".to_owned(),
        port: 8001,
        origin: Some("192.0.2.2:8000".to_owned()),
        ..Shadow::default()
    }
}

/// As distributions and operators have it.
const LIVE: &str = "global
    log /dev/log local0
    log /dev/log local1 notice
    chroot /var/lib/haproxy
    stats socket /run/haproxy/admin.sock mode 660 level admin
    stats timeout 30s
    user haproxy
    group haproxy
    daemon
    nbthread 1
    cpu-map auto:1/1 0
    maxconn 2000

defaults
    log global
    mode http
    option httplog
    timeout connect 5s
    timeout client 50s
    timeout server 50s

listen stats
    bind 127.0.0.1:8404
    stats enable

frontend www
    bind :80  # all
    acl is_api path_beg /api
    acl is_down nbsrv(spare) lt 1
    http-request track-sc0 src table limits
    http-request deny if { sc_http_req_rate(0) gt 100 }
    use_backend api if is_api
    default_backend site

backend site
    balance roundrobin
    option httpchk
    default-server check inter 2s maxconn 50
    server a 192.0.2.20:8080 check weight 10
    server b b.test:443 ssl verify none check resolvers dns

backend api
    server a 192.0.2.21:80 check

backend spare
    server a 192.0.2.22:80 check

backend other
    server a 192.0.2.23:80

backend limits
    stick-table type ip size 10k expire 30s store http_req_rate(10s) peers mine

peers mine
    peer live 127.0.0.1:10000

resolvers dns
    nameserver a 192.0.2.53:53
";

#[test]
fn a_copy_has_what_a_request_meets_and_nothing_of_the_live_server() {
    let copy = read(LIVE).copy(&shadow(), &[]);
    for kept in [
        "log stdout local1 notice",
        "nbthread 1",
        "maxconn 2000",
        "no strict-limits",
        "log global",
        "bind 0.0.0.0:8001\n",
        "use_backend api if is_api",
        "default_backend site",
        "default-server maxconn 50",
        "server a 192.0.2.2:8000 weight 10",
        "server b 192.0.2.2:8000\n",
        "backend spare",
        "store http_req_rate(10s)\n",
    ] {
        assert!(copy.text.contains(kept), "{kept}\n{}", copy.text);
    }
    for gone in [
        "/dev/log",
        "chroot",
        "stats socket",
        "stats timeout",
        "user ",
        "group",
        "daemon",
        "cpu-map",
        ":80\n",
        "8404",
        "check",
        "listen",
        "peers",
        "192.0.2.20",
        "b.test",
        "ssl",
    ] {
        // `option httpchk` is about checks, of which there are none.
        assert!(!copy.text.contains(gone), "{gone}\n{}", copy.text);
    }
    let said = copy.said.join("\n");
    for part in ["an origin of zc's", "not to syslog", "nothing listens for other proxies"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn in_a_location_of_zc_s_own_nothing_answers_or_chooses() {
    let own = Shadow { own_location: true, ..shadow() };
    let copy = read(LIVE).copy(&own, &[]);
    for gone in ["http-request", "use_backend"] {
        assert!(!copy.text.contains(gone), "{gone}\n{}", copy.text);
    }
    // Where rules alone choose, the first is the one.
    let text = "frontend f\n bind :80\n mode http\n use_backend b if { hdr(host) b.test }\n\
                backend b\n mode http\n http-request return status 200\n";
    let configured = read(text);
    assert!(!configured.site().answers_files);
    let copy = configured.copy(&own, &[]);
    assert!(copy.text.contains("    default_backend b\n"), "{}", copy.text);
    assert!(copy.text.contains("    server zc 192.0.2.2:8000\n"), "{}", copy.text);
    // One that answers everything itself has no servers.
    let text = "frontend f\n bind :80\n mode http\n http-request return status 200\n";
    let copy = read(text).copy(&own, &[]);
    assert!(copy.text.contains("listen f\n    bind 0.0.0.0:8001\n    mode http\n    server zc "));
}

#[test]
fn a_copy_over_tls_has_the_certificate_or_the_one_in_its_place() {
    let text = "listen l\n bind :80\n \
                bind :443 ssl crt /c/site.pem alpn h2 strict-sni accept-proxy\n \
                server s 192.0.2.9:80\n";
    let configured = read(text);
    assert_eq!(configured.site().scheme, Scheme::Https);
    let copy = configured.copy(&shadow(), &[]);
    assert!(copy.text.contains("bind 0.0.0.0:8001 ssl crt /c/site.pem alpn h2\n"), "{}", copy.text);
    assert_eq!(copy.reads, ["/c/site.pem"]);
    assert!(copy.said.join("\n").contains("PROXY protocol (accept-proxy)"), "{:?}", copy.said);
    let certificate = Some(("/t/c.pem".to_owned(), "/t/key.pem".to_owned()));
    let copy = configured.copy(&Shadow { certificate, ..shadow() }, &[]);
    assert!(copy.text.contains("ssl crt /t/c.pem alpn h2\n") && copy.reads.is_empty());
}

#[test]
fn a_copy_started_by_root_changes_to_the_user_of_the_configuration() {
    let configured = read(LIVE);
    let copy = |shadow: Shadow| configured.copy(&shadow, &[]).text;
    let as_root = Shadow { as_root: true, known_user: true, ..shadow() };
    assert!(copy(as_root.clone()).contains("user haproxy\n    group haproxy\n"));
    assert!(copy(Shadow { known_user: false, ..as_root.clone() }).contains("uid 65534\n"));
    assert!(!copy(Shadow { is_alone: true, ..as_root }).contains("uid"));
}

#[test]
fn what_asks_others_or_runs_in_a_copy_is_said() {
    let text = "global\n lua-load /etc/x.lua\n busy-polling\nfrontend f\n bind :80\n \
                filter spoe engine e config /e\n default_backend b\nbackend b\n \
                server s 192.0.2.9:80\n use-fcgi-app php\nprogram p\n command /bin/false\n";
    let copy = read(text).copy(&shadow(), &[]);
    for gone in ["busy-polling", "spoe", "fcgi", "program", "/bin/false"] {
        assert!(!copy.text.contains(gone), "{gone}\n{}", copy.text);
    }
    let said = copy.said.join("\n");
    for part in ["\"lua-load /etc/x.lua\"", "runs in the copies, too", "copies that poll", "spoe"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

fn change(configured: &HAProxy, line: &str) -> Change {
    configured.try_line(line, &Facts::default()).unwrap().change
}

#[track_caller]
fn diff(text: &str, lines: &[&str]) -> String {
    let configured = read(text);
    let changes: Vec<Change> = lines.iter().map(|line| change(&configured, line)).collect();
    configured.diff(&changes.iter().collect::<Vec<_>>(), &str::to_owned)
}

#[test]
fn a_change_is_written_to_the_site_s_own_sections() {
    let text = "global\n  nbthread 1 # one\ndefaults\n  mode http\n  option splice-auto\n\
                frontend f\n\tbind :80\n\tdefault_backend b\nbackend b\n\thttp-reuse never\n\
                \thttp-reuse safe\n\tserver s 192.0.2.9:80\n";
    let lines = ["no option splice-auto", "http-reuse always", "tune.bufsize 65536", "nbthread 2"];
    assert_eq!(
        diff(text, &lines),
        "--- /e/haproxy.cfg\n+++ /e/haproxy.cfg\n@@ -1,12 +1,14 @@\n global\n-  nbthread 1 # one\n\
         +  tune.bufsize 65536\n+  nbthread 2 # one\n defaults\n   mode http\n   option splice-auto\n \
         frontend f\n+\tno option splice-auto\n \tbind :80\n \tdefault_backend b\n backend b\n\
         -\thttp-reuse never\n-\thttp-reuse safe\n+\tno option splice-auto\n+\thttp-reuse always\n \
         \tserver s 192.0.2.9:80\n"
    );
    // The copy has it, too.
    let configured = read(text);
    let changes: Vec<Change> = lines.iter().map(|line| change(&configured, line)).collect();
    let copy = configured.copy(&shadow(), &changes.iter().collect::<Vec<_>>());
    let of = |line: &str| copy.text.matches(&format!("    {line}\n")).count();
    assert_eq!(lines.map(of), [2, 1, 1, 1], "{}", copy.text);
    assert_eq!(of("http-reuse never") + of("nbthread 1"), 0, "{}", copy.text);
}

#[test]
fn without_a_global_section_there_is_one_before_all_others() {
    let text = "listen l\n bind :80\n server s 192.0.2.9:80\n";
    assert_eq!(
        diff(text, &["tune.bufsize 65536", "sysctl net.ipv4.tcp_notsent_lowat=16384"]),
        "--- /e/haproxy.cfg\n+++ /e/haproxy.cfg\n@@ -1,3 +1,6 @@\n+global\n+    tune.bufsize 65536\n\
         +\n listen l\n  bind :80\n  server s 192.0.2.9:80\n# /etc/sysctl.d/90-zc-tune.conf:\n\
         # net.ipv4.tcp_notsent_lowat = 16384\n"
    );
    let configured = read(text);
    let change = change(&configured, "sysctl net.ipv4.tcp_notsent_lowat=16384");
    // It is an option of the socket that the copy is given.
    let copy = configured.copy(&shadow(), &[&change]);
    assert!(copy.text.contains("    bind fd@3\n"), "{}", copy.text);
}

#[test]
fn ten_thousand_proxies_are_read_and_copied() {
    let mut text = "defaults\n mode http\n".to_owned();
    for at in 0..10_000 {
        let _ = write!(
            text,
            "frontend f{at}\n bind :{at}\n use_backend b{at} if TRUE\n default_backend b{at}\n\
             backend b{at}\n server s 192.0.2.9:80\n"
        );
    }
    let configured = read(&text);
    let copy = configured.copy(&shadow(), &[]);
    assert_eq!(copy.text.matches("backend b0\n").count(), 2, "{}", copy.text);
    assert_eq!(copy.text.matches("\nfrontend ").count(), 1, "{}", copy.text);
}

/// Text of pieces that mean something to HAProxy.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        "\n",
        "\t",
        "\r\n",
        "\\",
        "\\ ",
        "\"",
        "'",
        "#",
        "\"${A}\"",
        "$",
        "{",
        "}",
        "a",
        "ä",
        "\u{fffd}",
        "\0",
        "global\n",
        "defaults x\n",
        "defaults from x\n",
        "frontend f from x\n",
        "listen l\n",
        "backend b\n",
        ".if 1\n",
        "setenv A \"b\"\n",
        "bind :80\n",
        "default_backend b\n",
        "no ",
        "no\n",
        "option\n",
        "use_backend %[x]\n",
        "server s 192.0.2.9:80\n",
        "crt-base\n",
        "bind :1 ssl crt\n",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

/// A site with random lines in all of its sections.
fn site() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "option splice-auto",
        "no option splice-auto",
        "default option splice-auto",
        "option",
        "no",
        "log",
        "log global",
        "no log",
        "log /dev/log local0",
        "bind",
        "bind :80",
        "bind :1 ssl crt a",
        "bind fd@9 ssl crt-list",
        "server",
        "server s",
        "server s a:1 check maxconn",
        "server-template",
        "dispatch a:1",
        "default-server check",
        "use_backend b if x",
        "use_backend %[src]",
        "default_backend none",
        "default_backend b",
        "http-request deny",
        "redirect",
        "mode http",
        "mode",
        "stick-table peers",
        "stick-table type ip peers m store x",
        "filter spoe",
        "disabled",
        "http-reuse never",
        "tune.bufsize 1",
        "user x",
        "uid 5",
        "lua-load",
        "acl a nbsrv(l/s) b",
        "option httpchk \"GET / HTTP/1.1\\r\\nHost: a\"",
        "source 192.0.2.1",
    ]);
    let lines = || prop::collection::vec(line.clone(), 0..8).prop_map(|lines| lines.join("\n"));
    (lines(), lines(), lines(), lines(), lines()).prop_map(|(global, defaults, front, back, l)| {
        format!(
            "global\n{global}\ndefaults d\n{defaults}\nfrontend f from d\nbind :80\n{front}\n\
             backend b\n{back}\nlisten l\nbind :81\n{l}\n"
        )
    })
}

/// Everything of sections but where it is written.
fn shape(sections: &[Section]) -> Vec<Vec<&[String]>> {
    fn one(section: &Section) -> Vec<&[String]> {
        let lines = section.lines.iter().map(|line| line.words.as_slice());
        std::iter::once(section.header.words.as_slice()).chain(lines).collect()
    }
    sections.iter().map(one).collect()
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![text(), ".*"]) {
        if let Ok(config) = try_read(&text) {
            let again = try_read(&render(&config.sections)).unwrap();
            prop_assert_eq!(shape(&config.sections), shape(&again.sections));
            drop(HAProxy::new(config, None).map(|it| it.copy(&shadow(), &[])));
        }
    }

    #[test]
    fn any_site_is_copied_and_changed(text in site(), name in prop::sample::select(vec!["f", "l"])) {
        let Ok(configured) = HAProxy::new(try_read(&text).unwrap(), Some(name)) else {
            return Ok(());
        };
        let facts = Facts::default();
        let tried = ["option splice-auto", "no log", "maxconn 5", "http-reuse never"];
        let tried = tried.map(|line| configured.try_line(line, &facts).unwrap().change);
        let offered = tried_of(&configured).into_iter().map(|candidate| candidate.change);
        let changes: Vec<Change> = tried.into_iter().chain(offered).collect();
        let changes: Vec<&Change> = changes.iter().collect();
        for shadow in [shadow(), Shadow { own_location: true, as_root: true, ..shadow() }] {
            for changes in [&[], &changes[..]] {
                let Copy { text, .. } = configured.copy(&shadow, changes);
                let again = try_read(&text).unwrap();
                // What is no line of a global section HAProxy refuses.
                let proxies = again.sections.iter().filter(|section| section.kind() != "global");
                let lines = proxies.flat_map(|section| &section.lines);
                let is = |word: &'static str| {
                    lines.clone().filter(move |line| line.words[0] == word)
                };
                prop_assert_eq!(is("bind").count(), 1, "{}", &text);
                let is_origin = |line: &zc_tune::haproxy::Line| {
                    line.words.iter().any(|word| word == "192.0.2.2:8000")
                };
                prop_assert!(is("server").all(is_origin) && is("dispatch").all(is_origin), "{}", &text);
                prop_assert!(!text.contains("/dev/log"), "{}", &text);
            }
        }
        let diff = configured.diff(&changes, &str::to_owned);
        prop_assert!(diff.starts_with("--- /e/haproxy.cfg\n+++ /e/haproxy.cfg\n@@ -"), "{}", diff);
    }
}

fn tried_of(configured: &HAProxy) -> Vec<Candidate> {
    let offers = configured.candidates(&Facts::default());
    offers.iter().filter_map(Offer::candidate).cloned().collect()
}

/// What the HAProxy of this machine says of a copy; `None`: it takes it.
fn refused(program: &Path, text: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("haproxy.cfg");
    std::fs::write(&conf, text).unwrap();
    let output = Command::new(program).arg("-c").arg("-f").arg(&conf).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(said)
}

#[test]
fn haproxy_takes_a_copy_with_every_line_that_is_tried() {
    let program = Path::new("/usr/sbin/haproxy");
    if !program.exists() {
        println!("skipped: no haproxy");
        return;
    }
    let configured = read(LIVE);
    let candidates = tried_of(&configured);
    let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    for name in ["option splice-auto", "http-reuse always", "tune.bufsize 65536", "no log"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // A sysctl's copy needs its socket.
    let is_tried = |candidate: &&Candidate| matches!(candidate.change, Change::Directive { .. });
    let changes: Vec<&Change> =
        candidates.iter().filter(is_tried).map(|candidate| &candidate.change).collect();
    for change in changes.iter().map(|change| vec![*change]).chain([Vec::new(), changes.clone()]) {
        let copy = configured.copy(&shadow(), &change);
        assert_eq!(refused(program, &copy.text), None, "{change:?}\n{}", copy.text);
    }
    for own_location in [false, true] {
        let copy = configured.copy(&Shadow { own_location, ..shadow() }, &[]);
        assert_eq!(refused(program, &copy.text), None, "{}", copy.text);
    }
    let bad = change(&configured, "option splice-perhaps");
    let said = refused(program, &configured.copy(&shadow(), &[&bad]).text).unwrap();
    assert!(said.contains("splice-perhaps"), "{said}");
}
