//! Meters: things that are read at both edges of a window. Reading never writes to the host and never prints.

pub mod conditions;
mod counter;
mod doctor;
#[cfg(test)]
mod fake_root;
mod functions;
mod group;
mod host;
mod kernel;
mod latency;
mod load;
mod outside;
mod proc;
mod sampler;
mod soakers;
mod surroundings;
mod tasks;
mod unit;

pub use doctor::meters;
pub use host::{boot_id, host};
pub use kernel::KernelMeters;
pub use latency::{WakeLatency, wake_latency};
pub use load::LoadMeter;
pub use outside::{OutsideJob, SoakerProcess, Stranger, serve};
pub use sampler::{SampledThreads, Sampler};
pub use soakers::Soakers;
pub use surroundings::{Alone, Surroundings, sniffers};
pub use tasks::{TaskMeter, workers_of};
