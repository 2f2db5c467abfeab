//! Values as servers read them.

/// A version of a server.
pub(crate) type Version = (u32, u32, u32);

/// Whether two values mean the same: `512K` and `524288`, `ON` and `on` (nginx's ngx_parse_size()
/// and ngx_conf_set_flag_slot(), Apache's ap_set_flag_slot()).
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> { text.split_whitespace().map(plain).collect() };
    words(one) == words(other)
}

/// A word in the form in which words are compared.
fn plain(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let scales = [("k", 10), ("m", 20), ("g", 30)];
    let scaled = scales.iter().find_map(|(unit, shift)| {
        let number: u64 = word.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(1 << shift)
    });
    scaled.map_or(word, |bytes| bytes.to_string())
}

/// The version in what a server prints about itself, after a word such as `nginx/`.
pub(crate) fn version(build: &str, after: &str) -> Option<Version> {
    let text = build.split(after).nth(1)?;
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = text[..end].split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// Whether a regular expression of a location, a rewrite or a redirect matches every path.
pub(crate) fn matches_any_path(pattern: &str) -> bool {
    const PATTERNS: [&str; 9] = ["^", "^/", "/", ".", ".*", "^(.*)$", "^/(.*)$", "^.*$", "^(.*)"];
    PATTERNS.contains(&pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_servers_read_them() {
        for (one, other) in [("512K", "524288"), ("2m", "2048k"), ("ON", "on"), ("2  32k", "2 32K")]
        {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [("512k", "512"), ("on", "off"), ("2 32k", "2 64k"), ("2 32k", "2")] {
            assert!(!is_same(one, other), "{one} {other}");
        }
        // More than 2^64 bytes are no amount, and no panic.
        assert!(!is_same("99999999999g", "0"));
    }
}
