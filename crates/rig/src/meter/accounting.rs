//! CPU time accounting of this kernel: what its task clocks contain, and how fine they are.
//!
//! Task clocks run by the clock of their CPU's run queue, from which the kernel may take interrupts
//! and steal (`update_rq_clock_task` in kernel/sched/core.c).

use super::conditions::is_built_in;
use zc_kernel::clock;
use zc_run::Host;

/// Steps of a thread clock that are looked at.
const STEPS: usize = 9;
/// Time for which steps are looked for: no kernel has ticks of more than 10 ms.
const LOOK_NS: u64 = 40_000_000;

/// Fills in how a kernel of this configuration accounts CPU time. `host` has what /proc/stat shows
/// of it.
pub(super) fn fill(host: &mut Host, config: Option<&str>) {
    fill_from(host, config);
    host.thread_clock_step_ns = clock_step_ns(clock::own_cpu_ns, clock::monotonic_ns);
}

fn fill_from(host: &mut Host, config: Option<&str>) {
    let Some(config) = config else { return };
    let has = |option: &str| is_built_in(config, option);
    host.paravirt_time_accounting = Some(has("CONFIG_PARAVIRT_TIME_ACCOUNTING"));
    host.virt_cpu_accounting = Some(has("CONFIG_VIRT_CPU_ACCOUNTING_GEN"));
    // What a machine that started a moment ago has not shown yet. Where it is built in, the kernel
    // leaves it off if it cannot trust the clock of its CPUs.
    if host.irq_time_accounting.is_none() {
        host.irq_time_accounting = match has("CONFIG_IRQ_TIME_ACCOUNTING") {
            false => Some(false),
            true => is_left_on(host).then_some(true),
        };
    }
}

/// Whether interrupt time accounting that is built in is surely in use. On x86 it depends on the
/// TSC (`tsc_init` and `mark_tsc_unstable` in arch/x86/kernel/tsc.c); on other machines the CPUs'
/// clock cannot be distrusted.
fn is_left_on(host: &Host) -> bool {
    let command_line = host.kernel_command_line.as_deref().unwrap_or_default();
    let is_refused = command_line.split_whitespace().any(|word| word == "tsc=noirqtime");
    let has_tsc = !host.machine.starts_with("x86") || host.clocksource.as_deref() == Some("tsc");
    has_tsc && !is_refused
}

/// The median step of a clock that is read over and over; the time that was looked for steps, if
/// there were too few. `None` without any time.
fn clock_step_ns(clock_ns: impl Fn() -> u64, now_ns: impl Fn() -> u64) -> Option<u64> {
    let began_ns = now_ns();
    let (mut steps, mut last_ns) = (Vec::new(), clock_ns());
    loop {
        let ns = clock_ns();
        if ns > last_ns {
            steps.push(ns - last_ns);
            last_ns = ns;
        }
        if steps.len() == STEPS {
            steps.sort_unstable();
            return Some(steps[STEPS / 2]);
        }
        let looked_ns = now_ns().saturating_sub(began_ns);
        if looked_ns >= LOOK_NS {
            return Some(looked_ns / (steps.len() as u64 + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const ALL_ON: &str = "CONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y\n\
                          CONFIG_VIRT_CPU_ACCOUNTING_GEN=y\n";

    fn with_config(mut host: Host, config: Option<&str>) -> Host {
        fill_from(&mut host, config);
        host
    }

    #[test]
    fn the_switches_are_those_of_the_configuration() {
        assert_eq!(with_config(Host::default(), None), Host::default());
        let off = with_config(Host::default(), Some("# CONFIG_IRQ_TIME_ACCOUNTING is not set\n"));
        let switches = |host: &Host| {
            (host.irq_time_accounting, host.paravirt_time_accounting, host.virt_cpu_accounting)
        };
        assert_eq!(switches(&off), (Some(false), Some(false), Some(false)));
        let arm = Host { machine: "aarch64".to_owned(), ..Host::default() };
        assert_eq!(switches(&with_config(arm, Some(ALL_ON))), (Some(true), Some(true), Some(true)));
    }

    #[test]
    fn what_the_kernel_has_shown_of_interrupt_time_counts_more() {
        let shown = Host { irq_time_accounting: Some(false), ..Host::default() };
        assert_eq!(with_config(shown, Some(ALL_ON)).irq_time_accounting, Some(false));
    }

    #[test]
    fn on_x86_interrupt_time_needs_a_tsc_that_the_kernel_trusts() {
        let with = |clocksource: &str, command_line: &str| {
            let host = Host {
                machine: "x86_64".to_owned(),
                clocksource: Some(clocksource.to_owned()),
                kernel_command_line: Some(command_line.to_owned()),
                ..Host::default()
            };
            with_config(host, Some(ALL_ON)).irq_time_accounting
        };
        assert_eq!(with("tsc", "quiet"), Some(true));
        assert_eq!(with("tsc", "quiet tsc=noirqtime"), None);
        assert_eq!(with("hpet", "tsc=unstable"), None);
    }

    /// A clock that advances by `step_ns`, and one that is as fine as 100 ns.
    fn step_of(step_ns: u64) -> Option<u64> {
        let now_ns = Cell::new(5_000);
        let read = |step_ns: u64| {
            now_ns.set(now_ns.get() + 100);
            now_ns.get() / step_ns * step_ns
        };
        clock_step_ns(|| read(step_ns), || read(1))
    }

    #[test]
    fn a_clock_of_ticks_is_told_from_a_fine_one() {
        assert_eq!(step_of(1), Some(200), "two clocks are read in turns");
        assert_eq!(step_of(4_000_000), Some(4_000_000));
        assert!(step_of(10_000_000).is_some_and(|ns| ns > 4_000_000));
        let own = clock_step_ns(clock::own_cpu_ns, clock::monotonic_ns);
        assert!(own.is_some_and(|ns| ns > 0));
    }
}
