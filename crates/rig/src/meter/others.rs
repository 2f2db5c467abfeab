//! Other zc that measure on this machine, found by the names of their soakers in /proc. Network
//! namespaces do not matter to that; of another PID namespace only those are seen that descend from
//! this process's own (pid_namespaces(7)), and with `hidepid` only those of this user (proc(5)).

use std::path::Path;

use super::soakers::SOAKER_NAME;
use crate::root::{numbered, read};

/// The name of the program, if it was not given another one.
const PROGRAM: &str = "zc";

/// The CPUs that each other zc soaks, ascending. Everybody can read thread names, and can name
/// threads like that: it is enough for a warning.
pub(super) fn soaked_by_others(root: &Path) -> Vec<Vec<usize>> {
    let own = std::process::id() as i32;
    let own_name = read(root, "proc/self/comm");
    let is_zc = |name: String| name == PROGRAM || Some(name) == own_name;
    let mut found = Vec::new();
    for process in numbered(root, "proc") {
        if process == own || !read(root, &format!("proc/{process}/comm")).is_some_and(is_zc) {
            continue;
        }
        let tasks = format!("proc/{process}/task");
        let soaked = |thread: i32| {
            let name = read(root, &format!("{tasks}/{thread}/comm"))?;
            name.strip_prefix(SOAKER_NAME)?.parse().ok()
        };
        let mut cpus: Vec<usize> = numbered(root, &tasks).into_iter().filter_map(soaked).collect();
        cpus.sort_unstable();
        if !cpus.is_empty() {
            found.push(cpus);
        }
    }
    found
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
