//! The hypervisor or emulator of this machine, by what the CPU says of it.

/// The signature that a hypervisor or emulator shows in the CPU's identification: `KVMKVMKVM`,
/// `TCGTCGTCGTCG` ... `None` on a physical machine, where it is hidden, and on an architecture
/// whose programs cannot ask for it.
///
/// # References
/// - Linux, Documentation/virt/kvm/x86/cpuid.rst: leaf 0x40000000
/// - QEMU, target/i386/cpu.c, `cpu_x86_cpuid`: the same leaf of its TCG
#[doc(alias = "cpuid")]
pub fn signature() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        const FEATURES: u32 = 1;
        const HYPERVISOR: u32 = 0x4000_0000;
        // SAFETY: every CPU of x86-64 has the instruction CPUID, which any program may execute. It
        // changes nothing but the registers that it returns.
        #[allow(unused_unsafe, reason = "it is a safe function since Rust 1.94")]
        let leaf = |leaf| unsafe { std::arch::x86_64::__cpuid(leaf) };
        // Without a hypervisor the second leaf has whatever the highest one has.
        if leaf(FEATURES).ecx >> 31 == 0 {
            return None;
        }
        let found = leaf(HYPERVISOR);
        let bytes = [found.ebx, found.ecx, found.edx].map(u32::to_le_bytes).concat();
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_end_matches('\0').to_owned())
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_there_where_the_cpu_has_the_flag_of_a_hypervisor() {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if cfg!(not(target_arch = "x86_64")) {
            assert_eq!(signature(), None);
            return;
        }
        let Some(flags) = cpuinfo.lines().find(|line| line.starts_with("flags")) else {
            eprintln!("skipped: /proc/cpuinfo has no flags");
            return;
        };
        let flagged = flags.split_whitespace().any(|flag| flag == "hypervisor");
        assert_eq!(signature().is_some(), flagged);
    }
}
