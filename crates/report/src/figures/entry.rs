//! An entry of the registry defines a figure: its meaning, the source of its value, and the forms
//! in which it appears.

use super::unit::{COST, Unit};
use zc_analysis::{CellEstimate, Estimates, Figure, RatioFigure, Sides};

/// A figure of a cell, of a state of a server, or of a whole run.
pub(crate) struct Entry<S: 'static> {
    /// Its name in the registry and in docs/figures.md.
    pub(crate) name: &'static str,
    /// Meaning and method in a sentence, which is the help of the metric.
    pub(crate) what: &'static str,
    pub(crate) unit: Unit,
    pub(crate) value: Value<S>,
    /// Its field in JSON, as a path below the cell, state or run; empty without one. JSON is made
    /// of the types of `zc_analysis`.
    pub(crate) json: &'static str,
    /// Its columns in tables: on terminals, in Markdown and in HTML.
    pub(crate) columns: &'static [Column],
    /// Its columns in CSV.
    pub(crate) csv: &'static [Csv],
    pub(crate) metric: Option<Metric>,
}

/// The source of a value.
pub(crate) enum Value<S: 'static> {
    /// A number.
    One(fn(&S) -> Option<Figure>),
    /// A number of each side and of both.
    Sides(fn(&S) -> Sides<Figure>),
    /// A word.
    Word(fn(&Estimates, &S) -> String),
}

/// The side that a value belongs to; a number that is not of a side is of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
    Both,
}

impl<S> Entry<S> {
    /// Its number for a side; `None` where it is unknown, or a word.
    pub(crate) fn number(&self, of: &S, side: Side) -> Option<Figure> {
        match (&self.value, side) {
            (Value::One(value), Side::Both) => value(of),
            (Value::Sides(value), Side::Sender) => value(of).sender,
            (Value::Sides(value), Side::Receiver) => value(of).receiver,
            (Value::Sides(value), Side::Both) => value(of).both,
            (Value::One(_) | Value::Word(_), _) => None,
        }
    }

    /// Whether it is CPU time per payload, whose unit changes on the page.
    pub(crate) fn is_cost(&self) -> bool {
        self.unit.symbol == COST.symbol
    }
}

/// A number without an interval.
pub(crate) fn bare(value: f64) -> Figure {
    Figure { value, interval: None, half_width: None, blocks: 0 }
}

/// A ratio with its interval.
pub(crate) fn from_ratio(ratio: RatioFigure) -> Figure {
    let RatioFigure { value, interval, half_width, blocks, .. } = ratio;
    Figure { value, interval, half_width, blocks }
}

/// The numbers of all sides, converted.
pub(super) fn each_side<T: Copy>(sides: &Sides<T>, number: fn(T) -> Figure) -> Sides<Figure> {
    Sides {
        sender: sides.sender.map(number),
        receiver: sides.receiver.map(number),
        both: sides.both.map(number),
    }
}

/// A column of the tables of cells.
pub(crate) struct Column {
    /// The two lines of its heading.
    pub(crate) head: [&'static str; 2],
    /// Whether it is left-aligned, as words are.
    pub(crate) left: bool,
    pub(crate) side: Side,
    pub(crate) text: Text,
    pub(crate) group: Group,
    pub(crate) widths: Widths,
    /// All conditions that a run must fulfil for the column to be in its tables.
    pub(crate) needs: &'static [Needs],
    /// Cells for which a table shows it.
    pub(crate) shown: fn(&CellEstimate) -> bool,
    /// Whether the HTML page has it.
    pub(crate) html: bool,
    /// Sort key in HTML, where the text does not sort.
    pub(crate) sort: Option<fn(&CellEstimate) -> Option<f64>>,
}

/// The text of a table's cell.
pub(crate) enum Text {
    /// The text of the number, where that is known.
    Number(fn(Figure) -> String),
    /// A text that needs more than the number.
    Cell(fn(&Estimates, &CellEstimate) -> String),
}

/// The table that has a column. Where [`Group::Main`], [`Group::Side`] and [`Group::Share`] do not
/// fit in one table, the first has a table of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The name of the cell, with which every table begins.
    Name,
    /// Costs of both sides, and the verdict.
    Main,
    /// Costs of one side, and by other methods.
    Side,
    /// Shares, behind all costs.
    Share,
    /// Packets, calls and interrupts.
    Traffic,
    /// State of the sockets.
    Sockets,
    /// Costs by what was counted, in a table that is asked for.
    Per(Per),
}

/// What a cost is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// Packets of the sending device.
    Packet,
    /// System calls.
    Call,
    /// Acknowledgements that the sender received.
    Ack,
}

impl Group {
    /// Whether the main table has it, at some width.
    pub(crate) const fn is_of_main_table(self) -> bool {
        !matches!(self, Self::Traffic | Self::Sockets | Self::Per(_))
    }
}

/// The widths in which a column of the main table appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Widths {
    /// The short report has it at every width.
    Always,
    /// The short report leaves it out, in this step, until the table fits.
    Until(u8),
    /// The full report alone has it.
    Full,
}

/// Something that a column needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// A receiver that was measured.
    Receiver,
    /// An end of zc's own, whose calls are counted.
    OwnCalls,
    /// A cell for which it is shown.
    Shown,
}

impl Column {
    /// A column of figures of both sides, in the tables of every run.
    const fn new(group: Group, head: [&'static str; 2], text: Text) -> Self {
        Self {
            head,
            left: false,
            side: Side::Both,
            text,
            group,
            widths: Widths::Always,
            needs: &[],
            shown: |_| true,
            html: true,
            sort: None,
        }
    }

    /// A column of numbers.
    pub(super) const fn number(
        group: Group,
        head: [&'static str; 2],
        text: fn(Figure) -> String,
    ) -> Self {
        Self::new(group, head, Text::Number(text))
    }

    /// A column whose text is not that of its number.
    pub(super) const fn cell(
        group: Group,
        head: [&'static str; 2],
        text: fn(&Estimates, &CellEstimate) -> String,
    ) -> Self {
        Self::new(group, head, Text::Cell(text))
    }

    pub(super) const fn left(self) -> Self {
        Self { left: true, ..self }
    }

    pub(super) const fn side(self, side: Side) -> Self {
        Self { side, ..self }
    }

    pub(super) const fn widths(self, widths: Widths) -> Self {
        Self { widths, ..self }
    }

    pub(super) const fn needs(self, needs: &'static [Needs]) -> Self {
        Self { needs, ..self }
    }

    pub(super) const fn shown(self, shown: fn(&CellEstimate) -> bool) -> Self {
        Self { shown, ..self }
    }

    pub(super) const fn not_in_html(self) -> Self {
        Self { html: false, ..self }
    }

    pub(super) const fn sorted_by(self, sort: fn(&CellEstimate) -> Option<f64>) -> Self {
        Self { sort: Some(sort), ..self }
    }
}

/// A column of CSV.
pub(crate) struct Csv {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    pub(crate) part: Part,
}

/// The part of a number that a column of CSV has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Value,
    HalfWidth,
    Low,
    High,
}

/// The column of a value of both sides.
pub(super) const fn csv(name: &'static str) -> Csv {
    Csv { name, side: Side::Both, part: Part::Value }
}

impl Csv {
    pub(super) const fn side(self, side: Side) -> Self {
        Self { side, ..self }
    }

    pub(super) const fn part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// The text of the column; empty where the number is unknown.
    pub(crate) fn text<S>(&self, entry: &Entry<S>, estimates: &Estimates, of: &S) -> String {
        if let Value::Word(word) = entry.value {
            return word(estimates, of);
        }
        let number = entry.number(of, self.side).and_then(|figure| match self.part {
            Part::Value => Some(figure.value),
            Part::HalfWidth => figure.half_width,
            Part::Low => figure.interval.map(|interval| interval.low),
            Part::High => figure.interval.and_then(|interval| interval.high),
        });
        number.map_or_else(String::new, |number| (entry.unit.plain)(number).to_string())
    }
}

/// A family of metrics.
pub(crate) struct Metric {
    /// Its name without the unit.
    pub(crate) name: &'static str,
    /// Whether the ends of its interval have families of their own.
    pub(crate) interval: bool,
}

/// A family without intervals.
pub(super) const fn metric(name: &'static str) -> Option<Metric> {
    Some(Metric { name, interval: false })
}

/// A family with one for each end of its interval.
pub(super) const fn metric_with_interval(name: &'static str) -> Option<Metric> {
    Some(Metric { name, interval: true })
}
