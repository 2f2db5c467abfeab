//! The table of a run that kept no block: rough figures of each cell from its dropped blocks.

use std::collections::BTreeMap;

use crate::digits::{percent, significant, us_per_mb};
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::shown;
use zc_analysis::{Estimates, Rough};

/// A column: its heading and the text of a cell.
type Field = (Column, Box<dyn Fn(&Rough) -> Option<String>>);

/// The table under its caption; `None` where a block was kept, or nothing was measured.
pub(crate) fn part(estimates: &Estimates) -> Option<Part> {
    let rough = &estimates.rough;
    let windows = rough.iter().map(|cell| cell.windows).max()?;
    let is_server = !estimates.requests.is_empty();
    let (what, of_cells) = match is_server {
        false => ("path", columns()),
        true => ("state", columns_of_server(estimates)),
    };
    let fields: Vec<Field> = of_cells
        .into_iter()
        .filter(|(_, text)| rough.iter().any(|cell| text(cell).is_some()))
        .collect();
    let rows = rough.iter().map(|cell| {
        let texts = fields.iter().map(|(_, text)| text(cell).unwrap_or_default());
        std::iter::once(shown(&cell.label)).chain(texts).collect()
    });
    let heads = std::iter::once(Column::left(what, ""));
    let grid = Grid::new(
        heads.chain(fields.iter().map(|(column, _)| column.clone())).collect(),
        rows.collect(),
    );
    let blocks = if windows == 1 { "1 block".to_owned() } else { format!("{windows} blocks") };
    let whose = match is_server {
        false => "Threads: CPU time of zc's own threads by getrusage",
        true => "Processes: CPU time of the server's processes",
    };
    let why = match estimates.blocks.kept {
        0 => "were dropped",
        _ => "tell no cost",
    };
    let known = rough.iter().any(|cell| cell.threads_ns_per_kib.is_some());
    let whose = if known {
        format!(" {whose}, without interrupts and softirqs in the time of others.")
    } else {
        String::new()
    };
    Some(Part::Table {
        caption: format!("Rough figures of {blocks} that {why}.{whose}"),
        keys: 1,
        grid,
    })
}

fn field(column: Column, text: impl Fn(&Rough) -> Option<String> + 'static) -> Field {
    (column, Box::new(text))
}

fn columns() -> Vec<Field> {
    vec![
        field(Column::right("threads", "us/MB"), |cell| {
            cell.threads_ns_per_kib.map(|cost| about(us_per_mb(cost)))
        }),
        reached(),
        field(Column::right("top", "Gbit/s"), |cell| {
            cell.top_speed_bytes_per_s.map(|speed| about(speed * 8.0 / 1e9))
        }),
        field(Column::right("sends", "/MB"), |cell| cell.send_calls_per_mb.map(significant)),
        packet(),
        field(Column::right("copied", "share"), |cell| cell.copied_share.map(percent)),
    ]
}

/// The columns of the run of a server, per request.
fn columns_of_server(estimates: &Estimates) -> Vec<Field> {
    let lengths: BTreeMap<String, u64> =
        estimates.requests.iter().map(|cost| (cost.label.clone(), cost.body_bytes)).collect();
    vec![
        field(Column::right("processes", "us/request"), move |cell| {
            let body_bytes = *lengths.get(&cell.label)? as f64;
            cell.threads_ns_per_kib.map(|cost| about(cost * body_bytes / 1024.0 / 1e3))
        }),
        reached(),
        packet(),
    ]
}

fn reached() -> Field {
    field(Column::right("rate", "reached"), |cell| cell.reached.map(percent))
}

fn packet() -> Field {
    field(Column::right("packet", "bytes"), |cell| {
        cell.packet_bytes.map(|bytes| format!("{bytes:.0}"))
    })
}

/// A figure to two digits, which says how rough it is.
fn about(value: f64) -> String {
    let digits = value.abs().log10().floor();
    if !digits.is_finite() {
        return significant(value);
    }
    let unit = 10f64.powf(digits - 1.0);
    let places = (1.0 - digits).max(0.0) as usize;
    format!("~{:.places$}", (value / unit).round() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rough_figure_has_two_digits() {
        let texts = [1_384.0, 99.6, 31.74, 5.04, 0.123, 0.0].map(about);
        assert_eq!(texts, ["~1400", "~100", "~32", "~5.0", "~0.12", "0"]);
    }
}
