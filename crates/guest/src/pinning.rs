//! Binds each CPU of a guest to one of the host's: QEMU names their threads `CPU 0/KVM` with
//! `-name ...,debug-threads=on`.

use std::fs;
use std::path::Path;

use zc_kernel::sched;

/// Binds the threads of the guest's CPUs that run by now, each to the host's CPU of the same place
/// in `cpus`. Returns how many there are.
pub(crate) fn pin(pid: u32, cpus: &[usize]) -> usize {
    let tasks = format!("/proc/{pid}/task");
    let threads = fs::read_dir(tasks).into_iter().flatten().flatten();
    let mut pinned = 0;
    for thread in threads.map(|thread| thread.path()) {
        let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
        let Some(host) = number(&name).and_then(|guest| cpus.get(guest)) else { continue };
        // A thread that has ended, or a CPU that went offline meanwhile.
        if tid(&thread).is_some_and(|tid| sched::pin_thread(tid, &[*host]).is_ok()) {
            pinned += 1;
        }
    }
    pinned
}

fn tid(thread: &Path) -> Option<i32> {
    thread.file_name()?.to_str()?.parse().ok()
}

/// The guest's CPU that a thread of this name is.
fn number(name: &str) -> Option<usize> {
    let (number, _) = name.trim().strip_prefix("CPU ")?.split_once('/')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_cpus_are_told_by_their_names() {
        assert_eq!(number("CPU 0/KVM\n"), Some(0));
        assert_eq!(number("CPU 11/KVM"), Some(11));
        assert_eq!(number("qemu-system-x86"), None);
        assert_eq!(number("CPU x/KVM"), None);
    }

    #[test]
    fn a_process_without_such_threads_is_left_alone() {
        assert_eq!(pin(std::process::id(), &[0]), 0);
    }
}
