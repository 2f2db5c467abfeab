//! A run, or a comparison of two, as the lines that a commit message has room for: command, kernel
//! and machine, the most telling ratios with their intervals, the A/A control and the blocks.

mod comparison;
mod lines;
mod ratios;
mod run;
#[cfg(test)]
mod tests;

pub use comparison::comparison;
pub use run::run;
