//! Lines, and what they do, in words.

use crate::digits::{percent, ratio, significant};
use zc_analysis::RatioFigure;
use zc_analysis::tune::{Latency, LineAnswer};
use zc_run::escape;

/// Longest text of a line.
const LONGEST: usize = 120;

/// `tcp_nopush on -> off`: what is in effect, and what is put in its place.
pub(super) fn change(line: &LineAnswer) -> String {
    let (now, new) = (escape(&line.present, LONGEST), escape(&line.name, LONGEST));
    match new_value(&now, &new) {
        Some(value) => format!("{now} -> {value}"),
        None => format!("{new} (now: {now})"),
    }
}

/// The line as it is tried.
pub(super) fn name(line: &LineAnswer) -> String {
    escape(&line.name, LONGEST)
}

/// A line's name where there is little room: without what is the same in all sysctls, and of a long
/// one its first word and as many of its last ones as there is room for.
pub(super) fn short_name(line: &LineAnswer) -> String {
    const LONGEST: usize = 38;
    let name = name(line).replacen("sysctl net.ipv4.", "sysctl ", 1);
    let mut words = name.split(' ');
    let first = words.next().unwrap_or_default();
    let mut room = LONGEST.saturating_sub(first.chars().count() + " ...".len());
    let mut last: Vec<&str> = Vec::new();
    for word in words.rev() {
        let Some(left) = room.checked_sub(word.chars().count() + 1) else { break };
        room = left;
        last.insert(0, word);
    }
    match name.chars().count() > LONGEST && !last.is_empty() {
        true => format!("{first} ... {}", last.join(" ")),
        false => name,
    }
}

/// The part of a new line that is put in place of the present one's: what follows the name of a
/// directive, or the equals sign of a sysctl, if both lines have the same.
fn new_value<'n>(now: &str, new: &'n str) -> Option<&'n str> {
    let separator = if new.starts_with("sysctl ") { '=' } else { ' ' };
    let (name, value) = new.split_once(separator)?;
    let is_same = now.split_once(separator).is_some_and(|(same, _)| same == name);
    (is_same && !value.is_empty()).then_some(value)
}

/// `26 to 36 %`, of what is saved.
pub(super) fn saved_range(ratio: &RatioFigure) -> Option<String> {
    let bounds = ratio.interval?;
    range(1.0 - bounds.high?, 1.0 - bounds.low)
}

/// `26 to 36 %`, of what is added.
pub(super) fn added_range(ratio: &RatioFigure) -> Option<String> {
    let bounds = ratio.interval?;
    range(bounds.low - 1.0, bounds.high? - 1.0)
}

fn range(low: f64, high: f64) -> Option<String> {
    // With a decimal if the ends would be equal without one.
    let places = usize::from(high - low < 0.02);
    let (low, high) = (low * 100.0, high * 100.0);
    Some(format!("{low:.places$} to {high:.places$} %"))
}

/// `31 % less CPU per request, 26 to 36 %`.
pub(super) fn less_cpu(by: f64, ratio: Option<&RatioFigure>, whose: &str) -> String {
    let range = ratio.and_then(saved_range).map_or_else(String::new, |range| format!(", {range}"));
    format!("{} less CPU per request{whose}{range}", percent(by))
}

/// `p99 4.10 -> 2.90 ms`.
pub(super) fn p99(line: Option<&Latency>, present: Option<&Latency>) -> Option<String> {
    let (line, present) = (line?, present?);
    Some(format!("p99 {} -> {} ms", ms(present.p99_ns), ms(line.p99_ns)))
}

/// Milliseconds.
pub(super) fn ms(ns: u64) -> String {
    significant(ns as f64 / 1e6)
}

/// `0.69 ±3.1 %`.
pub(super) fn ratio_text(figure: &RatioFigure) -> String {
    ratio(figure.value, figure.half_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_value_is_what_differs_from_the_present_line() {
        for (now, new, value) in [
            ("tcp_nopush on", "tcp_nopush off", Some("off")),
            ("tcp_nopush off (default)", "tcp_nopush on", Some("on")),
            ("output_buffers 2 32k (default)", "output_buffers 2 128k", Some("2 128k")),
            (
                "sysctl net.ipv4.tcp_notsent_lowat=1",
                "sysctl net.ipv4.tcp_notsent_lowat=2",
                Some("2"),
            ),
            ("no ssl_conf_command (default)", "ssl_conf_command Options KTLS", None),
            ("ä x", "ä y", Some("y")),
            ("", "", None),
        ] {
            assert_eq!(new_value(now, new), value, "{now} {new}");
        }
    }

    #[test]
    fn a_narrow_interval_has_a_decimal() {
        assert_eq!(range(0.26, 0.36).unwrap(), "26 to 36 %");
        assert_eq!(range(0.101, 0.107).unwrap(), "10.1 to 10.7 %");
    }
}
