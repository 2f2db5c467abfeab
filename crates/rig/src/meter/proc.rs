//! Parsers of /proc, as far as meters need it: pure functions from a text to numbers, for a given
//! set of CPUs. The formats: proc_stat(5), proc_softirqs(5), proc_interrupts(5),
//! proc_pid_status(5).

use zc_run::{CpuTicks, SoftirqCounts};

/// /proc/stat: the ticks of `cpus`, and the machine's context switches and interrupts. `None` when
/// one of the CPUs has no line (it went offline) or the text is not that of /proc/stat.
pub(super) fn stat(text: &str, cpus: &[usize]) -> Option<(Vec<CpuTicks>, u64, u64)> {
    let mut ticks = vec![None; cpus.len()];
    let (mut switches, mut interrupts) = (None, None);
    for line in text.lines() {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "ctxt" => switches = number(rest),
            // The first number is the sum; thousands of sources may follow.
            "intr" => interrupts = number(rest),
            _ => {
                let Some(cpu) = name.strip_prefix("cpu").and_then(number_of) else { continue };
                let Some(place) = cpus.iter().position(|&each| each as u64 == cpu) else {
                    continue;
                };
                ticks[place] = cpu_ticks(rest);
            }
        }
    }
    Some((ticks.into_iter().collect::<Option<_>>()?, switches?, interrupts?))
}

/// Old kernels have fewer columns; the missing ones were not counted anywhere.
fn cpu_ticks(columns: &str) -> Option<CpuTicks> {
    let mut columns = columns.split_ascii_whitespace().map(number_of);
    let mut needed = || columns.next().flatten();
    let (user, nice, system, idle) = (needed()?, needed()?, needed()?, needed()?);
    let mut later = || needed().unwrap_or(0);
    Some(CpuTicks {
        user,
        nice,
        system,
        idle,
        iowait: later(),
        irq: later(),
        softirq: later(),
        steal: later(),
    })
}

/// /proc/softirqs for `cpus`. It has a column for every possible CPU, and an offline one keeps its
/// counts. `None` when a CPU has no column or the text is not that of /proc/softirqs.
pub(super) fn softirqs(text: &str, cpus: &[usize]) -> Option<SoftirqCounts> {
    let mut lines = text.lines();
    let columns = columns_of(lines.next()?, cpus)?;
    let rows = lines.filter_map(|line| {
        let (name, counts) = line.split_once(':')?;
        let mut per_cpu = vec![0; cpus.len()];
        add_row(counts, &columns, &mut per_cpu);
        Some((name.trim().to_owned(), per_cpu))
    });
    Some(rows.collect())
}

/// /proc/interrupts for `cpus`: the sum of all rows, the timer's included. It has columns for
/// online CPUs only. `None` when a CPU has no column or the text is not that of /proc/interrupts.
pub(super) fn interrupts(text: &str, cpus: &[usize]) -> Option<Vec<u64>> {
    let mut lines = text.lines();
    let columns = columns_of(lines.next()?, cpus)?;
    let mut per_cpu = vec![0; cpus.len()];
    for (name, counts) in lines.filter_map(|line| line.split_once(':')) {
        // These two count errors of the machine in a single number, not interrupts of a CPU.
        if !matches!(name.trim(), "ERR" | "MIS") {
            add_row(counts, &columns, &mut per_cpu);
        }
    }
    Some(per_cpu)
}

/// The column of the header for each of `cpus`.
fn columns_of(header: &str, cpus: &[usize]) -> Option<Vec<usize>> {
    let header: Vec<Option<u64>> = header
        .split_ascii_whitespace()
        .map(|name| name.strip_prefix("CPU").and_then(number_of))
        .collect();
    cpus.iter().map(|&cpu| header.iter().position(|&each| each == Some(cpu as u64))).collect()
}

/// Adds a row's counts to those of the CPUs. A row may be shorter than the header, and text may
/// follow its numbers.
fn add_row(counts: &str, columns: &[usize], per_cpu: &mut [u64]) {
    for (column, count) in counts.split_ascii_whitespace().map_while(number_of).enumerate() {
        for (place, _) in columns.iter().enumerate().filter(|&(_, &wanted)| wanted == column) {
            per_cpu[place] += count;
        }
    }
}

/// Voluntary and involuntary context switches of /proc/PID/task/TID/status.
pub(super) fn switches(status: &str) -> Option<(u64, u64)> {
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).and_then(number);
    Some((field("voluntary_ctxt_switches:")?, field("nonvoluntary_ctxt_switches:")?))
}

/// The first number of a text.
fn number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next().and_then(number_of)
}

fn number_of(word: &str) -> Option<u64> {
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  30045 0 8892 232549 921 0 56 21 0 0
cpu0 14645 1 2746 118529 273 2 19 8 3 4
cpu2 15400 0 6145 114019 648 0 37 13 0 0
cpu10 1 2 3 4
intr 287130 0 0 0 14 0
ctxt 383264
btime 1795292656
softirq 172285 0 26877
a line without sense
";

    #[test]
    fn stat_gives_the_cpus_asked_for_in_the_order_asked_for() {
        let (ticks, switches, interrupts) = stat(STAT, &[2, 0]).unwrap();
        assert_eq!((switches, interrupts), (383_264, 287_130));
        assert_eq!(ticks[0].user, 15_400);
        let first = CpuTicks {
            user: 14_645,
            nice: 1,
            system: 2746,
            idle: 118_529,
            iowait: 273,
            irq: 2,
            softirq: 19,
            steal: 8,
        };
        assert_eq!(ticks[1], first);
        assert_eq!(
            stat(STAT, &[10]).unwrap().0[0],
            CpuTicks { user: 1, nice: 2, system: 3, idle: 4, ..CpuTicks::default() }
        );
    }

    #[test]
    fn a_cpu_that_went_offline_is_not_taken_for_an_idle_one() {
        assert_eq!(stat(STAT, &[0, 1]), None);
        assert_eq!(interrupts("     CPU0 CPU2\n", &[1]), None);
        assert_eq!(softirqs("     CPU0 CPU2\n", &[1]), None);
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in
            ["", "\n", "rubbish", "cpu0 1 2\nctxt 1\nintr 1", "cpu0 1 2 3 4\nctxt x\nintr 1"]
        {
            assert_eq!(stat(text, &[0]), None, "{text:?}");
            assert_eq!(interrupts(text, &[0]), None, "{text:?}");
            assert_eq!(softirqs(text, &[0]), None, "{text:?}");
            assert_eq!(switches(text), None, "{text:?}");
        }
    }

    #[test]
    fn softirqs_come_by_kind() {
        let text = "\
                    CPU0       CPU1       CPU2
          HI:          0          0          7
      NET_RX:        761       1257          5
";
        let counts = softirqs(text, &[2, 0]).unwrap();
        assert_eq!(counts.kinds().len(), 2);
        assert_eq!(counts["NET_RX"], [5, 761]);
        assert_eq!(counts["HI"], [7, 0]);
    }

    #[test]
    fn interrupts_are_added_up_over_all_sources() {
        let text = "\
           CPU0       CPU3
 24:          1          2  IO-APIC   5-edge      ACPI:Ged
 99:          0         30 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config
LOC:        500        600   Local timer interrupts
ERR:          9
MIS:          0
";
        assert_eq!(interrupts(text, &[3]).unwrap(), [632]);
        assert_eq!(interrupts(text, &[0, 3, 0]).unwrap(), [501, 632, 501]);
        assert_eq!(interrupts(text, &[]).unwrap(), Vec::<u64>::new());
    }

    #[test]
    fn four_thousand_cpus_are_parsed() {
        let header: String = (0..4096).map(|cpu| format!(" CPU{cpu}")).collect();
        let row: String = (0..4096).map(|cpu| format!(" {cpu}")).collect();
        assert_eq!(
            interrupts(&format!("{header}\n 1:{row} some device\n"), &[4095, 17]).unwrap(),
            [4095, 17]
        );
    }

    #[test]
    fn switches_are_found_in_a_status() {
        let text = "Name:\tcat\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t44\n";
        assert_eq!(switches(text), Some((3, 44)));
        assert_eq!(switches("voluntary_ctxt_switches:\t3\n"), None);
    }
}
