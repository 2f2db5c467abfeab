//! What answers the requests of a proxy: its servers, or the proxy itself.

use super::tree::{Line, Section};

/// Actions of `http-request` after which no server is asked (section 4.2 of the manual).
const FINAL: [&str; 8] =
    ["auth", "deny", "redirect", "reject", "return", "silent-drop", "tarpit", "use-service"];

/// Whether a line answers requests itself.
fn answers(line: &Line) -> bool {
    match line.key().as_str() {
        "http-request" => FINAL.contains(&line.word(1)),
        "tcp-request" => line.has("reject") || line.has("silent-drop"),
        "redirect" => true,
        _ => false,
    }
}

/// What answers in place of the servers, always. A redirect to https is on a condition that holds
/// wherever it is for something.
pub(super) fn instead_of_servers(section: &Section) -> Option<&Line> {
    let is_to_https = |line: &Line| line.behind("scheme") == Some("https");
    section.lines.iter().find(|line| answers(line) && (!line.is_conditional() || is_to_https(line)))
}

/// Whether a line may answer some requests in place of the servers, or delay them.
pub(super) fn may_answer(line: &Line) -> bool {
    let is_limit = matches!(line.key().as_str(), "rate-limit" | "monitor-uri" | "stats uri");
    answers(line) || (is_limit && !line.is_no())
}

/// What is left out where files are asked in a location of zc's own: what answers or chooses by
/// what is asked for.
pub(super) fn is_for_answering(key: &str) -> bool {
    const KEYS: [&str; 10] = [
        "force-persist",
        "http-after-response",
        "http-request",
        "http-response",
        "ignore-persist",
        "rate-limit",
        "redirect",
        "tcp-request",
        "tcp-response",
        "use-server",
    ];
    KEYS.contains(&key)
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
            assert!(instead_of_servers(&section).is_some(), "{line}");
            assert!(may_answer(&section.lines[0]), "{line}");
        }
        for line in [
            "http-request deny if bad",
            "redirect location / unless good",
            "http-request set-header X y",
            "tcp-request inspect-delay 5s",
            "bind :80",
        ] {
            assert!(instead_of_servers(&section(line)).is_none(), "{line}");
        }
        assert!(may_answer(&section("rate-limit sessions 10").lines[0]));
        assert!(!may_answer(&section("http-request set-header X y").lines[0]));
    }
}
