//! Rounds of boots: in each the first kernel, the first kernel again and the second one, in an order
//! that is drawn anew.

use std::time::{Duration, Instant};

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use zc_analysis::compare::kernels::Arm;

/// Whether there is time for this round, counted from 1, if it takes as long as those before it.
/// The first one begins in any case.
pub(crate) fn has_time(began: Instant, round: usize, budget: Duration) -> bool {
    let elapsed = began.elapsed();
    round <= 1 || elapsed + elapsed / (round as u32 - 1) <= budget
}

/// The orders of the rounds, one after the other, without end: a function of the seed.
pub(crate) fn orders(seed: u64) -> impl Iterator<Item = [Arm; 3]> {
    let mut random = Pcg64::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let mut order = [Arm::Old, Arm::OldAgain, Arm::New];
        order.shuffle(&mut random);
        order
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_round_has_each_boot_once_in_an_order_that_the_seed_draws() {
        let first: Vec<[Arm; 3]> = orders(7).take(40).collect();
        assert_eq!(first, orders(7).take(40).collect::<Vec<_>>());
        assert_ne!(first, orders(8).take(40).collect::<Vec<_>>());
        let boots = BTreeSet::from([Arm::Old, Arm::OldAgain, Arm::New]);
        assert!(first.iter().all(|order| order.iter().copied().collect::<BTreeSet<_>>() == boots));
        let distinct: BTreeSet<[Arm; 3]> = first.into_iter().collect();
        assert_eq!(distinct.len(), 6, "every order comes");
    }
}
