//! Chooses the working sets: one that fits into each cache, one between caches whose sizes differ
//! much, one that fits into none.

use zc_run::{Cache, MemoryLoop, MemorySet};

/// The chosen sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sets {
    /// Smallest first.
    pub sets: Vec<MemorySet>,
    /// Sets left out or made smaller: a lower-case sentence each.
    pub left_out: Vec<String>,
}

/// Both halves of a set are whole pages, on machines with pages of 4 KiB.
const GRAIN: u64 = 8 << 10;
/// Least size of the set that fits into no cache: on a shared machine the last cache may be larger
/// than the kernel reports.
const LEAST_MEMORY: u64 = 64 << 20;

/// Chooses sets for these caches, none larger than a quarter of the available memory. `vectors`
/// says whether the CPU has AVX2.
pub fn choose(caches: &[Cache], available_bytes: Option<u64>, vectors: bool) -> Sets {
    let last = caches.last().map_or(0, |cache| cache.bytes);
    let l2 = caches.iter().find(|cache| cache.level >= 2).map_or(last, |cache| cache.bytes);
    let most = available_bytes.map_or(u64::MAX, |bytes| bytes / 4);
    let mut wanted: Vec<(u64, Option<u8>)> = Vec::new();
    for (place, cache) in caches.iter().enumerate() {
        // Half of a cache leaves room for what else the CPU touches and for other users of the
        // cache.
        wanted.push((grain(cache.bytes / 2), Some(cache.level)));
        if let Some(next) = caches.get(place + 1)
            && next.bytes / 2 >= cache.bytes.saturating_mul(8)
        {
            wanted.push((grain(cache.bytes * 4), Some(next.level)));
        }
    }
    // Four times the last cache: at most a quarter of it is still cached from the previous pass.
    wanted.push((grain(last.saturating_mul(4).max(LEAST_MEMORY)), None));
    let enough = last.saturating_mul(2).max(GRAIN);

    let mut chosen = Sets { sets: Vec::new(), left_out: Vec::new() };
    for (mut bytes, level) in wanted {
        if bytes > most {
            let smaller = Some(grain(most))
                .filter(|smaller| level.is_none() && *smaller >= enough && *smaller <= most);
            let what = smaller
                .map_or_else(|| "left out".to_owned(), |smaller| format!("made {}", mib(smaller)));
            chosen.left_out.push(format!(
                "a set of {} is {what}: it is more than a quarter of the {} of memory that are \
                 available",
                mib(bytes),
                mib(available_bytes.unwrap_or(0))
            ));
            let Some(smaller) = smaller else { continue };
            bytes = smaller;
        }
        let folded = match level {
            _ if !vectors => MemoryLoop::FoldedPortable,
            Some(_) => MemoryLoop::FoldedAvx2,
            // What does not fit into a cache is not read back from one either, so streaming stores
            // do no harm.
            None => MemoryLoop::FoldedStreaming,
        };
        chosen.sets.push(MemorySet { bytes, level, beyond_l2: bytes > l2, folded });
    }
    chosen.sets.sort_by_key(|set| set.bytes);
    chosen
}

/// The smallest size at which a set still serves its purpose. The set for memory must exceed the
/// last cache of `last` bytes; a set for a cache must be well above the next smaller set, and so
/// above the cache below.
pub(super) fn least(wanted: &[MemorySet], place: usize, last: u64) -> u64 {
    match (wanted[place].level, place.checked_sub(1)) {
        (None, _) => last.saturating_mul(2).max(LEAST_MEMORY),
        (Some(_), Some(below)) => wanted[below].bytes.saturating_mul(4),
        (Some(_), None) => wanted[place].bytes,
    }
}

/// A size in MiB, or in KiB below one MiB.
pub(super) fn mib(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

/// Rounded down to the grain, and never 0.
pub(super) fn grain(bytes: u64) -> u64 {
    (bytes / GRAIN * GRAIN).max(GRAIN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn caches(sizes: &[u64]) -> Vec<Cache> {
        sizes
            .iter()
            .zip(1..)
            .map(|(&bytes, level)| Cache { level, bytes, shared_by: None })
            .collect()
    }

    fn sizes(sets: &Sets) -> Vec<(u64, Option<u8>)> {
        sets.sets.iter().map(|set| (set.bytes, set.level)).collect()
    }

    #[test]
    fn each_cache_has_a_set_and_memory_has_one() {
        let sets = choose(&caches(&[48 << 10, 1 << 20, 32 << 20]), Some(24 << 30), true);
        let expected = [
            (24 << 10, Some(1)),
            (192 << 10, Some(2)),
            (512 << 10, Some(2)),
            (4 << 20, Some(3)),
            (16 << 20, Some(3)),
            (128 << 20, None),
        ];
        assert_eq!(sizes(&sets), expected);
        assert!(sets.left_out.is_empty());
        let beyond: Vec<bool> = sets.sets.iter().map(|set| set.beyond_l2).collect();
        assert_eq!(beyond, [false, false, false, true, true, true]);
        assert_eq!(sets.sets[0].folded, MemoryLoop::FoldedAvx2);
        assert_eq!(sets.sets[5].folded, MemoryLoop::FoldedStreaming);
    }

    #[test]
    fn without_vectors_the_folded_loop_is_the_portable_one() {
        let sets = choose(&caches(&[32 << 10]), Some(24 << 30), false);
        assert!(sets.sets.iter().all(|set| set.folded == MemoryLoop::FoldedPortable));
    }

    #[test]
    fn where_memory_is_short_the_largest_set_shrinks_and_then_is_left_out_with_a_reason() {
        let all = caches(&[32 << 10, 1 << 20, 32 << 20]);
        let shrunk = choose(&all, Some(400 << 20), true);
        assert_eq!(sizes(&shrunk).last(), Some(&(100 << 20, None)));
        assert_eq!(
            shrunk.left_out,
            ["a set of 128 MiB is made 100 MiB: it is more than a quarter of the 400 MiB of \
                 memory that are available"]
        );
        let short = choose(&all, Some(100 << 20), true);
        assert_eq!(sizes(&short).last(), Some(&(16 << 20, Some(3))));
        assert_eq!(
            short.left_out,
            ["a set of 128 MiB is left out: it is more than a quarter of the 100 MiB of memory \
                 that are available"]
        );
    }

    proptest! {
        #[test]
        fn no_set_is_larger_than_a_quarter_of_what_is_available(
            sizes in prop::collection::vec(any::<u64>(), 0..5),
            available in any::<Option<u64>>(),
        ) {
            let chosen = choose(&caches(&sizes), available, true);
            for set in &chosen.sets {
                prop_assert!(set.bytes >= GRAIN && set.bytes % GRAIN == 0);
                prop_assert!(available.is_none_or(|available| set.bytes <= available / 4));
            }
        }
    }
}
