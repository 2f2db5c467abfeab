//! A run, a comparison of two, or of two kernels, as the lines that a commit message has room for:
//! command, kernel and machine, the most telling ratios with their intervals, the A/A control and
//! the blocks.

mod comparison;
mod kernels;
mod lines;
mod ratios;
mod run;
#[cfg(test)]
mod tests;

pub use comparison::comparison;
pub use kernels::kernels;
pub use run::run;
