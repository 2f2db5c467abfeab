//! The families of gauges: name, unit, and source of the value.

use zc_analysis::{CellEstimate, Estimates, Figure, RatioFigure, RequestCost, Sides};

/// A value and the ends of its interval, in the family's unit.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The value.
    pub(super) value: f64,
    /// Lower end; `None` without an interval.
    pub(super) low: Option<f64>,
    /// Upper end; `None` without an interval, or without a bound.
    pub(super) high: Option<f64>,
}

impl Ends {
    /// A value without an interval.
    pub(super) fn alone(value: f64) -> Self {
        Self { value, low: None, high: None }
    }

    pub(super) fn of(figure: &Figure) -> Self {
        Self {
            value: figure.value,
            low: figure.interval.map(|interval| interval.low),
            high: figure.interval.and_then(|interval| interval.high),
        }
    }

    fn of_cost(figure: &Figure) -> Self {
        let Self { value, low, high } = Self::of(figure);
        Self {
            value: seconds_per_byte(value),
            low: low.map(seconds_per_byte),
            high: high.map(seconds_per_byte),
        }
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
pub(super) struct Family {
    /// Name without the unit.
    pub(super) name: &'static str,
    /// Unit, with which the name ends.
    pub(super) unit: &'static str,
    /// Its description, in a sentence.
    pub(super) help: &'static str,
    /// Whether it has intervals.
    pub(super) interval: bool,
    /// Source of its value.
    pub(super) of: Of,
}

/// Things that have a value of a family.
pub(super) enum Of {
    /// Each cell.
    Cell(fn(&CellEstimate) -> Option<Ends>),
    /// Each state of a server.
    State(fn(&RequestCost) -> Option<Ends>),
    /// Each side of each cell.
    Side(fn(&CellEstimate) -> Sides<Ends>),
    /// The run as a whole.
    Run(fn(&Estimates) -> Option<f64>),
}

/// A cost of so many ns per KiB in seconds per byte.
fn seconds_per_byte(ns_per_kib: f64) -> f64 {
    ns_per_kib / 1024.0 / 1e9
}

/// A quantity per MB as one per byte.
fn per_byte(per_mb: Option<f64>) -> Option<Ends> {
    per_mb.map(|value| Ends::alone(value * 1e-6))
}

fn sides<T>(sides: &Sides<T>, ends: impl Fn(&T) -> Ends) -> Sides<Ends> {
    Sides {
        sender: sides.sender.as_ref().map(&ends),
        receiver: sides.receiver.as_ref().map(&ends),
        both: sides.both.as_ref().map(&ends),
    }
}

/// All families but those of requests, in the order of the exposition.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "zc_cost",
        unit: "seconds_per_byte",
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
        unit: "seconds_per_byte",
        help: "Soaked CPU time with zc's own harness in it: median over blocks.",
        interval: true,
        of: Of::Side(|cell| sides(&cell.gross_cost_ns_per_kib, Ends::of_cost)),
    },
    Family {
        name: "zc_idle_host_cost",
        unit: "seconds_per_byte",
        help: "CPU time on a host that is idle otherwise: mean over unsoaked trials.",
        interval: true,
        of: Of::Cell(|cell| cell.idle_host_ns_per_kib.as_ref().map(Ends::of_cost)),
    },
    Family {
        name: "zc_getrusage_cost",
        unit: "seconds_per_byte",
        help: "What getrusage says of the threads at both ends in the same windows.",
        interval: false,
        of: Of::Side(|cell| {
            sides(&cell.others.getrusage_soaked.cost_ns_per_kib, |cost| {
                Ends::alone(seconds_per_byte(*cost))
            })
        }),
    },
    Family {
        name: "zc_proc_stat_cost",
        unit: "seconds_per_byte",
        help: "What /proc/stat says in the same windows, soakers left out.",
        interval: false,
        of: Of::Cell(|cell| {
            cell.others
                .proc_stat
                .cost_ns_per_kib
                .both
                .map(|cost| Ends::alone(seconds_per_byte(cost)))
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
        of: Of::Cell(|cell| per_byte(cell.traffic.send_calls_per_mb)),
    },
    Family {
        name: "zc_recv",
        unit: "calls_per_byte",
        help: "System calls of the receiver.",
        interval: false,
        of: Of::Cell(|cell| per_byte(cell.traffic.recv_calls_per_mb)),
    },
    Family {
        name: "zc_context",
        unit: "switches_per_byte",
        help: "Context switches of the threads at both ends.",
        interval: false,
        of: Of::Cell(|cell| per_byte(cell.traffic.switches_per_mb)),
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
    Family {
        name: "zc_control_error",
        unit: "ratio",
        help: "Share up to which no difference is judged, as a control missed by as much; absent \
            where both controls fit.",
        interval: false,
        of: Of::Run(|estimates| estimates.verdict.control_error),
    },
    Family {
        name: "zc_control_resolution",
        unit: "ratio",
        help: "Share up to which no difference is judged, as a control could not have seen it; absent \
            where it could have seen none.",
        interval: false,
        of: Of::Run(|estimates| estimates.verdict.resolution),
    },
];
