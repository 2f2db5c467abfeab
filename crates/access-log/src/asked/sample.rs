//! Sizes of one kind of responses, and how much of them is not sent.

use rand_pcg::Pcg64Mcg;

use super::asked_mix::{Cut, share};
use crate::reservoir::Reservoir;

/// Sizes that are kept of a kind. A quantile of so many errs by 0.4 % of the log's requests (one
/// standard deviation, at the median), as much as a stratum of 256 holds.
pub(super) const KEPT: usize = 1 << 14;

/// Sizes of one kind, each at most the longest that is sent.
#[derive(Debug)]
pub(super) struct Sample {
    longest_bytes: u64,
    size_bytes: Reservoir<u64>,
    bytes: u64,
    longer: u64,
    cut_bytes: u64,
}

impl Sample {
    pub(super) fn new(longest_bytes: u64) -> Self {
        let size_bytes = Reservoir::new(KEPT);
        Self { longest_bytes, size_bytes, bytes: 0, longer: 0, cut_bytes: 0 }
    }

    pub(super) fn add(&mut self, size_bytes: u64, random: &mut Pcg64Mcg) {
        let sent_bytes = size_bytes.min(self.longest_bytes);
        self.bytes = self.bytes.saturating_add(size_bytes);
        self.longer += u64::from(size_bytes > sent_bytes);
        self.cut_bytes = self.cut_bytes.saturating_add(size_bytes - sent_bytes);
        self.size_bytes.add(sent_bytes, random);
    }

    /// The sizes that were kept.
    pub(super) fn into_sizes(self) -> Vec<u64> {
        self.size_bytes.kept
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.size_bytes.kept.len()
    }
}

impl<const N: usize> From<[&Sample; N]> for Cut {
    fn from(samples: [&Sample; N]) -> Self {
        let sum = |of: fn(&Sample) -> u64| {
            samples.iter().fold(0_u64, |sum, sample| sum.saturating_add(of(sample)))
        };
        Self {
            requests: share(sum(|it| it.longer), sum(|it| it.size_bytes.seen())),
            bytes: share(sum(|it| it.cut_bytes), sum(|it| it.bytes)),
        }
    }
}
