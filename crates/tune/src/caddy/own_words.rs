//! Lines that name what is the live server's alone: where logs go, certificates, what requests are
//! forwarded to. What of them decides what a request costs stays.

use super::tree::Line;

/// Where requests are forwarded to in a copy: a port on which nobody listens.
const NOWHERE: &str = "127.0.0.1:9";

/// Lines in the blocks of what forwards that say which requests it is for.
const OF_FORWARDING: [&str; 5] = ["index", "root", "split", "try_files", "uri"];

/// Lines in the block of `tls` that say how bytes are encrypted.
const OF_TLS: [&str; 4] = ["alpn", "ciphers", "curves", "protocols"];

/// Whether a line forwards requests.
pub(super) fn forwards(line: &Line) -> bool {
    matches!(line.word(0), "forward_auth" | "php_fastcgi" | "reverse_proxy")
}

/// A line that forwards, to nowhere.
pub(super) fn to_nowhere(mut line: Line) -> Line {
    line.words.truncate(1 + usize::from(line.has_matcher()));
    line.words.push(NOWHERE.to_owned());
    if let Some(block) = &mut line.block {
        block.retain(|line| OF_FORWARDING.contains(&line.word(0)));
    }
    line
}

/// A `log` that writes to `output`, `stdout` or `stderr`, if it writes anywhere.
pub(super) fn log(mut line: Line, output: &str) -> Line {
    let mut block = line.block.take().unwrap_or_default();
    let is_output = |line: &Line| line.word(0) == "output";
    if !block.iter().any(|line| is_output(line) && line.word(1) == "discard") {
        block.retain(|line| !is_output(line));
        block.push(Line::new(&["output", output]));
    }
    line.with_block(block)
}

/// A `tls` with this certificate and its key, and with how the site's lines encrypt.
pub(super) fn tls<'l>(
    certificate: Option<&(String, String)>,
    lines: impl Iterator<Item = &'l Line>,
) -> Line {
    let own = lines.flat_map(Line::children).filter(|line| OF_TLS.contains(&line.word(0)));
    let line = match certificate {
        Some((certificate, key)) => Line::new(&["tls", certificate, key]),
        None => Line::new(&["tls", "internal"]),
    };
    line.with_block(own.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    fn line(text: &str) -> Line {
        read(&format!(":80 {{\n{text}\n}}\n")).unwrap().blocks[0].children()[0].clone()
    }

    #[test]
    fn what_forwards_leads_nowhere_for_the_same_requests() {
        for (text, expected) in [
            ("reverse_proxy app:80 app:81", "reverse_proxy 127.0.0.1:9"),
            ("reverse_proxy /api/* app:80", "reverse_proxy /api/* 127.0.0.1:9"),
            ("reverse_proxy * app:80", "reverse_proxy * 127.0.0.1:9"),
            ("reverse_proxy @a {\nto app:80\nhealth_uri /x\n}", "reverse_proxy @a 127.0.0.1:9"),
            (
                "php_fastcgi unix//run/php.sock {\nindex index.php\nenv A b\n}",
                "php_fastcgi 127.0.0.1:9 { index index.php }",
            ),
            ("forward_auth auth:80 {\nuri /a\n}", "forward_auth 127.0.0.1:9 { uri /a }"),
        ] {
            assert!(forwards(&line(text)));
            assert_eq!(to_nowhere(line(text)).text(), expected);
        }
        assert!(!forwards(&line("respond 200")));
    }

    #[test]
    fn a_log_goes_to_a_stream_and_a_certificate_is_the_copy_s() {
        for (text, expected) in [
            ("log", "log { output stdout }"),
            (
                "log {\noutput file /var/log/a {\nroll_size 1mb\n}\nformat console\n}",
                "log { format console; output stdout }",
            ),
            ("log {\noutput discard\n}", "log { output discard }"),
        ] {
            assert_eq!(log(line(text), "stdout").text(), expected);
        }
        let pair = ("/c".to_owned(), "/k".to_owned());
        let own = [line("tls {\nprotocols tls1.3\nclient_auth {\nmode require\n}\n}")];
        assert_eq!(tls(Some(&pair), own.iter()).text(), "tls /c /k { protocols tls1.3 }");
        assert_eq!(tls(None, [].iter()).text(), "tls internal");
    }
}
