//! A request, the response that is waited for, and its purpose.

use std::sync::mpsc::Sender;

use crc32fast::Hasher;

use super::phase::Fetched;
use zc_run::Result;

/// A request from when it was due.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    /// Index of the requested resource among those of the origin.
    pub(super) target: u32,
    pub(super) due_ns: u64,
    /// When it is given up.
    pub(super) deadline_ns: u64,
    /// Number of bytes of the request that have been sent.
    pub(super) sent_bytes: usize,
}

/// Purpose of a response.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The phase of that number.
    Load {
        /// Its number.
        phase: u64,
    },
    /// A caller that fetches the response itself.
    Fetch(Box<Fetch>),
}

/// A response that is read and hashed.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) hasher: Hasher,
    pub(super) wanted_by: Sender<Result<Fetched>>,
}
