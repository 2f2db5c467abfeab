//! Chooses the pairs of hosts that measure.
//!
//! All pairs of n hosts are n(n-1)/2, too many beyond some tens of hosts. Where each host has k
//! partners, every host's cost is measured equally often, and hosts are connected through their
//! partners: an incomplete block design with blocks of two, balanced in its replications (Cochran
//! and Cox, "Experimental Designs", 2nd edition, 1957, chapter 9). Partners are the next ones on a
//! circle on which the hosts stand in random order, so that no host of such a design is without a
//! connection to another.

use std::collections::BTreeMap;

use rand::seq::SliceRandom as _;
use rand::{Rng, RngExt as _};
use zc_run::nearest::unknown_among;
use zc_run::{Error, ErrorKind, Result};

use crate::fleet_file::{Choose, Host, PairChoice};

/// Partners of each host, unless the file says otherwise.
const PARTNERS: usize = 4;

/// The most pairs. More would take a cluster weeks.
const MOST_PAIRS: usize = 100_000;

/// The pairs as indices of hosts, each pair once, in random order and with a random host first.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): the reference is no host, there is no pair, or there
/// are more than 100,000.
pub fn pairs(
    choice: &PairChoice,
    hosts: &[Host],
    random: &mut impl Rng,
) -> Result<Vec<[usize; 2]>> {
    let mut pairs = match choice.choose {
        Choose::Reference => with_the_reference(choice, hosts)?,
        Choose::All | Choose::Partners => {
            let partners = match choice.choose {
                Choose::All => usize::MAX,
                _ => choice.partners.unwrap_or(PARTNERS),
            };
            let mut pairs = Vec::new();
            for mut group in groups(choice, hosts) {
                group.shuffle(random);
                within(&group, partners, &mut pairs)?;
            }
            pairs
        }
    };
    if pairs.is_empty() {
        return Err(Error::input("no-pairs", "no two hosts are a pair")
            .help("[pairs] within: two hosts must have the same value of that feature"));
    }
    pairs.shuffle(random);
    for pair in &mut pairs {
        if random.random() {
            pair.reverse();
        }
    }
    Ok(pairs)
}

fn with_the_reference(choice: &PairChoice, hosts: &[Host]) -> Result<Vec<[usize; 2]>> {
    let wanted = choice.reference.as_deref().unwrap_or_default();
    let reference = hosts.iter().position(|host| host.name == wanted).ok_or_else(|| {
        let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        let error = unknown_among("host", wanted, &names).kind(ErrorKind::Input);
        error.prefixed("[pairs] reference: ")
    })?;
    let others = (0..hosts.len()).filter(|host| *host != reference);
    Ok(others.map(|host| [reference, host]).collect())
}

/// The hosts that may be paired with one another.
fn groups(choice: &PairChoice, hosts: &[Host]) -> Vec<Vec<usize>> {
    let Some(feature) = &choice.within else { return vec![(0..hosts.len()).collect()] };
    let mut groups: BTreeMap<Option<&String>, Vec<usize>> = BTreeMap::new();
    for (place, host) in hosts.iter().enumerate() {
        groups.entry(host.features.get(feature)).or_default().push(place);
    }
    groups.into_values().collect()
}

/// Adds the pairs of hosts that stand on a circle, each with the next ones. With an odd number of
/// partners each has the one opposite too; with an odd number of hosts that leaves one of them
/// over, which has one partner more.
fn within(circle: &[usize], partners: usize, pairs: &mut Vec<[usize; 2]>) -> Result<()> {
    let hosts = circle.len();
    let partners = partners.min(hosts.saturating_sub(1));
    if hosts * partners / 2 + pairs.len() > MOST_PAIRS {
        return Err(Error::input(
            "too-many-pairs",
            format!("{hosts} hosts have more than 100,000 such pairs"),
        )
        .help("choose = \"partners\" with partners = 4, or within = \"rack\", makes fewer"));
    }
    for step in 1..=partners / 2 {
        // The step across half of an even circle gives each pair twice.
        let from = if 2 * step == hosts { hosts / 2 } else { hosts };
        pairs.extend((0..from).map(|at| [circle[at], circle[(at + step) % hosts]]));
    }
    if partners % 2 == 1 {
        let half = hosts / 2;
        pairs.extend((0..half).map(|at| [circle[at], circle[at + half]]));
        if hosts % 2 == 1 {
            pairs.push([circle[hosts - 1], circle[half - 1]]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64;

    fn hosts(count: usize) -> Vec<Host> {
        let host = |number: usize| Host {
            name: format!("n{number}"),
            features: [("rack".to_owned(), (number % 3).to_string())].into(),
            wires: BTreeSet::new(),
        };
        (0..count).map(host).collect()
    }

    fn choose(choice: &PairChoice, count: usize, seed: u64) -> Vec<[usize; 2]> {
        pairs(choice, &hosts(count), &mut Pcg64::seed_from_u64(seed)).unwrap()
    }

    fn as_sets(pairs: &[[usize; 2]]) -> BTreeSet<BTreeSet<usize>> {
        pairs.iter().map(|pair| pair.iter().copied().collect()).collect()
    }

    proptest! {
        #[test]
        fn each_host_has_its_partners_and_all_are_connected(
            count in 2_usize..60, partners in 1_usize..9, seed in any::<u64>()
        ) {
            let choice = PairChoice { partners: Some(partners), ..PairChoice::default() };
            let pairs = choose(&choice, count, seed);
            let sets = as_sets(&pairs);
            prop_assert_eq!(sets.len(), pairs.len(), "no pair is there twice");
            prop_assert!(sets.iter().all(|pair| pair.len() == 2), "no host is its own partner");
            let wanted = partners.min(count - 1);
            let mut more = 0;
            for host in 0..count {
                let has = pairs.iter().filter(|pair| pair.contains(&host)).count();
                prop_assert!(has == wanted || has == wanted + 1, "{has} of {wanted}");
                more += has - wanted;
            }
            prop_assert_eq!(more, count * wanted % 2, "one has one more where it cannot be even");
            if wanted >= 2 {
                let mut reached = BTreeSet::from([0]);
                while let Some(pair) =
                    pairs.iter().find(|[a, b]| reached.contains(a) != reached.contains(b))
                {
                    reached.extend(pair);
                }
                prop_assert_eq!(reached.len(), count);
            }
        }
    }

    #[test]
    fn all_pairs_are_each_there_once_and_the_seed_gives_their_order() {
        let all = PairChoice { choose: Choose::All, ..PairChoice::default() };
        let pairs = choose(&all, 7, 1);
        assert_eq!((pairs.len(), as_sets(&pairs).len()), (21, 21));
        assert_eq!(pairs, choose(&all, 7, 1));
        assert_ne!(pairs, choose(&all, 7, 2));
    }

    #[test]
    fn pairs_are_within_a_rack_or_with_the_reference() {
        let within = PairChoice { within: Some("rack".to_owned()), ..PairChoice::default() };
        assert!(choose(&within, 30, 1).iter().all(|[one, other]| one % 3 == other % 3));
        let reference = PairChoice {
            choose: Choose::Reference,
            reference: Some("n2".to_owned()),
            ..PairChoice::default()
        };
        let pairs = choose(&reference, 5, 1);
        assert_eq!(pairs.len(), 4);
        assert!(pairs.iter().all(|pair| pair.contains(&2)));
    }

    #[test]
    fn no_pair_too_many_and_an_unknown_reference_are_refused() {
        let mut random = Pcg64::seed_from_u64(1);
        let mut why =
            |choice: &PairChoice, count| pairs(choice, &hosts(count), &mut random).unwrap_err().id;
        let within = PairChoice { within: Some("rack".to_owned()), ..PairChoice::default() };
        assert_eq!(why(&within, 3), "no-pairs");
        let all = PairChoice { choose: Choose::All, ..PairChoice::default() };
        assert_eq!(why(&all, 2000), "too-many-pairs");
        let reference = PairChoice {
            choose: Choose::Reference,
            reference: Some("n9".to_owned()),
            ..PairChoice::default()
        };
        assert_eq!(why(&reference, 3), "unknown-host");
    }
}
