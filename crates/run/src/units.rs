//! Sizes, rates, durations and percentages as they are typed. An ambiguous one is refused, with a
//! hint that shows how to write either meaning: a figure that is wrong by 2.4 % or by a factor of
//! eight because of a letter is worse than an error.
//!
//! * Sizes are binary, as in this field's other tools (`iperf3 -l 64k`): `64k` is 65,536. `64kB` is
//!   refused.
//! * Rates are decimal, as on every data sheet: `400MB/s`, `10Gbit/s`. `10G`, `10Gb/s` and `400MB`
//!   are refused.
//! * Durations always have a unit: `60s`, `2m`, `1m30s`, `500ms`.

use std::ops::RangeInclusive;

use super::{Error, Result, escape};

const SIZE_HINT: &str = "sizes are bytes, or end in k, m or g: 64k is 65,536";
const RATE_HINT: &str = "rates look like 400MB/s or 10Gbit/s (decimal), or are auto";
const DURATION_HINT: &str = "durations look like 60s, 2m, 1m30s or 500ms";
const PERCENT_HINT: &str = "percentages look like 2.5%";

const NS_PER_S: u64 = 1_000_000_000;

/// Parses a size in bytes within `bounds`: `64k` is 65,536.
///
/// # Errors
/// [`ErrorKind::Usage`](super::ErrorKind), as for all functions here: not a size, an unknown or
/// ambiguous unit, or out of bounds.
pub fn size(text: &str, bounds: RangeInclusive<u64>) -> Result<u64> {
    let wrong = |what: String| {
        Error::usage("invalid-size", format!("size \"{}\" {what}", shown(text))).help(SIZE_HINT)
    };
    let (number, unit) = split(text).map_err(|what| wrong(what.to_owned()))?;
    let shift = match unit {
        "" | "B" => 0,
        "k" | "K" | "KiB" => 10,
        "m" | "M" | "MiB" => 20,
        "g" | "G" | "GiB" => 30,
        "kB" | "KB" | "kb" | "Kb" | "MB" | "mB" | "mb" | "Mb" | "GB" | "gB" | "gb" | "Gb" => {
            let letter = unit[..1].to_lowercase();
            let (binary, decimal) = match letter.as_str() {
                "k" => (1 << 10, 1_000),
                "m" => (1 << 20, 1_000_000),
                _ => (1_u64 << 30, 1_000_000_000),
            };
            let help = match number.parse::<u64>() {
                Ok(n) => match (n.checked_mul(binary), n.checked_mul(decimal)) {
                    (Some(two), Some(ten)) => {
                        format!(
                            "write {n}{letter} for {}, or {ten} for {}",
                            commas(two),
                            commas(ten)
                        )
                    }
                    _ => SIZE_HINT.to_owned(),
                },
                Err(_) => SIZE_HINT.to_owned(),
            };
            return Err(
                wrong(format!("could be binary or decimal: \"{unit}\" means both")).help(help)
            );
        }
        _ => return Err(wrong(format!("has an unknown unit \"{}\"", shown(unit)))),
    };
    if number.contains('.') {
        return Err(wrong("is not a whole number".to_owned()));
    }
    let bytes = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| wrong("is too large".to_owned()))?;
    if bytes < *bounds.start() {
        return Err(wrong(if bytes == 0 {
            "is zero".to_owned()
        } else {
            format!("is too small: at least {}", size_text(*bounds.start()))
        }));
    }
    if bytes > *bounds.end() {
        return Err(wrong(format!("is too large: at most {}", size_text(*bounds.end()))));
    }
    Ok(bytes)
}

/// Parses a rate in bytes per second, such as `400MB/s`; `auto` is `None`.
///
/// # Errors
/// Not a rate, ambiguous, or not within 10 kB/s and 1 TB/s.
pub fn rate(text: &str) -> Result<Option<f64>> {
    const LEAST: f64 = 1e4;
    const MOST: f64 = 1e12;
    if text.trim() == "auto" {
        return Ok(None);
    }
    let wrong = |what: String| {
        Error::usage("invalid-rate", format!("rate \"{}\" {what}", shown(text))).help(RATE_HINT)
    };
    let (number, unit) = split(text).map_err(|what| wrong(what.to_owned()))?;
    let unit_bytes_per_s = match unit {
        "B/s" => 1.0,
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        "TB/s" => 1e12,
        "KiB/s" => 1024.0,
        "MiB/s" => 1024.0 * 1024.0,
        "GiB/s" => 1024.0 * 1024.0 * 1024.0,
        "bit/s" => 0.125,
        "kbit/s" => 0.125e3,
        "Mbit/s" => 0.125e6,
        "Gbit/s" => 0.125e9,
        "Tbit/s" => 0.125e12,
        "" => return Err(wrong("has no unit".to_owned())),
        _ => return Err(rate_unit(number, unit, wrong)),
    };
    let bytes_per_s = real(number).map_or(f64::INFINITY, |number| number * unit_bytes_per_s);
    if bytes_per_s == 0.0 {
        return Err(wrong("is zero".to_owned()));
    }
    if bytes_per_s < LEAST {
        return Err(wrong("is too low: at least 10kB/s".to_owned()));
    }
    if bytes_per_s > MOST {
        return Err(wrong("is too high: at most 1TB/s".to_owned()));
    }
    Ok(Some(bytes_per_s))
}

/// The error of a rate's unit: unknown or ambiguous.
fn rate_unit(number: &str, unit: &str, wrong: impl Fn(String) -> Error) -> Error {
    let lower = unit.to_lowercase();
    let stem = lower.strip_suffix("/s").or_else(|| lower.strip_suffix("ps")).unwrap_or(&lower);
    let (prefix, kind) = match stem.strip_suffix("bits").or_else(|| stem.strip_suffix("bit")) {
        Some(prefix) => (prefix, "bit"),
        None => match stem.strip_suffix('b') {
            Some(prefix) => (prefix, "b"),
            None => (stem, ""),
        },
    };
    let prefix = match prefix {
        "" => "",
        "k" => "k",
        "m" => "M",
        "g" => "G",
        "t" => "T",
        _ => return wrong(format!("has an unknown unit \"{}\"", shown(unit))),
    };
    if kind.is_empty() && prefix.is_empty() {
        return wrong(format!("has an unknown unit \"{}\"", shown(unit)));
    }
    let bits = format!("{number}{prefix}bit/s");
    let bytes = format!("{number}{prefix}B/s");
    if kind == "bit" {
        return wrong(format!("has an unknown unit \"{}\"", shown(unit)))
            .help(format!("write {bits}"));
    }
    wrong(format!("could be bits or bytes a second: \"{}\" does not say", shown(unit)))
        .help(format!("write {bits} or {bytes}"))
}

/// Parses a duration in nanoseconds within `bounds`: `60s`, `2m`, `1m30s`, `500ms`.
///
/// # Errors
/// Not a duration, no unit, or out of bounds.
pub fn duration(text: &str, bounds: RangeInclusive<u64>) -> Result<u64> {
    let wrong = |what: String| {
        Error::usage("invalid-duration", format!("duration \"{}\" {what}", shown(text)))
            .help(DURATION_HINT)
    };
    let mut rest = text.trim();
    let mut total_ns = 0.0;
    let mut last_unit_ns = f64::INFINITY;
    loop {
        let (number, tail) = split(rest).map_err(|what| wrong(what.to_owned()))?;
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let unit_ns = match unit.trim() {
            "h" => 3600e9,
            "m" | "min" => 60e9,
            "s" => 1e9,
            "ms" => 1e6,
            "us" => 1e3,
            "" => {
                return Err(wrong("has no unit".to_owned())
                    .help(format!("write {number}s for seconds; {DURATION_HINT}")));
            }
            _ => return Err(wrong(format!("has an unknown unit \"{}\"", shown(unit.trim())))),
        };
        if unit_ns >= last_unit_ns {
            return Err(wrong("names its units in no order".to_owned()));
        }
        last_unit_ns = unit_ns;
        total_ns += real(number).unwrap_or(f64::INFINITY) * unit_ns;
        if tail.is_empty() {
            break;
        }
        rest = tail;
    }
    let (least, most) = (*bounds.start(), *bounds.end());
    if total_ns == 0.0 && least > 0 {
        return Err(wrong("is zero".to_owned()));
    }
    // A double is exact up to 2^53 ns (104 days), and `most` is far below that.
    if total_ns < least as f64 {
        return Err(wrong(format!("is too short: at least {}", duration_text(least))));
    }
    if total_ns > most as f64 {
        return Err(wrong(format!("is too long: at most {}", duration_text(most))));
    }
    Ok(total_ns.round() as u64)
}

/// The bounds of a rate of requests per second: no client keeps up with more.
const PER_SECOND: RangeInclusive<f64> = 0.1..=1e7;
const PER_SECOND_HINT: &str = "a number per second, as in 2000, 2000/s or 0.5/s";

/// Parses a rate of requests: `2000/s` (or `2000`).
///
/// # Errors
/// Not a number with or without `/s`, or not within 0.1 and 10 million per second.
pub fn per_second(text: &str) -> Result<f64> {
    let wrong = |what: String| {
        Error::usage("invalid-rate", format!("rate \"{}\" {what}", shown(text)))
            .help(PER_SECOND_HINT)
    };
    let (number, unit) = split(text).map_err(|what| wrong(what.to_owned()))?;
    match unit {
        "" | "/s" => {}
        other => return Err(wrong(format!("has an unknown unit \"{}\"", shown(other)))),
    }
    let value = real(number).unwrap_or(f64::INFINITY);
    if value < *PER_SECOND.start() {
        return Err(wrong(format!("is too low: at least {}/s", PER_SECOND.start())));
    }
    if value > *PER_SECOND.end() {
        return Err(wrong("is too high: at most 10,000,000/s".to_owned()));
    }
    Ok(value)
}

/// Parses a percentage: `2.5%` (or `2.5`) is 0.025.
///
/// # Errors
/// Not a percentage, or not within 0.1 % and 50 %.
pub fn percent(text: &str) -> Result<f64> {
    let wrong = |what: String| {
        Error::usage("invalid-percentage", format!("percentage \"{}\" {what}", shown(text)))
            .help(PERCENT_HINT)
    };
    let (number, unit) = split(text).map_err(|what| wrong(what.to_owned()))?;
    if !matches!(unit, "" | "%") {
        return Err(wrong(format!("has an unknown unit \"{}\"", shown(unit))));
    }
    let value = real(number).unwrap_or(f64::INFINITY);
    if value == 0.0 {
        return Err(wrong("is zero".to_owned()));
    }
    if value < 0.1 {
        let help = if unit.is_empty() {
            format!("did you mean {}%?", round6(value * 100.0))
        } else {
            PERCENT_HINT.to_owned()
        };
        return Err(wrong("is too small: at least 0.1%".to_owned()).help(help));
    }
    if value > 50.0 {
        return Err(wrong("is too large: at most 50%".to_owned()));
    }
    Ok(value / 100.0)
}

/// Parses a count within `bounds`: CPU numbers, flows, seeds.
///
/// # Errors
/// Not a whole number, or out of bounds.
pub fn count(what: &str, text: &str, bounds: RangeInclusive<u64>) -> Result<u64> {
    let wrong = |how: String| {
        Error::usage("invalid-count", format!("{what} \"{}\" {how}", shown(text))).help(format!(
            "a whole number from {} to {}",
            commas(*bounds.start()),
            commas(*bounds.end())
        ))
    };
    let (number, unit) = split(text).map_err(|how| wrong(how.to_owned()))?;
    if !unit.is_empty() || number.contains('.') {
        return Err(wrong("is not a whole number".to_owned()));
    }
    let value = number.parse::<u64>().map_err(|_| wrong("is too large".to_owned()))?;
    if value < *bounds.start() {
        return Err(wrong(if value == 0 {
            "is zero".to_owned()
        } else {
            "is too small".to_owned()
        }));
    }
    if value > *bounds.end() {
        return Err(wrong("is too large".to_owned()));
    }
    Ok(value)
}

/// Splits a leading decimal number (digits, at most one point between digits) from what follows it,
/// without the spaces between.
fn split(text: &str) -> std::result::Result<(&str, &str), &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty");
    }
    if text.starts_with(['-', '\u{2212}'])
        && text.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
    {
        return Err("is negative");
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let whole = number.bytes().filter(|byte| *byte == b'.').count() <= 1
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.ends_with(|c: char| c.is_ascii_digit());
    if !whole {
        return Err("does not begin with a number");
    }
    // `1e9` and `1_000` would be a 1 with an unknown unit: the message names the real mistake.
    if unit.starts_with([',', '_', '\''])
        || (unit.starts_with(['e', 'E']) && unit[1..].starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err("is not written in plain digits");
    }
    Ok((number, unit.trim_start()))
}

/// Parses the number; `None` if it is too long.
fn real(number: &str) -> Option<f64> {
    number.parse::<f64>().ok().filter(|value| value.is_finite())
}

fn round6(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The user's text, escaped and shortened.
fn shown(text: &str) -> String {
    escape(text, 40)
}

/// 65536 as `65,536`.
fn commas(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// 65536 as `64k`.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        bytes if bytes % (1 << 30) == 0 => format!("{}g", bytes >> 30),
        bytes if bytes % (1 << 20) == 0 => format!("{}m", bytes >> 20),
        bytes if bytes % (1 << 10) == 0 => format!("{}k", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

/// 400,000,000 bytes per second as `400MB/s`.
pub fn rate_text(bytes_per_s: f64) -> String {
    per_s_text(bytes_per_s, "B/s")
}

/// 125,000 bytes per second as `1Mbit/s`.
pub fn bit_rate_text(bytes_per_s: f64) -> String {
    per_s_text(bytes_per_s * 8.0, "bit/s")
}

fn per_s_text(number: f64, unit: &str) -> String {
    let (value, prefix) = match number {
        number if number >= 1e9 => (number / 1e9, "G"),
        number if number >= 1e6 => (number / 1e6, "M"),
        number => (number / 1e3, "k"),
    };
    // At most three decimals, without trailing zeros.
    let digits = format!("{value:.3}");
    format!("{}{prefix}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// 60,000,000,000 as `60s`.
pub fn duration_text(ns: u64) -> String {
    match ns {
        ns if ns >= 3600 * NS_PER_S && ns % (3600 * NS_PER_S) == 0 => {
            format!("{}h", ns / (3600 * NS_PER_S))
        }
        ns if ns >= NS_PER_S && ns % NS_PER_S == 0 => format!("{}s", ns / NS_PER_S),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns / 1000),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANY: RangeInclusive<u64> = 1..=u64::MAX;
    const HOUR: RangeInclusive<u64> = 1_000_000..=3600 * NS_PER_S;

    fn error<T: std::fmt::Debug>(id: &str, result: Result<T>) -> String {
        let error = result.unwrap_err();
        assert_eq!((error.kind.exit_code(), &*error.id), (2, id));
        format!("{}; {}", error.message, error.help.expect("every wrong unit has a hint"))
    }

    #[test]
    fn a_rate_of_requests_is_per_second_with_its_unit_or_without() {
        assert_eq!(per_second("2000/s").unwrap(), 2000.0);
        assert_eq!(per_second("2000").unwrap(), 2000.0);
        assert_eq!(per_second("0.5/s").unwrap(), 0.5);
    }

    #[test]
    fn sizes_are_binary() {
        for (text, bytes) in [
            ("1", 1),
            ("65536", 65536),
            ("65536B", 65536),
            ("64k", 65536),
            ("64K", 65536),
            ("64KiB", 65536),
            ("64 k", 65536),
            (" 64k ", 65536),
            ("1m", 1 << 20),
            ("1M", 1 << 20),
            ("3MiB", 3 << 20),
            ("1g", 1 << 30),
            ("2GiB", 2 << 30),
            ("007", 7),
        ] {
            assert_eq!(size(text, ANY), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn rates_are_decimal_and_say_bits_or_bytes() {
        for (text, bytes_per_s) in [
            ("400MB/s", 400e6),
            ("400 MB/s", 400e6),
            ("1.25GB/s", 1.25e9),
            ("10Gbit/s", 1.25e9),
            ("800Mbit/s", 100e6),
            ("100MiB/s", 104_857_600.0),
            ("64000kB/s", 64e6),
            ("400000000B/s", 400e6),
        ] {
            assert_eq!(rate(text), Ok(Some(bytes_per_s)), "{text}");
        }
        assert_eq!(rate("auto"), Ok(None));
    }

    #[test]
    fn durations_have_units() {
        for (text, ns) in [
            ("60s", 60 * NS_PER_S),
            ("2m", 120 * NS_PER_S),
            ("2min", 120 * NS_PER_S),
            ("1m30s", 90 * NS_PER_S),
            ("1m 30s", 90 * NS_PER_S),
            ("0.5s", NS_PER_S / 2),
            ("500ms", NS_PER_S / 2),
            ("1500us", 1_500_000),
            ("1h", 3600 * NS_PER_S),
        ] {
            assert_eq!(duration(text, HOUR), Ok(ns), "{text}");
        }
    }

    #[test]
    fn percentages_become_shares() {
        assert_eq!(percent("2.5%"), Ok(0.025));
        assert_eq!(percent("2.5"), Ok(0.025));
        assert_eq!(percent("50 %"), Ok(0.5));
    }

    #[test]
    fn counts_are_whole_and_bounded() {
        assert_eq!(count("number of flows", "4", 1..=1024), Ok(4));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        let long = "9".repeat(400);
        let (long_rate, long_duration) = (format!("{long}MB/s"), format!("{long}s"));
        let sizes = [
            "64kB",
            "64KB",
            "64kb",
            "1MB",
            "1mb",
            "1GB",
            "1gb",
            "99999999999999GB",
            "1.5MB",
            "64x",
            "",
            "  ",
            "-5",
            "-64k",
            "0",
            "0k",
            "k",
            "+5",
            ".5k",
            "5.k",
            "1..5k",
            "1.5k",
            "1e9",
            "1_000",
            "64,000",
            "0x40",
            "18446744073709551616",
            "18446744073709551615k",
            "99999999999999999999999999999999g",
            "64k64",
            "64\u{7f}",
            "٦٤",
        ];
        let rates = [
            "400M",
            "10G",
            "10Gb/s",
            "10gb/s",
            "400MB",
            "400mb/s",
            "10Gbps",
            "10gbps",
            "10G/s",
            "400mB/s",
            "10gbit",
            "10Gbits/s",
            "400",
            "",
            "fast",
            "-1MB/s",
            "0MB/s",
            "0.0MB/s",
            "1B/s",
            "2TB/s",
            "1e9B/s",
            "5furlongs/s",
            "5/s",
            "AUTO",
            &long_rate,
        ];
        let durations = [
            "60",
            "1m30",
            "",
            "-1s",
            "0s",
            "30s1m",
            "1s1s",
            "5fortnights",
            "2M",
            "2h",
            "1us",
            "soon",
            &long_duration,
        ];
        let requests = ["2k/s", "0/s", "1e9/s", "99999999/s", ""];
        let percentages = ["0", "0.025", "0.01%", "51%", "-1%", "5x", ""];
        let counts = ["0", "-1", "1.5", "4k", "1025", "99999999999999999999", ""];
        let flows = |text: &str| count("number of flows", text, 1..=1024);
        let mut said = sizes.map(|text| error("invalid-size", size(text, ANY))).to_vec();
        said.push(error("invalid-size", size("2g", 1..=1 << 30)));
        said.push(error("invalid-size", size("100", 4096..=1 << 30)));
        said.extend(rates.map(|text| error("invalid-rate", rate(text))));
        said.extend(durations.map(|text| error("invalid-duration", duration(text, HOUR))));
        said.extend(requests.map(|text| error("invalid-rate", per_second(text))));
        said.extend(percentages.map(|text| error("invalid-percentage", percent(text))));
        said.extend(counts.map(|text| error("invalid-count", flows(text))));
        insta::assert_snapshot!(said.join("\n"));
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_panics(text in any::<String>()) {
            let _ = size(&text, ANY);
            let _ = rate(&text);
            let _ = duration(&text, HOUR);
            let _ = percent(&text);
            let _ = count("number", &text, 0..=9);
        }

        #[test]
        fn nothing_that_looks_like_a_unit_panics(text in "[-+.0-9eE_, \
            ]{0,24}[a-zA-Z/%é]{0,8}[0-9.]{0,3}[a-z]{0,3}") {
            let _ = size(&text, ANY);
            let _ = rate(&text);
            let _ = duration(&text, HOUR);
            let _ = percent(&text);
        }

        #[test]
        fn a_size_reads_as_it_is_written(bytes in 1..u64::MAX) {
            prop_assert_eq!(size(&size_text(bytes), ANY), Ok(bytes));
        }

        #[test]
        fn a_duration_reads_as_it_is_written(us in 1000..3_600_000_000_u64) {
            prop_assert_eq!(duration(&duration_text(us * 1000), HOUR), Ok(us * 1000));
        }

        #[test]
        fn what_is_wrong_is_one_line_of_printable_text(text in any::<String>()) {
            let errors = [size(&text, ANY).err(), rate(&text).err(), percent(&text).err()];
            for error in errors.into_iter().flatten() {
                prop_assert!(!error.message.chars().any(char::is_control), "{:?}", error.message);
                prop_assert!(error.message.chars().count() < 160);
            }
        }
    }
}
