//! plan

pub mod costs;
pub mod looks;
pub mod ratios;
pub mod rules;
