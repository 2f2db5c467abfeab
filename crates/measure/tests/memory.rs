//! `zc run memory` on machines with other caches: real walks over real memory, with the files of
//! another machine in place of /proc and /sys. Speed, and so the number of walks that there is time
//! for, is that of the machine on which this runs.

use std::path::Path;
use std::sync::Mutex;

use zc_kernel::clock;
use zc_kernel::stop::Stop;
use zc_measure::session::{MemoryOptions, memory};
use zc_rig::memory::{Bench, available_below, caches, choose};
use zc_run::{MemoryLoop, MemoryRun, MemoryVisit};

/// A cache as sysfs lists it: level, type, size.
type Listed = (&'static str, &'static str, &'static str);

/// The caches of a server CPU up to the second level.
const LOWER: [Listed; 3] =
    [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K")];

/// A root in which each of `cpus` CPUs has these caches, with the memory of this machine, 8 GiB at
/// most.
fn machine(cpus: usize, caches: &[Listed]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: String, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    };
    for cpu in 0..cpus {
        for (index, (level, kind, size)) in caches.iter().enumerate() {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                write(format!("{folder}/{name}"), text);
            }
        }
    }
    let available = available_below(Path::new("/")).unwrap_or(1 << 30).min(8 << 30);
    write("proc/meminfo".to_owned(), &format!("MemAvailable: {} kB", available / 1024));
    root
}

/// All tests walk on the same CPU: one that starts after another has made its plan takes time that
/// the other has planned with.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Results of a run, and the share of its time in which it had the CPU.
struct Walked {
    seen: MemoryRun,
    cpu_share: f64,
}

/// Below this share of the CPU, what a run had no time for is a skip.
const CROWDED: f64 = 0.5;

/// `None`, and a skip, where something else had the CPU until the budget was spent.
fn run(root: &Path, budget_ms: u64) -> Option<Walked> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let options =
        MemoryOptions { budget_ns: budget_ms * 1_000_000, seed: Some(7), root: root.to_owned() };
    let mut begun = 0;
    let before = (clock::monotonic_ns(), clock::own_cpu_ns());
    let outcome = memory(&options, &Stop::default(), &mut |_| begun += 1);
    let (elapsed_ns, cpu_ns) = (clock::monotonic_ns() - before.0, clock::own_cpu_ns() - before.1);
    let cpu_share = cpu_ns as f64 / elapsed_ns as f64;
    assert_eq!(begun, 1);
    match outcome {
        Ok(outcome) => {
            assert!(outcome.error.is_none());
            Some(Walked { seen: outcome.seen, cpu_share })
        }
        Err(error) => {
            assert!(cpu_share < CROWDED, "{error:?}: {cpu_share} of the CPU");
            eprintln!("skipped: something else had the CPU: {}", error.message);
            None
        }
    }
}

/// Asserts that there is a whole block of what was begun, unless something else took most of the
/// CPU, and that every set is present or its absence is explained.
fn assert_complete(root: &Path, Walked { seen, cpu_share }: &Walked) {
    let bench = Bench::new();
    let loops: Vec<MemoryLoop> =
        MemoryLoop::ALL.iter().copied().filter(|name| bench.has(*name)).collect();
    let mut missed = Vec::new();
    for (place, set) in seen.sets.iter().enumerate() {
        for name in &loops {
            let made = |visit: &MemoryVisit| (visit.set, visit.name) == (place, *name);
            if seen.blocks[0].visits.iter().filter(|visit| made(visit)).count() != 1 {
                missed.push(format!("{name} over {} bytes", set.bytes));
            }
        }
    }
    if *cpu_share < CROWDED && !missed.is_empty() {
        eprintln!("skipped: something else uses CPU {}", seen.cpu);
    } else {
        assert!(missed.is_empty(), "{cpu_share} of the CPU: {missed:?}; {:?}", seen.left_out);
    }
    let wanted = choose(
        &caches(root, seen.cpu).each,
        available_below(root),
        bench.has(MemoryLoop::FoldedAvx2),
    );
    let missing = wanted.sets.iter().filter(|set| !seen.sets.contains(set)).count();
    let said = seen.left_out.iter().filter(|sentence| sentence.starts_with("a set of ")).count();
    assert_eq!(missing + wanted.left_out.len(), said, "{:?}\n{:?}", seen.sets, seen.left_out);
}

#[test]
fn a_whole_block_is_walked_on_any_caches_and_what_is_not_is_said() {
    let last = |size| [LOWER.as_slice(), &[("3", "Unified", size)]].concat();
    for (what, caches, known, budget_ms) in [
        ("260 MB", last("266240K"), true, 2000),
        ("16 MB", last("16384K"), true, 1000),
        ("no L3", LOWER.to_vec(), true, 1000),
        ("one cache", vec![("1", "Unified", "64K")], true, 1000),
        ("no caches told", Vec::new(), false, 1000),
    ] {
        let root = machine(64, &caches);
        let Some(walked) = run(root.path(), budget_ms) else { continue };
        let seen = &walked.seen;
        eprintln!("{what}: {} blocks of {:?}; {:?}", seen.blocks.len(), seen.sets, seen.left_out);
        assert_eq!(seen.caches_known, known, "{what}");
        assert_eq!(seen.caches, zc_rig::memory::caches(root.path(), seen.cpu).each, "{what}");
        assert_complete(root.path(), &walked);
    }
}

#[test]
fn one_cpu_is_enough_and_its_caches_count() {
    // This thread alone; every test has its own.
    let cpu = zc_kernel::sched::allowed_cpus().unwrap()[0];
    zc_kernel::sched::pin(&[cpu]).unwrap();
    // The files are those of CPU 0, which are used for every CPU without files.
    let root = machine(1, &LOWER);
    let Some(walked) = run(root.path(), 1000) else { return };
    let seen = &walked.seen;
    assert_eq!(seen.cpu, cpu);
    assert_eq!(
        seen.caches.iter().map(|cache| cache.bytes).collect::<Vec<_>>(),
        [48 << 10, 2 << 20]
    );
    assert_complete(root.path(), &walked);
    assert_eq!(zc_kernel::sched::allowed_cpus().unwrap(), [cpu]);
}

#[test]
fn no_more_memory_is_touched_than_the_cgroup_leaves() {
    let root = machine(1, &[LOWER.as_slice(), &[("3", "Unified", "32768K")]].concat());
    for (path, text) in [
        ("proc/self/cgroup", "0::/job/step\n"),
        ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/job/step/memory.max", "max\n"),
        ("sys/fs/cgroup/job/memory.max", "50331648\n"),
    ] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let Some(Walked { seen, .. }) = run(root.path(), 1000) else { return };
    assert!(seen.sets.iter().all(|set| set.bytes <= 12 << 20), "{:?}", seen.sets);
    for size in ["16 MiB", "128 MiB"] {
        let sentence = format!(
            "a set of {size} is left out: it is more than a quarter of the 48 MiB of memory that \
             are available"
        );
        assert!(seen.left_out.contains(&sentence), "{:?}", seen.left_out);
    }
}
