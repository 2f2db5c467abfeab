//! A thread that uses a known share of a CPU. What it really used, its thread CPU clock tells: that is the truth which
//! the soakers are held against.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use zc_sys::{clock, sched};

use crate::record::{BurnShape, Fault, Result};

/// A pinned thread. It sleeps until it is given a load, and ends when this is dropped.
#[derive(Debug)]
pub(super) struct Burner {
    orders: Option<mpsc::Sender<Load>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    tid: i32,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    idle: AtomicBool,
    sleeps: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
struct Load {
    period_ns: u64,
    busy_ns: u64,
}

impl Burner {
    /// Starts it on `cpu`, asleep.
    pub(super) fn start(cpu: usize) -> Result<Self> {
        let fault = move |error| Fault::os(format!("put a burner on CPU \"{cpu}\""), error);
        let shared = Arc::new(Shared::default());
        let (orders, take) = mpsc::channel();
        let (tell, tid) = mpsc::channel();
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("zc-burner".into())
            .spawn(move || {
                let ready = sched::pin(&[cpu]).and_then(|()| sched::set_timer_slack(1)).map(|()| sched::gettid());
                drop(tell.send(ready));
                while let Ok(load) = take.recv() {
                    burn(load, &its);
                    its.idle.store(true, Release);
                }
            })
            .map_err(fault)?;
        let tid = tid.recv().map_err(|_| Fault::failed("the burner ended before it began"))?.map_err(fault)?;
        Ok(Self { orders: Some(orders), shared, thread: Some(thread), tid })
    }

    /// Lets it use `percent` of its CPU until [`rest`](Self::rest).
    pub(super) fn work(&self, percent: u32, shape: BurnShape) {
        let period_ns = match shape {
            BurnShape::Smooth => 1_000_000,
            BurnShape::Bursty => 100_000_000,
        };
        if let (Some(orders), true) = (&self.orders, percent > 0) {
            self.shared.stop.store(false, Relaxed);
            self.shared.idle.store(false, Relaxed);
            // It takes orders as long as it lives.
            let _ = orders.send(Load { period_ns, busy_ns: period_ns * u64::from(percent) / 100 });
        } else {
            self.shared.idle.store(true, Relaxed);
        }
    }

    /// Lets it sleep again, and returns when it does.
    pub(super) fn rest(&self) {
        self.shared.stop.store(true, Relaxed);
        while !self.shared.idle.load(Acquire) && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            clock::sleep_until(clock::monotonic_ns() + 1_000_000);
        }
    }

    /// CPU time that it has used so far.
    pub(super) fn cpu_ns(&self) -> Result<u64> {
        clock::thread_cpu_ns(self.tid).map_err(|error| Fault::os("read the burner's CPU clock", error))
    }

    /// How often it has gone to sleep under load so far.
    pub(super) fn sleeps(&self) -> u64 {
        self.shared.sleeps.load(Relaxed)
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Uses `busy_ns` of CPU in every period, by the thread's own CPU clock, and sleeps for the rest of it.
fn burn(load: Load, shared: &Shared) {
    let mut due_ns = clock::monotonic_ns();
    while !shared.stop.load(Relaxed) {
        let enough_ns = clock::own_cpu_ns() + load.busy_ns;
        while clock::own_cpu_ns() < enough_ns {
            for step in 0..64_u64 {
                std::hint::black_box(step);
            }
        }
        due_ns += load.period_ns;
        let now_ns = clock::monotonic_ns();
        if due_ns > now_ns {
            shared.sleeps.fetch_add(1, Relaxed);
            clock::sleep_until(due_ns);
        } else {
            due_ns = now_ns; // late: it does not catch up, what it used is what counts
        }
    }
}
