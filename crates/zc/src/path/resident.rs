//! The file set in anonymous memory, for the paths whose bytes are in memory already: read once, never changed, so
//! that no page is reused while the kernel may still read it.

/// The file set in memory; filled when first wanted, shared by all paths and trials of a run.
#[derive(Debug, Default)]
pub struct Resident {}
