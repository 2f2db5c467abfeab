//! Errors for unknown names, with the known name that was probably meant.

use super::{Error, ErrorKind, UnknownName};

/// Turns an unknown name into an error with the nearest known name and the list of all.
pub fn unknown(error: UnknownName) -> Error {
    unknown_among(error.what, &error.given, &error.known)
}

/// Like [`unknown`], for names that have no type of their own.
pub fn unknown_among(what: &str, given: &str, known: &[&str]) -> Error {
    let message = if given.is_empty() {
        format!("the name of a {what} is empty")
    } else {
        format!("unknown {what} \"{}\"", super::escape(given, 40))
    };
    let list = format!("known: {}", known.join(", "));
    let id = format!("unknown-{}", what.replace(' ', "-").to_lowercase());
    Error::new(ErrorKind::Usage, id, message).help(match nearest(given, known) {
        Some(name) => format!("did you mean \"{name}\"? {list}"),
        None => list,
    })
}

/// The known name that was probably meant: one that is few edits away, or the only one that
/// contains what was typed.
pub fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // Comparing takes quadratic time, and a text of this length is not a mistyped name.
    if given.is_empty() || given.chars().count() > 64 {
        return None;
    }
    let plain = normal(given);
    let (name, distance) = known
        .iter()
        .map(|name| (*name, edits(&plain, &normal(name))))
        .min_by_key(|(_, distance)| *distance)?;
    if distance <= (plain.chars().count() / 3).max(1) {
        return Some(name);
    }
    if plain.chars().count() < 3 {
        return None;
    }
    only(known, |name| name.starts_with(&plain))
        .or_else(|| only(known, |name| name.contains(&plain)))
}

/// The one name of `known` for which `fits` is true, if there is exactly one.
fn only<'a>(known: &[&'a str], fits: impl Fn(&str) -> bool) -> Option<&'a str> {
    let mut fitting = known.iter().filter(|name| fits(&normal(name)));
    match (fitting.next(), fitting.next()) {
        (Some(name), None) => Some(name),
        _ => None,
    }
}

/// Normalises to lower case, with `-` for `_`, `+` and space, so that `READ_SEND` is near
/// `read+send`.
fn normal(name: &str) -> String {
    name.to_lowercase()
        .chars()
        .map(|c| if matches!(c, '_' | '+' | ' ') { '-' } else { c })
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours that make `a` into `b` (optimal
/// string alignment).
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SendPath;

    fn send_paths() -> Vec<&'static str> {
        SendPath::ALL.iter().map(|path| path.name()).collect()
    }

    #[test]
    fn a_typo_finds_the_name_that_was_meant() {
        for (given, meant) in [
            ("senfile", Some("sendfile")),
            ("SENDFILE", Some("sendfile")),
            ("sendflie", Some("sendfile")),
            ("read-send", Some("read+send")),
            ("read_write", Some("read+write")),
            ("mmap", Some("mmap+write")),
            ("uring_splice", Some("uring-splice")),
            ("msg_zerocopy", Some("msg-zerocopy")),
            ("fixed", Some("uring-send-zc-fixed")),
            ("telepathy", None),
            ("uring", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, &send_paths()), meant, "{given}");
        }
    }

    #[test]
    fn the_error_of_an_unknown_name_lists_the_known_ones() {
        let error = unknown("senfile".parse::<SendPath>().unwrap_err());
        assert_eq!(error.id, "unknown-send-path");
        let help = error.help.unwrap();
        assert!(
            help.starts_with("did you mean \"sendfile\"? known: read+write, read+send, "),
            "{help}"
        );
    }

    proptest! {
        #[test]
        fn no_name_panics(given in any::<String>()) {
            let _ = nearest(&given, &send_paths());
        }

        #[test]
        fn every_name_is_nearest_to_itself(index in 0..SendPath::ALL.len()) {
            let name = SendPath::ALL[index].name();
            prop_assert_eq!(nearest(name, &send_paths()), Some(name));
        }
    }
}
