//! The candidates of configurations.

use super::*;
use crate::candidate::testing::{names, tried, why};
use crate::candidate::{Candidate, Change};

/// The text of `nginx -T` of a file.
fn dump(text: &str) -> String {
    format!("# configuration file /etc/nginx/nginx.conf:\n{text}\n")
}

fn facts() -> Facts {
    let sysctls = [
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_notsent_lowat", "4294967295"),
        ("net.ipv4.tcp_wmem", "4096\t16384\t4194304"),
    ];
    Facts {
        has_ktls: false,
        build: "nginx version: nginx/1.22.1\nconfigure arguments: \
                  --http-log-path=/var/log/nginx/access.log --with-threads"
            .to_owned(),
        congestion_controls: ["reno", "cubic", "bbr"].map(str::to_owned).to_vec(),
        sysctls: sysctls.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

fn offers(text: &str, facts: &Facts) -> Vec<Offer> {
    let config = Config::parse(&dump(text)).unwrap();
    let site = config.site(None).unwrap();
    candidates(&config, &site, facts)
}

/// A site with directives of its own, and parameters of its `listen`.
fn site(listen: &str, own: &str) -> String {
    format!("events {{}}\nhttp {{\n server {{\n listen {listen};\n root /srv;\n {own}\n }}\n}}\n")
}

#[test]
fn a_site_with_defaults_is_tried_with_everything_but_these() {
    let offers = offers(&site("80", ""), &facts());
    assert_eq!(
        names(&offers),
        [
            "sendfile on",
            "sendfile_max_chunk 0",
            "sendfile_max_chunk 512k",
            "aio threads",
            "directio 8m",
            "output_buffers 2 128k",
            "open_file_cache max=10000 inactive=60s",
            "tcp_nodelay off",
            "keepalive_requests 100000",
            "listen reuseport",
            "listen backlog=4096",
            "access_log off",
            "access_log /var/log/nginx/access.log combined buffer=64k flush=5s",
            "sysctl net.ipv4.tcp_congestion_control=reno",
            "sysctl net.ipv4.tcp_congestion_control=bbr",
            "sysctl net.ipv4.tcp_notsent_lowat=131072",
            "sysctl net.ipv4.tcp_wmem=4096 131072 16777216",
        ]
    );
    assert!(why(&offers, "tcp_nopush").unwrap().contains("sendfile on"));
    for name in ["worker_cpu_affinity", "gzip_static", "keepalive_timeout"] {
        assert!(why(&offers, name).is_some(), "{name}");
    }
    // Of TLS nothing is said.
    assert!(offers.iter().all(|offer| !format!("{offer:?}").contains("ssl_")));
    let presents: Vec<&str> =
        tried(&offers).iter().map(|candidate| candidate.present.as_str()).collect();
    assert_eq!(presents[0], "sendfile off (default)");
    assert_eq!(presents[1], "sendfile_max_chunk 2m (default)");
    assert_eq!(presents[16], "sysctl net.ipv4.tcp_wmem=4096 16384 4194304");
}

#[test]
fn what_the_configuration_has_is_tried_the_other_way_round() {
    let own = "sendfile on; tcp_nopush ON; sendfile_max_chunk 4k; aio threads; directio 512; \
               open_file_cache max=5; tcp_nodelay off; keepalive_requests 100000; \
               access_log /srv/a.log main buffer=32k;";
    let offers = offers(&site("80 reuseport backlog=100", own), &facts());
    assert_eq!(
        names(&offers)[..14],
        [
            "sendfile off",
            "tcp_nopush off",
            "sendfile_max_chunk 0",
            "sendfile_max_chunk 512k",
            "sendfile_max_chunk 2m",
            "aio off",
            "directio off",
            "open_file_cache off",
            "tcp_nodelay on",
            "keepalive_requests 1000",
            "listen without reuseport",
            "listen without backlog=100",
            "access_log off",
            "access_log /srv/a.log main",
        ]
    );
    assert!(why(&offers, "output_buffers").unwrap().contains("sendfile()"));
    let listen = tried(&offers)[11];
    let change = Change::Listen { parameter: "backlog=100".to_owned(), on: false };
    assert_eq!(listen.change, change);
    assert_eq!(listen.change.sets(), "listen backlog");
}

#[test]
fn the_values_that_are_in_effect_are_left_out() {
    let own = "sendfile_max_chunk 2048k; access_log off; output_buffers 2 128K;";
    let mut facts = facts();
    facts.sysctls.insert("net.ipv4.tcp_notsent_lowat".to_owned(), "131072\n".to_owned());
    let offers = offers(&site("80", own), &facts);
    let names = names(&offers);
    assert!(!names.contains(&"sendfile_max_chunk 2m") && names.contains(&"sendfile_max_chunk 0"));
    assert!(!names.contains(&"access_log off"));
    assert!(names.contains(&"access_log /var/log/nginx/access.log combined"));
    assert!(names.contains(&"output_buffers 2 32k") && !names.contains(&"output_buffers 2 128k"));
    assert!(names.iter().all(|name| !name.contains("lowat")), "{names:?}");
}

#[test]
fn defaults_are_those_of_the_version() {
    let old = Facts { build: "nginx version: nginx/1.18.0 (Ubuntu)".to_owned(), ..facts() };
    let offers = offers(&site("80", ""), &old);
    let names = names(&offers);
    assert!(names.contains(&"sendfile_max_chunk 2m") && !names.contains(&"sendfile_max_chunk 0"));
    assert!(names.contains(&"keepalive_requests 1000"));
    assert!(why(&offers, "aio").unwrap().contains("--with-threads"));
}

#[test]
fn a_site_with_tls_has_lines_of_its_own() {
    let tls = "ssl_certificate a.pem; ssl_certificate_key a.key; sendfile on;";
    let offers_of = |own: &str, facts: &Facts| offers(&site("443 ssl", own), facts);
    let without = offers_of(tls, &facts());
    let names = names(&without);
    for name in ["ssl_buffer_size 4k", "ssl_session_cache shared:SSL:10m", "sendfile off"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"ssl_buffer_size 16k"));
    // Without kTLS files are read into buffers, and nothing is corked.
    assert!(names.contains(&"output_buffers 2 128k"));
    assert!(why(&without, "tcp_nopush").unwrap().contains("kTLS"));
    assert!(why(&without, "ssl_conf_command Options KTLS").unwrap().contains("kernel"));

    let with_ktls = Facts { has_ktls: true, ..facts() };
    let with = offers_of(tls, &with_ktls);
    assert!(self::names(&with).contains(&"ssl_conf_command Options KTLS"));
    assert!(why(&with, "tcp_nopush").is_some(), "it is not on yet");
    let on = offers_of(&format!("{tls} ssl_conf_command Options KTLS;"), &with_ktls);
    let names = self::names(&on);
    assert!(names.contains(&"ssl_conf_command Options -KTLS") && names.contains(&"tcp_nopush on"));
    assert!(!names.contains(&"output_buffers 2 128k"));
}

#[test]
fn each_candidate_has_a_reason_a_reference_and_a_change_of_its_own() {
    let facts = Facts { has_ktls: true, ..facts() };
    let tls = "ssl_certificate a.pem; ssl_certificate_key a.key; sendfile on;";
    for text in [site("80", ""), site("80", "sendfile on;"), site("443 ssl", tls)] {
        let offers = offers(&text, &facts);
        let candidates = tried(&offers);
        assert!(candidates.len() > 15);
        let mut seen: Vec<&Change> = Vec::new();
        for Candidate { name, present, change, reason, reference } in candidates {
            assert!(reference.starts_with("https://") && reason.len() > 20, "{name}");
            assert!(!seen.contains(&change) && name != present, "{name}");
            seen.push(change);
        }
    }
}
