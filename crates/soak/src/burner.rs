//! A thread that uses a known share of a CPU. Its thread CPU clock gives the true load with which
//! the soakers' result is compared.
//!
//! A thread clock does not include everything: the interrupt that ends a sleep, and half of the
//! context switch, are charged to the interrupted task, which is a soaker. With a timer on the
//! burner's own CPU that is 8 us and more on a virtual machine, most of it for setting the next
//! deadline, which the hypervisor has to do. At 1000 wake-ups per second this is 1 % of a CPU. So
//! the burner has no timer: a second thread, on another CPU if there is one, wakes it up. The rest
//! of that cost is measured by a burner that only wakes up.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use zc_kernel::{clock, sched};
use zc_run::{BurnShape, Error, Result};

/// Iterations between two readings of the clock: a microsecond or so.
const STEP: u64 = 256;

/// Interval at which the waker checks whether a period begins: the shortest period.
const TICK_NS: u64 = 1_000_000;

/// A pinned thread, and one that wakes it up. They sleep until they are given a load, and end when
/// this value is dropped.
#[derive(Debug)]
pub(super) struct Burner {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    tid: i32,
    waker_tid: i32,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the burner: there is an order, or a period has begun.
    burner: Condvar,
    sleeps: AtomicU64,
}

#[derive(Debug)]
struct State {
    order: Order,
    /// Periods that have begun since the order was given.
    periods: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Rest,
    Work { period_ns: u64, busy_ns: u64 },
    End,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Burner {
    /// Starts it on `cpu`, asleep; it is woken up from one of `waker_cpus`.
    pub(super) fn start(cpu: usize, waker_cpus: &[usize]) -> Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State { order: Order::Rest, periods: 0 }),
            burner: Condvar::new(),
            sleeps: AtomicU64::new(0),
        });
        // The threads end when this is dropped.
        let mut burner = Self { shared, threads: Vec::new(), tid: 0, waker_tid: 0 };
        burner.waker_tid = burner.spawn("zc-waker", waker_cpus, wake)?;
        burner.tid = burner.spawn("zc-burner", &[cpu], burn)?;
        Ok(burner)
    }

    fn spawn(&mut self, name: &str, cpus: &[usize], life: fn(&Shared)) -> Result<i32> {
        let (its, its_cpus) = (Arc::clone(&self.shared), cpus.to_vec());
        let (tid_out, tid_in) = mpsc::channel();
        let work =
            move || {
                let pinned = if its_cpus.is_empty() { Ok(()) } else { sched::pin(&its_cpus) };
                drop(tid_out.send(
                    pinned.and_then(|()| sched::set_timer_slack(1)).map(|()| sched::gettid()),
                ));
                life(&its);
            };
        let error = |error| Error::os(format!("put a thread (\"{name}\") on CPUs {cpus:?}"), error);
        self.threads
            .push(std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(error)?);
        tid_in
            .recv()
            .map_err(|_| Error::failed("thread-ended", "the burner ended before it began"))?
            .map_err(error)
    }

    /// Makes it use `percent` of its CPU until [`rest`](Self::rest). With 0 percent it only wakes
    /// up once in every period.
    pub(super) fn work(&self, percent: u32, shape: BurnShape) {
        let period_ns = match shape {
            BurnShape::Smooth => TICK_NS,
            BurnShape::Bursty => 100 * TICK_NS,
        };
        self.command(Order::Work { period_ns, busy_ns: period_ns * u64::from(percent) / 100 });
    }

    /// Makes it sleep again, which takes microseconds.
    pub(super) fn rest(&self) {
        self.command(Order::Rest);
    }

    fn command(&self, order: Order) {
        *self.shared.state() = State { order, periods: 0 };
        self.shared.burner.notify_all();
    }

    /// CPU time that the burner has used so far.
    pub(super) fn cpu_ns(&self) -> Result<u64> {
        clock::thread_cpu_ns(self.tid)
            .map_err(|error| Error::os("read the burner's CPU clock", error))
    }

    /// CPU time that the burner and the thread that wakes it have used so far: what the idle time
    /// of the machine is less by.
    pub(super) fn cpu_ns_with_waker(&self) -> Result<u64> {
        let waker_ns = clock::thread_cpu_ns(self.waker_tid)
            .map_err(|error| Error::os("read the CPU clock of the burner's waker", error))?;
        Ok(self.cpu_ns()? + waker_ns)
    }

    /// Times that it has gone to sleep under load so far.
    pub(super) fn sleeps(&self) -> u64 {
        self.shared.sleeps.load(Relaxed)
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.command(Order::End);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

/// Runs the burner: it uses `busy_ns` of CPU in every period, by its own CPU clock, and sleeps for
/// the rest.
fn burn(shared: &Shared) {
    let mut done = 0;
    loop {
        let mut state = shared.state();
        // A new order counts its periods from 0. A late burner skips periods: what counts is what
        // it used.
        done = done.min(state.periods);
        while state.order != Order::End && (state.order == Order::Rest || state.periods == done) {
            shared.sleeps.fetch_add(1, Relaxed);
            state = shared.burner.wait(state).unwrap_or_else(PoisonError::into_inner);
            done = done.min(state.periods);
        }
        let order = state.order;
        done = state.periods;
        drop(state);
        let Order::Work { busy_ns, .. } = order else { return };
        let enough_ns = clock::own_cpu_ns() + busy_ns;
        while clock::own_cpu_ns() < enough_ns && shared.state().order == order {
            for step in 0..STEP {
                std::hint::black_box(step);
            }
        }
    }
}

/// Runs the waker, which begins periods. It wakes up a thousand times per second under any order.
/// Its own CPU may share clock and power with the burner's, and so behaves the same in idle windows
/// as under load.
fn wake(shared: &Shared) {
    let mut due_ns = clock::monotonic_ns();
    let mut ticks: u64 = 0;
    loop {
        due_ns = (due_ns + TICK_NS).max(clock::monotonic_ns());
        clock::sleep_until(due_ns);
        let mut state = shared.state();
        match state.order {
            Order::End => return,
            Order::Rest => ticks = 0,
            Order::Work { period_ns, .. } => {
                let begins = ticks.is_multiple_of(period_ns / TICK_NS);
                ticks += 1;
                if begins {
                    state.periods += 1;
                    drop(state); // the burner takes it first when it wakes
                    shared.burner.notify_all();
                }
            }
        }
    }
}
