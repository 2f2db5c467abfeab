//! From which level of an ascending factor on a path costs less than another.

use super::historical::{Quotient, times};

/// A path beside another one, at one level of a factor.
pub(super) struct Step {
    /// What orders the levels.
    pub(super) amount: f64,
    /// The level, as shown.
    pub(super) text: String,
    /// Cost of the path divided by that of the other.
    pub(super) quotient: Quotient,
}

/// What the steps of a path show together.
pub(super) enum Threshold<'s> {
    /// The path costs less at all levels, of which these are the least and the greatest.
    Everywhere(&'s Step, &'s Step),
    /// The path costs less from a level on, and was not shown to at the level before.
    From { before: &'s Step, first: &'s Step },
    /// It was shown to cost less at none.
    Nowhere,
    /// It costs less at some levels, and was not shown to at the greatest one.
    Below,
    /// At some level the two are not compared, or there is no level.
    Unknown,
}

impl Step {
    /// Whether the path was shown to cost less.
    pub(super) fn pays(&self) -> bool {
        matches!(self.quotient, Quotient::Times(ratio) if ratio < 1.0)
    }

    /// How often the other's cost the path costs, if it was shown to cost more.
    pub(super) fn dearer(&self) -> Option<f64> {
        match self.quotient {
            Quotient::Times(ratio) if ratio > 1.0 => Some(ratio),
            _ => None,
        }
    }

    /// Predicate of a level at which the path does not pay: `costs 1.20 times as much`.
    pub(super) fn outcome(&self) -> String {
        match self.quotient {
            Quotient::Times(ratio) => format!("costs {} as much", times(ratio)),
            Quotient::Indistinct | Quotient::Unknown => "was not shown to cost less".to_owned(),
        }
    }
}

/// The steps in ascending order, each level once.
pub(super) fn ascending(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_by(|a, b| a.amount.total_cmp(&b.amount));
    steps.dedup_by(|a, b| a.amount.total_cmp(&b.amount).is_eq());
    steps
}

/// What ascending steps show.
pub(super) fn threshold(steps: &[Step]) -> Threshold<'_> {
    let (Some(least), Some(greatest)) = (steps.first(), steps.last()) else {
        return Threshold::Unknown;
    };
    if steps.iter().any(|step| step.quotient == Quotient::Unknown) {
        return Threshold::Unknown;
    }
    let place = steps.iter().rposition(|step| !step.pays()).map_or(0, |last| last + 1);
    let (before, from) = steps.split_at(place);
    match (before.last(), from.first()) {
        (Some(before), Some(first)) => Threshold::From { before, first },
        (None, Some(_)) => Threshold::Everywhere(least, greatest),
        (_, None) if steps.iter().any(Step::pays) => Threshold::Below,
        (_, None) => Threshold::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(quotients: &[Quotient]) -> Vec<Step> {
        let levels = quotients.iter().zip([1.0, 5.0, 20.0, 50.0]);
        let step = |(quotient, amount): (&Quotient, f64)| Step {
            amount,
            text: format!("{amount}"),
            quotient: *quotient,
        };
        levels.map(step).collect()
    }

    #[test]
    fn a_threshold_is_where_a_path_begins_to_cost_less_and_goes_on() {
        let (less, more) = (Quotient::Times(0.5), Quotient::Times(1.5));
        let of = |quotients: &[Quotient]| match threshold(&steps(quotients)) {
            Threshold::Everywhere(least, greatest) => {
                format!("from {} to {}", least.text, greatest.text)
            }
            Threshold::From { before, first } => format!("from {}, {}", first.text, before.text),
            Threshold::Nowhere => "nowhere".to_owned(),
            Threshold::Below => "below".to_owned(),
            Threshold::Unknown => "unknown".to_owned(),
        };
        assert_eq!(of(&[less, less, less]), "from 1 to 20");
        assert_eq!(of(&[more, less, less]), "from 5, 1");
        assert_eq!(of(&[less, Quotient::Indistinct, less]), "from 20, 5");
        assert_eq!(of(&[more, Quotient::Indistinct]), "nowhere");
        assert_eq!(of(&[less, Quotient::Indistinct]), "below");
        assert_eq!(of(&[less, Quotient::Unknown, less]), "unknown");
        assert_eq!(of(&[]), "unknown");
    }

    #[test]
    fn steps_are_in_the_order_of_their_levels() {
        let mut given = steps(&[Quotient::Indistinct; 3]);
        given.rotate_left(1);
        given.extend(steps(&[Quotient::Unknown]));
        let order: Vec<f64> = ascending(given).iter().map(|step| step.amount).collect();
        assert_eq!(order, [1.0, 5.0, 20.0]);
    }
}
