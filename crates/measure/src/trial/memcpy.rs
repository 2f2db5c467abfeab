//! The memcpy probe: what copying memory that is not in the cache costs just now.
//!
//! On a shared machine the ratio of a copying path to one that does not copy moves with what the neighbours do to the
//! memory. A probe in every block makes that visible: it is kept in the run and told with the verdict.

use std::hint::black_box;

/// Larger than the last-level cache of most machines would make the probe slow: what matters is that source and
/// destination were not touched since the last block, and everything sent in between has passed through the caches.
const BYTES: usize = 8 << 20;

/// Copies memory once and returns the speed in bytes per second; `buffers` keeps the memory between calls.
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
