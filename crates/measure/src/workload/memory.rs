//! How much memory there is to be had without swapping.

/// `MemAvailable` of /proc/meminfo in bytes; null when it cannot be read.
///
/// # References
/// Documentation/filesystems/proc.rst.
pub fn available_bytes() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_and_its_unit_is_kib() {
        let text = "MemTotal:        8127984 kB\nMemFree:          123456 kB\nMemAvailable:    6291456 kB\n";
        assert_eq!(parse(text), Some(6 << 30));
        assert_eq!(parse("MemTotal: 1 kB\n"), None);
        assert_eq!(parse("MemAvailable: lots kB\n"), None);
    }

    #[test]
    fn this_machine_has_some() {
        assert!(available_bytes().is_none_or(|bytes| bytes > 0));
    }
}
