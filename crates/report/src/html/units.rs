//! The units of cost, and the text of every cost of the page in each of them. All texts are written
//! here by the rules of `digits`, as in all other reports. So the page's script has no arithmetic
//! of its own: it exchanges texts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::digits::{significant, trimmed, us_per_mb, with_ends, with_half_width};
use zc_analysis::{Bounds, Estimates, Figure};
use zc_run::Run;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Unit {
    /// The name, behind a figure and in a heading.
    pub(crate) name: String,
    /// An explanation, for the list of units.
    pub(crate) about: String,
    /// The value of one ns per KiB in this unit.
    #[serde(skip)]
    pub(crate) per_ns_per_kib: f64,
}

/// The units available for these runs; the page is written in the first.
pub(crate) fn units(runs: &[(&Run, &Estimates)]) -> Vec<Unit> {
    let unit = |name: &str, about: &str, per_ns_per_kib: f64| Unit {
        name: name.to_owned(),
        about: about.to_owned(),
        per_ns_per_kib,
    };
    let mut units = vec![
        unit("us/MB", "microseconds of CPU per 10^6 bytes", us_per_mb(1.0)),
        unit("us/KB", "netperf's service demand: microseconds of CPU per 1024 bytes", 1e-3),
        unit("ns/KiB", "nanoseconds of CPU per 1024 bytes", 1.0),
    ];
    if let Some(ghz) = clock_ghz(runs) {
        let about = format!(
            "at the CPU's nominal {} GHz, not at the clock that it ran at",
            trimmed(&significant(ghz))
        );
        units.push(unit("cycles/byte", &about, ghz / 1024.0));
    }
    units.push(unit("CPU s/GB", "CPU seconds per 10^9 bytes", us_per_mb(1.0) / 1e3));
    for gbit in [10.0, 40.0, 100.0] {
        let name = format!("cores at {gbit} Gbit/s");
        units.push(unit(
            &name,
            "how many CPUs that rate keeps busy, if the cost is the same at it",
            gbit / 8.0 / 1024.0,
        ));
    }
    units
}

/// The nominal clock in the CPU's name (`... @ 2.10GHz`), where all runs have the same; a saved run
/// records no other.
fn clock_ghz(runs: &[(&Run, &Estimates)]) -> Option<f64> {
    let mut clocks = runs.iter().map(|(run, _)| {
        let (_, clock) = run.header.host.cpu.model.rsplit_once('@')?;
        let ghz: f64 = clock.trim().strip_suffix("GHz")?.trim().parse().ok()?;
        (0.1..=20.0).contains(&ghz).then_some(ghz)
    });
    let first = clocks.next()??;
    clocks.all(|other| other == Some(first)).then_some(first)
}

/// The costs of the page, each once.
#[derive(Debug)]
pub(crate) struct Costs {
    units: Vec<Unit>,
    /// Keyed by the bits of value, half-width and ends, in ns per KiB.
    known: BTreeMap<[Option<u64>; 4], usize>,
    texts: Vec<Vec<String>>,
}

/// The JSON for the script.
#[derive(Serialize)]
struct Document<'a> {
    units: &'a [Unit],
    /// Texts by index of the cost, then by unit.
    texts: &'a [Vec<String>],
}

impl Costs {
    pub(crate) fn new(units: Vec<Unit>) -> Self {
        Self { units, known: BTreeMap::new(), texts: Vec::new() }
    }

    pub(crate) fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The unit that the page is written in.
    pub(crate) fn first(&self) -> &str {
        self.units.first().map_or("", |unit| &unit.name)
    }

    /// The index of a cost in ns per KiB among those of the page. One that has an interval and no
    /// half-width is written with the ends of that.
    pub(crate) fn place(&mut self, cost: Figure) -> usize {
        let ends = match (cost.half_width, cost.interval) {
            (None, Some(Bounds { low, high: Some(high), .. })) => Some((low, high)),
            _ => None,
        };
        let (low, high) = ends.unzip();
        let key = [Some(cost.value), cost.half_width, low, high].map(|of| of.map(f64::to_bits));
        let (units, texts) = (&self.units, &mut self.texts);
        *self.known.entry(key).or_insert_with(|| {
            let text = |unit: &Unit| {
                let by = unit.per_ns_per_kib;
                match ends {
                    Some(ends) => with_ends(cost.value * by, ends.0 * by, ends.1 * by),
                    None => with_half_width(cost.value * by, cost.half_width.map(|half| half * by)),
                }
            };
            texts.push(units.iter().map(text).collect());
            texts.len() - 1
        })
    }

    /// The text of a cost in the unit that the page is written in.
    pub(crate) fn text(&self, place: usize) -> &str {
        self.texts.get(place).and_then(|texts| texts.first()).map_or("", String::as_str)
    }

    /// Every text in every unit, as JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(&Document { units: &self.units, texts: &self.texts })
            .expect("these types always serialise: no maps with keys other than strings")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{figure, veth};

    #[test]
    fn a_cost_without_a_half_width_has_the_ends_of_its_interval() {
        let (run, estimates) = veth();
        let mut costs = Costs::new(units(&[(&run, &estimates)]));
        let interval = Some(Bounds { low: 512.0, high: Some(4096.0), confidence: 0.95 });
        let wide = Figure { half_width: None, interval, ..figure(1024.0, 0.02) };
        let place = costs.place(wide);
        assert_eq!(costs.text(place), "1000 (500 to 4000)");
        let alone = costs.place(Figure { interval: None, ..wide });
        assert_eq!(costs.text(alone), "1000");
    }

    #[test]
    fn a_cost_is_the_same_in_every_unit() {
        let (mut run, estimates) = veth();
        run.header.host.cpu.model = "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz".to_owned();
        let mut costs = Costs::new(units(&[(&run, &estimates)]));
        // 1024 ns/KiB is a nanosecond a byte.
        let place = costs.place(figure(1024.0, 0.02));
        let texts: Vec<String> = std::iter::zip(costs.units(), &costs.texts[place])
            .map(|(unit, text)| format!("{text} {}", unit.name))
            .collect();
        assert_eq!(
            texts,
            [
                "1000 ±20 us/MB",
                "1.02 ±0.02 us/KB",
                "1024 ±20 ns/KiB",
                "2.10 ±0.04 cycles/byte",
                "1.00 ±0.02 CPU s/GB",
                "1.25 ±0.03 cores at 10 Gbit/s",
                "5.00 ±0.10 cores at 40 Gbit/s",
                "12.5 ±0.2 cores at 100 Gbit/s",
            ]
        );
        assert_eq!(costs.place(figure(1024.0, 0.02)), place, "each cost once");
        assert_eq!(costs.text(place), "1000 ±20");
    }

    #[test]
    fn without_a_clock_there_are_no_cycles() {
        let (mut run, estimates) = veth();
        let has =
            |run: &Run| units(&[(run, &estimates)]).iter().any(|unit| unit.name == "cycles/byte");
        for (model, expected) in
            [("AMD EPYC", false), ("x @ 2.5GHz", true), ("x @ 99999GHz", false), ("@", false)]
        {
            run.header.host.cpu.model = model.to_owned();
            assert_eq!(has(&run), expected, "{model}");
        }
        let mut other = run.clone();
        run.header.host.cpu.model = "x @ 2.5GHz".to_owned();
        other.header.host.cpu.model = "x @ 2.6GHz".to_owned();
        let both = units(&[(&run, &estimates), (&other, &estimates)]);
        assert!(both.iter().all(|unit| unit.name != "cycles/byte"));
    }
}
