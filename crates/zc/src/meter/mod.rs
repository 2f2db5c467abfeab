//! Meters: things that are read at both edges of a window. Reading never writes to the host and never prints.

mod kernel;
mod soakers;
mod tasks;

pub use kernel::KernelMeters;
pub use soakers::Soakers;
pub use tasks::TaskMeter;
