//! Division by a number that may be 0.

/// The value, unless it is NaN or infinite: neither has a place in a report or in JSON.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// `above` divided by `below`, if finite.
pub(super) fn per(above: f64, below: f64) -> Option<f64> {
    if below > 0.0 { finite(above / below) } else { None }
}
