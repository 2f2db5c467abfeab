//! /proc/softirqs at one moment. A saved run has hundreds of thousands of these, all with the same
//! ten kinds: the names are shared, and the counts are in one allocation.

use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of each kind of softirq (`NET_RX` ...) per soaked CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "BTreeMap<String, Vec<u64>>", into = "BTreeMap<String, Vec<u64>>")]
pub struct SoftirqCounts {
    /// Each once, in alphabetical order.
    kinds: Arc<[Box<str>]>,
    /// The counts of the first kind on each CPU, then those of the second ...
    counts: Box<[u64]>,
}

impl SoftirqCounts {
    /// The kinds, in alphabetical order.
    pub fn kinds(&self) -> &[Box<str>] {
        &self.kinds
    }

    /// Each kind with its count on each CPU.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u64])> {
        self.kinds.iter().map(|kind| &**kind).zip(self.counts.chunks(self.cpus().max(1)))
    }

    /// The counts of one kind; `None` if the kernel has no such kind.
    pub fn get(&self, kind: &str) -> Option<&[u64]> {
        let place = self.kinds.binary_search_by(|each| (**each).cmp(kind)).ok()?;
        self.counts.chunks(self.cpus().max(1)).nth(place)
    }

    /// The number of CPUs.
    pub fn cpus(&self) -> usize {
        self.counts.len().checked_div(self.kinds.len()).unwrap_or(0)
    }

    /// All counts, kind by kind.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// All counts, kind by kind.
    pub(super) fn counts_mut(&mut self) -> &mut [u64] {
        &mut self.counts
    }

    /// The counts of one kind.
    pub(super) fn get_mut(&mut self, kind: &str) -> Option<&mut [u64]> {
        let place = self.kinds.binary_search_by(|each| (**each).cmp(kind)).ok()?;
        let cpus = self.cpus();
        self.counts.chunks_mut(cpus.max(1)).nth(place)
    }

    /// The same counts, sharing the kinds of `other` if these are equal, so that they are in memory
    /// once.
    pub(super) fn sharing(self, other: &Self) -> Self {
        if self.kinds == other.kinds {
            Self { kinds: Arc::clone(&other.kinds), ..self }
        } else {
            self
        }
    }
}

impl Index<&str> for SoftirqCounts {
    type Output = [u64];

    /// The counts of one kind; empty if the kernel has no such kind.
    fn index(&self, kind: &str) -> &[u64] {
        self.get(kind).unwrap_or_default()
    }
}

impl From<BTreeMap<String, Vec<u64>>> for SoftirqCounts {
    fn from(by_kind: BTreeMap<String, Vec<u64>>) -> Self {
        // Every row of /proc/softirqs has a count for every CPU. A shorter row is not valid.
        let cpus = by_kind.values().map(Vec::len).max().unwrap_or(0);
        let mut counts = Vec::with_capacity(by_kind.len() * cpus);
        for row in by_kind.values() {
            counts.extend(row.iter().copied().chain(std::iter::repeat(0)).take(cpus));
        }
        Self {
            kinds: by_kind.into_keys().map(String::into_boxed_str).collect(),
            counts: counts.into(),
        }
    }
}

impl From<SoftirqCounts> for BTreeMap<String, Vec<u64>> {
    fn from(softirqs: SoftirqCounts) -> Self {
        softirqs.iter().map(|(kind, counts)| (kind.to_owned(), counts.to_vec())).collect()
    }
}

impl FromIterator<(String, Vec<u64>)> for SoftirqCounts {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u64>)>>(rows: I) -> Self {
        BTreeMap::from_iter(rows).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_kind() {
        let softirqs: SoftirqCounts =
            [("TIMER".to_owned(), vec![1, 2]), ("NET_RX".to_owned(), vec![3, 4])]
                .into_iter()
                .collect();
        assert_eq!(&softirqs["TIMER"], [1, 2]);
        assert_eq!(
            (&softirqs["NET_RX"], softirqs.get("HI"), softirqs.cpus()),
            (&[3, 4][..], None, 2)
        );
        let json = serde_json::to_string(&softirqs).unwrap();
        assert_eq!(json, r#"{"NET_RX":[3,4],"TIMER":[1,2]}"#);
        assert_eq!(serde_json::from_str::<SoftirqCounts>(&json).unwrap(), softirqs);
    }

    #[test]
    fn rows_without_a_count_for_every_cpu_do_no_harm() {
        let none: SoftirqCounts = serde_json::from_str("{}").unwrap();
        assert_eq!((none.cpus(), none.iter().count()), (0, 0));
        let empty: SoftirqCounts = serde_json::from_str(r#"{"HI":[],"RCU":[]}"#).unwrap();
        assert_eq!((empty.cpus(), empty.get("HI")), (0, None));
        let uneven: SoftirqCounts = serde_json::from_str(r#"{"HI":[1,2],"RCU":[3]}"#).unwrap();
        assert_eq!(&uneven["RCU"], [3, 0]);
    }
}
