//! The data caches of a CPU, from sysfs.

use std::path::Path;

use zc_run::Cache;

/// Data caches of one CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caches {
    /// One for each level, smallest first; never empty.
    pub each: Vec<Cache>,
    /// Whether the kernel reported them; if not, usual sizes were assumed.
    pub known: bool,
}

/// Sizes assumed where the kernel reports none, as in some virtual machines: those of a usual
/// server CPU.
const USUAL: [u64; 3] = [32 << 10, 1 << 20, 32 << 20];

/// The data caches of `cpu`, read from `sys` below `root`.
///
/// # References
/// Documentation/ABI/testing/sysfs-devices-system-cpu:
/// `/sys/devices/system/cpu/cpu*/cache/index*/`.
pub fn caches(root: &Path, cpu: usize) -> Caches {
    let of = |cpu: usize| each(&root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache")));
    let own = of(cpu);
    let each = if own.is_empty() { of(0) } else { own };
    if each.is_empty() {
        let usual = USUAL.iter().zip(1..);
        let each = usual.map(|(&bytes, level)| Cache { level, bytes, shared_by: None }).collect();
        return Caches { each, known: false };
    }
    Caches { each, known: true }
}

/// Whether anonymous memory gets huge pages: the text of
/// `sys/kernel/mm/transparent_hugepage/enabled` below `root`.
pub fn huge_pages(root: &Path) -> Option<String> {
    let text =
        std::fs::read_to_string(root.join("sys/kernel/mm/transparent_hugepage/enabled")).ok()?;
    Some(text.trim().to_owned())
}

fn each(folder: &Path) -> Vec<Cache> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<Cache> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("index"))
        .filter_map(|entry| cache(&entry.path()))
        .collect();
    found.sort_unstable_by_key(|cache| (cache.level, cache.bytes));
    found.dedup_by_key(|cache| cache.level);
    found
}

fn cache(folder: &Path) -> Option<Cache> {
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned())
    };
    if read("type")? == "Instruction" {
        return None;
    }
    let bytes = size(&read("size")?).filter(|bytes| *bytes > 0)?;
    Some(Cache { level: read("level")?.parse().ok()?, bytes, shared_by: read("shared_cpu_list") })
}

/// `48K`, `32768K`, `1M`.
fn size(text: &str) -> Option<u64> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysfs(cpu: &str, caches: &[(&str, &str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (index, (level, kind, size)) in caches.iter().enumerate() {
            let folder =
                root.path().join(format!("sys/devices/system/cpu/{cpu}/cache/index{index}"));
            std::fs::create_dir_all(&folder).unwrap();
            for (name, text) in
                [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", &"0-1")]
            {
                std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        root
    }

    #[test]
    fn data_caches_are_found_and_those_of_instructions_are_not() {
        let caches_of_cpu = [
            ("1", "Data", "48K"),
            ("1", "Instruction", "32K"),
            ("3", "Unified", "32M"),
            ("2", "Unified", "1024K"),
        ];
        let root = sysfs("cpu3", &caches_of_cpu);
        let found = caches(root.path(), 3);
        assert!(found.known);
        let sizes: Vec<(u8, u64)> =
            found.each.iter().map(|cache| (cache.level, cache.bytes)).collect();
        assert_eq!(sizes, [(1, 48 << 10), (2, 1 << 20), (3, 32 << 20)]);
        assert_eq!(found.each[2].shared_by.as_deref(), Some("0-1"));
    }

    #[test]
    fn a_cpu_without_cache_files_has_the_caches_of_cpu_0() {
        let root = sysfs("cpu0", &[("1", "Data", "32K")]);
        assert_eq!(caches(root.path(), 7).each[0].bytes, 32 << 10);
    }

    #[test]
    fn without_cache_files_usual_sizes_are_assumed_and_marked_as_unknown() {
        let empty = tempfile::tempdir().unwrap();
        assert!(!caches(empty.path(), 0).known);
        let odd =
            sysfs("cpu0", &[("x", "Data", "32K"), ("1", "Data", "lots"), ("2", "Unified", "0K")]);
        let found = caches(odd.path(), 0);
        assert!(!found.known);
        assert_eq!(found.each.len(), 3);
    }
}
