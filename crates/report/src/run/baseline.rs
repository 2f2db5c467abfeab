//! The baseline of the ratios of a plan of several factors: one cell for all, or for each cell the
//! one that differs in a single factor.

use std::collections::BTreeMap;

use super::pivot::Pivot;
use crate::text::{distinct, list};
use zc_run::{Factor, escape};

/// Cells with which the others are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// The cell of this label, for all.
    One(String),
    /// Each cell has as its baseline the one with this level of this factor and the same levels of
    /// all others.
    Level { factor: Factor, level: String, same: Vec<Factor> },
    /// Different cells.
    Mixed {
        /// Compared cells by the label of their baseline.
        bases: BTreeMap<String, Vec<String>>,
        /// Description of the baseline; `None` where the cells have nothing in common.
        text: Option<String>,
    },
    /// Nothing is compared.
    Nothing,
}

impl Baseline {
    /// Finds the baseline of the ratios in the table.
    pub(crate) fn from_pivot(pivot: &Pivot) -> Self {
        let factors: Vec<Factor> = pivot.keys.iter().copied().chain([pivot.across]).collect();
        let mut levels: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in &pivot.rows {
            for (column, placed) in pivot.columns.iter().zip(&row.cells) {
                let Some(placed) = placed else { continue };
                let of_cell = row.levels.iter().chain([column]).map(String::as_str).collect();
                levels.insert(placed.cell.label.as_str(), of_cell);
            }
        }
        let mut bases: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut differs: Vec<Option<Difference>> = Vec::new();
        for placed in pivot.cells() {
            let label = placed.cell.label.as_str();
            let Some(base) = placed.figures.by.as_deref() else { continue };
            bases.entry(base.to_owned()).or_default().push(label.to_owned());
            differs.push(match (levels.get(label), levels.get(base)) {
                (Some(own), Some(other)) => only_difference(own, other),
                _ => None,
            });
        }
        match (bases.len(), differs.first()) {
            (0, _) => return Self::Nothing,
            (1, _) => return Self::One(bases.into_keys().next().unwrap_or_default()),
            (_, Some(Some(first)))
                if differs
                    .iter()
                    .all(|each| each.is_some_and(|each| first.has_same_base(each))) =>
            {
                if let Some(factor) = factors.get(first.place) {
                    let same = factors.iter().copied().filter(|other| other != factor).collect();
                    return Self::Level { factor: *factor, level: first.base.to_owned(), same };
                }
            }
            _ => {}
        }
        let each: Option<Vec<Difference>> = differs.into_iter().collect();
        let text = each.and_then(|each| in_words(pivot, &factors, &each));
        Self::Mixed { bases, text }
    }

    /// The end of "compared with ...".
    pub(crate) fn text(&self) -> String {
        match self {
            Self::One(label) => escape(label, 80),
            Self::Level { factor, level, same } => {
                format!("{} of the same {}", named(*factor, level), names(same))
            }
            Self::Mixed { text: Some(text), .. } => text.clone(),
            Self::Mixed { text: None, .. } => "the cell that each is compared with".to_owned(),
            Self::Nothing => "nothing".to_owned(),
        }
    }

    /// The list of pairs, where the baseline takes a list.
    pub(crate) fn listed(&self) -> Option<String> {
        let Self::Mixed { bases, .. } = self else { return None };
        let each = bases.iter().map(|(base, cells)| {
            let cells: Vec<String> = cells.iter().map(|cell| escape(cell, 80)).collect();
            format!("{} with {}", list(&cells), escape(base, 80))
        });
        Some(each.collect::<Vec<_>>().join("; "))
    }
}

/// A level with the name of its factor where needed: `sendfile`, `mtu 1500`.
pub(crate) fn named(factor: Factor, level: &str) -> String {
    match factor {
        Factor::Send | Factor::Recv | Factor::Congestion => level.to_owned(),
        _ => format!("{factor} {level}"),
    }
}

/// The only factor in which a cell differs from the one that it is compared with.
#[derive(Debug, Clone, Copy)]
struct Difference<'a> {
    /// The place of the factor.
    place: usize,
    /// The cell's level, and the other's.
    own: &'a str,
    base: &'a str,
}

impl Difference<'_> {
    fn has_same_base(self, other: Self) -> bool {
        (self.place, self.base) == (other.place, other.base)
    }
}

/// The factor in which two cells differ; `None` if they differ in several.
fn only_difference<'a>(own: &[&'a str], other: &[&'a str]) -> Option<Difference<'a>> {
    let mut places = own.iter().zip(other).enumerate().filter(|(_, (own, other))| own != other);
    let (place, (own, base)) = places.next()?;
    places.next().is_none().then_some(Difference { place, own, base })
}

/// Baseline, in words, of cells that do not all differ in the same factor: for each factor one
/// level, or the level before in the table. `None` if it is neither.
fn in_words(pivot: &Pivot, factors: &[Factor], differences: &[Difference]) -> Option<String> {
    let mut parts = Vec::new();
    for (place, factor) in factors.iter().enumerate() {
        let of_factor: Vec<_> = differences.iter().filter(|each| each.place == place).collect();
        let Some(first) = of_factor.first() else { continue };
        let others: Vec<Factor> = factors.iter().copied().filter(|each| each != factor).collect();
        let is_across = place == pivot.keys.len();
        let order: Vec<String> = match is_across {
            true => pivot.columns.clone(),
            false => distinct(pivot.rows.iter().filter_map(|row| row.levels.get(place).cloned())),
        };
        let follows = |each: &Difference| {
            order.windows(2).any(|pair| pair[0] == each.base && pair[1] == each.own)
        };
        let base = if of_factor.iter().all(|each| first.has_same_base(**each)) {
            named(*factor, first.base)
        } else if of_factor.iter().all(|each| follows(each)) {
            format!("the {factor} {}", if is_across { "to the left" } else { "above" })
        } else {
            return None;
        };
        parts.push(format!("{base} of the same {}", names(&others)));
    }
    (!parts.is_empty()).then(|| parts.join(", or "))
}

/// The names of factors, as a list.
fn names(factors: &[Factor]) -> String {
    list(&factors.iter().map(ToString::to_string).collect::<Vec<_>>())
}
