//! Writes inputs to begin a corpus with, for the targets that take bytes as they are:
//! `cargo run --example seeds`. The other targets begin from nothing.

use std::fs;
use std::path::Path;

use zc_fuzz::{logs, nginx, runs};

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let put = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(corpus.join(target))?;
        fs::write(corpus.join(target).join(name), bytes)
    };
    for (place, text) in runs::seeds().iter().enumerate() {
        put("run_bytes", &format!("seed-{place}"), text.as_bytes())?;
    }
    let hello = r#"{"zc":"serve","protocol":6,"version":"0.2.0","nonce":""#.to_owned()
        + &"0f".repeat(32)
        + "\"}";
    for (name, text) in [
        ("seed-hello", format!("{hello}\n")),
        (
            "seed-prompt",
            format!("Last login: never\nzc-via: runs zc 0.2.0 at /usr/bin/zc\n$ {hello}\n"),
        ),
        ("seed-missing", "zc-via: missing\n".to_owned()),
        ("seed-broken", "zc-via: broken /usr/bin/zc\nzc-via: terminal\n".to_owned()),
        ("seed-other", hello.replace(":3,", ":4,").replace("0.2.0", "9 \\u001b[2J")),
    ] {
        put("via", name, text.as_bytes())?;
    }
    for (name, text) in nginx::SEEDS {
        put("nginx_conf", name, text.as_bytes())?;
    }
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/access-log/testdata");
    for (file, format) in [
        ("nginx-combined.log", "combined"),
        ("apache-common.log", "common"),
        ("apache-vhost_combined.log", "vhost_combined"),
        ("nginx-main.log", "nginx-main"),
        ("nginx-json.log", "nginx-json"),
        ("caddy.log", "caddy"),
        ("haproxy-rfc3164.log", "haproxy"),
        ("envoy.log", "envoy"),
        ("envoy-json.log", "envoy-json"),
        ("traefik.log", "traefik"),
        ("traefik-json.log", "traefik-json"),
        ("squid.log", "squid"),
        ("s3.log", "s3"),
        ("cloudfront.log", "cloudfront"),
        ("iis.log", "iis"),
    ] {
        // The heading of the W3C's formats, and three lines.
        let log = fs::read_to_string(samples.join(file))?;
        let lines: String = log.split_inclusive('\n').take(6).collect();
        let choice = logs::choice_of(format).ok_or_else(|| std::io::Error::other(format))?;
        put("access_log", &format!("seed-{format}"), &[&[choice], lines.as_bytes()].concat())?;
    }
    let described = "\x01%t \"%r\" %>s %b\n[17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5\n";
    put("access_log", "seed-described", described.as_bytes())?;
    Ok(())
}
