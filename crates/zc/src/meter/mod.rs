//! Meters: things that are read at both edges of a window. Reading never writes to the host and never prints.

mod counter;
mod kernel;
mod latency;
mod proc;
mod soakers;
mod tasks;
mod unit;

pub use kernel::KernelMeters;
pub use latency::{WakeLatency, wake_latency};
pub use soakers::Soakers;
pub use tasks::TaskMeter;
