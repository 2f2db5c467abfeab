//! The string copy instruction of x86-64, REP MOVSB.
//!
//! The kernel copies between user space and itself with it on CPUs that report it as fast (FSRM;
//! `copy_user_generic` in arch/x86/include/asm/uaccess_64.h). So it bounds every send path that
//! copies. The C library's memcpy uses it for some sizes only.

/// Whether this architecture has the instruction.
pub const HERE: bool = cfg!(target_arch = "x86_64");

/// Copies `from` to `to` with REP MOVSB, up to the length of the shorter one. Does nothing on an
/// architecture without the instruction.
///
/// # References
/// - Intel SDM volume 2, "REP/REPE/REPZ/REPNE/REPNZ"
/// - Intel SDM volume 1, section 7.3.9.3, "Fast-String Operation"
#[doc(alias = "rep_movsb")]
pub fn copy(to: &mut [u8], from: &[u8]) {
    let len = to.len().min(from.len());
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `from` has `len` readable bytes and `to` as many writable ones. `to` is borrowed
    // exclusively, so the two do not overlap. The direction flag is clear, as Rust guarantees to
    // inline assembly. The three registers are declared as changed.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rsi") from.as_ptr() => _,
            inout("rdi") to.as_mut_ptr() => _,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = len;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bytes_are_copied_as_both_have_and_no_more() {
        if !HERE {
            eprintln!("skipped: this is no x86-64");
            return;
        }
        let from: Vec<u8> = (0..=255).collect();
        for (start, len, place) in [(0, 0, 0), (1, 1, 3), (0, 256, 0), (7, 130, 5), (3, 64, 1)] {
            let mut to = vec![0xaa; 300];
            copy(&mut to[place..place + len], &from[start..]);
            let end = place + len.min(256 - start);
            assert_eq!(to[place..end], from[start..start + end - place]);
            assert!(to[..place].iter().chain(&to[end..]).all(|byte| *byte == 0xaa));
        }
    }
}
