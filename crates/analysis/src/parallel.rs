//! Applies a function to many indices in as many threads as there are CPUs. The results do not
//! depend on the number of threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// The results for 0 to `count - 1`, in that order.
pub fn each<T: Send>(count: usize, what: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(count);
    if threads < 2 {
        return (0..count).map(what).collect();
    }
    // Chunks large enough that taking one costs nothing, and small enough that no thread waits long
    // for the last one.
    let at_a_time = (count / threads / 8).clamp(1, 64);
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let from = next.fetch_add(at_a_time, Ordering::Relaxed);
            if from >= count {
                return done;
            }
            done.extend((from..count.min(from + at_a_time)).map(|place| (place, what(place))));
        }
    };
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        // Where this user may have no further thread, this one does it alone.
        let other = |_| Builder::new().spawn_scoped(scope, some).ok();
        let others: Vec<_> = (1..threads).map_while(other).collect();
        let mut done = some();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, what)| what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_indices() {
        for count in [0, 1, 2, 7, 1000] {
            assert_eq!(
                each(count, |place| place * 2),
                (0..count).map(|place| place * 2).collect::<Vec<_>>()
            );
        }
    }
}
