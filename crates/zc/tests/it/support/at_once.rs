//! Cases of one test whose programs mostly wait, some at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Programs that run at the same time.
const LANES: usize = 3;

/// Tries all cases. One that panics fails the test after the others have ended.
#[track_caller]
pub(crate) fn at_once<T: Sync>(cases: &[T], one: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one(case);
                }
            });
        }
    });
}
