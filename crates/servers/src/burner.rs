//! The known cost of the positive control: units of a soaker's work, on the server's CPU, by the
//! bytes that the load has received, or is to receive where counting them takes longer.
//!
//! The server cannot be made to burn. So a thread beside it does, which wakes in every trial alike,
//! and has nothing to do in those of other cells: its wake-ups are in all costs.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::asker::Asker;
use zc_kernel::clock::{monotonic_ns, sleep_until, thread_cpu_ns};
use zc_kernel::sched;
use zc_rig::meter::{Burner, cannot_pin};
use zc_run::{Error, ErrorKind, Result};

/// Time between two wake-ups. What is burned at once should take less time than passes between two
/// requests: those that find the CPU taken are answered together, for less. With 5 ms at 5,000
/// requests per second 7.3 of 9.6 % were found.
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
}

/// Burn so many units per MB until the next order; so many bytes per second are asked for.
enum Order {
    Go { units_per_mb: f64, bytes_per_s: f64 },
    Stop,
}

impl BesideServer {
    /// Starts the thread on `cpu`; it waits.
    pub(super) fn start(cpu: usize, load: Asker) -> Result<Self> {
        let (orders, taken) = channel();
        let (pinned, result) = channel();
        let thread = std::thread::Builder::new()
            .name("zc-burn".to_owned())
            .spawn(move || {
                let at = sched::pin(&[cpu]).map(|()| sched::gettid());
                let goes_on = at.is_ok();
                if pinned.send(at).is_ok() && goes_on {
                    burn(&taken, &load);
                }
            })
            .map_err(|error| Error::os("start the thread of the positive control", error))?;
        match result.recv() {
            Ok(Ok(tid)) => Ok(Self { orders: Some(orders), thread: Some(thread), tid }),
            Ok(Err(error)) => {
                Err(cannot_pin("pin the positive control", &[cpu], error, ErrorKind::Failed))
            }
            Err(_) => {
                Err(Error::failed("thread-ended", "the thread of the positive control ended"))
            }
        }
    }

    /// Begins to burn so many units for each MB that arrives from now on, or only to wake up. So
    /// many bytes per second are asked for.
    pub(super) fn go(&self, units_per_mb: Option<f64>, bytes_per_s: f64) {
        self.order(Order::Go { units_per_mb: units_per_mb.unwrap_or(0.0), bytes_per_s });
    }

    pub(super) fn stop(&self) {
        self.order(Order::Stop);
    }

    /// CPU time of the thread so far.
    pub(super) fn cpu_ns(&self) -> u64 {
        thread_cpu_ns(self.tid).unwrap_or_default()
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

fn burn(orders: &Receiver<Order>, load: &Asker) {
    let mut next = orders.recv().ok();
    while let Some(order) = next.take() {
        let Order::Go { units_per_mb, bytes_per_s } = order else {
            next = orders.recv().ok();
            continue;
        };
        let mut burner = Burner::new(units_per_mb);
        let begun_ns = monotonic_ns();
        let arrived = || match load.body_bytes_at_a_glance() {
            Some(bytes) => bytes,
            None => (bytes_per_s * (monotonic_ns() - begun_ns) as f64 / 1e9) as u64,
        };
        let mut seen = arrived();
        for turn in 1.. {
            sleep_until(wake_up_ns(begun_ns, turn));
            let bytes = arrived();
            burner.before_piece((bytes - seen) as usize, turn);
            seen = bytes;
            match orders.try_recv() {
                Ok(order) => next = Some(order),
                Err(std::sync::mpsc::TryRecvError::Empty) => continue,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {}
            }
            break;
        }
    }
}
