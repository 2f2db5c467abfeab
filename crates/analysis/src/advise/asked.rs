//! A rate of requests like those of a log.

/// A rate that cores are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second.
    Bytes(f64),
}
