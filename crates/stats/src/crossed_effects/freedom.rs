//! Decides which effects the values can separate.

use super::model::Crossed;
use crate::parts::Parts;

/// Numbers of levels, units or partners, without those that have no value.
pub(super) struct Numbers {
    /// Place of each index among those with values.
    pub(super) places: Vec<Option<usize>>,
    pub(super) count: usize,
}

impl Numbers {
    pub(super) fn assign(indices: impl Iterator<Item = usize>) -> Self {
        let (mut places, mut count) = (Vec::new(), 0);
        for index in indices {
            if places.len() <= index {
                places.resize(index + 1, None);
            }
            if places[index].is_none() {
                places[index] = Some(count);
                count += 1;
            }
        }
        Self { places, count }
    }

    pub(super) fn place(&self, index: usize) -> usize {
        self.places.get(index).copied().flatten().unwrap_or(0)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Results by index, from results by place.
    pub(super) fn spread<T: Copy>(&self, by_place: &[T]) -> Vec<Option<T>> {
        self.places.iter().map(|place| by_place.get((*place)?).copied()).collect()
    }
}

pub(super) struct Names {
    pub(super) levels: Numbers,
    pub(super) units: Numbers,
    pub(super) partners: Numbers,
}

impl Names {
    pub(super) fn assign(values: &[Crossed]) -> Self {
        Self {
            levels: Numbers::assign(values.iter().map(|each| each.level)),
            units: Numbers::assign(values.iter().map(|each| each.unit)),
            partners: Numbers::assign(values.iter().filter_map(|each| each.partner)),
        }
    }
}

/// Degrees of freedom of effects, each after those before it: ranks of 0/1 matrices, by what is
/// connected.
pub(super) struct Freedom {
    /// 0 where some value has no partner.
    pub(super) partners: usize,
    pub(super) sessions: usize,
    pub(super) without_partners: usize,
}

impl Freedom {
    pub(super) fn count(values: &[Crossed], names: &Names) -> Self {
        let (levels, units) = (names.levels.count(), names.units.count());
        // Levels and units together: their number less that of connected parts.
        let fixed = |each: &Crossed| names.levels.place(each.level);
        let unit = |each: &Crossed| levels + names.units.place(each.unit);
        let mut parts = Parts::new(levels + units);
        values.iter().for_each(|each| parts.join(fixed(each), unit(each)));
        let rank_of_units = levels + units - parts.count();
        let without_partners = values.len().saturating_sub(rank_of_units);
        if values.iter().any(|each| each.partner.is_none()) {
            return Self { partners: 0, sessions: without_partners, without_partners };
        }
        // Where units are of one level each, that adds nothing to units and partners.
        let partners = names.partners.count();
        let mut parts = Parts::new(units + partners);
        for each in values {
            let partner = each.partner.map_or(0, |partner| names.partners.place(partner));
            parts.join(unit(each) - levels, units + partner);
        }
        let rank = (units + partners - parts.count()).max(rank_of_units);
        Self {
            partners: rank - rank_of_units,
            sessions: values.len().saturating_sub(rank),
            without_partners,
        }
    }
}
