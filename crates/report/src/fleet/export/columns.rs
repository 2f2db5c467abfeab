//! The columns of the table that is exported, each with its value of a line.

use std::collections::BTreeSet;

use crate::fleet::names::end;
use zc_analysis::fleet::{CellFigures, End, Grouping, HostFacts, Logarithm, RunFigures};
use zc_run::escape;

/// One cost: that of an end, of a cell, of a run.
pub(super) struct Line<'a> {
    run: &'a RunFigures,
    cell: &'a CellFigures,
    end: End,
    cost: Logarithm,
    ratio: Option<Logarithm>,
    grouping: &'a Grouping,
}

/// The lines of a run, in the order of its cells.
pub(super) fn lines<'a>(
    run: &'a RunFigures,
    grouping: &'a Grouping,
) -> impl Iterator<Item = Line<'a>> {
    run.cells.iter().flat_map(move |cell| {
        costs(cell).into_iter().map(move |(end, cost)| {
            // The ratio is that of the sender, and of both where ends are not apart.
            let ratio = cell.ratio.filter(|_| end != End::Receiver);
            Line { run, cell, end, cost, ratio, grouping }
        })
    })
}

/// Costs of a cell. If the ends are separate, the cost of both is their sum and has no line of its
/// own.
fn costs(cell: &CellFigures) -> Vec<(End, Logarithm)> {
    let apart = [(End::Sender, cell.sender), (End::Receiver, cell.receiver)];
    let apart: Vec<(End, Logarithm)> =
        apart.into_iter().filter_map(|(whose, cost)| Some((whose, cost?))).collect();
    match apart.is_empty() {
        true => cell.both.map(|cost| (End::Both, cost)).into_iter().collect(),
        false => apart,
    }
}

/// A column. New ones are only added at the end of those that each table has.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) value: Value,
}

/// The value that a column has of a line, by its type.
pub(super) enum Value {
    /// Empty where there is none.
    Text(Box<dyn Fn(&Line) -> String>),
    /// RFC 3339.
    Time(for<'a> fn(&Line<'a>) -> &'a str),
    Flag(fn(&Line) -> bool),
    Count(fn(&Line) -> usize),
    Number(fn(&Line) -> Option<f64>),
}

/// All columns: those that each table has, and after them the features of both hosts
/// (`near_generation`, `far_generation`).
pub(super) fn columns(grouping: &Grouping) -> Vec<Column> {
    use Value::{Count, Flag, Number, Time};
    let fixed = [
        ("run", text(|line| line.run.name.clone())),
        ("started_at", Time(|line| &line.run.started_at)),
        ("zc_version", text(|line| line.run.zc_version.clone())),
        ("experiment", text(|line| line.run.experiment.clone())),
        ("link", text(|line| line.run.link.clone())),
        ("near", text(|line| line.run.near.host.clone())),
        ("far", text(|line| far(line.run).map_or_else(String::new, |host| host.host.clone()))),
        ("near_kernel", text(|line| fact(near(line.run), "kernel"))),
        ("far_kernel", text(|line| fact(far(line.run), "kernel"))),
        ("near_cpu", text(|line| fact(near(line.run), "cpu"))),
        ("far_cpu", text(|line| fact(far(line.run), "cpu"))),
        ("blocks", Count(|line| line.run.blocks)),
        ("blocks_kept", Count(|line| line.run.blocks_kept)),
        ("whole", Flag(|line| line.run.is_whole)),
        ("withheld", text(|line| line.run.withheld.join(" "))),
        ("cell", text(|line| line.cell.label.clone())),
        ("end", text(|line| end(line.end).to_owned())),
        ("us_per_mb", Number(|line| Some(line.cost.ln.exp()))),
        ("us_per_mb_standard_error", Number(|line| Some(error(line.cost)))),
        ("ratio", Number(|line| Some(line.ratio?.ln.exp()))),
        ("ratio_standard_error", Number(|line| line.ratio.map(error))),
    ];
    let fixed = fixed.map(|(name, value)| Column { name: name.to_owned(), value });
    let names: BTreeSet<&String> =
        grouping.features.values().flat_map(|features| features.keys()).collect();
    let features = names.into_iter().flat_map(|name| {
        [("near", near as Host), ("far", far)].map(|(end, host)| {
            let value = feature(host, name.clone());
            Column { name: format!("{end}_{}", escape(name, usize::MAX)), value }
        })
    });
    let mut columns: Vec<Column> = fixed.into();
    for mut feature in features {
        // A feature may have the name of a fact that each table has.
        while columns.iter().any(|column| column.name == feature.name) {
            feature.name.push('_');
        }
        columns.push(feature);
    }
    columns
}

fn text(text: impl Fn(&Line) -> String + 'static) -> Value {
    Value::Text(Box::new(text))
}

/// A host of a run.
type Host = fn(&RunFigures) -> Option<&HostFacts>;

fn feature(host: Host, name: String) -> Value {
    text(move |line| {
        let features = host(line.run).and_then(|host| line.grouping.features.get(&host.host));
        features.and_then(|features| features.get(&name)).cloned().unwrap_or_default()
    })
}

fn near(run: &RunFigures) -> Option<&HostFacts> {
    Some(&run.near)
}

fn far(run: &RunFigures) -> Option<&HostFacts> {
    run.far.as_deref()
}

fn fact(host: Option<&HostFacts>, name: &str) -> String {
    host.and_then(|host| host.facts.get(name)).cloned().unwrap_or_default()
}

/// The standard error of the figure itself.
fn error(Logarithm { ln, error }: Logarithm) -> f64 {
    ln.exp() * error
}
