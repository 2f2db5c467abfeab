//! What answers the requests of a proxy: its servers, or the proxy itself.

use super::tree::{Line, Section};

/// Actions of `http-request` after which no server is asked (section 4.2 of the manual).
const FINAL: [&str; 8] =
    ["auth", "deny", "redirect", "reject", "return", "silent-drop", "tarpit", "use-service"];

/// Keywords of what answers, or chooses by what is asked for. They are left out where files are
/// asked in a location of zc's own.
const ANSWERING: [&str; 9] = [
    "force-persist",
    "http-after-response",
    "http-request",
    "http-response",
    "rate-limit",
    "redirect",
    "tcp-request",
    "tcp-response",
    "use-server",
];

/// Whether a line answers requests itself.
fn answers(line: &Line) -> bool {
    match line.word(0) {
        "http-request" => FINAL.contains(&line.word(1)),
        "tcp-request" => line.has("reject") || line.has("silent-drop"),
        "redirect" => true,
        _ => false,
    }
}

/// Whether a line of a section answers in place of the servers, always. A redirect to https is on a
/// condition that holds wherever there is no TLS.
pub(super) fn is_instead_of_servers(section: &Section, is_tls: bool) -> bool {
    let is_always = |line: &Line| {
        let is_conditional = line.has("if") || line.has("unless");
        !is_conditional || (!is_tls && line.behind("scheme") == Some("https"))
    };
    section.lines.iter().any(|line| answers(line) && is_always(line))
}

/// Whether a line may answer some requests in place of the servers, or delay them.
pub(super) fn may_answer(line: &Line) -> bool {
    answers(line) || matches!(line.word(0), "rate-limit" | "monitor-uri")
}

/// Whether a line is left out where files are asked in a location of zc's own.
pub(super) fn is_for_answering(line: &Line) -> bool {
    ANSWERING.contains(&line.word(0))
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    #[test]
    fn what_always_answers_is_no_server() {
        let section = |line: &str| {
            let text = format!("frontend f\n {line}\n");
            read(&text).unwrap().sections.remove(0)
        };
        for line in [
            "http-request deny",
            "http-request redirect location /x",
            "redirect scheme https if !{ ssl_fc }",
            "http-request redirect scheme https unless { ssl_fc }",
            "tcp-request connection reject",
            "http-request return status 200",
        ] {
            let section = section(line);
            assert!(is_instead_of_servers(&section, false), "{line}");
            assert_eq!(is_instead_of_servers(&section, true), !line.contains("ssl_fc"), "{line}");
            assert!(may_answer(&section.lines[0]), "{line}");
        }
        for line in [
            "http-request deny if bad",
            "redirect location / unless good",
            "http-request set-header X y",
            "tcp-request inspect-delay 5s",
            "bind :80",
        ] {
            assert!(!is_instead_of_servers(&section(line), false), "{line}");
        }
        assert!(may_answer(&section("rate-limit sessions 10").lines[0]));
        assert!(!may_answer(&section("http-request set-header X y").lines[0]));
    }
}
