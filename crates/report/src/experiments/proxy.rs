//! `proxy`: what a byte through a proxy costs, and from how many bytes at a time on splicing costs
//! less than copying.

use super::historical::{End, Quotient, quotient_of_costs, times};
use super::section::Section;
use super::threshold::{Step, Threshold, ascending, threshold};
use crate::digits::ratio;
use crate::run::baseline::Baseline;
use crate::run::pivot::{Pivot, Placed};
use crate::run::pivot_tables::table;
use crate::run::rows::in_us_per_mb;
use crate::text::list;
use zc_analysis::{Estimates, Figure};
use zc_run::factor::proxy_buffer_bytes;
use zc_run::{ProxyPath, Run, escape};

/// The least that HAProxy splices: `MIN_SPLICE_FORWARD` of its include/haproxy/defaults.h.
const OF_HAPROXY: &str = "HAProxy's is MIN_SPLICE_FORWARD, 4096 bytes";

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let caption = format!(
        "Ratio of the proxy's cost alone to that of {}",
        Baseline::from_pivot(pivot).text()
    );
    let own = table(run, pivot, caption, false, |placed| match placed.figures.ratio.receiver {
        Some(own) => Some(ratio(own.value, own.half_width)),
        None => placed.figures.cost_ns_per_kib.receiver.map(|_| "1".to_owned()),
    });
    Section { parts: own.into_iter().collect(), conclusion: conclusion(run, estimates, pivot) }
}

fn conclusion(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let sizes = sizes(run, estimates, pivot);
    let sentences: Vec<String> =
        [costs(run, estimates, pivot), splice_threshold(&sizes)].into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The cost that is the proxy's, as far as that can be told: with that of its clients and servers,
/// where the sides are not apart.
fn own_cost(estimates: &Estimates, placed: Placed<'_>) -> Option<Figure> {
    End::Receiver.comparable(estimates, placed.figures)
}

/// What a byte costs by the reference, and by splice with as large a buffer.
fn costs(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let reference = pivot.cells().find(|placed| placed.figures.reference)?;
    let cost = own_cost(estimates, reference)?;
    let bytes = buffer_of(run, reference);
    let whose = if estimates.sides_apart {
        "In the proxy alone"
    } else {
        "In the proxy with its clients and servers, which are not told apart here,"
    };
    let label = |placed: Placed<'_>| escape(&placed.cell.label, 80);
    let spliced = pivot.cells().find(|placed| {
        path_of(run, *placed) == ProxyPath::Splice && buffer_of(run, *placed) == bytes
    });
    let spliced = spliced.and_then(|placed| {
        Some(match quotient_of_costs(estimates, own_cost(estimates, placed), Some(cost)) {
            Quotient::Times(ratio) => {
                format!(", and {} as much by {}", times(ratio), label(placed))
            }
            Quotient::Indistinct => {
                format!(", from which {} was not shown to differ", label(placed))
            }
            Quotient::Unknown => return None,
        })
    });
    Some(format!(
        "{whose} a byte costs {} us/MB by {}{}.",
        in_us_per_mb(cost),
        label(reference),
        spliced.unwrap_or_default()
    ))
}

/// The sizes that both have, ascending.
fn sizes(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Vec<Step> {
    let mut sizes: Vec<Step> = Vec::new();
    for spliced in pivot.cells().filter(|placed| path_of(run, *placed) == ProxyPath::Splice) {
        let bytes = buffer_of(run, spliced);
        let copied = pivot.cells().find(|placed| {
            path_of(run, *placed) == ProxyPath::RecvSend && buffer_of(run, *placed) == bytes
        });
        let copied = copied.and_then(|placed| own_cost(estimates, placed));
        let quotient = quotient_of_costs(estimates, own_cost(estimates, spliced), copied);
        sizes.push(step(bytes, quotient));
    }
    ascending(sizes)
}

fn step(bytes: usize, quotient: Quotient) -> Step {
    let text = zc_run::units::size_text(bytes as u64);
    Step { amount: bytes as f64, text, quotient }
}

/// From which size on splice costs less; `None` where that is not decided.
fn splice_threshold(sizes: &[Step]) -> Option<String> {
    match threshold(sizes) {
        Threshold::Unknown | Threshold::Below => None,
        Threshold::Nowhere => {
            let dearer =
                |size: &Step| Some(format!("{} with {}", times(size.dearer()?), size.text));
            let each: Vec<String> = sizes.iter().map(dearer).collect::<Option<_>>()?;
            Some(format!(
                "splice costs more than recv+send whatever the buffer: {} as much.",
                list(&each)
            ))
        }
        Threshold::Everywhere(first, _) => Some(format!(
            "splice costs less than recv+send with all of these buffers, from {} on: a splice \
             threshold ({OF_HAPROXY}) may lie there.",
            first.text
        )),
        Threshold::From { before, first } => Some(format!(
            "splice costs less than recv+send from {} at a time on, and with {} it {}: a splice \
             threshold ({OF_HAPROXY}) should lie between them.",
            first.text,
            before.text,
            before.outcome()
        )),
    }
}

fn path_of(run: &Run, placed: Placed<'_>) -> ProxyPath {
    ProxyPath::of(&run.header.plan.fixed.at(&placed.cell.levels))
}

fn buffer_of(run: &Run, placed: Placed<'_>) -> usize {
    proxy_buffer_bytes(&run.header.plan.fixed.at(&placed.cell.levels))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(quotients: &[Quotient]) -> Option<String> {
        let sizes = quotients.iter().zip([4_096, 16_384, 65_536]);
        let sizes: Vec<Step> = sizes.map(|(splice, bytes)| step(bytes, *splice)).collect();
        splice_threshold(&sizes)
    }

    #[test]
    fn a_threshold_is_said_where_it_is_decided_and_nowhere_else() {
        let (less, more) = (Quotient::Times(0.5), Quotient::Times(1.5));
        let text = said(&[more, less, less]).unwrap();
        assert!(text.contains("from 16k at a time on, and with 4k it costs 1.50 times"), "{text}");
        let text = said(&[less, Quotient::Indistinct, less]).unwrap();
        assert!(text.contains("from 64k at a time on, and with 16k it was not shown"), "{text}");
        assert!(said(&[less, less, less]).unwrap().contains("from 4k on"));
        let text = said(&[more, more, more]).unwrap();
        assert!(text.contains("costs more than recv+send whatever the buffer"), "{text}");
        assert_eq!(said(&[more, more, Quotient::Indistinct]), None);
        assert_eq!(said(&[more, Quotient::Unknown, less]), None);
        assert_eq!(said(&[]), None);
    }
}
