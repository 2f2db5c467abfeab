//! The known cost of the positive control: units of a soaker's work, on the server's CPU.
//!
//! The server cannot be made to burn. So a thread beside it does, which wakes in every trial alike,
//! and has nothing to do in those of other cells: its wake-ups are in all costs.
//!
//! It burns evenly over time, in the soakers' scheduling class, and counts the units. Where it kept
//! a CPU from the server, what arrived meanwhile was answered together, for less: under an access
//! log's sizes a seventh less than was added was found when each response's share was burned after it,
//! and a twelfth less when it was burned evenly in the class of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use zc_kernel::clock::{monotonic_ns, sleep_until, thread_cpu_ns};
use zc_kernel::sched;
use zc_rig::meter::{Units, cannot_pin, lower};
use zc_run::{Error, ErrorKind, Result};

/// Time between two wake-ups.
const PERIOD_NS: u64 = 2_000_000;

/// The time of wake-up number `turn`: one at a place of its own in each period, spread evenly over
/// all of them (multiples of the golden ratio). At a fixed time in each, burning can meet requests,
/// which are due at fixed times too, at the same moment of their lives in all of a run, and cost
/// more or less for it: six runs found 8.5 to 11 of 10 %, three of them with intervals that did not
/// hold it.
fn wake_up_ns(begun_ns: u64, turn: u64) -> u64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let place = (turn as f64 * GOLDEN).fract();
    begun_ns + turn * PERIOD_NS + (place * PERIOD_NS as f64) as u64
}

/// A thread that burns while it is told to.
pub(super) struct BesideServer {
    orders: Option<Sender<Order>>,
    thread: Option<std::thread::JoinHandle<()>>,
    tid: i32,
    /// Units burned so far.
    burned: Arc<AtomicU64>,
}

/// Burn so many units per second until the next order.
enum Order {
    Go { units_per_s: f64 },
    Stop,
}

impl BesideServer {
    /// Starts the thread on `cpu`; it waits.
    pub(super) fn start(cpu: usize) -> Result<Self> {
        let (orders, taken) = channel();
        let (pinned, result) = channel();
        let burned = Arc::new(AtomicU64::new(0));
        let its = Arc::clone(&burned);
        let thread = std::thread::Builder::new()
            .name("zc-burn".to_owned())
            .spawn(move || {
                let at = sched::pin(&[cpu]).map(|()| sched::gettid());
                let goes_on = at.is_ok();
                if pinned.send(at).is_ok() && goes_on {
                    burn(&taken, &its);
                }
            })
            .map_err(|error| Error::os("start the thread of the positive control", error))?;
        match result.recv() {
            Ok(Ok(tid)) => {
                let beside = Self { orders: Some(orders), thread: Some(thread), tid, burned };
                lower(tid)?;
                Ok(beside)
            }
            Ok(Err(error)) => {
                Err(cannot_pin("pin the positive control", &[cpu], error, ErrorKind::Failed))
            }
            Err(_) => {
                Err(Error::failed("thread-ended", "the thread of the positive control ended"))
            }
        }
    }

    /// Begins to burn so many units per second, or only to wake up.
    pub(super) fn go(&self, units_per_s: Option<f64>) {
        self.order(Order::Go { units_per_s: units_per_s.unwrap_or(0.0) });
    }

    pub(super) fn stop(&self) {
        self.order(Order::Stop);
    }

    /// CPU time of the thread so far.
    pub(super) fn cpu_ns(&self) -> u64 {
        thread_cpu_ns(self.tid).unwrap_or_default()
    }

    /// Units burned so far.
    pub(super) fn units(&self) -> u64 {
        self.burned.load(Ordering::Relaxed)
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            drop(orders.send(order)); // it fails if the thread has panicked: nothing is burned
        }
    }
}

impl Drop for BesideServer {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn burn(orders: &Receiver<Order>, burned: &AtomicU64) {
    let mut next = orders.recv().ok();
    while let Some(order) = next.take() {
        let Order::Go { units_per_s } = order else {
            next = orders.recv().ok();
            continue;
        };
        let mut units = Units::none();
        let begun_ns = monotonic_ns();
        for turn in 1.. {
            sleep_until(wake_up_ns(begun_ns, turn));
            let due = units_per_s * (monotonic_ns() - begun_ns) as f64 / 1e9;
            units.up_to(due, || {
                burned.fetch_add(1, Ordering::Relaxed);
            });
            match orders.try_recv() {
                Ok(order) => next = Some(order),
                Err(std::sync::mpsc::TryRecvError::Empty) => continue,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {}
            }
            break;
        }
    }
}
