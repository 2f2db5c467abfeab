//! Formats numbers; the interval determines the significant digits.

pub(super) use zc_analysis::us_per_mb;

/// `560 ±4`, `250.1 ±0.4`: down to the digit in which the half-width begins, one further if that
/// digit is a 1. Without a half-width three significant digits.
pub(super) fn with_half_width(value: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half) => {
            let places = places_for(half, 0, 3);
            format!("{value:.places$} ±{half:.places$}")
        }
        None => significant(value),
    }
}

/// `978 (234 to 4093)`: with the ends of an interval that is not about as far to either side.
pub(super) fn with_ends(value: f64, low: f64, high: f64) -> String {
    format!("{} ({} to {})", significant(value), significant(low), significant(high))
}

/// `0.62 ±2.1 %`: a ratio and its relative half-width (0.021).
pub(super) fn ratio(value: f64, relative_half_width: Option<f64>) -> String {
    match relative_half_width {
        Some(half) => {
            let places = places_for(value * half, 2, 4);
            format!("{value:.places$} ±{}", percent(half))
        }
        None => format!("{value:.2}"),
    }
}

/// A bound of a ratio's interval, to as many places as the interval's half-width allows.
pub(super) fn bound(value: f64, half_width: f64) -> String {
    let places = places_for(half_width, 2, 4);
    format!("{value:.places$}")
}

/// A share of 0.021 as `2.1 %`; from 10 % on without a decimal.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // 9.96 would print as "10.0".
    if percent.abs() < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Like [`percent`], with its sign: `+2.1 %`, `-26 %`.
pub(super) fn signed_percent(share: f64) -> String {
    let text = percent(share.abs());
    let nothing = text.chars().all(|c| !('1'..='9').contains(&c));
    match (nothing, share < 0.0) {
        (true, _) => text,
        (false, true) => format!("-{text}"),
        (false, false) => format!("+{text}"),
    }
}

/// Three significant digits, never in exponent form: `0.0123`, `14.3`, `560`, `123456`.
pub(super) fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let places = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.places$}")
}

/// Bytes in decimal units: `350 kB`, `22.1 MB`. Below 1000 as they are.
pub(super) fn bytes(value: f64) -> String {
    scaled(value, &["B", "kB", "MB", "GB", "TB"])
}

/// Bytes per second: `400 MB/s`.
pub(super) fn rate(bytes_per_s: f64) -> String {
    scaled(bytes_per_s, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
}

fn scaled(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    // 999.6 would print as "1000".
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    // Without trailing zeros: 400 MB/s, not 400.0; 1 GB/s, not 1.00.
    format!("{} {}", trimmed(&significant(value)), units[unit])
}

/// Returns the number without trailing zeros in the decimals.
pub(super) fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// A size that the user gave in binary units: `64k`, `1m`, else plain bytes.
pub(super) fn size(bytes: usize) -> String {
    for (shift, unit) in [(30, "g"), (20, "m"), (10, "k")] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Nanoseconds as seconds: `60 s`, `38.2 s`, `0.5 s`; below that in ms.
pub(super) fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds < 0.1 {
        return format!("{} ms", trimmed(&significant(seconds * 1e3)));
    }
    let text = format!("{seconds:.1}");
    format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
}

/// Decimal places such that the first digit of `half` is the last one printed, or the second if the
/// first is a 1, clamped to `least` and `most`.
fn places_for(half: f64, least: usize, most: usize) -> usize {
    if half <= 0.0 || !half.is_finite() {
        return most;
    }
    let exponent = half.log10().floor();
    let first = half / 10f64.powf(exponent);
    let places = -exponent + if first < 1.95 { 1.0 } else { 0.0 };
    (places.max(0.0) as usize).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_determines_the_digits() {
        assert_eq!(with_half_width(560.34, Some(4.02)), "560 ±4");
        assert_eq!(with_half_width(560.34, Some(1.42)), "560.3 ±1.4");
        assert_eq!(with_half_width(250.12, Some(0.41)), "250.1 ±0.4");
        assert_eq!(with_half_width(250.12, Some(12.3)), "250 ±12");
        assert_eq!(with_half_width(250.12, Some(0.0)), "250.120 ±0.000");
        assert_eq!(with_half_width(250.12, None), "250");
        assert_eq!(with_half_width(2.512, None), "2.51");
    }

    #[test]
    fn a_ratio_has_two_to_four_places() {
        assert_eq!(ratio(0.6213, Some(0.021)), "0.621 ±2.1 %");
        assert_eq!(ratio(0.6213, Some(0.048)), "0.62 ±4.8 %");
        assert_eq!(ratio(1.2, Some(0.5)), "1.20 ±50 %");
        assert_eq!(ratio(0.98765, Some(0.0001)), "0.9877 ±0.0 %");
        assert_eq!(ratio(0.98765, None), "0.99");
    }

    #[test]
    fn percentages_that_round_to_zero_have_no_sign() {
        assert_eq!(signed_percent(-0.26), "-26 %");
        assert_eq!(signed_percent(0.021), "+2.1 %");
        assert_eq!(signed_percent(-0.0001), "0.0 %");
        assert_eq!(percent(0.0996), "10 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn quantities_have_a_unit_of_their_size() {
        assert_eq!(bytes(350_000.0), "350 kB");
        assert_eq!(bytes(22_050_000.0), "22.1 MB");
        assert_eq!(bytes(999_600.0), "1 MB");
        assert_eq!(bytes(17.0), "17 B");
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(rate(4e8), "400 MB/s");
        assert_eq!(rate(1.25e9), "1.25 GB/s");
        assert_eq!(size(65_536), "64k");
        assert_eq!(size(1 << 20), "1m");
        assert_eq!(size(1000), "1000");
        assert_eq!(size(0), "0");
        assert_eq!(seconds(60_000_000_000), "60 s");
        assert_eq!(seconds(38_240_000_000), "38.2 s");
        assert_eq!(seconds(80_000_000), "80 ms");
    }
}
