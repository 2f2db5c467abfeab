//! session

mod options;
mod progress;

pub use options::{CpuPair, RunOptions};
pub use progress::{Next, Progress, Silent};
