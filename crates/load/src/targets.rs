//! Resources requested from an origin: one, or many in turn.

use std::collections::HashMap;
use std::sync::Arc;

/// Resources of an origin, as paths with queries, and the order in which they are asked for. Clones
/// share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    each: Arc<[String]>,
    turns: Arc<[u32]>,
}

impl Targets {
    /// `None` if there are none, or more than 2^32 - 1.
    pub fn in_turn(all: impl IntoIterator<Item = String>) -> Option<Self> {
        let (mut each, mut turns, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        for target in all {
            let next = u32::try_from(each.len()).ok()?;
            let index = *known.entry(target).or_insert_with_key(|target| {
                each.push(target.clone());
                next
            });
            turns.push(index);
        }
        (!turns.is_empty()).then(|| Self { each: each.into(), turns: turns.into() })
    }

    /// The different resources, in the order in which they are first requested.
    pub fn each(&self) -> &[String] {
        &self.each
    }

    /// Number of requests until the order begins anew.
    pub fn turns(&self) -> usize {
        self.turns.len()
    }

    /// Index into [`each`](Self::each) of the resource that request number `turn` asks for.
    pub(super) fn of_turn(&self, turn: usize) -> u32 {
        self.turns[turn % self.turns.len()]
    }
}

impl From<String> for Targets {
    fn from(only: String) -> Self {
        Self { each: [only].into(), turns: [0].into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_differ_are_kept_once_and_come_in_turn() {
        let targets = Targets::in_turn(["/a", "/b", "/a"].map(str::to_owned)).unwrap();
        assert_eq!((targets.each(), targets.turns()), (&["/a".to_owned(), "/b".to_owned()][..], 3));
        let turns: Vec<u32> = (0..7).map(|turn| targets.of_turn(turn)).collect();
        assert_eq!(turns, [0, 1, 0, 0, 1, 0, 0]);
        assert_eq!(Targets::in_turn([]), None);
    }
}
