//! `receive`: the cost of receiving by receive path and buffer size.

use super::historical::{End, load_of};
use super::section::Section;
use crate::digits::{percent, ratio, with_half_width};
use crate::run::baseline::Baseline;
use crate::run::pivot::Pivot;
use crate::run::pivot_tables::table;
use crate::terminal::part::Part;
use crate::text::distinct;
use zc_analysis::{Comparison, Estimates};
use zc_run::{Cell, LinkKind, Run, SendPath, escape};

/// Andrew Morton, 27 January 2001: load of a dual 500 MHz Pentium II with a 3c905C that receives
/// 11.5 MB/s in reads of 16 KiB.
const HISTORICAL: &[(&str, f64)] = &[("2.4.1-pre10+zerocopy", 18.7), ("2.4.1-pre10-vanilla", 18.3)];

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let then: Vec<String> =
        HISTORICAL.iter().map(|(kernel, load)| format!("{load:.1} % ({kernel})")).collect();
    let caption = format!(
        "As in 2001 (Andrew Morton, 27 January: receiving 11.5 MB/s with read()s of 16k took a \
         dual Pentium II {}); now {}",
        then.join(" and "),
        load_of(run, estimates, End::Receiver)
    );
    let loads = table(run, pivot, caption, true, |placed| {
        End::Receiver.load(run, estimates, placed.figures)
    });
    // Receiver savings are a smaller share of the cost of both ends, and the sender's noise does
    // not affect them.
    let caption = format!(
        "Ratio of the receiver's cost alone to that of {}",
        Baseline::from_pivot(pivot).text()
    );
    let own = table(run, pivot, caption, false, |placed| match placed.figures.ratio.receiver {
        Some(own) => Some(ratio(own.value, own.half_width)),
        None => placed.figures.cost_ns_per_kib.receiver.map(|_| "1".to_owned()),
    });
    let mapped = table(
        run,
        pivot,
        "Share of the bytes that were mapped instead of copied".to_owned(),
        false,
        |placed| placed.figures.traffic.mapped_share.map(percent),
    );
    let merged = table(
        run,
        pivot,
        "Payload of a packet as TCP got it (merged by GRO, or never segmented), in bytes"
            .to_owned(),
        false,
        |placed| Some(format!("{:.0}", placed.figures.traffic.received_packet_bytes?)),
    );
    let of_packets = table(
        run,
        pivot,
        "CPU time of the receiver by packet that TCP got, us".to_owned(),
        false,
        |placed| {
            let cost = placed.figures.cost_per.us_per_packet.receiver?;
            Some(with_half_width(cost.value, cost.half_width))
        },
    );
    let unmapped = why_unmapped(run, pivot).map(|why| Part::Text(vec![why]));
    Section {
        parts: [own, loads, of_packets, merged, mapped, unmapped].into_iter().flatten().collect(),
        conclusion: conclusion(estimates, pivot),
    }
}

/// Why nothing was mapped, where some cell that could map has mapped nothing: one sentence for each
/// cause.
fn why_unmapped(run: &Run, pivot: &Pivot) -> Option<String> {
    let unmapped = pivot.cells().filter(|placed| placed.figures.traffic.mapped_share == Some(0.0));
    let causes = distinct(unmapped.map(|placed| cause(run, placed.cell)));
    (!causes.is_empty()).then(|| format!("Nothing was mapped: {}.", causes.join("; ")))
}

/// Only single pages that are filled with payload and belong to nothing else can be mapped
/// (can_map_frag() in net/ipv4/tcp.c).
fn cause(run: &Run, cell: &Cell) -> String {
    let sender = cell.transfer.sender();
    let link = run.header.plan.fixed.link;
    if link == LinkKind::Remote {
        return "a device must put payload into pages of its own (ethtool -g: TCP data split), and \
                the payload of a segment must fill pages (an MTU of 4148 bytes over IPv4, 4168 \
                over IPv6)"
            .to_owned();
    }
    let whose = match cell.transfer.send_path() {
        Some(SendPath::Sendfile | SendPath::Splice | SendPath::UringSplice) => {
            "pages of the file, which are the page cache's"
        }
        Some(SendPath::Vmsplice) => "pages of its memory, which are the process's",
        Some(
            SendPath::MsgZerocopy
            | SendPath::MsgZerocopyMmap
            | SendPath::UringSendZc
            | SendPath::UringSendZcFixed
            | SendPath::UringSendZcBatch
            | SendPath::UringSendmsgZc,
        ) => {
            return format!(
                "the kernel copies what {sender} sends over {link} into pages, and none of them \
                 was filled by a segment (an MTU of 4148 bytes over IPv4, 4168 over IPv6)"
            );
        }
        _ => "its socket's buffers, which are parts of larger pages",
    };
    format!(
        "over {link} the sender's own memory arrives, and that of {sender} is {whose}; what \
         msg-zerocopy sends is copied into single pages, which can be mapped"
    )
}

/// The cheapest receive path that was shown to cost less and that reads its bytes.
fn conclusion(estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let mut compared = 0;
    let mut best: Option<(f64, &str)> = None;
    for placed in pivot.cells().filter(|placed| !placed.cell.transfer.receiver().drops_bytes()) {
        let label = placed.cell.label.as_str();
        let Some(verdict) = estimates.verdict.for_cell(label) else {
            continue;
        };
        compared += 1;
        match verdict.comparison {
            Comparison::Cheaper { by } if best.is_none_or(|(most, _)| by > most) => {
                best = Some((by, label))
            }
            _ => {}
        }
    }
    let against = Baseline::from_pivot(pivot).text();
    match best {
        _ if compared == 0 => None,
        Some((by, label)) => Some(format!(
            "The most that was shown to be saved is {} of the CPU of both ends with {against}, by \
             {}.",
            percent(by),
            escape(label, 80)
        )),
        None => Some(format!(
            "No receive path that reads its bytes was shown to save anything over {against}."
        )),
    }
}
