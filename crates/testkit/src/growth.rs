//! Growth of the CPU time of a computation with its input, for tests that it is proportional.

use std::sync::{Mutex, PoisonError};

/// Factor between the two sizes of input that are compared.
const MORE: usize = 8;

/// A limit between proportional and quadratic growth, which are 8 and 64 times.
pub const LIMIT: f64 = 2.5 * MORE as f64;

/// CPU time of this process, all its threads, in ticks of the kernel. It is not wall time: beside
/// other programs a long computation waits for CPUs, and a short one may not.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in brackets, may have spaces. utime and stime are the 12th and the 13th field after
    // it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// The least of a few CPU times of one thing: what else the machine does only adds to it.
fn least(mut of: impl FnMut()) -> f64 {
    let times = (0..3).map(|_| {
        let before = ticks();
        of();
        (ticks() - before) as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// CPU time of the computation with 8 times `few`, divided by that with `few`.
pub fn growth<T>(few: usize, of: impl Fn(usize) -> T, compute: impl Fn(&T)) -> f64 {
    // One test at a time, as they are threads of one process where `cargo test` runs them.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (small, large) = (of(few), of(MORE * few));
    let (short, long) = (least(|| compute(&small)), least(|| compute(&large)));
    eprintln!("{few}: {short} ticks, {}: {long} ticks", MORE * few);
    // Less than a tick is not known to be more than none.
    long / short.max(1.0)
}
