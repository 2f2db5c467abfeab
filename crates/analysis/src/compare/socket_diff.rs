//! Differences between what the sockets of two runs used, whatever was asked for: a route, a BPF
//! program or the kernel's tuning may have chosen it. What was asked for is compared as a factor,
//! and where that differs, its consequence is not listed again.

use super::model::{Aspect, Difference, End, Weight};
use crate::kept::KeptBlocks;
use crate::model::cell::SocketState;
use crate::sockets::state;
use zc_run::factor::Side;
use zc_run::units::size_text;

/// Sizes that differ by less than this factor are equal: the kernel tunes them to what the traffic
/// of the moment needs.
const WITHIN: f64 = 2.0;

/// The differences between these pairs of cells: one for each property, that of the cell in which
/// it differs most.
pub(super) fn between_sockets(
    before: &KeptBlocks<'_>,
    after: &KeptBlocks<'_>,
    cells: &[(usize, usize)],
) -> Vec<Difference> {
    let mut found: Vec<Differing> = Vec::new();
    for &(old, new) in cells {
        let (old_cell, new_cell) = (&before.header.plan.cells[old], &after.header.plan.cells[new]);
        let sides = (Side::new(before.header, old_cell), Side::new(after.header, new_cell));
        let states = (state(before, old_cell), state(after, new_cell));
        for each in properties((&sides.0, &states.0), (&sides.1, &states.1)) {
            let each = Differing { of: old_cell.label.clone(), ..each };
            match found.iter_mut().find(|known| known.name == each.name) {
                Some(known) => known.add(each),
                None => found.push(each),
            }
        }
    }
    let has_far_end = before.header.remote.is_some() && after.header.remote.is_some();
    found.into_iter().map(|each| each.difference(cells.len(), has_far_end)).collect()
}

/// A property that differs between the sockets of two cells.
struct Differing {
    name: &'static str,
    is_receivers: bool,
    /// The factor by which it differs, where it has one.
    by: f64,
    old: String,
    new: String,
    /// The cell in which it differs most.
    of: String,
    cells: usize,
    /// Whether it differs alike in all of them.
    alike: bool,
}

impl Differing {
    fn add(&mut self, other: Self) {
        let cells = self.cells + other.cells;
        let alike = self.alike && (&self.old, &self.new) == (&other.old, &other.new);
        let most = if other.by > self.by { other } else { std::mem::replace(self, other) };
        *self = Self { cells, alike, ..most };
    }

    /// `of_cells` were compared.
    fn difference(self, of_cells: usize, has_far_end: bool) -> Difference {
        let name = match self.cells - 1 {
            _ if self.alike && self.cells == of_cells => self.name.to_owned(),
            0 => format!("{} of {}", self.name, self.of),
            more => format!("{} of {} and {more} more", self.name, self.of),
        };
        Difference {
            end: if self.is_receivers && has_far_end { End::Far } else { End::Near },
            what: Aspect::Socket,
            name: Some(name),
            old: Some(self.old),
            new: Some(self.new),
            weight: Weight::Explains,
        }
    }
}

/// The properties in which two cells differ and that both know.
fn properties(old: (&Side<'_>, &SocketState), new: (&Side<'_>, &SocketState)) -> Vec<Differing> {
    let ((asked, old), (asked_now, new)) = (old, new);
    let mut found = Vec::new();
    let mut differs = |name, is_receivers, by: f64, [old, new]: [String; 2]| {
        found.push(Differing {
            name,
            is_receivers,
            by,
            old,
            new,
            of: String::new(),
            cells: 1,
            alike: true,
        });
    };
    if let (Some(old), Some(new)) = (&old.congestion, &new.congestion)
        && old != new
        && asked.fixed.congestion == asked_now.fixed.congestion
    {
        differs("congestion control", false, 1.0, [old.clone(), new.clone()]);
    }
    let buffers = [
        ("SO_SNDBUF", false, old.sndbuf_bytes, new.sndbuf_bytes),
        ("SO_RCVBUF", true, old.rcvbuf_bytes, new.rcvbuf_bytes),
        ("rcv_ssthresh", true, old.rcv_ssthresh_bytes, new.rcv_ssthresh_bytes),
    ];
    let is_asked = |is_receivers| match is_receivers {
        true => asked.fixed.rcvbuf_bytes != asked_now.fixed.rcvbuf_bytes,
        false => asked.fixed.sndbuf_bytes != asked_now.fixed.sndbuf_bytes,
    };
    for (name, is_receivers, old, new) in buffers {
        let Some((old, new)) = old.zip(new).filter(|_| !is_asked(is_receivers)) else { continue };
        if let Some(by) = apart(old, new) {
            differs(name, is_receivers, by, [old, new].map(size_text));
        }
    }
    if let Some((old, new)) = old.ssthresh_packets.zip(new.ssthresh_packets)
        && let Some(by) = apart(old, new)
    {
        differs("ssthresh", false, by, [old, new].map(|packets| format!("{packets} packets")));
    }
    found
}

/// The factor by which two sizes differ, if that is more than they may.
fn apart(old: u64, new: u64) -> Option<f64> {
    let by = old.max(new) as f64 / old.min(new).max(1) as f64;
    (by > WITHIN).then_some(by)
}
