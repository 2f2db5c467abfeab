//! Transparent huge pages: their size, and whether the kernel used them for an area of memory.
//!
//! References: Documentation/admin-guide/mm/transhuge.rst; `AnonHugePages` of proc_pid_smaps(5).

use std::ops::Range;

use zc_run::Unavailable;

const SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";

/// Size of a huge page in bytes.
///
/// # Errors
/// This kernel has no huge pages.
pub(super) fn size() -> Result<usize, Unavailable> {
    let text = std::fs::read_to_string(SIZE).unwrap_or_default();
    let size = text.trim().parse().ok().filter(|size: &usize| size.is_power_of_two());
    size.ok_or_else(|| {
        Unavailable::unsupported(format!("this kernel has no transparent huge pages ({SIZE})"))
    })
}

/// Checks that at least 99 % of `memory`, which has been touched, is in huge pages.
///
/// # Errors
/// Less of it is, or that cannot be found out.
pub(super) fn given(memory: &[u8]) -> Result<(), Unavailable> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").map_err(|error| {
        Unavailable::failed(format!(
            "cannot find out what pages the kernel gave: /proc/self/smaps: {error}"
        ))
    })?;
    let addresses = memory.as_ptr_range();
    let huge = huge_bytes(&smaps, &(addresses.start as u64..addresses.end as u64));
    if huge >= memory.len() as u64 / 100 * 99 {
        return Ok(());
    }
    let policy =
        std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    Err(Unavailable::refused(format!(
        "of {} bytes the kernel gave {huge} in huge pages",
        memory.len()
    ))
    .remedy(if policy.contains("[never]") {
        "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
    } else {
        "free memory lies in small pieces; as root: echo 1 > /proc/sys/vm/compact_memory"
    }))
}

/// Bytes in huge pages of all mappings within `addresses`.
fn huge_bytes(smaps: &str, addresses: &Range<u64>) -> u64 {
    let mut within = false;
    let mut kib = 0;
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if let Some(mapping) = mapping(first) {
            within = addresses.start <= mapping.start && mapping.end <= addresses.end;
        } else if within && first == "AnonHugePages:" {
            kib += second.parse().unwrap_or(0);
        }
    }
    kib * 1024
}

/// `7f00-7f10`, the first word of a mapping's first line.
fn mapping(word: &str) -> Option<Range<u64>> {
    let (start, end) = word.split_once('-')?;
    Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_the_area_are_counted() {
        let smaps = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \nSize: 4096 \
                     kB\nAnonHugePages:      4096 kB\n\
                     7f0000400000-7f0000600000 rw-p 00000000 00:00 0 \nAnonHugePages:      2048 \
                     kB\n\
                     7f0000600000-7f0000a00000 rw-p 00000000 00:00 0 [heap]\nAnonHugePages:      \
                     2048 kB\n";
        assert_eq!(huge_bytes(smaps, &(0x7f00_0000_0000..0x7f00_0060_0000)), 6 << 20);
        assert_eq!(huge_bytes(smaps, &(0x7f00_0040_0000..0x7f00_0060_0000)), 2 << 20);
        assert_eq!(huge_bytes("", &(0..1)), 0);
        assert_eq!(huge_bytes("- x\nAnonHugePages:", &(0..1)), 0);
    }
}
