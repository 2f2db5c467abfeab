//! Meters: what is read at both edges of a window. Reading never writes to the host and never
//! prints.

mod burner;
pub mod checks;
mod conditions;
mod counter;
mod doctor;
mod environment;
mod functions;
mod group;
mod helper_process;
mod host;
mod idle_clock;
mod kernel;
mod ksoftirqd;
mod latency;
mod load;
mod others;
mod pid_stat;
mod pinning;
mod proc;
mod processes;
mod sampler;
mod service;
mod soakers;
mod soaking;
mod tasks;
mod undisturbed;
mod unit;

pub use burner::{Burner, unit_time};
pub use doctor::meters;
pub use environment::{Environment, InstanceLock, sniffers};
pub use helper_process::{CompetingProcess, HelperJob, SoakerProcess, serve};
pub use host::{boot_id, host, is_emulated};
pub use idle_clock::IdleClock;
pub use kernel::KernelMeters;
pub use ksoftirqd::Ksoftirqd;
pub use latency::{WakeLatency, wake_latency};
pub use load::{LoadMeter, loads_can_be_told};
pub use pid_stat::{descendants, kernel_threads};
pub use pinning::cannot_pin;
pub use processes::{ByName, Processes};
pub use sampler::{SampledThreads, Sampler};
pub use service::{NetReading, Network, Target, TargetReading};
pub use soakers::Soakers;
pub use soaking::{Below, Soaking};
pub use tasks::{TaskMeter, workers_of};
