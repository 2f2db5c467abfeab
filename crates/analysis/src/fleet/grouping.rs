//! Groups of hosts by values of facts and of features.
//!
//! A value is the caller's feature of the host, else a fact of the run, else `unknown`. Facts may
//! change from run to run, as a kernel does. The unit with an effect of its own is therefore a host
//! within a group: a host whose value changed is two units, one in each group.

use std::collections::{BTreeMap, HashMap};

use super::model::{End, Group, HostFacts, RunFigures};

/// The value of an unknown fact.
const UNKNOWN: &str = "unknown";

/// Facts that hosts are grouped by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grouping {
    /// Names of features and facts: `generation`, `kernel`.
    pub by: Vec<String>,
    /// Features of each host by name, which come before facts: generation, rack.
    pub features: BTreeMap<String, BTreeMap<String, String>>,
}

impl Grouping {
    /// The value of a feature or fact of a host, if it has one.
    pub(super) fn value<'a>(&'a self, host: &'a HostFacts, name: &str) -> Option<&'a str> {
        let feature = self.features.get(&host.host).and_then(|features| features.get(name));
        feature.or_else(|| host.facts.get(name)).map(String::as_str)
    }

    fn values(&self, host: &HostFacts) -> Vec<String> {
        let value = |name: &String| self.value(host, name).unwrap_or(UNKNOWN).to_owned();
        self.by.iter().map(value).collect()
    }
}

/// A host within a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) host: String,
    /// Index of its group.
    pub(super) group: usize,
}

/// A run's place among groups and hosts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// The unit that sends.
    pub(super) near: usize,
    /// The unit that receives, if a zc measured there.
    pub(super) far: Option<usize>,
}

/// Groups, and the units in them.
#[derive(Debug)]
pub(super) struct Grouped {
    /// Ordered by their values.
    pub(super) groups: Vec<Group>,
    pub(super) units: Vec<Unit>,
    /// Names of hosts, in order.
    pub(super) hosts: Vec<String>,
    /// Index of each unit's host.
    pub(super) host_of_unit: Vec<usize>,
    /// In the order of the runs.
    pub(super) places: Vec<Places>,
}

impl Grouped {
    pub(super) fn group(runs: &[&RunFigures], grouping: &Grouping) -> Self {
        let mut known: BTreeMap<(Vec<String>, String), usize> = BTreeMap::new();
        // Many runs share their facts.
        let mut of_facts: HashMap<*const HostFacts, (Vec<String>, String)> = HashMap::new();
        let mut key = |host: &std::sync::Arc<HostFacts>| {
            let key = of_facts
                .entry(std::sync::Arc::as_ptr(host))
                .or_insert_with(|| (grouping.values(host), host.host.clone()));
            known.entry(key.clone()).or_default();
            key.clone()
        };
        let keys: Vec<_> =
            runs.iter().map(|run| (key(&run.near), run.far.as_ref().map(&mut key))).collect();
        let mut hosts: Vec<String> = known.keys().map(|(_, host)| host.clone()).collect();
        hosts.sort();
        hosts.dedup();
        let (mut groups, mut units): (Vec<Group>, Vec<Unit>) = (Vec::new(), Vec::new());
        for ((values, host), place) in &mut known {
            if groups.last().is_none_or(|last| last.values != *values) {
                groups.push(Group {
                    values: values.clone(),
                    hosts: 0,
                    runs_sending: 0,
                    runs_receiving: 0,
                });
            }
            *place = units.len();
            let group = groups.len() - 1;
            groups[group].hosts += 1;
            units.push(Unit { host: host.clone(), group });
        }
        let place = |key: &(Vec<String>, String)| known.get(key).copied().unwrap_or_default();
        let places: Vec<Places> = keys
            .iter()
            .map(|(near, far)| Places { near: place(near), far: far.as_ref().map(place) })
            .collect();
        for Places { near, far } in &places {
            groups[units[*near].group].runs_sending += 1;
            if let Some(far) = far {
                groups[units[*far].group].runs_receiving += 1;
            }
        }
        let host_of_unit =
            units.iter().map(|unit| hosts.binary_search(&unit.host).unwrap_or(0)).collect();
        Self { groups, units, hosts, host_of_unit, places }
    }

    /// The unit whose cost is that of an end of a run: on one machine it is that machine's, and the
    /// cost of both is counted with the sender's.
    pub(super) fn unit(&self, run: usize, end: End) -> usize {
        let Places { near, far } = self.places[run];
        match end {
            End::Sender | End::Both => near,
            End::Receiver => far.unwrap_or(near),
        }
    }

    /// Hosts that send and receive in a run, if they are two.
    pub(super) fn pair(&self, run: usize) -> Option<(usize, usize)> {
        let Places { near, far } = self.places[run];
        let (near, far) = (self.host_of_unit[near], self.host_of_unit[far?]);
        (near != far).then_some((near, far))
    }

    /// The host at the other end, if it is another one.
    pub(super) fn partner(&self, run: usize, end: End) -> Option<usize> {
        let Places { near, far } = self.places[run];
        let other = match end {
            End::Sender | End::Both => far?,
            End::Receiver => far.map(|_| near)?,
        };
        let (own, other) = (self.host_of_unit[self.unit(run, end)], self.host_of_unit[other]);
        (own != other).then_some(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::simulated::Simulated;

    #[test]
    fn a_feature_comes_before_a_fact_and_what_has_none_is_unknown() {
        let mut host = HostFacts { host: "a".to_owned(), ..HostFacts::default() };
        host.facts.insert("kernel".to_owned(), "6.1".to_owned());
        host.facts.insert("rack".to_owned(), "fact".to_owned());
        let features = BTreeMap::from([("rack".to_owned(), "7".to_owned())]);
        let grouping = Grouping {
            by: ["rack", "kernel", "generation"].map(str::to_owned).to_vec(),
            features: BTreeMap::from([("a".to_owned(), features)]),
        };
        assert_eq!(grouping.values(&host), ["7", "6.1", "unknown"]);
    }

    #[test]
    fn a_host_that_changed_is_in_two_groups() {
        let mut runs = Simulated { hosts: 4, ..Simulated::default() }.runs();
        for run in runs.iter_mut().filter(|run| run.near.host == "n000").take(1) {
            std::sync::Arc::make_mut(&mut run.near)
                .facts
                .insert("kernel".to_owned(), "9".to_owned());
        }
        let grouping = Grouping { by: vec!["kernel".to_owned()], ..Grouping::default() };
        let refs: Vec<&RunFigures> = runs.iter().collect();
        let found = Grouped::group(&refs, &grouping);
        assert_eq!((found.hosts.len(), found.units.len(), found.groups.len()), (4, 5, 2));
        assert_eq!(found.groups[1].values, ["9"]);
        assert_eq!((found.groups[1].hosts, found.groups[1].runs_sending), (1, 1));
        for (run, figures) in runs.iter().enumerate() {
            let (own, other) =
                (found.unit(run, End::Receiver), found.partner(run, End::Receiver).unwrap());
            assert_eq!(Some(&found.units[own].host), figures.far.as_ref().map(|far| &far.host));
            assert_eq!(found.hosts[other], figures.near.host);
        }
    }
}
