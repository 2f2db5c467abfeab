//! The writer of all expositions (runs, fleets, trends, services), in what OpenMetrics text 1.0 and
//! the Prometheus text format 0.0.4 have in common: gauges, and totals without a type, as the older
//! format knows no info and no state set, and each calls the family of a counter differently.
//! `# UNIT` and `# EOF`, which it does not know either, are comments to it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use zc_run::escape;

/// Labels and their values.
pub(crate) type Labels = Vec<(String, String)>;

/// Labels, a value and the ends of its interval.
pub(crate) type Interval = (Labels, [Option<f64>; 3]);

/// The most characters of a label's value: those of a host or a cell come from the file.
const MOST: usize = 400;

/// The text so far, and the series in it: each may occur only once.
#[derive(Default)]
pub(crate) struct Exposition {
    text: String,
    seen: BTreeSet<String>,
}

impl Exposition {
    /// Begins a family of gauges. Its name ends in its unit, if it has one.
    pub(crate) fn family(&mut self, name: &str, unit: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {help}");
    }

    /// Begins a family of totals, which grow while the program that writes them runs. Without a type
    /// it is `unknown` in the one format and `untyped` in the other.
    pub(crate) fn total(&mut self, name: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}");
    }

    /// Writes a sample of the family that was begun last. If a series has several samples, only the
    /// first is written.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(String, String)], value: &str) {
        let each: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", label_value(value)))
            .collect();
        let series = format!("{name}{{{}}}", each.join(","));
        if self.seen.insert(series.clone()) {
            let _ = writeln!(self.text, "{series} {value}");
        }
    }

    /// Writes a sample of a number, unless it is unknown or not finite.
    pub(crate) fn gauge(&mut self, name: &str, labels: &[(String, String)], value: Option<f64>) {
        if let Some(value) = value.and_then(real) {
            self.sample(name, labels, &value);
        }
    }

    /// Writes a family of values and those of the ends of their intervals. `name` is without the
    /// unit; values are multiplied by `factor`.
    pub(crate) fn intervals(
        &mut self,
        (name, unit, help): (&str, &str, &str),
        factor: f64,
        samples: &[Interval],
    ) {
        let low = format!("Lower end of the interval of {name}_{unit}.");
        let high = format!("Upper end of the interval of {name}_{unit}.");
        for (at, (part, help)) in
            [("", help), ("_low", &low), ("_high", &high)].into_iter().enumerate()
        {
            let name = format!("{name}{part}_{unit}");
            self.family(&name, unit, help);
            for (labels, values) in samples {
                self.gauge(&name, labels, values[at].map(|value| value * factor));
            }
        }
    }

    /// The whole text.
    pub(crate) fn end(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

/// The labels of all samples of a plan.
pub(crate) fn plan(experiment: &str, link: &str) -> Labels {
    with(&[], [("experiment", experiment), ("link", link)])
}

/// Labels and further ones.
pub(crate) fn with<'a>(
    labels: &[(String, String)],
    own: impl IntoIterator<Item = (&'static str, &'a str)>,
) -> Labels {
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    labels.iter().cloned().chain(own).collect()
}

/// The value of a label, with control characters and the delimiters of the format escaped.
fn label_value(text: &str) -> String {
    escape(text, MOST).replace('\\', "\\\\").replace('"', "\\\"")
}

/// A floating-point number, always with a point or an exponent, as in Rust's debug format; `None`
/// if it is not finite.
fn real(value: f64) -> Option<String> {
    value.is_finite().then(|| format!("{value:?}"))
}
