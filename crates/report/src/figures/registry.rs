//! All figures, and those that are columns of CSV and metrics.

use super::entry::{Csv, Entry, Metric};
use super::{cell, condition, counted, events, published, request, sockets, traffic};
use zc_analysis::{CellEstimate, Estimates, RequestCost};

/// The figures of a cell, in the order of their columns in tables.
pub(super) fn cell_figures() -> impl Iterator<Item = &'static Entry<CellEstimate>> {
    let cell = cell::CELL.iter().chain(traffic::TRAFFIC).chain(events::EVENTS);
    cell.chain(counted::COUNTED).chain(sockets::SOCKETS)
}

/// The figures of a state of a server.
pub(super) fn request_figures() -> &'static [Entry<RequestCost>] {
    request::REQUEST
}

/// The figures of a run as a whole.
pub(super) fn condition_figures() -> &'static [Entry<Estimates>] {
    condition::CONDITION
}

/// The columns of CSV that a cell has, in the order in which they were published.
pub(crate) fn cell_csv() -> Vec<(&'static Entry<CellEstimate>, &'static Csv)> {
    let mut columns: Vec<_> = cell_figures().flat_map(csv_of).collect();
    columns.sort_by_key(|(_, csv)| published::place(published::CSV, csv.name));
    columns
}

/// The same without those that no cell has. Readers by position rely on the published ones, which
/// stay.
pub(crate) fn cell_csv_in(
    estimates: &Estimates,
) -> Vec<(&'static Entry<CellEstimate>, &'static Csv)> {
    let mut columns = cell_csv();
    columns.retain(|(entry, csv)| {
        published::CSV.contains(&csv.name)
            || estimates.cells.iter().any(|cell| !csv.text(entry, estimates, cell).is_empty())
    });
    columns
}

/// The columns of CSV that a state of a server has besides.
pub(crate) fn request_csv() -> impl Iterator<Item = (&'static Entry<RequestCost>, &'static Csv)> {
    request_figures().iter().flat_map(csv_of)
}

fn csv_of<S>(entry: &'static Entry<S>) -> impl Iterator<Item = (&'static Entry<S>, &'static Csv)> {
    entry.csv.iter().map(move |csv| (entry, csv))
}

/// The metrics of a cell, in the order in which they were published.
pub(crate) fn cell_metrics() -> Vec<(&'static Entry<CellEstimate>, &'static Metric)> {
    let mut metrics: Vec<_> = cell_figures().filter_map(metric_of).collect();
    metrics.sort_by_key(|(_, metric)| published::place(published::METRICS, metric.name));
    metrics
}

/// The metrics of a run as a whole.
pub(crate) fn condition_metrics()
-> impl Iterator<Item = (&'static Entry<Estimates>, &'static Metric)> {
    condition_figures().iter().filter_map(metric_of)
}

/// The metrics of a state of a server.
pub(crate) fn request_metrics()
-> impl Iterator<Item = (&'static Entry<RequestCost>, &'static Metric)> {
    request_figures().iter().filter_map(metric_of)
}

fn metric_of<S>(entry: &'static Entry<S>) -> Option<(&'static Entry<S>, &'static Metric)> {
    Some((entry, entry.metric.as_ref()?))
}
