//! `tls`: what encrypting costs a byte, what the kernel's TLS saves of that, and whether sendfile(2)
//! still pays.

use super::historical::{Quotient, quotient_of_costs};
use super::section::Section;
use crate::digits::bound;
use crate::run::baseline::Baseline;
use crate::run::pivot::{Pivot, Placed};
use crate::text::list;
use zc_analysis::{Comparison, Estimates};
use zc_run::SendPath;

pub(super) fn section(estimates: &Estimates, pivot: &Pivot) -> Section {
    let sentences: Vec<String> =
        [user_space(estimates, pivot), kernel(estimates, pivot), sendfile(estimates, pivot)]
            .into_iter()
            .flatten()
            .collect();
    let conclusion = (!sentences.is_empty()).then(|| sentences.join(" "));
    Section { parts: Vec::new(), conclusion }
}

/// What encrypting in user space costs, by cipher, beside the reference in the clear.
fn user_space(estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let times = |(cipher, placed): (&str, Placed<'_>)| {
        let verdict = estimates.verdict.for_cell(&placed.cell.label)?;
        let ratio = placed.figures.ratio.both?;
        let half = ratio.half_width.map_or(0.01, |half| ratio.value * half);
        match verdict.comparison {
            Comparison::Dearer { .. } | Comparison::Cheaper { .. } => {
                Some(format!("{} times ({cipher})", bound(ratio.value, half)))
            }
            _ => None,
        }
    };
    let each: Vec<String> = by_cipher(pivot, SendPath::TlsWrite).filter_map(times).collect();
    let against = Baseline::from_pivot(pivot).text();
    (!each.is_empty()).then(|| {
        format!("Encrypted in user space a byte costs {} as much as by {against}.", list(&each))
    })
}

/// What the kernel's TLS saves, by a call that is otherwise the same.
fn kernel(estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    against(estimates, pivot, SendPath::KtlsWrite, SendPath::TlsWrite)
}

/// Whether sendfile(2) saves anything where the kernel encrypts.
fn sendfile(estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    against(estimates, pivot, SendPath::KtlsSendfile, SendPath::KtlsWrite)
}

/// `ktls-write costs 0.91 times (aes-128-gcm) as much as tls-write.`
fn against(
    estimates: &Estimates,
    pivot: &Pivot,
    path: SendPath,
    other: SendPath,
) -> Option<String> {
    let (mut apart, mut alike) = (Vec::new(), Vec::new());
    for (cipher, placed) in by_cipher(pivot, path) {
        let base = by_cipher(pivot, other).find(|(own, _)| *own == cipher);
        let cost = |placed: Placed<'_>| placed.figures.cost_ns_per_kib.both;
        let base = base.and_then(|(_, base)| cost(base));
        match quotient_of_costs(estimates, cost(placed), base) {
            Quotient::Times(times) => apart.push(format!("{times:.2} times ({cipher})")),
            Quotient::Indistinct => alike.push(cipher.to_owned()),
            Quotient::Unknown => {}
        }
    }
    let costs = format!("costs {} as much as {other}", list(&apart));
    let differs = format!("was not shown to differ from {other} with {}", list(&alike));
    let clauses: Vec<String> = [(costs, !apart.is_empty()), (differs, !alike.is_empty())]
        .into_iter()
        .filter_map(|(clause, holds)| holds.then_some(clause))
        .collect();
    (!clauses.is_empty()).then(|| format!("{path} {}.", clauses.join(", and ")))
}

/// The cells of a path, each with its cipher.
fn by_cipher<'p>(
    pivot: &'p Pivot<'p>,
    path: SendPath,
) -> impl Iterator<Item = (&'p str, Placed<'p>)> {
    let cells = pivot.rows.iter().flat_map(|row| pivot.columns.iter().zip(&row.cells));
    let placed = cells.filter_map(|(column, cell)| Some((column.as_str(), (*cell)?)));
    placed.filter(move |(_, placed)| placed.cell.transfer.send_path() == Some(path))
}
