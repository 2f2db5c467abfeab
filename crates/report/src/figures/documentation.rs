//! The table in docs/figures.md: every figure, and its name in each form.

use super::entry::{Entry, Value};
use super::registry::{cell_figures, condition_figures, request_figures};
use crate::terminal::table::Column;

/// The whole table, in Markdown.
pub fn table_of_figures() -> String {
    let mut rows: Vec<String> = cell_figures().map(row).collect();
    rows.extend(request_figures().iter().map(row));
    rows.extend(condition_figures().iter().map(row));
    format!(
        "| figure | unit | in tables | JSON | CSV | metric |\n|---|---|---|---|---|---|\n{}",
        rows.concat()
    )
}

fn row<S>(entry: &Entry<S>) -> String {
    let code = |name: &str| if name.is_empty() { String::new() } else { format!("`{name}`") };
    let heads = entry.columns.iter().map(|column| {
        let [first, second] = column.head;
        Column::right(first, second).name()
    });
    let columns: Vec<String> = entry.csv.iter().map(|csv| code(csv.name)).collect();
    let metric = entry.metric.as_ref().map_or_else(String::new, |metric| {
        let sides = if matches!(entry.value, Value::Sides(_)) { ", `side`" } else { "" };
        let interval = if metric.interval { ", interval" } else { "" };
        format!("`{}_{}`{sides}{interval}", metric.name, entry.unit.base)
    });
    format!(
        "| {}: {} | {} | {} | {} | {} | {metric} |\n",
        entry.name,
        entry.what,
        entry.unit.symbol,
        heads.collect::<Vec<_>>().join(", "),
        code(&entry.json.replace('/', ".")),
        columns.join(", ")
    )
}
