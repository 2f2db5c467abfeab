//! Pieces of text that all reports share: lists, counts, escaped names, wrapped lines and
//! Markdown-safe text.

use std::cmp::Ordering;
use std::collections::HashSet;

use zc_run::escape;

/// Text from outside, escaped and cut to 80 characters.
pub(super) fn shown(text: &str) -> String {
    escape(text, 80)
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// `1 block was`, `3 blocks were`.
pub(super) fn was(count: usize, thing: &str) -> String {
    match count {
        0 => format!("no {thing} was"),
        1 => format!("1 {thing} was"),
        _ => format!("{count} {thing}s were"),
    }
}

/// The distinct items in order of first occurrence.
pub(super) fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    all.filter(|one| seen.insert(one.clone())).collect()
}

/// The items in an order; equal ones keep theirs. All callers share one sort: each of its own takes
/// 5 kB of the binary.
pub(super) fn ordered<T: Copy>(items: &[T], compare: &dyn Fn(T, T) -> Ordering) -> Vec<T> {
    let order = order(items.len(), &|a, b| compare(items[a], items[b]));
    order.into_iter().map(|at| items[at]).collect()
}

/// The indices of so many items in their order.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b)); // stable
    order
}

/// Escaped Markdown: no cell borders, emphasis or HTML. It is read as plain text too, so a `_` is
/// escaped only where it could begin or end emphasis (CommonMark, 6.2): not within a word, and not
/// where no other one could end what it begins.
pub(super) fn markdown_text(text: &str) -> String {
    let text = escape(text, 2000);
    let characters: Vec<char> = text.chars().collect();
    let is_word = |place: Option<usize>| {
        place.and_then(|it| characters.get(it)).is_some_and(|character| character.is_alphanumeric())
    };
    let within = |place: usize| is_word(place.checked_sub(1)) && is_word(Some(place + 1));
    // What ends it is a run of them behind a character and not before a word.
    let ends = |place: usize| {
        let (before, after) = (&characters[..place], &characters[place..]);
        let is_other = |character: &&char| **character != '_';
        characters[place] == '_'
            && before.iter().rev().find(is_other).is_some_and(|it| !it.is_whitespace())
            && !after.iter().find(is_other).is_some_and(|it| it.is_alphanumeric())
    };
    let has_end = (0..characters.len()).any(ends);
    let mut out = String::with_capacity(text.len());
    for (place, character) in characters.iter().enumerate() {
        let is_escaped = match character {
            '_' => has_end && !within(place),
            '|' | '*' | '`' | '<' | '[' | '\\' | '#' | '~' => true,
            _ => false,
        };
        if is_escaped {
            out.push('\\');
        }
        out.push(*character);
    }
    out
}

/// A left-aligned column of this width, with at least one space behind it, however long the text
/// is.
pub(super) fn left(text: &str, width: usize) -> String {
    format!("{text:<0$} ", width.saturating_sub(1))
}

/// A right-aligned column of this width, with at least one space before it.
pub(super) fn right(text: &str, width: usize) -> String {
    format!(" {text:>0$}", width.saturating_sub(1))
}

/// Wraps `text` at `columns`; the first line begins with `label`, the others are indented by
/// `indent`.
pub(super) fn wrap(label: &str, text: &str, indent: usize, columns: usize) -> String {
    let room = columns.saturating_sub(indent).max(20);
    let mut out =
        if label.is_empty() { " ".repeat(indent) } else { left(label.trim_end(), indent) };
    let mut used = 0;
    for word in words(text) {
        let long = word.chars().count();
        if used > 0 && used + 1 + long > room {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += long;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The words of a text; a number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    const UNITS: &[&str] = &[
        "%", "s", "ms", "us", "B", "kB", "MB", "GB", "B/s", "kB/s", "MB/s", "GB/s", "bit/s",
        "kbit/s", "Mbit/s", "Gbit/s", "Hz",
    ];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(number)
                if number.ends_with(|c: char| c.is_ascii_digit())
                    && UNITS.contains(&word.trim_end_matches([',', ';', '.', ':', ')'])) =>
            {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_underscore_is_escaped_only_where_it_means_something_in_markdown() {
        for plain in ["net.ipv4.tcp_rmem", "_copy_from_iter, __skb_clone", "a _ b", "x86_64"] {
            assert_eq!(markdown_text(plain), plain);
        }
        assert_eq!(markdown_text("_a_b_ c"), "\\_a_b\\_ c");
        assert_eq!(markdown_text("__a__"), "\\_\\_a\\_\\_");
        assert_eq!(markdown_text("a*b|c"), "a\\*b\\|c");
    }

    #[test]
    fn words_wrap_under_their_label() {
        assert_eq!(
            wrap("note", "one two three four five six seven", 6, 26),
            "note  one two three four\n      five six seven\n"
        );
        assert_eq!(wrap("note", "", 6, 26), "note\n");
        assert_eq!(wrap("a long label", "and text", 6, 26), "a long label and text\n");
        assert_eq!(
            wrap("", "the budget of twenty 60 s, spent", 0, 23),
            "the budget of twenty\n60 s, spent\n"
        );
    }
}
