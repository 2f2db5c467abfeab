//! Figures and lists of CPUs as text.

use zc_analysis::soak::PlusMinus;

/// `CPU 1`, `CPUs 0,2,5-7`.
pub(super) fn cpus(cpus: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let each: Vec<String> = ranges
        .into_iter()
        .map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        )
        .collect();
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, each.join(","))
}

pub(super) fn plus_minus(value: PlusMinus, places: usize) -> String {
    match value.half_width {
        Some(half) => format!("{} ±{half:.places$}", figure(value.value, places)),
        None => figure(value.value, places),
    }
}

/// A figure without `-0.0`.
pub(super) fn figure(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|byte| matches!(byte, b'0' | b'.')) => rest.to_owned(),
        _ => text,
    }
}
