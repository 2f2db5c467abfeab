//! `udp`: what a byte costs in datagrams, by the way of sending them and by how many a call takes;
//! what was lost, and what a byte sent costs where not all arrive.

use super::section::Section;
use crate::digits::{bound, percent, with_half_width};
use crate::run::baseline::Baseline;
use crate::run::pivot::{Pivot, Placed};
use crate::run::pivot_tables::table;
use crate::run::rows::signs;
use crate::text::list;
use zc_analysis::{Comparison, Estimates};
use zc_run::{Form, Run, SendPath, escape};

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let lost = |placed: Placed<'_>| placed.figures.traffic.lost_share;
    let has_lost = pivot.cells().any(|placed| lost(placed).is_some_and(|share| share > 0.0));
    let mut parts = Vec::new();
    if has_lost {
        let caption = "Bytes that did not arrive, of those sent".to_owned();
        parts.extend(table(run, pivot, caption, false, |placed| lost(placed).map(percent)));
        let caption =
            "Cost of a byte that was sent, arrived or not, us/MB; costs and ratios above are of \
             bytes that arrived"
                .to_owned();
        parts.extend(table(run, pivot, caption, false, |placed| {
            let cost = placed.figures.cost_ns_per_kib.both?;
            // Of a stream all bytes arrive.
            let arrived = 1.0 - lost(placed).unwrap_or(0.0);
            let us_per_mb = |ns_per_kib: f64| ns_per_kib * arrived * 1e3 / 1024.0;
            let text = with_half_width(us_per_mb(cost.value), cost.half_width.map(us_per_mb));
            Some(format!("{text}{}", signs(placed.figures)))
        }));
    }
    Section { parts, conclusion: conclusion(estimates, pivot) }
}

/// What the cheapest and the dearest way of sending in the clear cost, and what encryption does.
fn conclusion(estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let decided = |form: Form| -> Vec<Decided<'_>> {
        let cells = pivot.cells().filter(|placed| placed.cell.transfer.form() == Some(form));
        let mut decided: Vec<_> =
            cells.filter_map(|placed| Decided::find(estimates, placed)).collect();
        decided.sort_by(|a, b| a.times.total_cmp(&b.times));
        decided
    };
    let against = Baseline::from_pivot(pivot).text();
    let clear = decided(Form::Datagrams);
    let (cheapest, dearest) = (clear.first()?, clear.last()?);
    let mut sentences = vec![format!(
        "In datagrams a byte costs least by {}, {}.",
        escape(cheapest.label, 80),
        cheapest.as_much_as(&against)
    )];
    if dearest.label != cheapest.label {
        sentences.push(format!(
            "It costs most by {}, {}.",
            escape(dearest.label, 80),
            dearest.as_much_as(&against)
        ));
    }
    let sealed = decided(Form::SealedDatagrams);
    if let Some(first) = sealed.first() {
        sentences.push(format!(
            "Encrypted as QUIC has them it costs least by {}, {}.",
            escape(first.label, 80),
            first.as_much_as(&against)
        ));
    }
    sentences.extend(zero_copy(pivot));
    Some(sentences.join(" "))
}

/// A cell that was compared.
struct Decided<'p> {
    label: &'p str,
    times: f64,
    half: f64,
    differs: bool,
}

impl<'p> Decided<'p> {
    fn find(estimates: &Estimates, placed: Placed<'p>) -> Option<Self> {
        let label = placed.cell.label.as_str();
        let verdict = estimates.verdict.for_cell(label)?;
        let ratio = placed.figures.ratio.both?;
        let half = ratio.half_width.map_or(0.01, |half| ratio.value * half);
        let differs =
            matches!(verdict.comparison, Comparison::Dearer { .. } | Comparison::Cheaper { .. });
        Some(Self { label, times: ratio.value, half, differs })
    }

    fn as_much_as(&self, base: &str) -> String {
        match self.differs {
            true => format!("{} times as much as {base}", bound(self.times, self.half)),
            false => format!("which was not shown to differ from {base}"),
        }
    }
}

/// Whether the kernel did send datagrams without a copy.
fn zero_copy(pivot: &Pivot) -> Option<String> {
    let copied = pivot.cells().filter(|placed| {
        let zero_copy = [
            SendPath::UdpZerocopy,
            SendPath::UdpGsoZerocopy,
            SendPath::UdpUringZc,
            SendPath::UdpUringVectored,
        ];
        placed.figures.failed_zero_copy
            && placed.cell.transfer.send_path().is_some_and(|path| zero_copy.contains(&path))
    });
    let copied: Vec<String> = copied.map(|placed| escape(&placed.cell.label, 80)).collect();
    (!copied.is_empty())
        .then(|| format!("What was to be sent without a copy was copied: {}.", list(&copied)))
}
