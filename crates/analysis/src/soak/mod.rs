//! Computes loads and CPU seconds from the windows of `zc soak`.
//!
//! A load is always a subtraction: the share of a soaker's idle rate that it did not reach. The
//! interval of a command's CPU seconds comes from its executions, or, if there is one only, from the
//! scatter and shift of the idle rate around it; docs/soak.md has the formula.

mod accounts;
mod command;
mod execution;
mod load;
mod model;
mod others;
mod per;
mod service;
mod verify;
mod window;

pub use command::command_cost;
pub use load::{idle_rates, load, not_quiet, paces, taken_share};
pub use model::{
    Accounts, Against, CommandCost, IntervalOver, Load, NamedTime, PerCost, PlusMinus, TakenShare,
    Verified, VerifyRow,
};
pub use per::{Per, Unit};
pub use service::{
    CountedBy, NamedCpus, OtherAccounts, ServiceCost, ServiceInterrupts, ServicePer,
    ServiceProcesses, SharedBy, service_cost,
};
pub use verify::verified;

#[cfg(test)]
mod tests;
