//! nginx's `log_format`: text with variables, `$remote_addr - $remote_user [$time_local]`.
//! <https://nginx.org/en/docs/http/ngx_http_log_module.html>
//!
//! nginx writes a line when the request has ended.

use super::error::FormatError;
use super::template::{Field, Piece, Template};
use crate::entry::Stamp;

/// The common log format, which nginx writes if configured.
pub(super) const COMMON: &str =
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#;

/// The format that nginx writes by default.
pub(super) const COMBINED: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
                                   $body_bytes_sent \"$http_referer\" \"$http_user_agent\"";

/// The format of nginx's own configuration file, under the name `main`: `combined`, and the
/// addresses that proxies have added.
pub(super) const MAIN: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
                               $body_bytes_sent \"$http_referer\" \"$http_user_agent\" \
                               \"$http_x_forwarded_for\"";

/// The format of the ingress controller of Kubernetes.
/// <https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/log-format/>
pub(super) const INGRESS: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
                                  $body_bytes_sent \"$http_referer\" \"$http_user_agent\" \
                                  $request_length $request_time [$proxy_upstream_name] \
                                  [$proxy_alternative_upstream_name] $upstream_addr \
                                  $upstream_response_length $upstream_response_time \
                                  $upstream_status $req_id";

/// A `log_format` as in a configuration file, without its name and the quotes around it.
///
/// # Errors
/// Same as [`Template::new`].
pub(super) fn log_format(text: &str) -> Result<Template, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (literal, variable) = rest.split_at(at);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(unescaped(literal)));
        }
        let name;
        (name, rest) = split_name(&variable[1..]);
        if name.is_empty() {
            return Err(FormatError::Unknown("$".to_owned()));
        }
        pieces.push(Piece::Field(field(name)));
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(unescaped(rest)));
    }
    Template::new(pieces, Stamp::End)
}

/// Text as nginx reads it between quotes: `\t` is a tab (ngx_conf_file.c, ngx_conf_read_token).
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let mut behind = rest.clone();
        let escaped = match (character, behind.next()) {
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some('n')) => '\n',
            ('\\', Some(quoted @ ('"' | '\'' | '\\'))) => quoted,
            _ => {
                plain.push(character);
                continue;
            }
        };
        plain.push(escaped);
        rest = behind;
    }
    plain
}

/// The name of a variable, in braces or not, and what comes after it.
fn split_name(text: &str) -> (&str, &str) {
    if let Some((name, rest)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) {
        return (name, rest);
    }
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

/// Modules and configurations add variables, so one that is not known is no error.
fn field(name: &str) -> Field {
    match name {
        "time_local" => Field::ClfTime,
        "time_iso8601" => Field::IsoTime,
        "msec" => Field::UnixTime,
        "request" => Field::Request,
        "request_method" => Field::Method,
        "server_protocol" => Field::Protocol,
        "status" => Field::Status,
        "body_bytes_sent" => Field::BODY,
        "bytes_sent" => Field::WIRE,
        "request_time" => Field::Duration { unit_us: 1_000_000 },
        "ssl_protocol" | "ssl_cipher" | "https" => Field::OfTls,
        "scheme" => Field::Scheme,
        "connection_requests" => Field::OfConnection,
        _ => Field::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::Reading;
    use super::*;
    use crate::entry::{Bytes, Method, Protocol};

    #[test]
    fn variables_are_read_and_others_passed_over() {
        let template = log_format(
            "${remote_addr}x [$time_local] \"$request\" $status $bytes_sent/$body_bytes_sent \
             \"$http_cookie\" rt=$request_time,$upstream_response_time of $connection_requests",
        )
        .unwrap();
        let line =
            b"192.0.2.1x [17/May/2015:10:05:03 +0200] \"GET /a\\\" b HTTP/2.0\" 206 300/100 \
                     \"a=\\\"b\\\" c\" rt=0.012,- of 7";
        let Reading::Entry(entry) = template.read(line) else { panic!("unreadable") };
        assert_eq!((entry.method, entry.protocol), (Method::Get, Some(Protocol::Http2)));
        assert_eq!(entry.bytes, Bytes { body: Some(100), wire: Some(300), unsaid: None });
        assert_eq!((entry.status, entry.duration_us), (Some(206), Some(12_000)));
        assert_eq!((entry.time.offset_s, entry.of_connection), (Some(7200), Some(7)));
    }

    #[test]
    fn what_nginx_escapes_is_read_as_it_writes_it() {
        let template =
            log_format(r#"$remote_addr\t$time_local\t$request\t$status\t\"$bytes_sent\"\x"#)
                .unwrap();
        let line = b"192.0.2.1\t17/May/2015:10:05:03 +0000\tGET /a HTTP/1.1\t200\t\"5\"\\x";
        let Reading::Entry(entry) = template.read(line) else { panic!("unreadable") };
        assert_eq!((entry.status, entry.bytes.wire), (Some(200), Some(5)));
    }

    #[test]
    fn a_time_needs_nothing_behind_it() {
        let template = log_format(r#"$time_local$status "$request" $bytes_sent"#).unwrap();
        let line = br#"17/May/2015:10:05:03 +0000200 "GET / HTTP/1.1" 5"#;
        assert!(matches!(template.read(line), Reading::Entry(_)));
    }

    #[test]
    fn what_lacks_something_is_refused() {
        let error = |text: &str| log_format(text).unwrap_err();
        let whole = r#"$msec "$request" $status $bytes_sent"#;
        assert!(log_format(whole).is_ok());
        for (without, lacks) in [
            ("$msec", "the time"),
            ("$status", "the status"),
            ("$bytes_sent", "the bytes of a response"),
            ("$request", "the request or its method"),
        ] {
            assert_eq!(error(&whole.replace(without, "")), FormatError::Lacks(lacks));
        }
        assert_eq!(error("$msec$status"), FormatError::Adjacent);
        assert_eq!(error("$msec $request $status $bytes_sent"), FormatError::BareRequest);
        assert_eq!(error("$msec $status $bytes_sent $request"), FormatError::BareRequest);
        assert_eq!(error("$ $msec"), FormatError::Unknown("$".to_owned()));
    }
}
