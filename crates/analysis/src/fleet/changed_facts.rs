//! Facts of hosts that changed between two times, and the number of hosts in which they did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::model::HostFacts;

/// The last facts of hosts before a change, and the first after it.
#[derive(Debug, Default)]
pub(super) struct ChangedFacts<'a> {
    before: BTreeMap<&'a str, (&'a Arc<HostFacts>, &'a str)>,
    after: BTreeMap<&'a str, (&'a Arc<HostFacts>, &'a str)>,
}

impl<'a> ChangedFacts<'a> {
    /// Adds a run from before the change; runs come in the order of time.
    pub(super) fn before(&mut self, facts: &'a Arc<HostFacts>, zc_version: &'a str) {
        self.before.insert(&facts.host, (facts, zc_version));
    }

    /// Adds a run from after the change.
    pub(super) fn after(&mut self, facts: &'a Arc<HostFacts>, zc_version: &'a str) {
        self.after.entry(&facts.host).or_insert((facts, zc_version));
    }

    /// `kernel: 6.1.0 -> 6.12.1 (12 of 12 hosts)`, what most hosts have first; up to `most`.
    pub(super) fn in_words(&self, most: usize) -> Vec<String> {
        const NONE: &str = "none";
        let mut counts: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
        let mut hosts = 0;
        for (host, (before, zc_before)) in &self.before {
            let Some((after, zc_after)) = self.after.get(host) else { continue };
            hosts += 1;
            if zc_before != zc_after {
                *counts.entry(("zc", zc_before, zc_after)).or_default() += 1;
            }
            if Arc::ptr_eq(before, after) {
                continue;
            }
            let names: BTreeSet<&String> = before.facts.keys().chain(after.facts.keys()).collect();
            for name in names {
                let value = |facts: &'a HostFacts| facts.facts.get(name).map_or(NONE, |it| it);
                let (old, new) = (value(before), value(after));
                if old != new {
                    *counts.entry((name, old, new)).or_default() += 1;
                }
            }
        }
        let mut found: Vec<_> = counts.into_iter().collect();
        found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let words = |((name, old, new), count): ((&str, &str, &str), usize)| {
            format!("{name}: {old} -> {new} ({count} of {hosts} hosts)")
        };
        found.into_iter().take(most).map(words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, facts: &[(&str, &str)]) -> Arc<HostFacts> {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Arc::new(HostFacts { host: name.to_owned(), facts: facts.collect() })
    }

    #[test]
    fn what_most_hosts_have_changed_comes_first() {
        let before = [
            host("a", &[("kernel", "6.1"), ("mtu", "1500")]),
            host("b", &[("kernel", "6.1")]),
            host("gone", &[("kernel", "6.1")]),
        ];
        let after =
            [host("a", &[("kernel", "6.2"), ("mtu", "9000")]), host("b", &[("kernel", "6.2")])];
        let mut changed = ChangedFacts::default();
        before.iter().for_each(|facts| changed.before(facts, "0.2.0"));
        after.iter().for_each(|facts| changed.after(facts, "0.2.0"));
        let found = changed.in_words(9);
        assert_eq!(
            found,
            ["kernel: 6.1 -> 6.2 (2 of 2 hosts)", "mtu: 1500 -> 9000 (1 of 2 hosts)"]
        );
        assert_eq!(changed.in_words(1).len(), 1);
        assert!(ChangedFacts::default().in_words(9).is_empty());
    }

    #[test]
    fn a_new_version_of_zc_is_a_change_too() {
        let same = host("a", &[]);
        let mut changed = ChangedFacts::default();
        changed.before(&same, "0.1.0");
        changed.after(&same, "0.2.0");
        assert_eq!(changed.in_words(9), ["zc: 0.1.0 -> 0.2.0 (1 of 1 hosts)"]);
    }
}
