//! `${NAME}` in lines, from `Define` or the environment (`ap_resolve_env` in
//! <https://github.com/apache/httpd/blob/2.4.x/server/core.c>), and the file of environment
//! variables that `apache2ctl` reads.

use std::collections::BTreeMap;

/// A text with the values of variables in place of their names. Those that are not known stay, as
/// they do in Apache, which warns.
pub(super) fn resolve<'v>(text: &str, value: &dyn Fn(&str) -> Option<&'v str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("${") {
        let Some(length) = rest[begin + 2..].find('}') else { break };
        let (before, name, after) =
            (&rest[..begin], &rest[begin + 2..begin + 2 + length], &rest[begin + length + 3..]);
        out.push_str(before);
        match value(name) {
            Some(value) => out.push_str(value),
            None => out.push_str(&rest[begin..begin + length + 3]),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The variables that a file such as Debian's `/etc/apache2/envvars` sets, with those of `outer`.
///
/// It is a script of the shell, of which the assignments are read and nothing is run: of several to
/// one name the last counts, whatever is around it.
pub fn envvars(text: &str, outer: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut out = outer;
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let Some((name, value)) = line.split_once('=') else { continue };
        let is_name = !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if is_name {
            let value = shell_value(value, &out);
            out.insert(name.to_owned(), value);
        }
    }
    out
}

/// A value of an assignment: quotes are taken away, `$NAME` and `${NAME}` replaced, and what begins
/// with a space, a semicolon or another operator is no more of it.
fn shell_value(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            letter if Some(letter) == quote => quote = None,
            ' ' | '\t' | ';' | '&' | '|' if quote.is_none() => break,
            '\\' if quote != Some('\'') => {
                if let Some(next) = rest.chars().next() {
                    out.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
            '$' if quote != Some('\'') => {
                let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let inner = rest.strip_prefix('{');
                let text = inner.unwrap_or(rest);
                let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
                let (name, after) = text.split_at(end);
                let value = known.get(name).map_or("", String::as_str);
                out.push_str(value);
                rest = match inner {
                    // `${NAME:-DEFAULT}` and its like: the default where there is no value.
                    Some(_) => {
                        let (operator, after) = after.split_once('}').unwrap_or((after, ""));
                        let default = operator.strip_prefix(":-").filter(|_| value.is_empty());
                        out.push_str(default.unwrap_or_default());
                        after
                    }
                    None => after,
                };
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_known_are_replaced_once() {
        let value = |name: &str| match name {
            "A" => Some("a${B}"),
            "" => Some("empty"),
            _ => None,
        };
        for (text, expected) in [
            ("x ${A}/y", "x a${B}/y"),
            ("${none} ${}", "${none} empty"),
            ("$A ${A", "$A ${A"),
            ("%{A}e ${A}${A}", "%{A}e a${B}a${B}"),
        ] {
            assert_eq!(resolve(text, &value), expected);
        }
    }

    #[test]
    fn debian_s_envvars_are_read_and_not_run() {
        let text = "unset HOME\nif [ \"${APACHE_CONFDIR##/etc/apache2-}\" != \"\" ] ; then\n\
                    \tSUFFIX=\"-${APACHE_CONFDIR##/etc/apache2-}\"\nelse\n\tSUFFIX=\nfi\n\
                    export APACHE_RUN_USER=www-data\n\
                    export APACHE_LOG_DIR=/var/log/apache2$SUFFIX # where\n\
                    export LANG\n#export A=b\nB='$x y'; C=1\nD=${NONE:-/d}\"/e f\"\n1x=2\n";
        let read = envvars(text, BTreeMap::from([("OUTER".to_owned(), "o".to_owned())]));
        let read: Vec<(&str, &str)> = read.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            read,
            [
                ("APACHE_LOG_DIR", "/var/log/apache2"),
                ("APACHE_RUN_USER", "www-data"),
                ("B", "$x y"),
                ("D", "/d/e f"),
                ("OUTER", "o"),
                ("SUFFIX", ""),
            ]
        );
    }
}
