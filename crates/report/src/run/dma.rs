//! Estimated cost of mapping for DMA that each path would have: so many nanoseconds for each
//! fragment of a packet. The link `null` maps nothing; with an IOMMU each fragment is an entry of
//! its page table.

use super::rows::{name, sorted};
use crate::digits::{ratio, significant, us_per_mb, with_half_width};
use crate::terminal::layout::Layout;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use zc_analysis::{CellEstimate, Estimates};

/// A table of all cells whose fragments were counted, with `ns_per_fragment` on each. `None` where
/// none were.
pub fn dma(estimates: &Estimates, ns_per_fragment: f64, layout: Layout) -> Option<String> {
    let with_dma = |cell: &CellEstimate| {
        let cost = cell.cost_ns_per_kib.both?;
        let fragments_per_kib = cell.traffic.fragments_per_mb? * 1024e-6;
        Some((cost, cost.value + fragments_per_kib * ns_per_fragment))
    };
    let reference = estimates.cells.iter().find(|cell| cell.reference).and_then(with_dma);
    let row = |cell: &CellEstimate| {
        let (cost, with) = with_dma(cell)?;
        Some(vec![
            name(cell),
            cell.traffic.fragments_per_packet.map_or_else(String::new, significant),
            cell.traffic.fragments_per_mb.map_or_else(String::new, significant),
            with_half_width(us_per_mb(cost.value), cost.half_width.map(us_per_mb)),
            with_half_width(us_per_mb(with), cost.half_width.map(us_per_mb)),
            reference.map_or_else(String::new, |(_, base)| ratio(with / base, None)),
        ])
    };
    let rows: Vec<Vec<String>> = sorted(estimates).into_iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = vec![
        Column::left("path", ""),
        Column::right("fragments", "/packet"),
        Column::right("fragments", "/MB"),
        Column::right("cost", "us/MB"),
        Column::right("with DMA", "us/MB"),
        Column::right("ratio to", "reference"),
    ];
    let caption = format!(
        "Cost with {} ns for each fragment of a packet, which a card maps for DMA",
        significant(ns_per_fragment)
    );
    Some(Part::Table { caption, keys: 1, grid: Grid::new(columns, rows) }.terminal(layout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::veth;
    use zc_run::SendPath;

    #[test]
    fn each_fragment_adds_its_time_to_the_cost_of_a_path() {
        let (_, mut estimates) = veth();
        assert_eq!(dma(&estimates, 100.0, Layout::plain(100)), None, "nothing was counted");
        for cell in &mut estimates.cells {
            let sends_pages = cell.transfer.send_path() == Some(SendPath::Sendfile);
            cell.traffic.fragments_per_packet = Some(if sends_pages { 16.0 } else { 2.1 });
            cell.traffic.fragments_per_mb = Some(if sends_pages { 250.0 } else { 33.0 });
        }
        insta::assert_snapshot!("dma", dma(&estimates, 100.0, Layout::plain(100)).unwrap());
    }
}
