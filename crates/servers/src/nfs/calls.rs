//! Reading or writing a file by calls of one length at a rate, a few at a time: threads that take
//! the next call in turn, wait until it is due, and make it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use super::pattern;
use super::words::{Done, Order};
use zc_kernel::clock::monotonic_ns;
use zc_kernel::spawn::wait_readable;
use zc_kernel::words::SharedWords;
use zc_kernel::{sched, writeback};
use zc_load::Latencies;
use zc_run::{NfsOperation, in_words};

/// Calls that go on.
pub(super) struct Calls {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Part>>,
}

/// State shared by the threads.
struct Shared {
    file: Arc<File>,
    operation: NfsOperation,
    order: Order,
    /// Whole calls that the file has room for.
    calls_of_file: u64,
    counts: Arc<SharedWords>,
    /// The number of the next call.
    next: AtomicU64,
    stop: AtomicBool,
    /// Readable once `stop` is set.
    stopped: OwnedFd,
}

/// Results of one of the threads.
#[derive(Default)]
struct Part {
    done: Done,
    failure: Option<String>,
}

impl Calls {
    /// Begins. What is answered, its bytes, and what fails are added to `counts`.
    ///
    /// # Errors
    /// The file is shorter than a call, or there is no thread.
    pub(super) fn begin(
        file: Arc<File>,
        file_bytes: u64,
        operation: NfsOperation,
        order: Order,
        counts: Arc<SharedWords>,
    ) -> io::Result<Self> {
        let calls_of_file = file_bytes / order.bytes as u64;
        if calls_of_file == 0 {
            return Err(io::Error::other("the file is shorter than a call"));
        }
        let shared = Arc::new(Shared {
            file,
            operation,
            order,
            calls_of_file,
            counts,
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            stopped: eventfd(0, EventfdFlags::CLOEXEC)?,
        });
        let depth = shared.depth();
        let mut calls = Self { shared, threads: Vec::with_capacity(depth) };
        for thread in 0..depth {
            let shared = Arc::clone(&calls.shared);
            let made = std::thread::Builder::new().spawn(move || shared.make_them(thread));
            match made {
                Ok(thread) => calls.threads.push(thread),
                Err(error) => {
                    drop(calls.end());
                    return Err(error);
                }
            }
        }
        Ok(calls)
    }

    /// Ends it, once all calls have returned that were under way. Fails if one of them has: in
    /// words.
    pub(super) fn end(self) -> Result<Done, String> {
        self.shared.stop();
        let mut all = Done::default();
        for thread in self.threads {
            let Part { done, failure } =
                thread.join().map_err(|_| "a thread panicked".to_owned())?;
            if let Some(words) = failure {
                return Err(words);
            }
            all.shorter += done.shorter;
            all.latency.merge(&done.latency);
        }
        Ok(all)
    }
}

impl Shared {
    fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.stopped, &1_u64.to_ne_bytes()); // a counter that takes more
    }

    /// Calls at a time: at most what is ordered.
    fn depth(&self) -> usize {
        match self.operation {
            // Each thread has a place at least.
            NfsOperation::Write => self.order.depth.min(self.calls_of_file as usize),
            NfsOperation::Read | NfsOperation::WriteSync => self.order.depth,
        }
    }

    /// The offset of a call by its number, and by its thread, of which it is the `nth`.
    fn offset(&self, number: u64, thread: usize, nth: u64) -> u64 {
        let depth = self.depth() as u64;
        let place = match self.operation {
            // No two threads write to one place: what is written again before it is sent is sent
            // once.
            NfsOperation::Write => {
                (nth * depth + thread as u64) % (self.calls_of_file / depth * depth)
            }
            NfsOperation::Read | NfsOperation::WriteSync => number % self.calls_of_file,
        };
        place * self.order.bytes as u64
    }

    /// The life of a thread.
    fn make_them(&self, thread: usize) -> Part {
        drop(sched::set_timer_slack(1)); // otherwise calls are later by 50 us
        let Order { bytes, per_s, calls, begin_ns, .. } = self.order;
        let mut buffer = vec![0; bytes];
        let mut part =
            Part { done: Done { shorter: 0, latency: Latencies::default() }, failure: None };
        for nth in 0.. {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if calls.is_some_and(|calls| number >= calls) {
                return part;
            }
            let since_ns = per_s.map_or(0, |per_s| (number as f64 * 1e9 / per_s) as u64);
            if !self.wait_until(begin_ns.saturating_add(since_ns)) {
                return part;
            }
            let due_ns = if per_s.is_some() { begin_ns + since_ns } else { monotonic_ns() };
            match self.call(&mut buffer, self.offset(number, thread, nth)) {
                Ok(got) => {
                    part.done.latency.record(monotonic_ns().saturating_sub(due_ns));
                    part.done.shorter += u64::from(got < bytes);
                    self.count([1, got as u64, 0]);
                }
                Err(error) => {
                    part.failure =
                        Some(format!("a {} failed: {}", self.operation.name(), in_words(&error)));
                    self.count([0, 0, 1]);
                    self.stop();
                    return part;
                }
            }
        }
        part
    }

    /// One call: how many bytes it was answered with.
    fn call(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = buffer.len();
        match self.operation {
            NfsOperation::Read => self.file.read_at(buffer, offset),
            NfsOperation::WriteSync => self.file.write_at(pattern::at(offset, bytes), offset),
            NfsOperation::Write => {
                let written = self.file.write_at(pattern::at(offset, bytes), offset)?;
                // Otherwise the kernel's client sends it when memory gets scarce, or after seconds.
                writeback::begin(&self.file, offset, bytes)?;
                Ok(written)
            }
        }
    }

    fn count(&self, more: [u64; 3]) {
        let [calls, bytes, failed] = more;
        // The bytes of a call that is counted are counted, too.
        for (number, more) in [(1, bytes), (2, failed), (0, calls)] {
            if let Some(number) = self.counts.get(number) {
                number.fetch_add(more, Ordering::Release);
            }
        }
    }

    /// Waits until then. Returns false if it is to stop.
    fn wait_until(&self, at_ns: u64) -> bool {
        loop {
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            let left_ns = at_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return true;
            }
            drop(wait_readable(&[self.stopped.as_fd()], Some(Duration::from_nanos(left_ns))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::words::NUMBERS;
    use super::*;

    const READ: NfsOperation = NfsOperation::Read;

    fn file(bytes: usize) -> Arc<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
        Arc::new(file)
    }

    fn counts() -> Arc<SharedWords> {
        Arc::new(SharedWords::create(NUMBERS).unwrap().0)
    }

    fn numbers(counts: &SharedWords) -> Vec<u64> {
        counts.iter().map(|number| number.load(Ordering::Acquire)).collect()
    }

    const ORDER: Order =
        Order { file: 0, bytes: 1000, depth: 3, per_s: None, calls: Some(10), begin_ns: 0 };

    /// Waits until so many calls have been counted.
    fn wait_for(counts: &SharedWords, calls: u64) {
        while counts[0].load(Ordering::Acquire) < calls {
            std::thread::yield_now();
        }
    }

    #[test]
    fn as_many_calls_are_made_as_are_ordered_and_each_is_counted() {
        let counts = counts();
        let calls = Calls::begin(file(2500), 2500, READ, ORDER, Arc::clone(&counts)).unwrap();
        wait_for(&counts, 10);
        let done = calls.end().unwrap();
        assert_eq!(numbers(&counts), [10, 10_000, 0]);
        assert_eq!((done.shorter, done.latency.count()), (0, 10));
    }

    #[test]
    fn calls_are_made_until_they_are_stopped_and_no_earlier_than_they_are_due() {
        let counts = counts();
        let begin_ns = monotonic_ns();
        let order = Order { per_s: Some(1000.0), calls: None, begin_ns, depth: 2, ..ORDER };
        let calls = Calls::begin(file(1000), 1000, READ, order, Arc::clone(&counts)).unwrap();
        wait_for(&counts, 20);
        let took_ns = monotonic_ns() - begin_ns;
        let done = calls.end().unwrap();
        assert!(took_ns >= 19_000_000, "the twentieth is due after 19 ms: {took_ns} ns");
        assert_eq!(done.latency.count(), numbers(&counts)[0]);
        // The next one is due in an hour.
        let order = Order { per_s: Some(1.0 / 3600.0), ..order };
        let calls = Calls::begin(file(1000), 1000, READ, order, Arc::clone(&counts)).unwrap();
        calls.end().unwrap();
    }

    #[test]
    fn what_is_written_is_the_pattern_at_its_place() {
        for operation in [NfsOperation::Write, NfsOperation::WriteSync] {
            let (counts, file) = (counts(), file(2500));
            let order = Order { calls: Some(7), ..ORDER };
            let calls =
                Calls::begin(Arc::clone(&file), 2500, operation, order, Arc::clone(&counts));
            let calls = calls.unwrap();
            wait_for(&counts, 7);
            calls.end().unwrap();
            assert_eq!(numbers(&counts), [7, 7000, 0]);
            let mut there = vec![0; 2500];
            file.read_exact_at(&mut there, 0).unwrap();
            assert_eq!(there[..2000], *pattern::at(0, 2000));
            assert_eq!(there[2000..], [7; 500], "two whole calls fit");
        }
    }

    #[test]
    fn no_two_threads_write_through_the_page_cache_to_one_place() {
        let shared = |calls_of_file, depth| Shared {
            file: file(1),
            operation: NfsOperation::Write,
            order: Order { depth, ..ORDER },
            calls_of_file,
            counts: counts(),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            stopped: eventfd(0, EventfdFlags::CLOEXEC).unwrap(),
        };
        for (calls_of_file, depth, expected) in [(64, 4, 4), (7, 3, 3), (2, 4, 2), (1, 4, 1)] {
            let shared = shared(calls_of_file, depth);
            assert_eq!(shared.depth(), expected);
            let places = |thread| -> std::collections::BTreeSet<u64> {
                (0..200).map(|nth| shared.offset(0, thread, nth)).collect()
            };
            let each: Vec<_> = (0..expected).map(places).collect();
            assert!(each.iter().flatten().all(|offset| *offset < calls_of_file * 1000));
            let together: std::collections::BTreeSet<u64> =
                each.iter().flatten().copied().collect();
            assert_eq!(together.len(), each.iter().map(|of| of.len()).sum::<usize>());
        }
    }

    #[test]
    fn a_call_that_fails_ends_all_and_is_told() {
        let counts = counts();
        let not_read = File::options().write(true).open("/dev/null").unwrap();
        let order = Order { calls: None, ..ORDER };
        let calls =
            Calls::begin(Arc::new(not_read), 5000, READ, order, Arc::clone(&counts)).unwrap();
        while numbers(&counts)[2] == 0 {
            std::thread::yield_now();
        }
        let words = calls.end().unwrap_err();
        assert!(words.starts_with("a READ failed: "), "{words}");
        assert_eq!(numbers(&counts)[..2], [0, 0]);
    }

    #[test]
    fn calls_that_are_shorter_are_told_and_a_file_that_is_shorter_than_one_is_refused() {
        let counts = counts();
        let calls = Calls::begin(file(100), 1000, READ, ORDER, Arc::clone(&counts)).unwrap();
        wait_for(&counts, 10);
        assert_eq!(calls.end().unwrap().shorter, 10);
        assert!(Calls::begin(file(100), 999, READ, ORDER, counts).is_err());
    }
}
