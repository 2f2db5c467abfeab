//! Caddyfiles: what a copy has and lacks, the changes as a diff, and properties that hold for any
//! text; and copies given to the Caddy of this machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use zc_run::Result;
use zc_tune::caddy::{Caddy, Config, Line, Start, render};
use zc_tune::{Candidate, Change, Configured, Copy, Facts, Offer, Scheme, Shadow};

const MAIN: &str = "/e/Caddyfile";

fn read_files(files: &[(&str, &str)]) -> Result<Config> {
    let start = Start { build: "Caddy 2.6.2".to_owned(), ..Start::default() };
    Config::read(MAIN, start, &mut files.iter().copied().collect::<BTreeMap<_, _>>())
}

#[track_caller]
fn read(text: &str) -> Caddy {
    Caddy::new(read_files(&[(MAIN, text)]).unwrap(), None).unwrap()
}

fn shadow() -> Shadow {
    let root = Some("/t/files".to_owned());
    Shadow { folder: "/t/copy".to_owned(), port: 8001, root, ..Shadow::default() }
}

/// As operators have it.
const LIVE: &str = "{
	email admin@example.com
	admin unix//run/caddy/admin.sock
	storage file_system /var/lib/caddy
	order webdav before file_server
	crowdsec {
		api_url http://localhost:8080
	}
	log {
		output file /var/log/caddy/error.log
		level ERROR
	}
	servers {
		metrics
		listener_wrappers {
			proxy_protocol
			tls
		}
	}
}

(logged) {
	log {
		output file /var/log/caddy/{args[0]}.log {
			roll_size 100mb
		}
	}
}

&(app) {
	reverse_proxy app:9000
}

example.com, www.example.com, http://old.example.com {
	bind 192.0.2.1
	import logged site
	tls admin@example.com {
		protocols tls1.3
		client_auth {
			mode require
		}
	}
	root * /srv/www
	encode zstd gzip
	header /static/* Cache-Control max-age=3600
	handle /api/* {
		reverse_proxy app:9000 {
			health_uri /health
		}
	}
	handle {
		php_fastcgi unix//run/php.sock
		file_server {
			hide .git
		}
	}
}

other.example.com {
	respond 200
}
";

#[test]
fn a_copy_has_what_a_request_meets_and_nothing_of_the_live_server() {
    let copy = read(LIVE).copy(&shadow(), &[]);
    for kept in [
        "{\n\tadmin off\n\tauto_https off\n",
        "order webdav before file_server",
        "level ERROR\n\t\toutput stderr\n",
        "servers {\n\t\tmetrics\n\t}",
        "https://example.com:8001 https://www.example.com:8001 {\n",
        "log {\n\t\toutput stdout\n\t}",
        "tls internal {\n\t\tprotocols tls1.3\n\t}",
        "root * /t/files\n",
        "encode zstd gzip",
        "header /static/* Cache-Control max-age=3600",
        "handle /api/* {\n\t\treverse_proxy 127.0.0.1:9 {\n\t\t}\n",
        "php_fastcgi 127.0.0.1:9\n",
        "hide .git",
        "&(app) {\n\treverse_proxy 127.0.0.1:9\n",
    ] {
        assert!(copy.text.contains(kept), "{kept}\n{}", copy.text);
    }
    for gone in [
        "/run/",
        "/var/",
        "admin@",
        "app:9000",
        "192.0.2.1",
        "crowdsec",
        "proxy_protocol",
        "client_auth",
        "health",
        "old.example",
        "other.example",
        "import",
        "/srv",
    ] {
        assert!(!copy.text.contains(gone), "{gone}\n{}", copy.text);
    }
    let said = copy.said.join("; ");
    for part in
        ["1 other site", "\"crowdsec\" (/e/Caddyfile, line 6)", "\"client_auth\"", "3 lines"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(copy.reads.is_empty());
}

#[test]
fn a_copy_has_the_certificates_of_the_site_or_those_it_is_given() {
    let text = "a.test {\n\ttls /c.pem /k.pem\n\tfile_server\n}\n";
    let caddy = read(text);
    assert_eq!(caddy.site().scheme, Scheme::Https);
    let copy = caddy.copy(&shadow(), &[]);
    assert!(copy.text.contains("tls /c.pem /k.pem {"), "{}", copy.text);
    assert_eq!(copy.reads, ["/c.pem", "/k.pem"]);
    let certificate = Some(("/t/c".to_owned(), "/t/k".to_owned()));
    let copy = caddy.copy(&Shadow { certificate, ..shadow() }, &[]);
    assert!(copy.text.contains("tls /t/c /t/k {") && copy.reads.is_empty(), "{}", copy.text);
}

#[test]
fn a_site_that_does_not_answer_with_files_is_asked_without_what_answers() {
    let text = "*.test:80 {\n\tlog\n\theader X y\n\tbasicauth {\n\t\ta b\n\t}\n\treverse_proxy \
                app:80\n}\n";
    let caddy = read(text);
    assert!(!caddy.site().answers_files);
    let copy = caddy.copy(&Shadow { own_location: true, ..shadow() }, &[]);
    assert_eq!(
        copy.text,
        "{\n\tadmin off\n\tauto_https off\n}\nhttp://:8001 {\n\tlog {\n\t\toutput \
         stdout\n\t}\n\theader X y\n\tfile_server\n\troot * /t/files\n}\n"
    );
}

fn tried(caddy: &Caddy, lines: &[&str]) -> Vec<Change> {
    let facts = Facts::default();
    lines.iter().map(|line| caddy.try_line(line, &facts).unwrap().change).collect()
}

#[track_caller]
fn diff(text: &str, lines: &[&str], expected: &str) {
    let caddy = read(text);
    let changes = tried(&caddy, lines);
    let changes: Vec<&Change> = changes.iter().collect();
    assert_eq!(caddy.diff(&changes, &str::to_owned), expected);
    // And the copy has them.
    let copy = caddy.copy(&shadow(), &changes).text;
    for line in lines.iter().filter(|line| !line.contains("without") && !line.contains('=')) {
        let line = line.trim_start_matches("servers ").trim_start_matches("global ");
        assert!(copy.contains(line), "{line}\n{copy}");
    }
}

#[test]
fn changes_are_a_diff_of_the_lines_they_are_in() {
    diff(
        ":80 {\n\tlog {\n\t\toutput discard\n\t}\n\tfile_server\n}\n",
        &["without log", "encode gzip"],
        "--- /e/Caddyfile\n+++ /e/Caddyfile\n@@ -1,6 +1,4 @@\n :80 {\n-\tlog {\n-\t\toutput \
         discard\n-\t}\n+\tencode gzip\n \tfile_server\n }\n",
    );
    // Two lines of one block that is not there are in one.
    diff(
        ":80 {\n\tfile_server\n}\n",
        &["servers protocols h1", "servers metrics", "env GOGC=400"],
        "--- /e/Caddyfile\n+++ /e/Caddyfile\n@@ -1,3 +1,10 @@\n+{\n+\tservers {\n+\t\tprotocols \
         h1\n+\t\tmetrics\n+\t}\n+}\n+\n :80 {\n \tfile_server\n }\n# [Service] of its unit, \
         by systemctl edit:\n# Environment=GOGC=400\n",
    );
    let several = ["global debug", "servers protocols h1", "servers metrics"];
    diff(
        ":80 {\n}\n",
        &several,
        "--- /e/Caddyfile\n+++ /e/Caddyfile\n@@ -1,2 +1,10 @@\n+{\n+\tdebug\n+\tservers \
         {\n+\t\tprotocols h1\n+\t\tmetrics\n+\t}\n+}\n+\n :80 {\n }\n",
    );
    diff(
        "{\n}\n:80 {\n}\n",
        &several,
        "--- /e/Caddyfile\n+++ /e/Caddyfile\n@@ -1,4 +1,9 @@\n {\n+\tdebug\n+\tservers \
         {\n+\t\tprotocols h1\n+\t\tmetrics\n+\t}\n }\n :80 {\n }\n",
    );
    diff(
        "{\n\tdebug\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n:80\n\nfile_server\n",
        &[
            "servers protocols h1",
            "servers max_header_size 5mb",
            "without global debug",
            "global metrics",
            "encode gzip",
        ],
        "--- /e/Caddyfile\n+++ /e/Caddyfile\n@@ -1,9 +1,11 @@\n {\n-\tdebug\n+\tmetrics\n \tservers \
         {\n-\t\tprotocols h1 h2\n+\t\tmax_header_size 5mb\n+\t\tprotocols h1\n \t}\n }\n \
         :80\n+encode gzip\n \n file_server\n",
    );
    assert_eq!(read(":80 {\n}\n").diff(&[], &str::to_owned), "");
}

#[test]
fn of_two_lines_that_set_the_same_the_last_counts() {
    let caddy = read("a.test:8080, a.test:8081 {\n\tfile_server\n}\n");
    let changes = tried(&caddy, &["encode zstd", "encode gzip"]);
    let changes: Vec<&Change> = changes.iter().collect();
    assert!(!caddy.diff(&changes, &str::to_owned).contains("zstd"));
    let copy = caddy.copy(&shadow(), &changes).text;
    assert!(copy.contains("encode gzip") && !copy.contains("zstd"), "{copy}");
    // And two ports of one host are one.
    assert_eq!(copy.matches("a.test").count(), 1, "{copy}");
}

#[test]
fn a_line_of_a_snippet_is_changed_in_the_file_that_has_it() {
    let config = read_files(&[
        (MAIN, "import snippets\n:80 {\n\timport logged\n\tfile_server\n}\n"),
        ("/e/snippets", "(logged) {\n\tlog\n}\n"),
    ]);
    let caddy = Caddy::new(config.unwrap(), None).unwrap();
    let changes = tried(&caddy, &["without log"]);
    let path = |path: &str| path.replace("/e/", "/real/");
    assert_eq!(
        caddy.diff(&[&changes[0]], &path),
        "--- /real/snippets\n+++ /real/snippets\n@@ -1,3 +1,2 @@\n (logged) {\n-\tlog\n }\n"
    );
    assert!(!caddy.copy(&shadow(), &[&changes[0]]).text.contains("log"));
}

/// Whether Caddy takes a copy; `None`, with the reason said, where there is no Caddy.
fn validated(copy: &Copy) -> Option<(bool, String)> {
    if !Path::new("/usr/bin/caddy").exists() {
        eprintln!("skipped: no caddy");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Caddyfile");
    std::fs::write(&file, &copy.text).unwrap();
    let mut command = Command::new("/usr/bin/caddy");
    command.args(["validate", "--adapter", "caddyfile", "--config"]).arg(&file);
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(name, folder.path());
    }
    let output = command.output().unwrap();
    Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn caddy_takes_the_copies_of_each_candidate() {
    // What a package has no module for.
    let live = LIVE.replace("\torder webdav before file_server\n", "");
    // Named routes came with 2.7.
    let live = live.replace("&(app) {\n\treverse_proxy app:9000\n}\n", "");
    for text in [live.as_str(), ":80 {\n\tlog\n\tfile_server\n}\n"] {
        let caddy = read(text);
        let offers = caddy.candidates(&Facts::default());
        let candidates: Vec<&Candidate> = offers.iter().filter_map(Offer::candidate).collect();
        assert!(!candidates.is_empty());
        let mut copies = vec![caddy.copy(&shadow(), &[])];
        copies.push(caddy.copy(&Shadow { own_location: true, ..shadow() }, &[]));
        copies.extend(candidates.iter().map(|it| caddy.copy(&shadow(), &[&it.change])));
        for copy in &copies {
            let Some((is_valid, said)) = validated(copy) else { return };
            assert!(is_valid, "{said}\n{}", copy.text);
        }
    }
    let bad = tried(&read(":80 {\n\tfile_server\n}\n"), &["nonsense 1"]);
    let copy = read(":80 {\n\tfile_server\n}\n").copy(&shadow(), &[&bad[0]]);
    let Some((is_valid, said)) = validated(&copy) else { return };
    assert!(!is_valid && said.contains("unrecognized directive: nonsense"), "{said}");
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-c{}:80 \n\t\"`#\\\\<>$,@/*]{0,120}") {
        let caddy = read_files(&[(MAIN, &text)]).and_then(|config| Caddy::new(config, None));
        if let Ok(caddy) = caddy {
            let off = Change::Directive { name: "a".to_owned(), args: Vec::new() };
            let args = vec!["b".to_owned()];
            let on = Change::Directive { name: "servers b".to_owned(), args };
            for changes in [&[][..], &[&off], &[&on], &[&off, &on]] {
                let _ = caddy.copy(&shadow(), changes);
                let _ = caddy.diff(changes, &str::to_owned);
            }
        }
    }

    #[test]
    fn rendered_lines_are_read_as_the_same(
        names in prop::collection::vec("[a-z]{1,5}", 1..6),
        values in prop::collection::vec("[a-z#{} \n\"]{0,8}", 6),
    ) {
        let mut text = ":80 {\n".to_owned();
        for (name, value) in names.iter().zip(&values) {
            text.push_str(&format!("\tx{name} `{value}` {{\n\t\tinner \"\"\n\t}}\n"));
        }
        text.push_str("}\n");
        let config = read_files(&[(MAIN, &text)]).unwrap();
        let again = render(&config.blocks);
        let reread = read_files(&[(MAIN, &again)]).unwrap();
        prop_assert_eq!(texts(&config.blocks), texts(&reread.blocks));
    }
}
