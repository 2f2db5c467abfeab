//! Durations in JSON: numbers of a unit, and texts that name their units, `1m2.5s` (Go) and
//! `0.012s` (Google's `Duration`). The unit of Caddy's numbers is a setting, `duration_format`, and
//! is found from the first lines.

use super::object::Scalar;
use crate::number;

/// Units that a text names, in ns. `ms` comes before `m`.
const UNITS: [(&str, u64); 8] = [
    ("h", 3_600_000_000_000),
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
];

/// A duration in us; a number without a unit has `unit_ns`.
pub(super) fn us(value: &Scalar<'_>, unit_ns: u64) -> Option<u64> {
    match value {
        // Below a microsecond Caddy's seconds are written as 1.5e-7.
        Scalar::Float(number) if *number >= 0.0 && *number < 1e12 => {
            Some((number * unit_ns as f64 / 1000.0) as u64)
        }
        Scalar::Unsigned(number) => Some(number.checked_mul(unit_ns)? / 1000),
        Scalar::Text(text) => {
            let ns = number::scaled(text.as_bytes(), unit_ns).or_else(|| with_units(text))?;
            Some(ns / 1000)
        }
        _ => None,
    }
}

/// `1h2m3.5s` in ns. <https://pkg.go.dev/time#ParseDuration>
fn with_units(mut text: &str) -> Option<u64> {
    let mut ns: u64 = 0;
    if text.is_empty() {
        return None;
    }
    while !text.is_empty() {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, rest) = text.split_at(end);
        let unit = |(name, ns): &(&str, u64)| Some((rest.strip_prefix(name)?, *ns));
        let (rest, unit_ns) = UNITS.iter().find_map(unit)?;
        ns = ns.checked_add(number::scaled(number.as_bytes(), unit_ns)?)?;
        text = rest;
    }
    Some(ns)
}

/// The unit of durations that are numbers without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Seconds, as Caddy writes them by default.
    Seconds,
    Milliseconds,
    Nanoseconds,
    /// It could not be determined.
    Doubtful,
}

/// The unit of these durations of Caddy, none of them 0.
///
/// Caddy measures to the nanosecond, so among some seconds one has more than six decimals. It
/// writes milliseconds and nanoseconds as whole numbers, and few requests take less than 20 us or
/// more than 20 s.
pub(super) fn unit<'v>(values: impl Iterator<Item = &'v Scalar<'v>>) -> Unit {
    /// With fewer, that all are round may be chance.
    const ENOUGH: usize = 5;
    const LEAST_NS: f64 = 20_000.0;
    let mut numbers = Vec::new();
    let (mut is_whole, mut is_fine) = (true, false);
    for value in values {
        let text = value.text();
        let Ok(number) = text.parse::<f64>() else { continue };
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        numbers.push(number);
        is_whole &= decimals == 0;
        is_fine |= decimals > 6;
    }
    numbers.sort_by(f64::total_cmp);
    match numbers.get(numbers.len() / 2) {
        None => Unit::Seconds,
        Some(_) if is_fine => Unit::Seconds,
        Some(median) if is_whole && *median >= LEAST_NS => Unit::Nanoseconds,
        Some(_) if is_whole && numbers.len() >= ENOUGH => Unit::Milliseconds,
        Some(_) if is_whole || numbers.len() >= ENOUGH => Unit::Doubtful,
        Some(_) => Unit::Seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_name_its_units() {
        let parsed = |text: &str| us(&Scalar::Text(text.into()), 1_000_000_000);
        for (text, expected) in [
            ("0.012345s", 12_345),
            ("12.5ms", 12_500),
            ("345\u{b5}s", 345),
            ("345us", 345),
            ("1500ns", 1),
            ("1m2.5s", 62_500_000),
            ("1h0m0s", 3_600_000_000),
            ("0s", 0),
            ("0.25", 250_000),
        ] {
            assert_eq!(parsed(text), Some(expected), "{text}");
        }
        for none in ["", "-", "s", "5x", "1.2.3s", "-5ms", "5ms ", "99999999999h"] {
            assert_eq!(parsed(none), None, "{none}");
        }
    }

    #[test]
    fn units_of_caddy_are_found_by_what_is_logged_or_doubted() {
        let found = |numbers: &[f64]| {
            let scalar = |number: &f64| match number.fract() == 0.0 {
                true => Scalar::Unsigned(*number as u64),
                false => Scalar::Float(*number),
            };
            let values: Vec<_> = numbers.iter().map(scalar).collect();
            unit(values.iter())
        };
        assert_eq!(found(&[0.000_929_675, 1.0, 0.25]), Unit::Seconds);
        assert_eq!(found(&[0.25]), Unit::Seconds);
        assert_eq!(found(&[929_675.0, 12_500_000.0]), Unit::Nanoseconds);
        assert_eq!(found(&[1.0, 12.0, 3.0, 7.0, 120.0]), Unit::Milliseconds);
        assert_eq!(found(&[1.0, 12.0]), Unit::Doubtful);
        assert_eq!(found(&[12.5, 3.25, 12.5, 4.5, 5.0]), Unit::Doubtful);
        assert_eq!(found(&[]), Unit::Seconds);
    }
}
