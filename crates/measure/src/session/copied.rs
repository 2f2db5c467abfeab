//! Whether the copied share of a zero-copy path stays constant: a packet sniffer that starts during
//! the run makes the kernel copy every packet, and nothing else may show it.

use std::collections::BTreeMap;

use zc_run::{Block, Cell, Header, OffloadSwitch, Severity, Slot, Warning};

/// A share has changed if it differs from the first one by more than this. On a link without a
/// remote machine it is 0 or 1.
const MOVED: f64 = 0.1;

/// The copied share of each cell in its first block.
#[derive(Debug, Default)]
pub(super) struct CopiedShares {
    first: BTreeMap<String, f64>,
    /// Cells whose share varies by itself: without scatter-gather the kernel copies what is not
    /// contiguous (net/core/dev.c, validate_xmit_skb: __skb_linearize), which depends on how the
    /// bytes fell into packets.
    varies_by_itself: Vec<String>,
}

impl CopiedShares {
    /// For a run before its first block.
    pub(super) fn new(header: &Header) -> Self {
        let linear = |cell: &&Cell| {
            header.link.wanted(&cell.levels).switched_off.contains(&OffloadSwitch::NoSg)
        };
        let varies_by_itself =
            header.plan.cells.iter().filter(linear).map(|cell| cell.label.clone()).collect();
        Self { first: BTreeMap::new(), varies_by_itself }
    }

    /// A warning if the share of a cell in `block` differs from its share when it was first
    /// measured.
    pub(super) fn moved(&mut self, block: &Block) -> Option<Warning> {
        let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for slot in &block.slots {
            if let Slot::Trial(trial) = slot
                && trial.whole_completions > 0
                && !self.varies_by_itself.contains(&trial.cell)
            {
                let (copied, all) = counts.entry(&trial.cell).or_default();
                *copied += trial.whole_copied;
                *all += trial.whole_completions;
            }
        }
        let mut moved = None;
        for (cell, (copied, all)) in counts {
            let share = copied as f64 / all as f64;
            match self.first.get(cell) {
                None => {
                    self.first.insert(cell.to_owned(), share);
                }
                Some(first) if (share - first).abs() > MOVED => {
                    moved = moved.or_else(|| Some(warning(cell, *first, share, block.index)));
                }
                Some(_) => {}
            }
        }
        moved
    }
}

fn warning(cell: &str, first: f64, share: f64, block: usize) -> Warning {
    Warning::new(
        "copied-share-moved",
        Severity::Doubt,
        format!(
            "of the zero-copy sends of \"{cell}\" {:.0} % were copied at first, and {:.0} % in \
             block {}: a packet sniffer was on the link for a while, or the route changed",
            first * 100.0,
            share * 100.0,
            block + 1
        ),
    )
    .remedy("run again with no packet sniffer at work (\"sudo ss -0 -p\" lists them)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Reading, Trial, TrialKind};

    fn block(index: usize, cells: &[(&str, u64, u64)]) -> Block {
        let trial = |&(cell, copied, all): &(&str, u64, u64)| {
            Slot::Trial(Trial {
                cell: cell.to_owned(),
                kind: TrialKind::Soaked,
                opened: Reading::default(),
                closed: Reading::default(),
                whole_bytes: 0,
                whole_completions: all,
                whole_lost_bytes: None,
                whole_copied: copied,
                fragments: None,
                whole_sender_usage: None,
                sockets: None,
                remote: None,
                remote_report: None,
            })
        };
        Block {
            index,
            session: 0,
            began_ns: 0,
            memcpy_bytes_per_s: None,
            slots: cells.iter().map(trial).collect(),
            failed: Vec::new(),
            samples: None,
            dropped: None,
        }
    }

    #[test]
    fn a_share_that_jumps_is_reported_with_its_block() {
        let mut shares = CopiedShares::default();
        assert_eq!(shares.moved(&block(0, &[("msg-zerocopy", 0, 100), ("read+send", 0, 0)])), None);
        assert_eq!(shares.moved(&block(1, &[("msg-zerocopy", 3, 100)])), None);
        let warning =
            shares.moved(&block(2, &[("msg-zerocopy", 0, 50), ("msg-zerocopy", 40, 50)])).unwrap();
        assert_eq!(warning.name, "copied-share-moved");
        assert!(
            warning.text.contains("0 % were copied at first, and 40 % in block 3"),
            "{}",
            warning.text
        );
        assert_eq!(shares.moved(&block(3, &[("msg-zerocopy", 0, 100)])), None);
    }

    #[test]
    fn without_scatter_gather_a_share_may_move() {
        let mut header = zc_testkit::synthetic::Synthetic::default().run().header;
        let label = header.plan.cells[0].label.clone();
        header.plan.cells[0].levels.switched_off = Some([OffloadSwitch::NoSg].into());
        let mut shares = CopiedShares::new(&header);
        assert_eq!(shares.moved(&block(0, &[(&label, 0, 100)])), None);
        assert_eq!(shares.moved(&block(1, &[(&label, 60, 100)])), None);
    }

    #[test]
    fn a_share_that_was_always_1_has_not_moved() {
        let mut shares = CopiedShares::default();
        for index in 0..3 {
            assert_eq!(shares.moved(&block(index, &[("uring-send-zc", 100, 100)])), None);
        }
    }
}
