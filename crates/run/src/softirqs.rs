//! /proc/softirqs at one moment. A saved run has hundreds of thousands of these, all with the same
//! ten kinds: the names are shared, and the counts are in one allocation.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counts of each kind of softirq (`NET_RX` ...) per soaked CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(into = "BTreeMap<String, Vec<u64>>")]
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

impl Serialize for SoftirqCounts {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.iter())
    }
}

thread_local! {
    /// Kinds of the counts that this thread read last: those of the next ones, nearly always.
    static LAST_KINDS: RefCell<Arc<[Box<str>]>> = RefCell::default();
}

impl<'de> Deserialize<'de> for SoftirqCounts {
    /// An object of kinds with their counts by CPU. Kinds that were read before are not allocated
    /// again.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Rows;
        impl<'de> Visitor<'de> for Rows {
            type Value = SoftirqCounts;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("counts of softirqs by kind")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SoftirqCounts, A::Error> {
                let kinds = LAST_KINDS.with_borrow(Arc::clone);
                let mut counts = Vec::new();
                let mut row_ends = Vec::new();
                let mut other_kind = None;
                while other_kind.is_none()
                    && let Some(kind) =
                        map.next_key_seed(Known(kinds.get(row_ends.len()).map(|kind| &**kind)))?
                {
                    match kind {
                        None => {
                            map.next_value_seed(Row(&mut counts))?;
                            row_ends.push(counts.len());
                        }
                        other => other_kind = other,
                    }
                }
                let cpus = row_ends.first().copied().unwrap_or(0);
                let is_even = row_ends.iter().zip(1..).all(|(end, rows)| *end == rows * cpus);
                if other_kind.is_none() && row_ends.len() == kinds.len() && cpus > 0 && is_even {
                    return Ok(SoftirqCounts { kinds, counts: counts.into() });
                }
                let starts = std::iter::once(0).chain(row_ends.iter().copied());
                let known = kinds.iter().zip(starts.zip(&row_ends));
                let mut rows: BTreeMap<String, Vec<u64>> = known
                    .map(|(kind, (start, end))| (kind.to_string(), counts[start..*end].to_vec()))
                    .collect();
                if let Some(kind) = other_kind {
                    rows.insert(kind, map.next_value()?);
                }
                while let Some((kind, row)) = map.next_entry()? {
                    rows.insert(kind, row);
                }
                let read: SoftirqCounts = rows.try_into().map_err(A::Error::custom)?;
                LAST_KINDS.set(Arc::clone(&read.kinds));
                Ok(read)
            }
        }
        from.deserialize_map(Rows)
    }
}

/// Reads a key: `None` if it is the expected one.
struct Known<'a>(Option<&'a str>);

impl<'de> DeserializeSeed<'de> for Known<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Known<'_> {
    type Value = Option<String>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a kind of softirq")
    }

    fn visit_str<E: serde::de::Error>(self, kind: &str) -> Result<Self::Value, E> {
        let is_expected = self.0 == Some(kind);
        Ok((!is_expected).then(|| kind.to_owned()))
    }
}

/// Appends the counts of a row.
struct Row<'a>(&'a mut Vec<u64>);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("counts by CPU")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(count) = seq.next_element()? {
            self.0.push(count);
        }
        Ok(())
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
