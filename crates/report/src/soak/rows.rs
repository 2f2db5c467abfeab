//! The rows of what a command or a service costs: a name, a figure, and what is to be said of it.

use std::fmt::Write as _;

use super::figures::{figure, plus_minus};
use crate::text::left;
use zc_analysis::soak::{PlusMinus, Unit};
use zc_run::escape;

/// Rows below a heading.
pub(super) struct Rows {
    text: String,
    /// Decimal places of figures.
    places: usize,
}

impl Rows {
    pub(super) fn below(heading: String, places: usize) -> Self {
        Self { text: heading, places }
    }

    fn add(&mut self, name: &str, value: &str, remark: &str) {
        let _ = writeln!(self.text, "  {}{}{remark}", left(name, 19), left(value, 17));
    }

    pub(super) fn figure(&mut self, name: &str, value: f64, remark: &str) {
        self.add(name, &figure(value, self.places), remark);
    }

    pub(super) fn plus_minus(&mut self, name: &str, value: PlusMinus, remark: &str) {
        self.add(name, &plus_minus(value, self.places), remark);
    }

    /// The figure that it is all about, or why there is none.
    pub(super) fn headline(
        &mut self,
        name: &str,
        value: Option<PlusMinus>,
        withheld: Option<&str>,
        remark: &str,
    ) {
        match (value, withheld) {
            (Some(value), None) => self.plus_minus(name, value, remark),
            _ => self.add(name, "withheld", withheld.unwrap_or("there is no figure")),
        }
    }

    /// A row for a figure that is not 0 as it is shown.
    pub(super) fn small(&mut self, name: &str, value: f64, remark: &str) {
        if value.abs() >= 0.5 * 10_f64.powi(-(self.places as i32)) {
            self.figure(name, value, remark);
        }
    }

    /// The cost of one in us; of bytes, which come by the million, that of a MB.
    pub(super) fn per(&mut self, unit: Unit, cost_ns: PlusMinus, remark: &str) {
        let (name, scale) = match unit {
            Unit::Bytes => ("MB", 1e6 / 1e3),
            _ => (unit.name(), 1.0 / 1e3),
        };
        let us = PlusMinus {
            value: cost_ns.value * scale,
            half_width: cost_ns.half_width.map(|half| half * scale),
        };
        let places = places(us.half_width, 0.0).unwrap_or(2);
        self.add(&format!("per {name}"), &format!("{} us", plus_minus(us, places)), remark);
    }

    /// Another process.
    pub(super) fn process(&mut self, name: &str, value: f64) {
        let name = format!("  {}", escape(name, 15));
        self.figure(&name, value, "another process, by its CPU clock");
    }

    /// The rest of the soaked figure, with its cause if the accounts do not `add_up`.
    pub(super) fn left(&mut self, value: f64, add_up: bool, else_it_is: &str) {
        let remark = if add_up { "within the interval: the accounts add up" } else { else_it_is };
        self.figure("  left", value, remark);
    }

    /// Busy CPUs, or CPU seconds, by /proc/stat.
    pub(super) fn stat(&mut self, value: f64) {
        self.figure(
            "/proc/stat",
            value,
            "user, system, irq and softirq of these CPUs, in ticks (the soakers are in nice)",
        );
    }

    pub(super) fn text(self) -> String {
        self.text
    }
}

/// Decimal places for two digits of a half-width, from `fewest` to 4.
pub(super) fn places(half_width: Option<f64>, fewest: f64) -> Option<usize> {
    let half = half_width.filter(|half| *half > 0.0)?;
    Some((1.0 - half.log10().floor()).clamp(fewest, 4.0) as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn columns_never_touch(
            name in "[a-z]{1,30}",
            value in -1e15_f64..1e15,
            half in prop::option::of(0.0_f64..1e15),
            places in 0_usize..5,
        ) {
            let mut rows = Rows::below(String::new(), places);
            let figures = PlusMinus { value, half_width: half };
            rows.plus_minus(&name, figures, "of what");
            rows.process(&name, value);
            rows.per(Unit::Bytes, figures, "of 100");
            let text = rows.text();
            let lines: Vec<&str> = text.lines().collect();
            prop_assert_eq!(lines.len(), 3);
            let shown = plus_minus(figures, places);
            prop_assert!(lines[0].contains(&format!("{name} ")), "{}", lines[0]);
            prop_assert!(lines[0].contains(&format!(" {shown} ")), "{}", lines[0]);
            let shown = figure(value, places);
            prop_assert!(lines[1].contains(&format!(" {shown} ")), "{}", lines[1]);
            prop_assert!(lines[2].contains(" us "), "{}", lines[2]);
        }
    }
}
