//! The order of the cells in each block.
//!
//! Randomised complete blocks: every cell once per block, each block in its own order. Orders
//! depend only on the seed and the block, so a saved seed reproduces them for any number of blocks.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

/// The order of `cells` cells in block `block`: a permutation of `0..cells`.
pub fn order(seed: u64, block: usize, cells: usize) -> Vec<usize> {
    // Block numbers are spread over the seed space (golden ratio), so that the streams of
    // neighbouring blocks are unrelated.
    let mut random =
        Pcg64::seed_from_u64(seed ^ (block as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut order: Vec<usize> = (0..cells).collect();
    order.shuffle(&mut random);
    order
}

/// Same as [`order`], with the cells of a group together. `of` has the group of each cell. The
/// order of the groups is drawn anew for each block, and so is the order of the cells within a
/// group. This is for properties that should change seldom within a block.
pub(super) fn grouped<G: Copy + PartialEq>(seed: u64, block: usize, of: &[G]) -> Vec<usize> {
    let mut groups: Vec<G> = Vec::new();
    for group in of {
        if !groups.contains(group) {
            groups.push(*group);
        }
    }
    let cells = order(seed, block, of.len());
    // A stream other than that of the cells, so that a large group is not first more often than a
    // small one.
    let turns = order(seed.rotate_left(32) ^ 0x5bd1_e995, block, groups.len());
    turns
        .iter()
        .flat_map(|turn| cells.iter().copied().filter(|cell| of[*cell] == groups[*turn]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{grouped, order};

    #[test]
    fn groups_stay_together_and_each_is_first_about_as_often() {
        let of = ['a', 'b', 'a', 'b', 'a'];
        let mut first = 0_u32;
        for block in 0..2_000 {
            let cells = grouped(3, block, &of);
            let names: String = cells.iter().map(|cell| of[*cell]).collect();
            assert!(names == "aaabb" || names == "bbaaa", "{names}");
            first += u32::from(names.starts_with('a'));
            let mut sorted = cells.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        // 1,000 expected, standard deviation 22; the seed is fixed.
        assert!((890..1_110).contains(&first), "{first}");
        assert_eq!(grouped(3, 7, &[(); 5]), order(3, 7, 5), "one group is no group");
    }

    #[test]
    fn every_block_holds_every_cell_once() {
        for block in 0..50 {
            let mut cells = order(7, block, 13);
            cells.sort_unstable();
            assert_eq!(cells, (0..13).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_orders_and_another_seed_others() {
        let orders = |seed| (0..10).map(|block| order(seed, block, 13)).collect::<Vec<_>>();
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
    }

    #[test]
    fn each_cell_comes_first_about_equally_often() {
        let mut first = [0_u32; 5];
        for block in 0..5_000 {
            first[order(3, block, 5)[0]] += 1;
        }
        // 1,000 expected, standard deviation 28: five of them is one failure in a million, and the
        // seed is fixed.
        assert!(first.iter().all(|&count| (860..1_140).contains(&count)), "{first:?}");
    }
}
