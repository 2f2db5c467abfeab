//! Apache's `LogFormat`: text with directives, `%h %l %u %t "%r" %>s %b`.
//! <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>
//!
//! The time is that at which the request was received. `varnishncsa` has the same directives, and
//! writes `combined` by default.

use super::error::FormatError;
use super::template::{Field, Piece, Template};
use crate::entry::{Counted, Stamp};

/// The common log format of NCSA httpd. nginx's `combined` begins like it.
pub(super) const COMMON: &str = r#"%h %l %u %t "%r" %>s %b"#;

/// The same with referrer and agent; nginx's `combined` has the same form.
pub(super) const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#;

/// `combined` behind the name of the virtual host and the port.
pub(super) const VHOST_COMBINED: &str =
    r#"%v:%p %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#;

/// A `LogFormat` as in a configuration file, without its name and the quotes around it; `\"` is a
/// quote.
///
/// # Errors
/// Same as [`Template::new`]; a directive is unknown.
pub(super) fn log_format(text: &str) -> Result<Template, FormatError> {
    parse(text, Counted::Body)
}

/// One of the formats that configurations have under a name, where `%b` may have been replaced by
/// `%O`, as in Debian's.
///
/// # Errors
/// Same as [`log_format`].
pub(super) fn named_format(text: &str) -> Result<Template, FormatError> {
    parse(text, Counted::Unsaid)
}

/// Parses a `LogFormat`, in which `%b` counts `counted`.
fn parse(text: &str, counted: Counted) -> Result<Template, FormatError> {
    // The first time sets it. A time of the other end of the request is passed over.
    let mut stamp = None;
    let mut pieces: Vec<Piece> = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '\\' => {
                let escaped = rest.chars().next().unwrap_or('\\');
                rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
                literal.push(match escaped {
                    't' => '\t',
                    'n' => '\n',
                    other => other,
                });
            }
            '%' if rest.starts_with('%') => {
                rest = &rest[1..];
                literal.push('%');
            }
            '%' => {
                let (directive, behind) = Directive::split(rest)?;
                rest = behind;
                let field = match directive.time() {
                    Some((of, _)) if *stamp.get_or_insert(of) != of => Field::Skipped,
                    Some((_, time)) => time,
                    None => directive.field(counted)?,
                };
                let is_in_brackets = directive.letter == "t" && field == Field::ClfTime;
                literal.push_str(if is_in_brackets { "[" } else { "" });
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Field(field));
                literal.push_str(if is_in_brackets { "]" } else { "" });
            }
            other => literal.push(other),
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Template::new(pieces, stamp.unwrap_or(Stamp::Begin))
}

/// `%>s`, `%{User-Agent}i`, `%!200,304{Referer}i`, `%^FB`.
struct Directive<'f> {
    argument: Option<&'f str>,
    letter: &'f str,
}

impl<'f> Directive<'f> {
    /// A directive without its percent sign, and what comes after it.
    fn split(text: &'f str) -> Result<(Self, &'f str), FormatError> {
        // Conditions, and which of two requests after an internal redirect: it makes no difference
        // to the form.
        let is_modifier = |c: char| c.is_ascii_digit() || matches!(c, '!' | ',' | '<' | '>');
        let mut rest = text.trim_start_matches(is_modifier);
        let mut argument = None;
        if let Some(open) = rest.strip_prefix('{') {
            let (inside, behind) =
                open.split_once('}').ok_or_else(|| FormatError::Unknown(format!("%{text}")))?;
            (argument, rest) = (Some(inside), behind);
        }
        // Letters behind a caret come in twos or threes: %^FB, %^FU.
        let length = match rest.strip_prefix('^') {
            Some(letters) => 1 + letters.chars().take(2).map(char::len_utf8).sum::<usize>(),
            None => rest.chars().next().map_or(0, char::len_utf8),
        };
        let (letter, behind) = rest.split_at(length);
        Ok((Self { argument, letter }, behind))
    }

    /// A time field, and the moment that it is of.
    fn time(&self) -> Option<(Stamp, Field)> {
        if self.letter != "t" {
            return None;
        }
        let argument = self.argument.unwrap_or_default();
        let (stamp, written) =
            match (argument.strip_prefix("end:"), argument.strip_prefix("begin:")) {
                (Some(written), _) => (Stamp::End, written),
                (None, Some(written)) => (Stamp::Begin, written),
                (None, None) => (Stamp::Begin, argument),
            };
        let time = match written {
            "" => Field::ClfTime,
            "sec" | "msec" | "usec" => Field::UnixTime,
            "msec_frac" => Field::Fraction { unit_us: 1000 },
            "usec_frac" => Field::Fraction { unit_us: 1 },
            written => Field::Strftime(written.to_owned()),
        };
        Some((stamp, time))
    }

    fn field(&self, body: Counted) -> Result<Field, FormatError> {
        const S_US: u64 = 1_000_000;
        Ok(match (self.letter, self.argument) {
            ("r", _) => Field::Request,
            ("m", _) => Field::Method,
            ("H", _) => Field::Protocol,
            ("s", _) => Field::Status,
            ("b", _) => Field::Bytes { counted: body, may_be_dash: true },
            ("B", _) => Field::BODY,
            ("O", _) => Field::WIRE,
            ("x" | "e", Some("HTTPS" | "SSL_PROTOCOL" | "SSL_CIPHER")) => Field::OfTls,
            ("D", _) | ("T", Some("us")) => Field::Duration { unit_us: 1 },
            ("T", Some("ms")) => Field::Duration { unit_us: 1000 },
            ("T", _) => Field::Duration { unit_us: S_US },
            (
                "a" | "A" | "c" | "C" | "e" | "f" | "F" | "h" | "i" | "I" | "k" | "l" | "L" | "n"
                | "o" | "p" | "P" | "q" | "R" | "S" | "u" | "U" | "v" | "V" | "x" | "X" | "^FB"
                | "^ti" | "^to",
                _,
            ) => Field::Skipped,
            (letter, _) => return Err(FormatError::Unknown(format!("%{letter}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::Reading;
    use super::*;
    use crate::entry::{Bytes, Method};

    #[test]
    fn directives_are_read_and_others_passed_over() {
        let template = log_format(
            "%{X-Forwarded-For}i %h %t \\\"%r\\\" %400,501{Referer}i %>s %!200b %O %{ms}T %^FB %I \
             100%%",
        )
        .unwrap();
        let line =
            b"- 192.0.2.1 [17/May/2015:10:05:03 +0000] \"POST /a HTTP/1.1\" - 404 - 153 12 - \
                     300 100%";
        let Reading::Entry(entry) = template.read(line) else { panic!("unreadable") };
        assert_eq!((entry.method, entry.status), (Method::Post, Some(404)));
        assert_eq!(entry.bytes, Bytes { body: Some(0), wire: Some(153), unsaid: None });
        assert_eq!(entry.duration_us, Some(12_000));
        assert_eq!(template.extent(line), super::super::reading::Extent::Whole);
    }

    #[test]
    fn a_directive_that_is_not_known_is_named() {
        let error = |text: &str| log_format(text).unwrap_err();
        assert_eq!(error("%t %Y"), FormatError::Unknown("%Y".to_owned()));
        assert_eq!(error("%t %{Referer"), FormatError::Unknown("%{Referer".to_owned()));
        assert_eq!(error("%t %"), FormatError::Unknown("%".to_owned()));
        assert_eq!(error("%t \\"), FormatError::Lacks("the status"));
    }

    #[test]
    fn formats_of_this_crate_are_valid() {
        for known in crate::KNOWN {
            assert_eq!(known.format().name(), known.name);
        }
    }
}
