//! The columns, order and marks of the tables of cells, shared by the terminal, Markdown and HTML.

use super::digits::{percent, ratio, significant, us_per_mb, with_half_width};
use super::grid::{Column, Grid};
use super::layout::Tone;
use zc_analysis::{CellEstimate, Comparison, Estimates, Figure};
use zc_run::{Factor, Run, escape};

/// A column: its heading and the text of a cell.
#[derive(Clone, Copy)]
pub(super) struct Field {
    head: [&'static str; 2],
    left: bool,
    text: fn(&Estimates, &CellEstimate) -> String,
}

impl Field {
    /// The heading as a column.
    pub(super) fn column(&self) -> Column {
        let [first, second] = self.head;
        if self.left { Column::left(first, second) } else { Column::right(first, second) }
    }

    /// Whether two fields are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.head == other.head
    }

    /// Whether a table of these estimates has the column: that of the receiver only where there is
    /// one, that of fragments only where they were counted, that of gross costs only where they are
    /// other than the costs, that of an idle host only where it is known of a cell. A server's
    /// calls are not counted.
    pub(super) fn has_place(&self, estimates: &Estimates) -> bool {
        let any = |has: fn(&CellEstimate) -> bool| estimates.cells.iter().any(has);
        let calls = [SEND_CALLS, RECV_CALLS, SWITCHES, ENOBUFS];
        !(self.is(&RECEIVER) && estimates.sender_alone)
            && (estimates.requests.is_empty() || !calls.iter().any(|field| self.is(field)))
            && (!self.is(&FRAGMENTS) || any(|cell| cell.traffic.fragments_per_packet.is_some()))
            && (!self.is(&GROSS) || any(|cell| cell.harness_ns_per_kib.is_some()))
            && (!self.is(&IDLE_HOST)
                || any(|cell| beyond_noise(cell.idle_host_ns_per_kib).is_some()))
    }

    pub(super) fn text(&self, estimates: &Estimates, cell: &CellEstimate) -> String {
        (self.text)(estimates, cell)
    }
}

/// The columns of the main table.
pub(super) const WHOLE: &[Field] = &[
    PATH, SENDER, RECEIVER, BOTH, RATIO, VERDICT, PER_CORE, TOP, COPIED, IDLE_HOST, GROSS,
    GETRUSAGE, PROC_STAT,
];
/// The main table where [`WHOLE`] does not fit.
pub(super) const COSTS: &[Field] = &[PATH, BOTH, RATIO, VERDICT, PER_CORE, TOP];
/// The columns that [`COSTS`] leaves out.
pub(super) const SIDES: &[Field] =
    &[PATH, SENDER, RECEIVER, IDLE_HOST, GROSS, GETRUSAGE, PROC_STAT, COPIED];
pub(super) const TRAFFIC: &[Field] = &[
    PATH,
    PACKETS,
    PACKET,
    FRAGMENTS,
    SEND_CALLS,
    RECV_CALLS,
    SWITCHES,
    INTERRUPTS,
    ENOBUFS,
    RETRANSMITS,
];

pub(super) const PATH: Field = Field { head: ["path", ""], left: true, text: |_, cell| name(cell) };
pub(super) const SENDER: Field = Field {
    head: ["sender", "us/MB"],
    left: false,
    text: |_, cell| cost(cell.cost_ns_per_kib.sender),
};
pub(super) const RECEIVER: Field = Field {
    head: ["receiver", "us/MB"],
    left: false,
    text: |_, cell| cost(cell.cost_ns_per_kib.receiver),
};
pub(super) const BOTH: Field =
    Field { head: ["both", "us/MB"], left: false, text: |_, cell| cost(cell.cost_ns_per_kib.both) };
pub(super) const RATIO: Field =
    Field { head: ["ratio to", "reference"], left: false, text: |_, cell| ratio_of(cell) };
pub(super) const VERDICT: Field = Field { head: ["verdict", ""], left: true, text: verdict };
pub(super) const PER_CORE: Field = Field {
    head: ["Gbit/s", "/core"],
    left: false,
    text: |_, cell| cell.gbit_per_core.both.map_or_else(String::new, |figure| gbit(figure.value)),
};
pub(super) const TOP: Field = Field {
    head: ["top", "Gbit/s"],
    left: false,
    text: |_, cell| {
        cell.top_speed_bytes_per_s.map_or_else(String::new, |figure| gbit(figure.value * 8.0 / 1e9))
    },
};
pub(super) const COPIED: Field = Field {
    head: ["copied", "share"],
    left: false,
    text: |_, cell| cell.copied_share.map_or_else(String::new, percent),
};
/// The cost with zc's own harness in it, as the other methods count. Empty where the run did not
/// measure the harness: then the cost is that.
pub(super) const GROSS: Field = Field {
    head: ["gross", "us/MB"],
    left: false,
    text: |_, cell| {
        let gross = cell.harness_ns_per_kib.and(cell.gross_cost_ns_per_kib.both);
        rounded(gross.map(|figure| figure.value))
    },
};
/// The cost of both sides on a host that is idle otherwise. Empty where it is not known to be above
/// 0.
pub(super) const IDLE_HOST: Field = Field {
    head: ["on an", "idle host"],
    left: false,
    text: |_, cell| cost(beyond_noise(cell.idle_host_ns_per_kib)),
};
pub(super) const GETRUSAGE: Field = Field {
    head: ["get-", "rusage"],
    left: false,
    text: |_, cell| rounded(cell.others.getrusage_soaked.cost_ns_per_kib.both),
};
pub(super) const PROC_STAT: Field = Field {
    head: ["/proc/", "stat"],
    left: false,
    text: |_, cell| rounded(cell.others.proc_stat.cost_ns_per_kib.both),
};
pub(super) const PACKETS: Field = Field {
    head: ["packets", "/s"],
    left: false,
    text: |_, cell| {
        cell.traffic.packets_per_s.map_or_else(String::new, |value| format!("{value:.0}"))
    },
};
pub(super) const PACKET: Field = Field {
    head: ["packet", "bytes"],
    left: false,
    text: |_, cell| {
        cell.traffic.packet_bytes.map_or_else(String::new, |value| format!("{value:.0}"))
    },
};
/// Fragments, which a card maps for DMA. Only over `null`, where they are counted.
const FRAGMENTS: Field = Field {
    head: ["fragments", "/packet"],
    left: false,
    text: |_, cell| cell.traffic.fragments_per_packet.map_or_else(String::new, significant),
};
const SEND_CALLS: Field = Field {
    head: ["sends", "/MB"],
    left: false,
    text: |_, cell| cell.traffic.send_calls_per_mb.map_or_else(String::new, significant),
};
const RECV_CALLS: Field = Field {
    head: ["recvs", "/MB"],
    left: false,
    text: |_, cell| cell.traffic.recv_calls_per_mb.map_or_else(String::new, significant),
};
const SWITCHES: Field = Field {
    head: ["switches", "/MB"],
    left: false,
    text: |_, cell| cell.traffic.switches_per_mb.map_or_else(String::new, significant),
};
const INTERRUPTS: Field = Field {
    head: ["irqs", "/s"],
    left: false,
    text: |_, cell| {
        cell.traffic.interrupts_per_s.map_or_else(String::new, |value| format!("{value:.0}"))
    },
};
const ENOBUFS: Field = Field {
    head: ["ENO-", "BUFS"],
    left: false,
    text: |_, cell| if cell.blocks == 0 { String::new() } else { cell.traffic.enobufs.to_string() },
};
const RETRANSMITS: Field = Field {
    head: ["sent", "again"],
    left: false,
    text: |_, cell| cell.traffic.retransmits.map_or_else(String::new, |value| value.to_string()),
};

/// A mark behind a path's name or ratio, with its meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) sign: &'static str,
    pub(super) meaning: &'static str,
    /// The same in a few words.
    pub(super) brief: &'static str,
    applies: fn(&CellEstimate) -> bool,
}

/// The mark behind a ratio whose interval is wider than the target.
pub(super) const WIDE: &str = "!";

/// The mark of a cell whose zero-copy sends the kernel copied.
pub(super) const FAILED_ZERO_COPY: Mark = Mark {
    sign: "*",
    meaning: "the kernel copied on this link: the price of a failed zero-copy",
    brief: "copied by the kernel",
    applies: |cell| cell.failed_zero_copy,
};

/// All marks, in the order of the footnotes.
pub(super) const MARKS: &[Mark] = &[
    Mark {
        sign: WIDE,
        meaning: "did not converge: the interval is wider than the target",
        brief: "wider than the target",
        applies: |cell| cell.ratio.both.is_some_and(|ratio| !ratio.converged),
    },
    Mark {
        sign: "^",
        meaning: "the rate was not reached: this cost was taken at saturation",
        brief: "rate not reached",
        applies: |cell| cell.perturbation.saturated,
    },
    Mark {
        sign: "<",
        meaning: "other programs had the CPU, and less than the rate was reached: costs are per byte that arrived",
        brief: "rate not reached beside other programs",
        applies: |cell| cell.perturbation.is_held_back(),
    },
    FAILED_ZERO_COPY,
    Mark {
        sign: "~",
        meaning: "the cost does not stand out of the noise",
        brief: "not above the noise",
        applies: |cell| cell.at_noise_floor && !cell.below_zero,
    },
    Mark {
        sign: "#",
        meaning: "the cost is below 0 by more than its noise: a fault of the instrument",
        brief: "below 0: a fault of the instrument",
        applies: |cell| cell.below_zero,
    },
];

/// The cells that are rows, cheapest first; those without a cost last, in the plan's order. The
/// control is a note, not a row.
pub(super) fn sorted(estimates: &Estimates) -> Vec<&CellEstimate> {
    let mut cells: Vec<&CellEstimate> =
        estimates.cells.iter().filter(|cell| !cell.control).collect();
    let key = |cell: &CellEstimate| {
        cell.cost_ns_per_kib.both.map_or(f64::INFINITY, |figure| figure.value)
    };
    cells.sort_by(|a, b| key(a).total_cmp(&key(b)));
    cells
}

/// The marks that at least one row carries.
pub(super) fn marks_in_use(estimates: &Estimates) -> Vec<Mark> {
    let rows = sorted(estimates);
    MARKS.iter().copied().filter(|mark| rows.iter().any(|cell| (mark.applies)(cell))).collect()
}

/// A table of `fields`. The first one is the cell's name: its path, or its level of the plan's only
/// factor. Columns that are empty in every row stay.
pub(super) fn grid(run: &Run, estimates: &Estimates, fields: &[Field]) -> Grid {
    let cells = sorted(estimates);
    let fields: Vec<&Field> = fields.iter().filter(|field| field.has_place(estimates)).collect();
    let mut columns: Vec<Column> = fields.iter().map(|field| field.column()).collect();
    match (run.header.plan.factors.as_slice(), columns.as_mut_slice()) {
        ([factor], [first, ..]) if *factor != Factor::Send => {
            *first = Column::left(factor.to_string(), "")
        }
        _ => {}
    }
    let rows =
        cells.iter().map(|cell| fields.iter().map(|field| field.text(estimates, cell)).collect());
    let mut grid = Grid::new(columns, rows.collect());
    if let Some(column) = fields.iter().position(|field| field.is(&VERDICT)) {
        let tones = cells
            .iter()
            .enumerate()
            .filter_map(|(row, cell)| Some(((row, column), tone(estimates, cell)?)));
        grid.tones = tones.collect();
    }
    grid
}

/// The label of a cell with its marks.
pub(super) fn name(cell: &CellEstimate) -> String {
    escape(&cell.label, 40) + &signs(cell)
}

/// The marks of a cell, except that of its ratio.
pub(super) fn signs(cell: &CellEstimate) -> String {
    MARKS
        .iter()
        .filter(|mark| mark.sign != WIDE && (mark.applies)(cell))
        .map(|mark| mark.sign)
        .collect()
}

/// A figure in the unit that it has.
pub(super) fn plain(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, |it| with_half_width(it.value, it.half_width))
}

/// us/MB.
pub(super) fn cost(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, |figure| {
        with_half_width(us_per_mb(figure.value), figure.half_width.map(us_per_mb))
    })
}

/// A cost whose interval is above 0. One pair has no interval: at 20 MB/s it gave 2 us/MB for 950.
pub(super) fn beyond_noise(cost: Option<Figure>) -> Option<Figure> {
    cost.filter(|figure| figure.interval.is_some_and(|interval| interval.low > 0.0))
}

/// One decimal, so that a column lines up; more for small values.
fn gbit(value: f64) -> String {
    if value >= 1.0 { format!("{value:.1}") } else { significant(value) }
}

fn rounded(ns_per_kib: Option<f64>) -> String {
    ns_per_kib.map_or_else(String::new, |cost| format!("{:.0}", us_per_mb(cost)))
}

/// The ratio to what the cell is compared with; `1` for the plan's reference.
pub(super) fn ratio_of(cell: &CellEstimate) -> String {
    if cell.reference {
        return if cell.cost_ns_per_kib.both.is_some() { "1".to_owned() } else { String::new() };
    }
    cell.ratio.both.map_or_else(String::new, |figure| {
        let text = ratio(figure.value, figure.half_width);
        if figure.converged { text } else { format!("{text}{WIDE}") }
    })
}

/// The colour of a cell's verdict.
pub(super) fn tone(estimates: &Estimates, cell: &CellEstimate) -> Option<Tone> {
    if cell.reference || cell.ratio.both.is_none() {
        return None;
    }
    if !estimates.verdict.stands() {
        return Some(Tone::Unclear);
    }
    match comparison(estimates, cell)? {
        Comparison::Cheaper { .. } => Some(Tone::Less),
        Comparison::Dearer { .. } => Some(Tone::More),
        Comparison::Same { .. } => None,
        Comparison::Undecided => Some(Tone::Unclear),
    }
}

/// The verdict on a cell's cost.
pub(super) fn comparison(estimates: &Estimates, cell: &CellEstimate) -> Option<Comparison> {
    estimates.verdict.for_cell(&cell.label).map(|verdict| verdict.comparison)
}

fn verdict(estimates: &Estimates, cell: &CellEstimate) -> String {
    if cell.reference {
        return "reference".to_owned();
    }
    if cell.ratio.both.is_none() {
        return String::new();
    }
    if !estimates.verdict.stands() {
        return "withheld".to_owned();
    }
    comparison(estimates, cell).map_or_else(String::new, |comparison| match comparison {
        Comparison::Cheaper { by } => format!("{} less", percent(by)),
        Comparison::Dearer { by } => format!("{} more", percent(by)),
        Comparison::Same { .. } => "same".to_owned(),
        Comparison::Undecided => "undecided".to_owned(),
    })
}
