//! The soakers: a thread per CPU at the lowest scheduling class that counts units of fixed work.
//! The units missing in a window, compared with an idle window, give the CPU time that everything
//! else took, no matter which task it was charged to.
//!
//! Each is pinned, SCHED_IDLE, and at nice 19: with SCHED_IDLE the nice value has no weight, but it
//! puts the soakers' ticks into the `nice` column of /proc/stat, where they can be separated from
//! other ticks. They rank last only inside their own autogroup or cgroup: keep them in the session
//! of the workload, or use the soaker process of `zc soak`.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use super::counter::{Counter, Done, UNITS_PER_ENTRY, words_for};
use super::entries::{Ended, Entries, Seen};
use super::pinning::cannot_pin;
use super::unit::{Dirt, unit};
use zc_kernel::words::SharedWords;
use zc_kernel::{clock, sched};
use zc_run::{Error, ErrorKind, Result, SoakReading, SoakerKind, in_words};

/// The name of a soaker's thread, before the number of its CPU.
pub(super) const SOAKER_NAME: &str = "zc-soaker/";

/// Time for which [`Soakers::pause`] and [`Soakers::resume`] wait for a soaker whose CPU is kept
/// busy by something else. It obeys when it gets the CPU.
const PATIENCE: Duration = Duration::from_millis(250);

/// Orders are numbers: odd is pause, even is work, and this one ends the thread.
const STOP: u32 = u32::MAX;

/// Soakers that run or are paused. They stop when this value is dropped.
#[derive(Debug)]
pub struct Soakers {
    cpus: Vec<usize>,
    words: Arc<SharedWords>,
    control: Arc<Control>,
    threads: Vec<JoinHandle<()>>,
    tids: Vec<i32>,
}

/// The current order, and the order that each soaker has obeyed.
#[derive(Debug)]
struct Control {
    order: AtomicU32,
    obeyed: Mutex<Vec<u32>>,
    changed: Condvar,
}

impl Control {
    fn obeyed(&self) -> MutexGuard<'_, Vec<u32>> {
        // Nothing that can panic runs under this lock.
        self.obeyed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn obey(&self, index: usize, order: u32) {
        let mut obeyed = self.obeyed();
        obeyed[index] = order;
        if obeyed.iter().all(|&each| each == order) {
            self.changed.notify_all();
        }
    }

    fn wait_for_all(&self, order: u32) {
        let waiting = |obeyed: &mut Vec<u32>| obeyed.iter().any(|&each| each != order);
        drop(self.changed.wait_timeout_while(self.obeyed(), PATIENCE, waiting));
    }
}

impl Soakers {
    /// Starts one soaker on each of `cpus`, and returns when each has finished a unit, or after a
    /// quarter of a second if something else keeps a CPU busy.
    ///
    /// # Errors
    /// A CPU does not exist or may not be used, or SCHED_IDLE was refused.
    pub fn start(cpus: &[usize], kind: SoakerKind) -> Result<Self> {
        let (words, _fd) = SharedWords::create(words_for(cpus.len().max(1)))
            .map_err(|error| Error::os("make memory for the soakers' counters", error))?;
        Self::start_in(cpus, kind, Arc::new(words), |_| Ok(()))
    }

    /// Same as [`start`](Self::start), with counters in memory that another process may read with
    /// [`read_words`]. `rank` is called with the thread id of each soaker before it works.
    pub(super) fn start_in(
        cpus: &[usize],
        kind: SoakerKind,
        words: Arc<SharedWords>,
        rank: impl Fn(i32) -> Result<()>,
    ) -> Result<Self> {
        let control = Arc::new(Control {
            order: AtomicU32::new(1),
            obeyed: Mutex::new(vec![STOP; cpus.len()]),
            changed: Condvar::new(),
        });
        let mut soakers =
            Self { cpus: cpus.to_vec(), words, control, threads: Vec::new(), tids: Vec::new() };
        let (started, ready) = mpsc::channel();
        for (index, &cpu) in cpus.iter().enumerate() {
            let (words, control, started) =
                (soakers.words.clone(), soakers.control.clone(), started.clone());
            let thread = std::thread::Builder::new()
                .name(format!("{SOAKER_NAME}{cpu}"))
                .spawn(move || {
                    let pinned = pin(cpu);
                    let work = pinned.is_ok();
                    drop(started.send((index, pinned)));
                    drop(started); // the receiver waits until the last sender is dropped
                    if let (true, Some(counter)) = (work, Counter::for_soaker(&words, index)) {
                        soak(&counter, kind, &control, index);
                    }
                })
                .map_err(|error| Error::os("start a soaker", error))?;
            soakers.threads.push(thread);
        }
        drop(started);
        soakers.tids = vec![0; cpus.len()];
        for (index, tid) in ready {
            soakers.tids[index] = tid?;
        }
        // From here, and not in the soakers themselves: once one of them is lowered, it may not get
        // its CPU for seconds, not even to say that it was.
        soakers.tids.iter().try_for_each(|&tid| lower(tid).and_then(|()| rank(tid)))?;
        soakers.resume();
        Ok(soakers)
    }

    /// The CPUs that carry a soaker, in the order of every reading.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Thread ids of the soakers (gettid(2)), in the order of the CPUs.
    pub fn tids(&self) -> &[i32] {
        &self.tids
    }

    /// Reads the counters: a few loads, and no system call but the clock. Empty while the soakers
    /// are paused.
    pub fn read(&self) -> SoakReading {
        let paused = self.control.order.load(Relaxed) & 1 == 1;
        read_words(&self.words, if paused { 0 } else { self.cpus.len() })
    }

    /// CPU time of all soakers together so far.
    pub fn cpu_ns(&self) -> u64 {
        read_words(&self.words, self.cpus.len()).cpu_ns.iter().sum()
    }

    /// Pauses the soakers and returns when all of them sleep. A soaker that does not get its CPU
    /// for a quarter of a second counts as sleeping: it will sleep when it does.
    pub fn pause(&self) {
        self.command(1);
    }

    /// Resumes the soakers and returns when each has finished a unit, or after a quarter of a
    /// second if something else keeps a CPU busy.
    pub fn resume(&self) {
        self.command(0);
    }

    /// Gives the next order of that parity, unless it is the current one.
    fn command(&self, parity: u32) {
        let order = self.control.order.load(Relaxed);
        if order & 1 != parity {
            self.order((order + 1) % (STOP - 1)); // STOP - 1 is even, so parities go on alternating
            self.control.wait_for_all(self.control.order.load(Relaxed));
        }
    }

    fn order(&self, order: u32) {
        self.control.order.store(order, Release);
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }
}

impl Drop for Soakers {
    fn drop(&mut self) {
        self.order(STOP);
        for thread in self.threads.drain(..) {
            // A soaker that panicked has nothing left to clean up.
            drop(thread.join());
        }
    }
}

/// Reads the first `soakers` counters of a mapping.
pub(super) fn read_words(words: &SharedWords, soakers: usize) -> SoakReading {
    let at_ns = clock::monotonic_ns();
    let mut reading = SoakReading { at_ns, ..SoakReading::default() };
    for counter in (0..soakers).filter_map(|index| Counter::for_soaker(words, index)) {
        let Done { units, stamp_ns, cpu_ns, .. } = counter.get();
        reading.units.push(units);
        reading.stamp_ns.push(stamp_ns);
        reading.cpu_ns.push(cpu_ns);
    }
    reading
}

/// What the first `soakers` soakers of a mapping have seen of their own entries.
pub(super) fn read_seen(words: &SharedWords, soakers: usize) -> Vec<Seen> {
    let counters = (0..soakers).filter_map(|index| Counter::for_soaker(words, index));
    counters.map(|counter| counter.get().seen).collect()
}

/// Pins the calling thread to `cpu`, and returns its thread id.
fn pin(cpu: usize) -> Result<i32> {
    let doing = format!("put a soaker on CPU \"{cpu}\"");
    sched::pin(&[cpu]).map_err(|error| cannot_pin(doing, &[cpu], error, ErrorKind::Usage))?;
    Ok(sched::gettid())
}

/// Gives a thread the soakers' scheduling class, the lowest. Call it from another thread: once it is
/// lowered, it may not get its CPU for seconds.
///
/// # Errors
/// SCHED_IDLE was refused.
pub fn lower(tid: i32) -> Result<()> {
    sched::set_idle(tid).and_then(|()| sched::set_nice(tid, 19)).map_err(|error| {
        Error::unsupported(
            "soakers-not-idle",
            format!(
                "the soakers cannot have the scheduling class \"SCHED_IDLE\": {}",
                in_words(&error)
            ),
        )
        .help(
            "a seccomp filter (of a container?) forbids sched_setscheduler; allow it, or run \
             outside of it",
        )
    })
}

/// The end of an entry of the calling soaker.
fn now() -> Ended {
    let (stamp_ns, cpu_ns) = (clock::monotonic_ns(), clock::own_cpu_ns());
    Ended { stamp_ns, cpu_ns, tick_ns: clock::last_tick_ns() }
}

/// Runs a soaker until it is stopped.
fn soak(counter: &Counter<'_>, kind: SoakerKind, control: &Control, index: usize) {
    let mut dirt = (kind == SoakerKind::Cache).then(Dirt::new);
    let (mut entry, mut state, mut obeyed) = (0, 1, STOP);
    let mut entries = Entries::after(now());
    loop {
        let order = control.order.load(Acquire);
        if order == STOP {
            return;
        }
        if order & 1 == 1 {
            if obeyed != order {
                control.obey(index, order);
                obeyed = order;
            }
            std::thread::park();
            continue;
        }
        for done in 1..=UNITS_PER_ENTRY {
            state = unit(state);
            if let Some(dirt) = &mut dirt {
                dirt.after_unit(entry * UNITS_PER_ENTRY + done);
            }
        }
        entry += 1;
        let end = now();
        counter.set(entry, end, entries.see(UNITS_PER_ENTRY, end));
        if obeyed != order {
            control.obey(index, order);
            obeyed = order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::SoakerPace;

    fn soakers(kind: SoakerKind) -> Soakers {
        Soakers::start(&sched::allowed_cpus().unwrap(), kind).unwrap()
    }

    /// Waits for a condition, for far longer than it takes on a machine that is not stuck.
    #[track_caller]
    fn until(mut happened: impl FnMut() -> bool) {
        let end = clock::monotonic_ns() + 60_000_000_000;
        while !happened() {
            assert!(clock::monotonic_ns() < end, "it did not happen within a minute");
            std::thread::yield_now();
            clock::sleep_until(clock::monotonic_ns() + 100_000);
        }
    }

    fn state_of(tid: i32) -> char {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    }

    #[test]
    fn counts_grow_on_every_cpu_and_stamps_with_them() {
        for &kind in SoakerKind::ALL {
            let soakers = soakers(kind);
            let first = soakers.read();
            assert_eq!(first.units.len(), soakers.cpus().len());
            until(|| {
                let now = soakers.read();
                let grown = |(new, old)| new > old;
                now.units.iter().zip(&first.units).all(grown)
                    && now.stamp_ns.iter().zip(&first.stamp_ns).all(grown)
            });
            assert!(soakers.read().cpu_ns.iter().all(|used_ns| *used_ns > 0));
        }
    }

    #[test]
    fn soakers_see_the_timer_s_ticks_and_that_these_take_time() {
        let began_ns = clock::monotonic_ns();
        let soakers = soakers(SoakerKind::Alu);
        let sum = |of: fn(&Seen) -> SoakerPace| {
            let each = read_seen(&soakers.words, soakers.cpus.len()).into_iter();
            each.map(|seen| of(&seen)).fold((0, 0), |(entries, cpu_ns), pace| {
                (entries + pace.units / UNITS_PER_ENTRY, cpu_ns + pace.cpu_ns)
            })
        };
        let ticked = || sum(|seen| seen.ticked);
        let undisturbed = || sum(|seen| seen.undisturbed);
        const ENOUGH: u64 = 20;
        until(|| ticked().0 >= ENOUGH && undisturbed().0 >= ENOUGH);
        let ((ticks, ticked_ns), (entries, undisturbed_ns)) = (ticked(), undisturbed());
        // At most 1000 a second on each CPU (CONFIG_HZ).
        let elapsed_ms = (clock::monotonic_ns() - began_ns) / 1_000_000 + 1;
        assert!(ticks <= elapsed_ms * soakers.cpus.len() as u64, "{ticks} in {elapsed_ms} ms");
        assert!(ticked_ns / ticks > undisturbed_ns / entries, "{ticks}: {ticked_ns} ns");
    }

    #[test]
    fn paused_soakers_use_no_cpu_and_go_on_where_they_were() {
        let soakers = soakers(SoakerKind::Alu);
        soakers.pause();
        soakers.pause();
        // Each has acknowledged the pause, and needs a moment to fall asleep.
        until(|| soakers.tids.iter().all(|&tid| state_of(tid) == 'S'));
        let clocks = || soakers.tids.iter().map(|&tid| clock::thread_cpu_ns(tid).unwrap());
        let before: Vec<u64> = clocks().collect();
        // What each says of itself is of its last unit.
        assert!(soakers.cpu_ns() <= before.iter().sum());
        assert_eq!(soakers.read().units, Vec::<u64>::new());
        let asleep: Vec<u64> = read_words(&soakers.words, soakers.cpus.len()).units;
        clock::sleep_until(clock::monotonic_ns() + 5_000_000);
        assert_eq!(read_words(&soakers.words, soakers.cpus.len()).units, asleep);
        assert!(clocks().eq(before));
        for _ in 0..10 {
            soakers.resume();
            soakers.pause();
        }
        soakers.resume();
        until(|| soakers.read().units.iter().zip(&asleep).all(|(now, then)| now > then));
    }

    #[test]
    fn no_soaker_is_left_when_they_are_dropped() {
        let tids = soakers(SoakerKind::Alu).tids.clone();
        assert!(!tids.is_empty());
        // The kernel wakes who joins a thread before it takes the thread out of its tables
        // (mm_release() in do_exit()).
        until(|| tids.iter().all(|&tid| clock::thread_cpu_ns(tid).is_err()));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_that_names_it() {
        let error = Soakers::start(&[0, 99_999], SoakerKind::Alu).unwrap_err();
        assert!(error.message.contains("\"99999\""), "{error}");
        assert!(error.help.is_some());
    }
}
