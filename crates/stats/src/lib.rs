//! The statistics of zc: pure functions over slices.
