//! Other zc that measure on this machine, found by the names of their soakers in /proc. Network
//! namespaces do not matter to that; of another PID namespace only those are seen that descend from
//! this process's own (pid_namespaces(7)), and with `hidepid` only those of this user (proc(5)).

use std::path::Path;

use super::soakers::SOAKER_NAME;
use crate::root::read;

/// The name of the program, if it was not given another one.
const PROGRAM: &str = "zc";

/// The CPUs that each other zc soaks, ascending. Everybody can read thread names, and can name threads
/// like that: it is enough for a warning.
pub(super) fn soaked_by_others(root: &Path) -> Vec<Vec<usize>> {
    let own = std::process::id().to_string();
    let own_name = read(root, "proc/self/comm");
    let is_zc = |name: String| name == PROGRAM || Some(name) == own_name;
    let mut found = Vec::new();
    for process in names_in(&root.join("proc")) {
        let is_process = process.bytes().all(|byte| byte.is_ascii_digit());
        let folder = format!("proc/{process}");
        if !is_process
            || process == own
            || !read(root, &format!("{folder}/comm")).is_some_and(is_zc)
        {
            continue;
        }
        let threads = names_in(&root.join(&folder).join("task"));
        let soaked = |thread: &String| {
            let name = read(root, &format!("{folder}/task/{thread}/comm"))?;
            name.strip_prefix(SOAKER_NAME)?.parse().ok()
        };
        let mut cpus: Vec<usize> = threads.iter().filter_map(soaked).collect();
        cpus.sort_unstable();
        if !cpus.is_empty() {
            found.push(cpus);
        }
    }
    found
}

/// Names in a folder; none if it cannot be read, as when a process has just ended.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    #[test]
    fn another_zc_is_one_that_has_soakers() {
        let own = format!("proc/{}", std::process::id());
        let root = root(&[
            ("proc/self/comm", "renamed\n"),
            (&format!("{own}/comm"), "zc\n"),
            (&format!("{own}/task/9/comm"), "zc-soaker/0\n"),
            // A run, one that is called what this program is called, and one that shows a report.
            ("proc/17/comm", "zc\n"),
            ("proc/17/task/17/comm", "zc\n"),
            ("proc/17/task/19/comm", "zc-soaker/11\n"),
            ("proc/17/task/18/comm", "zc-soaker/2\n"),
            ("proc/27/comm", "renamed\n"),
            ("proc/27/task/28/comm", "zc-soaker/0\n"),
            ("proc/37/comm", "zc\n"),
            ("proc/37/task/37/comm", "zc\n"),
            ("proc/47/comm", "sh\n"),
            ("proc/47/task/48/comm", "zc-soaker/0\n"),
            ("proc/driver/comm", "zc\n"),
        ]);
        let mut found = soaked_by_others(root.path());
        found.sort_unstable();
        assert_eq!(found, [vec![0], vec![2, 11]]);
    }
}
