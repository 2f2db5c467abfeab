//! The memcpy probe: the speed of copying memory that is not in the cache, at present.
//!
//! On a shared machine the neighbours' use of the memory changes the ratio of a copying path to one
//! that does not copy. A probe in every block makes that visible: it is saved in the run and
//! printed with the verdict.

use std::hint::black_box;

/// A buffer larger than the last-level cache of most machines would make the probe slow. It is
/// enough that source and destination were not touched since the last block, and that everything
/// sent in between has passed through the caches.
const BYTES: usize = 8 << 20;

/// Copies memory once and returns the speed in bytes per second; `buffers` keeps the memory between
/// calls.
pub fn memcpy_bytes_per_s(buffers: &mut (Vec<u8>, Vec<u8>)) -> f64 {
    if buffers.0.len() != BYTES {
        *buffers = (vec![1; BYTES], vec![2; BYTES]);
    }
    let began_ns = zc_kernel::clock::monotonic_ns();
    buffers.1.copy_from_slice(&buffers.0);
    black_box(&mut buffers.1);
    let elapsed_ns = zc_kernel::clock::monotonic_ns().saturating_sub(began_ns).max(1);
    BYTES as f64 * 1e9 / elapsed_ns as f64
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_probe_copies() {
        let mut buffers = Default::default();
        assert!(super::memcpy_bytes_per_s(&mut buffers) > 0.0);
        assert_eq!(buffers.0, buffers.1);
    }
}
