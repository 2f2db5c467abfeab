//! What a guest's kernel has said on its console: why it ended, and its last lines.

use zc_run::escape;

use crate::job::SAYS;

/// How the kernel says that it panics (kernel/panic.c).
const PANIC: &str = "Kernel panic - not syncing: ";

/// Longest line that is shown.
const LONGEST: usize = 200;

/// The last lines, without colours and what else terminals interpret.
pub(crate) fn last_lines(log: &str, most: usize) -> Vec<String> {
    let lines: Vec<&str> = log.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].iter().map(|line| escape(line, LONGEST)).collect()
}

/// What the first process of the guest said that it cannot do.
pub(crate) fn said(log: &str) -> Option<String> {
    let line = log.lines().rev().find_map(|line| line.split_once(SAYS))?;
    Some(escape(line.1.trim(), 1000))
}

/// Why the kernel panicked.
pub(crate) fn panic(log: &str) -> Option<String> {
    let line = log.lines().find_map(|line| line.split_once(PANIC))?;
    Some(escape(line.1.trim(), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\u{1b}[2J[    0.1] Linux\r\n\r\n[    1.2] Kernel panic - not syncing: VFS: no root\r\n[    1.3] CPU: 0\r\n";

    #[test]
    fn a_panic_and_the_last_lines_are_found() {
        assert_eq!(panic(LOG).as_deref(), Some("VFS: no root"));
        assert_eq!(last_lines(LOG, 2).len(), 2);
        assert!(last_lines(LOG, 9)[0].chars().all(|c| !c.is_control()));
        assert_eq!(panic("[ 1] a line"), None);
        assert!(last_lines("", 3).is_empty());
    }

    #[test]
    fn the_first_process_says_what_is_missing() {
        let log = format!("[ 1.0] x\r\n{SAYS}it lacks 9p\r\n[ 1.1] reboot: Power down\r\n");
        assert_eq!(said(&log).as_deref(), Some("it lacks 9p"));
        assert_eq!(said(LOG), None);
    }
}
