//! A sample of items that come one after the other, of a number that is known at the end only.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

/// At most so many of the items, each with the same chance: reservoir sampling (Vitter, 1985:
/// algorithm R).
#[derive(Debug)]
pub(crate) struct Reservoir<T> {
    most: usize,
    seen: u64,
    pub(crate) kept: Vec<T>,
}

impl<T> Reservoir<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, seen: 0, kept: Vec::new() }
    }

    /// Number of items so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    pub(crate) fn add(&mut self, item: T, random: &mut Pcg64Mcg) {
        let place = self.seen;
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push(item);
            return;
        }
        let at = usize::try_from(random.random_range(0..=place)).unwrap_or(usize::MAX);
        if let Some(slot) = self.kept.get_mut(at) {
            *slot = item;
        }
    }
}
