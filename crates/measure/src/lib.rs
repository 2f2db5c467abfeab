//! Plans, and the sessions that run them: which cells are measured in which order, the blocks, and
//! the saved run. Nothing here computes an estimate or prints; what a session needs of the analysis
//! while it goes on comes in as [`session::Interim`].

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]
#![forbid(unsafe_code)]

pub mod plan;
pub mod session;
