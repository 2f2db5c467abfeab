//! The CPUs of the two sides of a link.

/// CPUs on which the two sides are to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides {
    /// The sender's CPU.
    pub sender_cpu: usize,
    /// The receiver's CPU.
    pub receiver_cpu: usize,
}
