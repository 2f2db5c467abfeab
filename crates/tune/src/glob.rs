//! Patterns of paths, as in nginx's `include` and Apache's `Include`, as glob(3) resolves them:
//! sorted, `*` and `?` match neither `/` nor a leading dot (`ngx_open_glob`,
//! <https://man7.org/linux/man-pages/man7/glob.7.html>).

/// Whether a server takes a path for a pattern.
pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// What stands before the first wildcard.
pub(crate) fn literal_prefix(pattern: &str) -> &str {
    pattern.split(['*', '?', '[', '\\']).next().unwrap_or_default()
}

/// Whether `path` matches `pattern`.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let mut names = path.split('/');
    let mut patterns = split_names(pattern).into_iter();
    loop {
        match (patterns.next(), names.next()) {
            (None, None) => return true,
            (Some(pattern), Some(name)) if name_matches(&pattern, name) => {}
            _ => return false,
        }
    }
}

/// The paths that match an absolute pattern, sorted, with the names in each folder from `names`.
pub(crate) fn expand(pattern: &str, names: &mut dyn FnMut(&str) -> Vec<String>) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_literal = true;
    for part in pattern.split('/').skip(1) {
        if is_pattern(part) || part.contains('\\') {
            is_literal = false;
        } else if is_literal {
            found = vec![format!("{}/{part}", found.concat())];
            continue;
        }
        let part = elements(part);
        let matching = |folder: &String| -> Vec<String> {
            let all = names(if folder.is_empty() { "/" } else { folder });
            let matching = all.into_iter().filter(|name| name_matches(&part, name));
            matching.map(|name| format!("{folder}/{name}")).collect()
        };
        found = found.iter().flat_map(matching).collect();
    }
    found.sort();
    found.dedup();
    found
}

/// The pattern of each name, as elements.
fn split_names(pattern: &str) -> Vec<Vec<Element>> {
    pattern.split('/').map(elements).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Element {
    One(char),
    AnyOne,
    Any,
    /// Ranges, and whether they are what must not match.
    Set(Vec<(char, char)>, bool),
}

fn elements(pattern: &str) -> Vec<Element> {
    let letters: Vec<char> = pattern.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        at += 1;
        out.push(match letter {
            '*' if out.last() == Some(&Element::Any) => continue,
            '*' => Element::Any,
            '?' => Element::AnyOne,
            '\\' if at < letters.len() => {
                at += 1;
                Element::One(letters[at - 1])
            }
            '[' => match set(&letters[at..]) {
                Some((set, length)) => {
                    at += length;
                    set
                }
                None => Element::One('['),
            },
            letter => Element::One(letter),
        });
    }
    out
}

/// A set in brackets, whose opening one is taken, and its length.
fn set(letters: &[char]) -> Option<(Element, usize)> {
    let is_negated = matches!(letters.first(), Some('!' | '^'));
    let mut at = usize::from(is_negated);
    let first = at;
    let mut ranges = Vec::new();
    loop {
        let letter = *letters.get(at)?;
        if letter == ']' && at > first {
            return Some((Element::Set(ranges, is_negated), at + 1));
        }
        match (letters.get(at + 1), letters.get(at + 2)) {
            (Some('-'), Some(&last)) if last != ']' => {
                ranges.push((letter, last));
                at += 3;
            }
            _ => {
                ranges.push((letter, letter));
                at += 1;
            }
        }
    }
}

fn is_one(element: &Element, letter: char) -> bool {
    match element {
        Element::One(other) => *other == letter,
        Element::AnyOne => true,
        Element::Any => false,
        Element::Set(ranges, is_negated) => {
            ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != *is_negated
        }
    }
}

/// Whether a name without slashes matches. Goes back to the last `*` only, so the time is at most
/// that of the pattern's length times the name's.
fn name_matches(pattern: &[Element], name: &str) -> bool {
    if name.starts_with('.') && pattern.first() != Some(&Element::One('.')) {
        return false;
    }
    let letters: Vec<char> = name.chars().collect();
    let (mut at, mut letter) = (0, 0);
    let mut star = None;
    while letter < letters.len() {
        match pattern.get(at) {
            Some(Element::Any) => {
                star = Some((at, letter));
                at += 1;
            }
            Some(element) if is_one(element, letters[letter]) => {
                at += 1;
                letter += 1;
            }
            _ => {
                let Some((star_at, from)) = star else { return false };
                star = Some((star_at, from + 1));
                at = star_at + 1;
                letter = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|element| *element == Element::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_glob_does() {
        for (pattern, path) in [
            ("/e/*.conf", "/e/a.conf"),
            ("/e/*", "/e/a"),
            ("/e/*/x", "/e/b/x"),
            ("/e/[a-c]?.conf", "/e/b1.conf"),
            ("/e/[!x]*", "/e/abc"),
            ("/e/.*", "/e/.a"),
            ("/e/\\*", "/e/*"),
            ("/e/a*b*c", "/e/aXbbYcc"),
            ("/e/[a", "/e/[a"),
            ("/e/[]]", "/e/]"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/e/*.conf", "/e/.a.conf"),
            ("/e/*.conf", "/e/b/a.conf"),
            ("/e/*.conf", "/e/a.conf~"),
            ("/e/[!x]*", "/e/xa"),
            ("/e/?", "/e/ab"),
            ("/e/*", "/e"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }
}
