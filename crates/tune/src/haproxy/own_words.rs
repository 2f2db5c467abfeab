//! Lines that name what is the live server's alone: `bind`, `server`, `log`, `stick-table`. What of
//! their parameters decides what a request costs stays.

use super::tree::Line;
use crate::copy::Shadow;

/// The number of a listening socket that a copy is given, where it has options of its own: the
/// first after those of every process.
const GIVEN_SOCKET: &str = "fd@3";

/// Parameters of `bind` that stay, with a value and without (section 5.1 of the manual).
const BIND_VALUES: [&str; 12] = [
    "alpn",
    "backlog",
    "ciphers",
    "ciphersuites",
    "curves",
    "ecdhe",
    "maxconn",
    "mss",
    "nice",
    "proto",
    "ssl-max-ver",
    "ssl-min-ver",
];
const BIND_FLAGS: [&str; 5] =
    ["allow-0rtt", "defer-accept", "no-alpn", "no-tls-tickets", "prefer-client-ciphers"];

/// Parameters of `server` that stay (section 5.2).
const SERVER_VALUES: [&str; 9] = [
    "cookie",
    "id",
    "max-reuse",
    "maxconn",
    "maxqueue",
    "pool-low-conn",
    "pool-max-conn",
    "pool-purge-delay",
    "weight",
];
const SERVER_FLAGS: [&str; 2] = ["backup", "disabled"];

/// The parameters of these names behind the first words of a line, with their values.
fn kept(line: &Line, skipped: usize, values: &[&str], flags: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    let mut words = line.words.iter().skip(skipped);
    while let Some(word) = words.next() {
        if values.contains(&word.as_str()) {
            let Some(value) = words.next() else { break };
            out.extend([word.clone(), value.clone()]);
        } else if flags.contains(&word.as_str()) {
            out.push(word.clone());
        }
    }
    out
}

/// The `bind` of a copy. With `has_options` its socket is given to it.
pub(super) fn bind(line: &Line, shadow: &Shadow, has_options: bool) -> Line {
    let address = match has_options {
        true => GIVEN_SOCKET.to_owned(),
        false => format!("0.0.0.0:{}", shadow.port),
    };
    let mut bind = Line::new(&["bind", address.as_str()]);
    if line.has("ssl") {
        bind.words.push("ssl".to_owned());
        bind.words.extend(match &shadow.certificate {
            Some((certificate, _)) => vec!["crt".to_owned(), certificate.clone()],
            None => kept(line, 2, &["crt", "crt-list"], &[]),
        });
    }
    bind.words.extend(kept(line, 2, &BIND_VALUES, &BIND_FLAGS));
    bind
}

/// A `server` or `server-template` whose address is `origin`.
pub(super) fn server(mut line: Line, origin: &str) -> Line {
    // `server NAME ADDRESS`, `server-template PREFIX NUMBER ADDRESS`.
    let named = if line.word(0) == "server-template" { 3 } else { 2 };
    let parameters = kept(&line, named + 1, &SERVER_VALUES, &SERVER_FLAGS);
    line.words.truncate(named);
    line.words.push(origin.to_owned());
    line.words.extend(parameters);
    line
}

/// A `default-server`; `None`: nothing of it stays.
pub(super) fn default_server(mut line: Line) -> Option<Line> {
    let parameters = kept(&line, 1, &SERVER_VALUES, &SERVER_FLAGS);
    line.words.truncate(1);
    line.words.extend(parameters);
    (line.words.len() > 1).then_some(line)
}

/// A `log` whose lines go to stdout.
pub(super) fn log(mut line: Line) -> Line {
    if line.word(0) == "log" && !matches!(line.word(1), "" | "global") {
        line.words[1] = "stdout".to_owned();
    }
    line
}

/// A `stick-table` that no peer has, too.
pub(super) fn stick_table(mut line: Line) -> Line {
    if let Some(at) = line.words.iter().position(|word| word == "peers") {
        line.words.drain(at..(at + 2).min(line.words.len()));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::new(&text.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn a_bind_keeps_what_a_request_costs() {
        let bound = |text: &str, shadow: &Shadow, has_options| {
            bind(&line(text), shadow, has_options).text()
        };
        let own = Shadow { port: 8001, ..Shadow::default() };
        let text = "bind :443,:8443 ssl crt /c.pem alpn h2,http/1.1 accept-proxy user x name y \
                    ca-file /ca verify required no-tls-tickets";
        assert_eq!(
            bound(text, &own, false),
            "bind 0.0.0.0:8001 ssl crt /c.pem alpn h2,http/1.1 no-tls-tickets"
        );
        let certificate = Some(("/t/c.pem".to_owned(), "/t/c.pem.key".to_owned()));
        let stand_in = Shadow { certificate, ..own.clone() };
        assert_eq!(
            bound("bind :443 ssl crt-list /l strict-sni", &stand_in, false),
            "bind 0.0.0.0:8001 ssl crt /t/c.pem"
        );
        assert_eq!(bound("bind *:80 backlog 9", &own, true), "bind fd@3 backlog 9");
        assert_eq!(bound("bind", &own, false), "bind 0.0.0.0:8001");
    }

    #[test]
    fn a_server_keeps_its_limits_and_loses_its_address() {
        for (text, expected) in [
            (
                "server a a.test:443 ssl verify none check inter 2s maxconn 9 weight 3 backup \
                 resolvers r send-proxy",
                "server a 192.0.2.2:8000 maxconn 9 weight 3 backup",
            ),
            ("server-template s 1-3 a.test:80 check", "server-template s 1-3 192.0.2.2:8000"),
            ("server a", "server a 192.0.2.2:8000"),
        ] {
            assert_eq!(server(line(text), "192.0.2.2:8000").text(), expected);
        }
        assert!(default_server(line("default-server check inter 2s")).is_none());
        let kept = default_server(line("default-server ssl pool-max-conn 0")).unwrap();
        assert_eq!(kept.text(), "default-server pool-max-conn 0");
    }

    #[test]
    fn logs_go_to_stdout() {
        for (text, expected) in [
            ("log /dev/log len 200 local0 info", "log stdout len 200 local0 info"),
            ("log 127.0.0.1:514 local2", "log stdout local2"),
            ("log global", "log global"),
            ("no log", "no log"),
            ("log", "log"),
        ] {
            assert_eq!(log(line(text)).text(), expected);
        }
    }

    #[test]
    fn a_stick_table_has_no_peers() {
        for (text, expected) in [
            ("stick-table type ip peers m size 1m", "stick-table type ip size 1m"),
            ("stick-table type ip peers", "stick-table type ip"),
            ("stick-table type ip", "stick-table type ip"),
        ] {
            assert_eq!(stick_table(line(text)).text(), expected);
        }
    }
}
