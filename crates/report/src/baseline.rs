//! The baseline of the ratios of a plan of several factors: one cell for all, or for each cell the
//! one that differs in a single factor.

use std::collections::BTreeMap;

use super::pivot::Pivot;
use super::text::list;
use zc_run::{Factor, escape};

/// What the cells are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Baseline {
    /// The cell of this label, for all.
    One(String),
    /// For each cell the one with this level of this factor and the same levels of all others.
    Level { factor: Factor, level: String, same: Vec<Factor> },
    /// Different cells: by label, the cells compared with it.
    Mixed(BTreeMap<String, Vec<String>>),
    /// Nothing is compared.
    Nothing,
}

impl Baseline {
    pub(super) fn of(pivot: &Pivot) -> Self {
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
        let mut differs: Vec<Option<(usize, &str)>> = Vec::new();
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
            (_, Some(Some((place, level))))
                if differs.iter().all(|each| *each == Some((*place, level))) =>
            {
                if let Some(factor) = factors.get(*place) {
                    let same = factors.iter().copied().filter(|other| other != factor).collect();
                    return Self::Level { factor: *factor, level: (*level).to_owned(), same };
                }
            }
            _ => {}
        }
        Self::Mixed(bases)
    }

    /// As the end of "compared with ...".
    pub(super) fn text(&self) -> String {
        match self {
            Self::One(label) => escape(label, 80),
            Self::Level { factor, level, same } => {
                let same: Vec<String> = same.iter().map(ToString::to_string).collect();
                format!("{} of the same {}", named(*factor, level), list(&same))
            }
            Self::Mixed(_) => "the cell that each is compared with".to_owned(),
            Self::Nothing => "nothing".to_owned(),
        }
    }

    /// The list of pairs, where the baseline takes a list.
    pub(super) fn listed(&self) -> Option<String> {
        let Self::Mixed(bases) = self else { return None };
        let each = bases.iter().map(|(base, cells)| {
            let cells: Vec<String> = cells.iter().map(|cell| escape(cell, 80)).collect();
            format!("{} with {}", list(&cells), escape(base, 80))
        });
        Some(each.collect::<Vec<_>>().join("; "))
    }
}

/// A level with the name of its factor where needed: `sendfile`, `mtu 1500`.
pub(super) fn named(factor: Factor, level: &str) -> String {
    match factor {
        Factor::Send | Factor::Recv | Factor::Congestion => level.to_owned(),
        _ => format!("{factor} {level}"),
    }
}

/// The index of the only factor in which two cells differ, and the other cell's level.
fn only_difference<'a>(own: &[&str], other: &[&'a str]) -> Option<(usize, &'a str)> {
    let mut places = own.iter().zip(other).enumerate().filter(|(_, (own, other))| own != other);
    let (place, (_, level)) = places.next()?;
    places.next().is_none().then_some((place, *level))
}
