//! CPU time and context switches of single threads of this process, read by another thread.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::proc;
use crate::root::{numbered, read};
use zc_kernel::clock;
use zc_run::{Error, Result, TaskReading};

/// Room for a /proc/PID/task/TID/status, which has about 1.5 kB; the two fields of interest are on
/// its last lines.
const STATUS_BYTES: usize = 16 << 10;

/// Reads a set of threads of this process by their ids.
#[derive(Debug, Default)]
pub struct TaskMeter {
    tasks: Vec<(i32, File)>,
}

impl TaskMeter {
    /// Meters the threads `tids` (gettid(2)) of this process.
    ///
    /// # Errors
    /// One of them does not exist.
    pub fn open(tids: &[i32]) -> Result<Self> {
        let mut meter = Self::default();
        meter.add(tids)?;
        Ok(meter)
    }

    /// Adds these threads.
    ///
    /// # Errors
    /// One of them does not exist.
    pub fn add(&mut self, tids: &[i32]) -> Result<()> {
        for &tid in tids {
            let file = File::open(format!("/proc/self/task/{tid}/status"));
            self.tasks.push((
                tid,
                file.map_err(|error| Error::os(format!("meter thread \"{tid}\""), error))?,
            ));
        }
        Ok(())
    }

    /// The thread ids that it meters.
    pub fn tids(&self) -> Vec<i32> {
        self.tasks.iter().map(|(tid, _)| *tid).collect()
    }

    /// Sum of their CPU time and context switches: [`read_cpu`](Self::read_cpu) and
    /// [`read_switches`](Self::read_switches).
    ///
    /// # Errors
    /// One of them has ended.
    pub fn read(&self) -> Result<TaskReading> {
        let mut reading = self.read_cpu()?;
        self.read_switches(&mut reading)?;
        Ok(reading)
    }

    /// Sum of their CPU time alone: one system call for each thread, so that it can be read at the
    /// very edge of a window.
    ///
    /// # Errors
    /// One of them has ended.
    pub fn read_cpu(&self) -> Result<TaskReading> {
        let mut sum = TaskReading { at_ns: clock::monotonic_ns(), ..TaskReading::default() };
        for &(tid, _) in &self.tasks {
            sum.cpu_ns += clock::thread_cpu_ns(tid).map_err(|error| {
                Error::os(format!("read the CPU clock of thread \"{tid}\""), error)
            })?;
        }
        Ok(sum)
    }

    /// Adds their context switches to `sum`, which takes some 20 us for each thread.
    ///
    /// # Errors
    /// One of them has ended.
    pub fn read_switches(&self, sum: &mut TaskReading) -> Result<()> {
        let mut buffer = [0; STATUS_BYTES];
        for (tid, status) in &self.tasks {
            let error = || {
                Error::failed(
                    "counters-unreadable",
                    format!("cannot read the context switches of thread \"{tid}\""),
                )
            };
            let length = status.read_at(&mut buffer, 0).map_err(|_| error())?;
            let text = String::from_utf8_lossy(&buffer[..length]); // its name may be any bytes
            let (voluntary, involuntary) = proc::switches(&text).ok_or_else(error)?;
            sum.voluntary_switches += voluntary;
            sum.involuntary_switches += involuntary;
        }
        Ok(())
    }
}

/// The worker threads that io_uring has made for these threads (`iou-wrk-TID`, see io_uring(7)).
/// Their time belongs to the submitter, although getrusage(RUSAGE_THREAD) of the submitter excludes
/// it and RUSAGE_SELF of its process includes it.
pub fn workers_of(tids: &[i32]) -> Vec<i32> {
    let root = Path::new("/");
    let is_worker = |tid: &i32| {
        let name = read(root, &format!("proc/self/task/{tid}/comm")).unwrap_or_default();
        let submitter = name.strip_prefix("iou-wrk-").and_then(|submitter| submitter.parse().ok());
        submitter.is_some_and(|submitter| tids.contains(&submitter))
    };
    numbered(root, "proc/self/task").into_iter().filter(is_worker).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_and_switches_of_a_thread_are_seen_from_outside() {
        let meter = TaskMeter::open(&[zc_kernel::sched::gettid()]).unwrap();
        let before = meter.read().unwrap();
        let begun = clock::own_cpu_ns();
        while clock::own_cpu_ns() < begun + 1_000_000 {}
        clock::sleep_until(clock::monotonic_ns() + 100_000);
        let after =
            std::thread::scope(|scope| scope.spawn(|| meter.read().unwrap()).join().unwrap());
        assert!(after.cpu_ns >= before.cpu_ns + 1_000_000);
        assert!(after.voluntary_switches > before.voluntary_switches);
        assert!(after.at_ns > before.at_ns);
    }

    #[test]
    fn without_threads_all_sums_are_zero() {
        let reading = TaskMeter::open(&[]).unwrap().read().unwrap();
        assert_eq!(TaskReading { at_ns: 0, ..reading }, TaskReading::default());
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error_that_names_it() {
        assert!(
            TaskMeter::open(&[i32::MAX])
                .unwrap_err()
                .message
                .contains(&format!("\"{}\"", i32::MAX))
        );
    }

    #[test]
    fn a_thread_that_has_ended_is_an_error() {
        let (end_out, end_in) = std::sync::mpsc::channel::<()>();
        let (tid_out, tid_in) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            tid_out.send(zc_kernel::sched::gettid()).unwrap();
            end_in.recv().unwrap();
        });
        let meter = TaskMeter::open(&[tid_in.recv().unwrap()]).unwrap();
        end_out.send(()).unwrap();
        thread.join().unwrap();
        // The kernel wakes a joining thread before it removes the ended one from the tables
        // (mm_release() in do_exit()), so on a busy machine it remains visible for a while.
        let until = clock::monotonic_ns() + 60_000_000_000;
        while meter.read().is_ok() {
            assert!(
                clock::monotonic_ns() < until,
                "a thread that was joined a minute ago can be read"
            );
            std::thread::yield_now();
        }
        assert!(meter.read_cpu().is_err());
    }
}
