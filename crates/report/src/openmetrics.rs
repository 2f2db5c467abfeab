//! Runs as OpenMetrics text 1.0 (prometheus.io/docs/specs/om/open_metrics_spec), for collecting
//! figures over months, such as costs on a CI machine. All quantities are gauges. Costs are in
//! microseconds of CPU time per MB (10^6 bytes), as in JSON, CSV and the table, so a figure is the
//! same in every output; all other quantities are in base units (seconds, bytes, ratios). The ends
//! of an interval are separate gauges, with `_low` and `_high` in their names. Unknown values are
//! absent.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::csv::{comparison, raw};
use super::digits::us_per_mb;
use super::pivot::level;
use zc_analysis::{CellEstimate, Estimates, Figure, RatioFigure, Sides};
use zc_run::{Run, escape};

/// The whole exposition. With several runs, every sample has the number of its run as a label, from
/// 1; `zc_run_info` describes each run.
pub fn openmetrics(runs: &[(&Run, &Estimates)]) -> String {
    let mut out = Exposition::default();
    let several = runs.len() > 1;
    let runs: Vec<LabelledRun> = runs
        .iter()
        .enumerate()
        .map(|(number, &(run, estimates))| LabelledRun {
            labels: if several {
                vec![("run".to_owned(), (number + 1).to_string())]
            } else {
                Vec::new()
            },
            run,
            estimates,
        })
        .collect();
    info(&mut out, &runs);
    for family in FAMILIES {
        family.write(&mut out, &runs);
    }
    blocks(&mut out, &runs);
    comparisons(&mut out, &runs);
    out.text.push_str("# EOF\n");
    out.text
}

/// A run with the labels of all its samples.
struct LabelledRun<'a> {
    labels: Labels,
    run: &'a Run,
    estimates: &'a Estimates,
}

type Labels = Vec<(String, String)>;

/// The text so far, and the series in it: each may occur only once.
#[derive(Default)]
struct Exposition {
    text: String,
    seen: BTreeSet<String>,
}

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &[(String, String)], value: &str) {
        let each: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", label_value(value)))
            .collect();
        let series =
            if each.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", each.join(",")) };
        if self.seen.insert(series.clone()) {
            let _ = writeln!(self.text, "{series} {value}");
        }
    }
}

/// The value of a label, with control characters and the delimiters of the format escaped.
fn label_value(text: &str) -> String {
    escape(text, 400).replace('\\', "\\\\").replace('"', "\\\"")
}

/// A floating-point number, always with a point or an exponent, as in Rust's debug format; `None`
/// if it is not finite.
fn real(value: f64) -> Option<String> {
    value.is_finite().then(|| format!("{value:?}"))
}

fn info(out: &mut Exposition, runs: &[LabelledRun]) {
    out.family("zc_run", "info", "", "A saved run of zc.");
    for labelled in runs {
        let header = &labelled.run.header;
        let own = [
            ("experiment", header.plan.experiment.clone()),
            ("started_at", header.started_at.clone()),
            ("zc_version", header.zc_version.clone()),
            ("host", header.host.hostname.clone()),
            ("kernel", header.host.kernel_release.clone()),
            ("machine", header.host.machine.clone()),
            ("cpu", header.host.cpu.model.clone()),
            ("link", header.plan.fixed.link.to_string()),
            ("reference", labelled.estimates.reference.clone()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        out.sample("zc_run_info", &[labelled.labels.as_slice(), &own].concat(), "1");
    }
}

/// A value and the ends of its interval, in the family's unit.
#[derive(Clone, Copy)]
struct Ends {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Ends {
    fn alone(value: f64) -> Self {
        Self { value, low: None, high: None }
    }

    fn of(figure: &Figure) -> Self {
        Self {
            value: figure.value,
            low: figure.interval.map(|interval| interval.low),
            high: figure.interval.and_then(|interval| interval.high),
        }
    }

    fn of_cost(figure: &Figure) -> Self {
        let Self { value, low, high } = Self::of(figure);
        Self { value: us_per_mb(value), low: low.map(us_per_mb), high: high.map(us_per_mb) }
    }

    fn of_ratio(ratio: &RatioFigure) -> Self {
        Self {
            value: ratio.value,
            low: ratio.interval.map(|interval| interval.low),
            high: ratio.interval.and_then(|interval| interval.high),
        }
    }
}

/// A quantity that each cell has once, or once per side.
struct Family {
    /// Name without the unit.
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    /// Whether it has intervals.
    interval: bool,
    of: Of,
}

enum Of {
    Cell(fn(&CellEstimate) -> Option<Ends>),
    Side(fn(&CellEstimate) -> Sides<Ends>),
    Run(fn(&Estimates) -> Option<f64>),
}

/// Factor from a quantity per MB to one per byte.
const PER_MB: f64 = 1e-6;

fn sides<T>(sides: &Sides<T>, ends: impl Fn(&T) -> Ends) -> Sides<Ends> {
    Sides {
        sender: sides.sender.as_ref().map(&ends),
        receiver: sides.receiver.as_ref().map(&ends),
        both: sides.both.as_ref().map(&ends),
    }
}

const FAMILIES: &[Family] = &[
    Family {
        name: "zc_cost",
        unit: "us_per_mb",
        help: "CPU time that a byte of payload takes from the machine, by what the soakers lost: \
            median over blocks.",
        interval: true,
        of: Of::Side(|cell| sides(&cell.cost_ns_per_kib, Ends::of_cost)),
    },
    Family {
        name: "zc_cost_to_compared",
        unit: "ratio",
        help: "Cost by the cost of the cell that it is compared with.",
        interval: true,
        of: Of::Side(|cell| sides(&cell.ratio, Ends::of_ratio)),
    },
    Family {
        name: "zc_top_speed",
        unit: "bytes_per_second",
        help: "Payload, unpaced and without soakers: median over trials.",
        interval: true,
        of: Of::Cell(|cell| cell.top_speed_bytes_per_s.map(|figure| Ends::of(&figure))),
    },
    Family {
        name: "zc_gross_cost",
        unit: "us_per_mb",
        help: "Soaked CPU time with zc's own harness in it: median over blocks.",
        interval: true,
        of: Of::Side(|cell| sides(&cell.gross_cost_ns_per_kib, Ends::of_cost)),
    },
    Family {
        name: "zc_idle_host_cost",
        unit: "us_per_mb",
        help: "CPU time on a host that is idle otherwise: mean over unsoaked trials.",
        interval: true,
        of: Of::Cell(|cell| cell.idle_host_ns_per_kib.as_ref().map(Ends::of_cost)),
    },
    Family {
        name: "zc_getrusage_cost",
        unit: "us_per_mb",
        help: "What getrusage says of the threads at both ends in the same windows.",
        interval: false,
        of: Of::Side(|cell| {
            sides(&cell.others.getrusage_soaked.cost_ns_per_kib, |cost| {
                Ends::alone(us_per_mb(*cost))
            })
        }),
    },
    Family {
        name: "zc_proc_stat_cost",
        unit: "us_per_mb",
        help: "What /proc/stat says in the same windows, soakers left out.",
        interval: false,
        of: Of::Cell(|cell| {
            cell.others.proc_stat.cost_ns_per_kib.both.map(|cost| Ends::alone(us_per_mb(cost)))
        }),
    },
    Family {
        name: "zc_copied",
        unit: "ratio",
        help: "Zero-copy completions that the kernel flagged as copied, by all of them.",
        interval: false,
        of: Of::Cell(|cell| cell.copied_share.map(Ends::alone)),
    },
    Family {
        name: "zc_rate_reached",
        unit: "ratio",
        help: "Rate under soakers by the nominal one; below 0.98 the cost was taken at saturation.",
        interval: false,
        of: Of::Cell(|cell| cell.perturbation.soaked_by_nominal.map(Ends::alone)),
    },
    Family {
        name: "zc_perturbation",
        unit: "ratio",
        help: "Throughput with soakers by throughput without.",
        interval: false,
        of: Of::Cell(|cell| cell.perturbation.soaked_by_unsoaked_control.map(Ends::alone)),
    },
    Family {
        name: "zc_packet_size",
        unit: "bytes",
        help: "Average packet of the sending device, headers included; a GSO packet counts once.",
        interval: false,
        of: Of::Cell(|cell| cell.traffic.packet_bytes.map(Ends::alone)),
    },
    Family {
        name: "zc_send",
        unit: "calls_per_byte",
        help: "System calls of the sender.",
        interval: false,
        of: Of::Cell(|cell| {
            cell.traffic.send_calls_per_mb.map(|calls| Ends::alone(calls * PER_MB))
        }),
    },
    Family {
        name: "zc_recv",
        unit: "calls_per_byte",
        help: "System calls of the receiver.",
        interval: false,
        of: Of::Cell(|cell| {
            cell.traffic.recv_calls_per_mb.map(|calls| Ends::alone(calls * PER_MB))
        }),
    },
    Family {
        name: "zc_context",
        unit: "switches_per_byte",
        help: "Context switches of the threads at both ends.",
        interval: false,
        of: Of::Cell(|cell| {
            cell.traffic.switches_per_mb.map(|switches| Ends::alone(switches * PER_MB))
        }),
    },
    Family {
        name: "zc_device",
        unit: "interrupts_per_second",
        help: "Interrupts on the soaked CPUs, timers included.",
        interval: false,
        of: Of::Cell(|cell| cell.traffic.interrupts_per_s.map(Ends::alone)),
    },
    Family {
        name: "zc_memcpy",
        unit: "bytes_per_second",
        help: "Speed of a copy of memory that is in no cache: median over blocks.",
        interval: false,
        of: Of::Run(|estimates| estimates.conditions.memcpy_bytes_per_s),
    },
    Family {
        name: "zc_steal",
        unit: "ratio",
        help: "Share of the CPUs that the hypervisor took.",
        interval: false,
        of: Of::Run(|estimates| estimates.conditions.steal_share),
    },
    Family {
        name: "zc_idle_drift",
        unit: "ratio",
        help: "Relative difference of neighbouring idle windows: median over blocks.",
        interval: false,
        of: Of::Run(|estimates| estimates.conditions.idle_drift),
    },
];

impl Family {
    fn write(&self, out: &mut Exposition, runs: &[LabelledRun]) {
        self.part(out, runs, "", self.help, |ends| Some(ends.value));
        if self.interval {
            let low = format!("Lower end of the interval of {}_{}.", self.name, self.unit);
            self.part(out, runs, "_low", &low, |ends| ends.low);
            let high = format!("Upper end of the interval of {}_{}.", self.name, self.unit);
            self.part(out, runs, "_high", &high, |ends| ends.high);
        }
    }

    fn part(
        &self,
        out: &mut Exposition,
        runs: &[LabelledRun],
        part: &str,
        help: &str,
        of: impl Fn(&Ends) -> Option<f64>,
    ) {
        let name = format!("{}{part}_{}", self.name, self.unit);
        out.family(&name, "gauge", self.unit, help);
        let mut sample = |labels: &[(String, String)], ends: Option<Ends>| {
            if let Some(value) = ends.as_ref().and_then(&of).and_then(real) {
                out.sample(&name, labels, &value);
            }
        };
        for labelled in runs {
            match self.of {
                Of::Run(value) => {
                    sample(&labelled.labels, value(labelled.estimates).map(Ends::alone))
                }
                Of::Cell(ends) => {
                    for (labels, cell) in labelled.cells() {
                        sample(&labels, ends(cell));
                    }
                }
                Of::Side(ends) => {
                    for (labels, cell) in labelled.cells() {
                        let Sides { sender, receiver, both } = ends(cell);
                        for (side, ends) in
                            [("sender", sender), ("receiver", receiver), ("both", both)]
                        {
                            let side = [("side".to_owned(), side.to_owned())];
                            sample(&[labels.as_slice(), &side].concat(), ends);
                        }
                    }
                }
            }
        }
    }
}

impl LabelledRun<'_> {
    /// Each cell with its labels: name, paths, and levels of the plan's other factors.
    fn cells(&self) -> impl Iterator<Item = (Labels, &CellEstimate)> {
        let header = &self.run.header;
        let factors =
            if header.plan.factors.len() > 1 { header.plan.factors.as_slice() } else { &[] };
        self.estimates.cells.iter().enumerate().map(move |(place, figures)| {
            let mut labels = self.labels.clone();
            labels.push(("cell".to_owned(), figures.label.clone()));
            labels.push(("send".to_owned(), figures.send.to_string()));
            labels.push(("recv".to_owned(), figures.recv.to_string()));
            for factor in factors {
                let name = factor.name().replace('-', "_");
                if let (Some(cell), false) =
                    (header.plan.cells.get(place), labels.iter().any(|(known, _)| *known == name))
                {
                    labels.push((name, raw(&level(header, cell, *factor))));
                }
            }
            (labels, figures)
        })
    }
}

fn blocks(out: &mut Exposition, runs: &[LabelledRun]) {
    out.family("zc_blocks", "gauge", "", "Blocks of measurements, by what became of them.");
    for labelled in runs {
        let account = &labelled.estimates.blocks;
        let dropped = &account.dropped;
        for (fate, count) in [
            ("kept", account.kept),
            ("steal", dropped.steal),
            ("idle-drift", dropped.idle_drift),
            ("foreign", dropped.foreign),
            ("trial-failed", dropped.trial_failed),
            ("unfinished", dropped.unfinished),
        ] {
            let fate = [("fate".to_owned(), fate.to_owned())];
            out.sample(
                "zc_blocks",
                &[labelled.labels.as_slice(), &fate].concat(),
                &count.to_string(),
            );
        }
    }
}

/// The verdicts as a state set, one of which is true for each cell with a baseline.
fn comparisons(out: &mut Exposition, runs: &[LabelledRun]) {
    const NAME: &str = "zc_comparison";
    out.family(
        NAME,
        "stateset",
        "",
        "What may be said of a cell's cost against that of the cell it is compared with.",
    );
    for labelled in runs {
        for (labels, cell) in labelled.cells() {
            let found = comparison(labelled.estimates, cell);
            if found.is_empty() {
                continue;
            }
            for state in ["cheaper", "dearer", "same", "undecided", "withheld"] {
                let own = [(NAME.to_owned(), state.to_owned())];
                let value = if state == found { "1" } else { "0" };
                out.sample(NAME, &[labels.as_slice(), &own].concat(), value);
            }
        }
    }
}
