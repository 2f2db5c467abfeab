//! Estimates the cost of an access log's requests by each send path, from a run whose messages are
//! responses; or in each configuration of a server, from a run of that server at several lengths.
//! Below, "path" stands for either.
//!
//! The run has the cost of a response by length and path, and the log the number of responses by
//! length and time. Cores are the sum over all responses of what each costs, divided by the time.
//! Both sides are samples, and intervals carry both: blocks of the run are resampled, the same ones
//! for all paths and lengths, and slices of time of the log. Requests come in bursts, so lines of a
//! log are not independent, and resampling them would give intervals far too narrow.

mod advisor;
mod asked;
mod estimate;
mod figures;
mod log;
mod mix;
mod model;
mod path_costs;
mod priced;
mod rows;
mod tls;
mod verdict;

/// Fewer cores than this are not worth a change of configuration.
pub const CORES_THAT_MATTER: f64 = 0.01;

pub use asked::Asked;
pub use estimate::{Logged, Question, advise};
pub use mix::{BusyMinute, LoggedResponses, OverTls, TlsBytes};
pub use model::{
    Compared, CostAdvice, HostAdvice, Outside, PathAdvice, PathVerdict, Rate, Rates, TlsAdvice,
    TlsUnfit, TlsWay, Unfit, Untold,
};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_hosts;
#[cfg(test)]
mod tests_server;
#[cfg(test)]
mod tests_tls;
