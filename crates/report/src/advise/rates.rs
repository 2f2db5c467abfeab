//! Rates of requests and of bits, and moments, as `zc advise` prints them.

use crate::digits::significant;

/// `2015-05-17T10:05:03Z`.
pub(crate) fn moment(unix_s: i64) -> String {
    jiff::Timestamp::from_second(unix_s).map_or_else(|_| unix_s.to_string(), |at| at.to_string())
}

/// `12.3/s`.
pub(crate) fn per_second(per_s: f64) -> String {
    if per_s > 0.0 && per_s < 0.001 {
        "< 0.001/s".to_owned()
    } else {
        format!("{}/s", significant(per_s))
    }
}

/// Bytes per second as bits: `9.8 Gbit/s`.
pub(crate) fn bits(bytes_per_s: f64) -> String {
    let bits_per_s = 8.0 * bytes_per_s;
    match bits_per_s {
        ..999.5 => format!("{bits_per_s:.0} bit/s"),
        ..999.5e3 => format!("{} kbit/s", significant(bits_per_s / 1e3)),
        ..999.5e6 => format!("{} Mbit/s", significant(bits_per_s / 1e6)),
        _ => format!("{} Gbit/s", significant(bits_per_s / 1e9)),
    }
}
