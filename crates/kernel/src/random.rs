//! Unpredictable bytes from the kernel, by the system call alone. (`rand::random` opens a device
//! where libc is linked statically, and panics where there is none, as in an empty root.)

use std::io;

use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};

/// Fills `bytes` with getrandom(2).
///
/// # Errors
/// - ENOSYS, EPERM: a seccomp filter forbids it.
///
/// # References
/// [getrandom(2)]
///
/// [getrandom(2)]: https://man7.org/linux/man-pages/man2/getrandom.2.html
#[doc(alias = "getrandom")]
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        // Up to 256 bytes come complete once the kernel's generator is seeded. Before that a signal
        // may interrupt the wait.
        done += retry_on_intr(|| getrandom(&mut bytes[done..], GetRandomFlags::empty()))?;
    }
    Ok(())
}

/// An array of bytes from getrandom(2).
///
/// # Errors
/// Same as for [`fill`].
pub fn array<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_differ_from_call_to_call_and_all_of_them_are_filled() {
        assert_ne!(array::<32>().unwrap(), array::<32>().unwrap());
        // More than come at once. That none of 64 bytes at the end is set has a chance of 2^-512.
        let mut many = vec![0; 100_000];
        fill(&mut many).unwrap();
        assert!(many[99_936..].iter().any(|byte| *byte != 0));
        fill(&mut []).unwrap();
    }
}
