//! Diffs, given to patch(1) where it is installed.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use zc_tune::Change;
use zc_tune::nginx::Config;

fn directive(words: &str) -> Change {
    let (name, args) = words.split_once(' ').unwrap();
    Change::Directive { name: name.into(), args: args.split(' ').map(str::to_owned).collect() }
}

fn listen(parameter: &str, on: bool) -> Change {
    Change::Listen { parameter: parameter.into(), on }
}

/// The diff of a configuration in one file, and the file as patch(1) leaves it.
#[track_caller]
fn patched(text: &str, changes: &[Change]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    // A name with a space, as patch reads names up to one.
    let path = folder.path().join("my nginx.conf");
    fs::write(&path, text).unwrap();
    let dump = format!("# configuration file {}:\n{text}\n", path.display());
    let config = Config::parse(&dump).unwrap();
    let site = config.site(None).unwrap();
    let changes: Vec<&Change> = changes.iter().collect();
    let diff = config.diff(&site, &changes);
    let spawned = Command::new("patch")
        .args(["-p0", "-d", "/", "--binary", "--fuzz=0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut patch = match spawned {
        Ok(patch) => patch,
        Err(error) => {
            println!("skipped: patch: {error}");
            return (diff, String::new());
        }
    };
    patch.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
    let output = patch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !said.contains("offset"), "{said}\n{diff}");
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 1, "a .rej or .orig was left: {said}\n{diff}");
    (diff, fs::read_to_string(&path).unwrap())
}

/// Asserts what a file becomes.
#[track_caller]
fn becomes(text: &str, changes: &[Change], expected: &str) {
    let (diff, patched) = patched(text, changes);
    if !patched.is_empty() {
        assert_eq!(patched, expected, "{diff}");
    }
}

const PLAIN: &str = "user a;
events {
\tworker_connections 768;
}

http {
\tsendfile on; # of all
\ttcp_nopush on;

\taccess_log /var/log/a.log
\t\tcombined;
\taccess_log /var/log/b.log;

\tserver {
\t\tlisten 80 default_server;
\t\tlisten [::]:80 default_server;
\t\troot /srv;

\t\tlocation / {
\t\t\ttcp_nopush on;
\t\t}
\t}
}
";

#[test]
fn a_directive_is_replaced_where_it_is_in_effect() {
    becomes(
        PLAIN,
        &[
            directive("sendfile off"),
            directive("tcp_nopush off"),
            directive("worker_connections 9"),
        ],
        &PLAIN
            .replace("sendfile on;", "sendfile off;")
            .replace("\t\t\ttcp_nopush on;", "\t\t\ttcp_nopush off;")
            .replace("768", "9"),
    );
}

#[test]
fn a_new_directive_is_added_where_it_belongs() {
    becomes(
        PLAIN,
        &[
            directive("sendfile_max_chunk 1m"),
            directive("aio threads"),
            directive("multi_accept on"),
            directive("worker_cpu_affinity auto"),
        ],
        &PLAIN
            .replace("server {\n", "server {\n\t\tsendfile_max_chunk 1m;\n\t\taio threads;\n")
            .replace("events {\n", "worker_cpu_affinity auto;\nevents {\n\tmulti_accept on;\n"),
    );
}

#[test]
fn several_of_one_directive_become_one() {
    becomes(
        PLAIN,
        &[directive("access_log /var/log/a.log combined buffer=64k")],
        &PLAIN
            .replace("a.log\n\t\tcombined;", "a.log combined buffer=64k;")
            .replace("\taccess_log /var/log/b.log;\n", ""),
    );
}

#[test]
fn parameters_of_listen_are_set_on_all_addresses_of_the_site() {
    becomes(
        PLAIN,
        &[listen("reuseport", true), listen("backlog=4096", true)],
        &PLAIN.replace("default_server;", "default_server reuseport backlog=4096;"),
    );
    let other = "events {}\nhttp {\n  server { listen 81; listen 80 backlog=9 reuseport; return \
     404; }\n  \
                 server { listen 80 default_server; root /srv; }\n}\n";
    // Options of a socket may stand in one place only, and they stand at the other server.
    becomes(
        other,
        &[listen("reuseport", false), listen("backlog=4096", true)],
        &other.replace("backlog=9 reuseport;", "backlog=4096;"),
    );
}

#[test]
fn lines_without_a_newline_carriage_returns_and_one_line_blocks_stay_as_they_are() {
    becomes(
        "events {}\nhttp { server { listen 80; } }",
        &[directive("sendfile on"), directive("tcp_nopush on"), directive("multi_accept on")],
        "events { multi_accept on;}\nhttp { server { sendfile on; tcp_nopush on; listen 80; } }",
    );
    becomes(
        "events {}\r\nhttp {\r\n  sendfile on;\r\n  server {\r\n    listen 80;\r\n  }\r\n}\r\n",
        &[directive("sendfile off"), directive("tcp_nopush on")],
        "events {}\r\nhttp {\r\n  sendfile off;\r\n  server {\r\n    tcp_nopush on;\r\n    listen \
         80;\r\n  }\r\n}\r\n",
    );
}

#[test]
fn changes_far_apart_are_hunks_of_their_own() {
    let filler =
        |name: &str| (0..40).map(|index| format!("    # {name} {index}\n")).collect::<String>();
    let text = format!(
        "events {{}}\nhttp {{\n{}    sendfile on;\n{}    server {{\n        listen 80;\n    \
         }}\n{}    gzip on;\n}}\n",
        filler("a"),
        filler("b"),
        filler("c")
    );
    let changes = [directive("gzip off"), directive("aio threads"), directive("sendfile off")];
    let (diff, _) = patched(&text, &changes);
    assert_eq!(diff.matches("\n@@ ").count(), 3, "{diff}");
    becomes(
        &text,
        &changes,
        &text
            .replace("sendfile on", "sendfile off")
            .replace("server {\n", "server {\n        aio threads;\n")
            .replace("gzip on", "gzip off"),
    );
}

#[test]
fn lists_grow_and_what_is_said_again_is_replaced() {
    let text = "events {}\nhttp {\n    server {\n        listen 443 ssl;\n        \
                ssl_conf_command Options -KTLS;\n        \
                ssl_conf_command MinProtocol TLSv1.2;\n    }\n}\n";
    becomes(
        text,
        &[
            directive("ssl_conf_command Options KTLS"),
            directive("ssl_conf_command Options PrioritizeChaCha"),
        ],
        &text.replace("Options -KTLS", "Options KTLS").replace(
            "TLSv1.2;\n",
            "TLSv1.2;\n        ssl_conf_command Options PrioritizeChaCha;\n",
        ),
    );
}

#[test]
fn sysctls_follow_as_a_comment_and_nothing_is_no_diff() {
    let sysctl = Change::Sysctl { name: "net.ipv4.tcp_wmem".into(), value: "4096 16384 1".into() };
    let (diff, patched) = patched(PLAIN, &[directive("sendfile off"), sysctl]);
    assert!(
        diff.ends_with("# /etc/sysctl.d/90-zc-tune.conf:\n# net.ipv4.tcp_wmem = 4096 16384 1\n")
    );
    assert!(patched.is_empty() || patched.contains("sendfile off;"));
    let config = Config::parse(&format!("# configuration file /a:\n{PLAIN}\n")).unwrap();
    let site = config.site(None).unwrap();
    assert_eq!(config.diff(&site, &[]), "");
    assert_eq!(config.diff(&site, &[&directive("sendfile on")]), "");
}
