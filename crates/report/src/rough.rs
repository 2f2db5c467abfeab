//! The table of a run that kept no block: what was seen of each cell all the same, marked as rough.

use super::block::Part;
use super::digits::{percent, significant, us_per_mb};
use super::grid::{Column, Grid};
use super::text::shown;
use zc_analysis::{Estimates, Rough};

/// A column: its heading and the text of a cell.
type Field = (Column, fn(&Rough) -> Option<String>);

/// The table under its caption; `None` where a block was kept, or nothing was measured.
pub(super) fn part(estimates: &Estimates) -> Option<Part> {
    let rough = &estimates.rough;
    let windows = rough.iter().map(|cell| cell.windows).max()?;
    let columns: Vec<Field> = columns()
        .into_iter()
        .filter(|(_, text)| rough.iter().any(|cell| text(cell).is_some()))
        .collect();
    let rows = rough.iter().map(|cell| {
        let texts = columns.iter().map(|(_, text)| text(cell).unwrap_or_default());
        std::iter::once(shown(&cell.label)).chain(texts).collect()
    });
    let heads = std::iter::once(Column::left("path", ""));
    let grid = Grid::new(
        heads.chain(columns.iter().map(|(column, _)| column.clone())).collect(),
        rows.collect(),
    );
    let blocks = if windows == 1 { "1 block".to_owned() } else { format!("{windows} blocks") };
    let threads = if estimates.requests.is_empty() {
        "CPU time of zc's own threads by getrusage"
    } else {
        "CPU time of the server's processes"
    };
    Some(Part::Table {
        caption: format!(
            "Rough figures of {blocks} that were dropped. Threads: {threads}, without interrupts and \
             softirqs in the time of others."
        ),
        keys: 1,
        grid,
    })
}

fn columns() -> [Field; 6] {
    [
        (Column::right("threads", "us/MB"), |cell| {
            cell.threads_ns_per_kib.map(|cost| about(us_per_mb(cost)))
        }),
        (Column::right("rate", "reached"), |cell| cell.reached.map(percent)),
        (Column::right("top", "Gbit/s"), |cell| {
            cell.top_speed_bytes_per_s.map(|speed| about(speed * 8.0 / 1e9))
        }),
        (Column::right("sends", "/MB"), |cell| cell.send_calls_per_mb.map(significant)),
        (Column::right("packet", "bytes"), |cell| {
            cell.packet_bytes.map(|bytes| format!("{bytes:.0}"))
        }),
        (Column::right("copied", "share"), |cell| cell.copied_share.map(percent)),
    ]
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
