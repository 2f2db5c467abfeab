//! The looks at a run that is compared with a saved one: planned before, each with a part of the
//! error.

use zc_stats::AlphaSpending;

/// Shares of the budget at which it is looked. The last one is the end.
const PLANNED: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

/// The planned looks, by how many were taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Looks {
    taken: usize,
}

impl Looks {
    /// The part of `error` that a look has when this share of the budget is spent; `None` if none
    /// is due. All parts together are `error`.
    pub fn due(&mut self, spent_share: f64, error: f64) -> Option<f64> {
        let planned = *PLANNED.get(self.taken)?;
        if spent_share < planned {
            return None;
        }
        let before = self.taken.checked_sub(1).map_or(0.0, |last| PLANNED[last]);
        self.taken += 1;
        Some(AlphaSpending::new(1.0 - error)?.increment(before, planned))
    }

    /// The part of the look at the end, whichever were taken before.
    pub fn last(&mut self, error: f64) -> Option<f64> {
        self.taken = self.taken.max(PLANNED.len() - 1);
        self.due(1.0, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_have_the_error_once() {
        let mut looks = Looks::default();
        assert_eq!(looks.due(0.2, 0.01), None);
        let mut spent = looks.due(0.3, 0.01).unwrap();
        assert_eq!(looks.due(0.4, 0.01), None);
        spent += looks.due(0.5, 0.01).unwrap() + looks.due(0.9, 0.01).unwrap();
        assert!(spent < 0.006, "{spent}");
        spent += looks.last(0.01).unwrap();
        assert!((spent - 0.01).abs() < 1e-12, "{spent}");
        assert_eq!(looks.last(0.01), None);
    }
}
