//! /proc/softirqs at one moment. A saved run has hundreds of thousands of these, all with the same
//! ten kinds: the names are shared, and the counts are in one allocation.

use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of each kind of softirq (`NET_RX` ...) per soaked CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "BTreeMap<String, Vec<u64>>", into = "BTreeMap<String, Vec<u64>>")]
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

impl TryFrom<BTreeMap<String, Vec<u64>>> for SoftirqCounts {
    type Error = &'static str;

    /// # Errors
    /// A row has no count for some CPU, unlike those of /proc/softirqs. (If rows were filled up to
    /// the longest, a megabyte of them could take terabytes.)
    fn try_from(by_kind: BTreeMap<String, Vec<u64>>) -> Result<Self, Self::Error> {
        let cpus = by_kind.values().next().map_or(0, Vec::len);
        if by_kind.values().any(|row| row.len() != cpus) {
            return Err("counts of softirqs for more CPUs in one row than in another");
        }
        if cpus == 0 {
            return Ok(Self::default()); // kinds without counts are no counts
        }
        let counts = by_kind.values().flatten().copied().collect();
        Ok(Self { kinds: by_kind.into_keys().map(String::into_boxed_str).collect(), counts })
    }
}

impl From<SoftirqCounts> for BTreeMap<String, Vec<u64>> {
    fn from(softirqs: SoftirqCounts) -> Self {
        softirqs.iter().map(|(kind, counts)| (kind.to_owned(), counts.to_vec())).collect()
    }
}

impl FromIterator<(String, Vec<u64>)> for SoftirqCounts {
    /// Rows of one machine. Counts that a shorter row lacks are 0.
    fn from_iter<I: IntoIterator<Item = (String, Vec<u64>)>>(rows: I) -> Self {
        let mut by_kind = BTreeMap::from_iter(rows);
        let cpus = by_kind.values().map(Vec::len).max().unwrap_or(0);
        by_kind.values_mut().for_each(|row| row.resize(cpus, 0));
        by_kind.try_into().unwrap_or_default()
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
    fn rows_without_a_count_for_every_cpu_are_no_counts() {
        let read = |json| serde_json::from_str::<SoftirqCounts>(json);
        for none in ["{}", r#"{"HI":[],"RCU":[]}"#] {
            assert_eq!(read(none).unwrap(), SoftirqCounts::default());
        }
        for uneven in [r#"{"HI":[1,2],"RCU":[3]}"#, r#"{"HI":[],"RCU":[3]}"#] {
            let error = read(uneven).unwrap_err().to_string();
            assert!(error.contains("for more CPUs in one row than in another"), "{error}");
        }
        let own: SoftirqCounts =
            [("HI".to_owned(), vec![1, 2]), ("RCU".to_owned(), vec![3])].into_iter().collect();
        assert_eq!(&own["RCU"], [3, 0]);
    }
}
