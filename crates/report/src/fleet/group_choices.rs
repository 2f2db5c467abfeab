//! Choices of rows by the facts that hosts are grouped by, and the order of their values: numbers
//! in them count as numbers.

use super::names::{MOST, Names};
use crate::html::filters::Choice;
use crate::text::ordered;
use zc_run::escape;

/// The place of each group's value among all values of a fact, for sorting: numbers in a value
/// count as numbers.
pub(crate) fn ranks(names: Names, fact: usize) -> Vec<usize> {
    let values: Vec<&str> = (0..names.groups.len()).map(|at| names.raw(at, fact)).collect();
    let mut values = ordered(&values, &|a, b| pieces(a).cmp(&pieces(b)).then(a.cmp(b)));
    values.dedup();
    let place = |group| values.iter().position(|value| *value == names.raw(group, fact));
    (0..names.groups.len()).map(|group| place(group).unwrap_or(0)).collect()
}

/// A text cut into words and numbers: `6.12.1` comes after `6.8.0`.
fn pieces(text: &str) -> Vec<Result<u64, &str>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(if digits { piece.parse().map_err(|_| piece) } else { Err(piece) });
        rest = after;
    }
    pieces
}

/// A choice for each fact that hosts are grouped by.
pub(crate) fn choices(names: Names) -> Vec<Choice> {
    let choice = |fact: usize| {
        let ranks = ranks(names, fact);
        let mut values: Vec<(String, Vec<usize>)> = Vec::new();
        for rank in 0..ranks.len() {
            let groups: Vec<usize> = (0..ranks.len()).filter(|at| ranks[*at] == rank).collect();
            if let Some(first) = groups.first() {
                values.push((names.values(*first)[fact].clone(), groups));
            }
        }
        Choice { name: escape(&names.by[fact], MOST), values }
    };
    (0..names.by.len()).map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_sorted_as_numbers() {
        let mut values = ["6.12.1", "6.8.0", "6.8.0-45", "10", "9", "gen2", "gen10", ""];
        values.sort_by_key(|value| pieces(value));
        assert_eq!(values, ["", "6.8.0", "6.8.0-45", "6.12.1", "9", "10", "gen2", "gen10"]);
    }
}
