//! Computes loads and CPU seconds from the windows of `zc soak`.
//!
//! A load is a subtraction: the share of a soaker's idle rate that it did not reach. A cost is that
//! of the workload's clocks, and of what interrupts took from the soakers by theirs. The interval
//! of a command's CPU seconds comes from its executions, or, if there is one only, from the scatter
//! and shift of the idle windows around it; docs/soak.md has the formula.

mod accounts;
mod command;
mod execution;
mod interrupts;
mod load;
mod meter;
mod model;
mod others;
mod own;
mod per;
mod service;
#[cfg(test)]
mod service_fixture;
mod verify;
mod window;

pub use command::command_cost;
pub use load::{idle_rates, load, not_quiet, paces, taken_share};
pub use meter::MeterTotals;
pub use model::{
    Accounts, Against, CommandCost, CostBy, IntervalOver, Load, NamedTime, PerCost, PlusMinus,
    TakenShare, Verified, VerifyRow,
};
pub use own::own_clocks_tell;
pub use per::{Per, Unit};
pub use service::{
    CountedBy, NamedCpus, OtherAccounts, ServiceCost, ServiceInterrupts, ServicePer,
    ServiceProcesses, SharedBy, service_cost,
};
pub use verify::verified;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_own;
