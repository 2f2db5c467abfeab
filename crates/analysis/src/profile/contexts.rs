//! The contexts in which kernel code ran: in a system call of a sending or receiving program, or on
//! the time of other tasks, where no account of the program contains it.

use schemars::JsonSchema;
use serde::Serialize;

use super::classes::function_name;
use zc_run::{Profile, SampledTask};

/// Context of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Context {
    /// A sending or receiving thread in user mode.
    User,
    /// A sending or receiving thread in the kernel, in a system call or a fault.
    Syscall,
    /// A softirq that ran while a sending or receiving thread was current: at the end of its own
    /// system call, or of an interrupt that it took.
    SoftirqOwn,
    /// A softirq that ran while another thread was current, at the end of an interrupt that this
    /// thread took.
    SoftirqElsewhere,
    /// A softirq that was deferred to ksoftirqd.
    Ksoftirqd,
    /// An interrupt without its softirqs.
    Interrupt,
    /// A context switch from or to a thread that does not belong to the traffic.
    Switch,
    /// A kernel thread.
    KernelThread,
    /// Another process.
    Others,
}

impl Context {
    /// All contexts, in the order of docs/profile.md.
    pub const ALL: [Self; 9] = [
        Self::User,
        Self::Syscall,
        Self::SoftirqOwn,
        Self::SoftirqElsewhere,
        Self::Ksoftirqd,
        Self::Interrupt,
        Self::Switch,
        Self::KernelThread,
        Self::Others,
    ];

    /// Its printed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user mode",
            Self::Syscall => "system calls",
            Self::SoftirqOwn => "softirq on its own time",
            Self::SoftirqElsewhere => "softirq on somebody else's time",
            Self::Ksoftirqd => "ksoftirqd",
            Self::Interrupt => "hard interrupts",
            Self::Switch => "switches from and to others",
            Self::KernelThread => "kernel threads",
            Self::Others => "other processes",
        }
    }

    /// Its index in [`ALL`](Self::ALL).
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|context| *context == self).unwrap_or(0)
    }
}

/// Kinds of functions that occur in a stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StackMarks {
    softirq: bool,
    ksoftirqd: bool,
    interrupt: bool,
    switch: bool,
}

/// The marks of each frame and its callers: frame number n at index n - 1.
pub(super) fn marks_of_frames(profile: &Profile) -> Vec<StackMarks> {
    let of_symbols: Vec<StackMarks> =
        profile.symbols.iter().map(|name| through(function_name(name))).collect();
    let mut found: Vec<StackMarks> = Vec::with_capacity(profile.frames.len());
    for &(caller, symbol) in &profile.frames {
        let above = (caller as usize)
            .checked_sub(1)
            .and_then(|place| found.get(place))
            .copied()
            .unwrap_or_default();
        let own = of_symbols.get(symbol as usize).copied().unwrap_or_default();
        found.push(StackMarks {
            softirq: above.softirq || own.softirq,
            ksoftirqd: above.ksoftirqd || own.ksoftirqd,
            interrupt: above.interrupt || own.interrupt,
            switch: above.switch || own.switch,
        });
    }
    found
}

/// The marks of one function, by its name in the kernel's source.
fn through(name: &str) -> StackMarks {
    StackMarks {
        // kernel/softirq.c; __do_softirq until Linux 6.10.
        softirq: matches!(
            name,
            "handle_softirqs" | "__do_softirq" | "do_softirq" | "do_softirq_own_stack"
        ),
        ksoftirqd: name == "run_ksoftirqd",
        // arch/x86/kernel/irq.c and include/asm/idtentry.h, arch/arm64/kernel/entry-common.c.
        interrupt: name.starts_with("sysvec_")
            || name.starts_with("asm_sysvec_")
            || name.ends_with("common_interrupt")
            || matches!(name, "el1_interrupt" | "el0_interrupt" | "do_IRQ" | "handle_irq_event"),
        switch: matches!(
            name,
            "schedule" | "__schedule" | "preempt_schedule_irq" | "schedule_idle"
        ),
    }
}

/// The context of a sample, from the task that was current and the marks of its stack; `None` for
/// user mode.
pub(super) fn context(task: SampledTask, stack: Option<StackMarks>) -> Context {
    let own = is_of_path(task);
    let Some(through) = stack else { return if own { Context::User } else { Context::Others } };
    match task {
        _ if through.ksoftirqd || task == SampledTask::Ksoftirqd => Context::Ksoftirqd,
        _ if through.softirq && own => Context::SoftirqOwn,
        _ if through.softirq => Context::SoftirqElsewhere,
        _ if through.switch && !own => Context::Switch,
        _ if through.interrupt => Context::Interrupt,
        SampledTask::Sender | SampledTask::Receiver => Context::Syscall,
        SampledTask::Other => Context::Others,
        SampledTask::KernelThread => Context::KernelThread,
        SampledTask::Soaker
        | SampledTask::Idle
        | SampledTask::Instrument
        | SampledTask::Ksoftirqd => Context::Switch,
    }
}

/// Whether a task belongs to the traffic. getrusage(2) counts its CPU time, including softirqs and
/// interrupts while it was current, unless the kernel accounts interrupt time separately
/// (CONFIG_IRQ_TIME_ACCOUNTING).
pub(super) fn is_of_path(task: SampledTask) -> bool {
    matches!(task, SampledTask::Sender | SampledTask::Receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The context of a stack, its innermost function first.
    fn classify(task: SampledTask, stack: &[&str]) -> Context {
        let all =
            stack.iter().map(|name| through(name)).fold(StackMarks::default(), |a, b| StackMarks {
                softirq: a.softirq || b.softirq,
                ksoftirqd: a.ksoftirqd || b.ksoftirqd,
                interrupt: a.interrupt || b.interrupt,
                switch: a.switch || b.switch,
            });
        context(task, (!stack.is_empty()).then_some(all))
    }

    #[test]
    fn stack_and_current_task_determine_the_context() {
        use SampledTask::{Idle, Ksoftirqd, Other, Receiver, Sender, Soaker};
        let syscall =
            ["tcp_sendmsg", "__sys_sendto", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"];
        let at_its_end = [
            "net_rx_action",
            "handle_softirqs",
            "do_softirq",
            "__local_bh_enable_ip",
            "do_syscall_64",
        ];
        let by_irq = [
            "net_rx_action",
            "handle_softirqs",
            "__irq_exit_rcu",
            "sysvec_call_function_single",
            "asm_sysvec_x",
        ];
        let thread =
            ["net_rx_action", "handle_softirqs", "run_ksoftirqd", "smpboot_thread_fn", "kthread"];
        let preempted = [
            "finish_task_switch",
            "__schedule",
            "schedule",
            "irqentry_exit",
            "asm_sysvec_reschedule_ipi",
        ];
        assert_eq!(classify(Sender, &[]), Context::User);
        assert_eq!(classify(Sender, &syscall), Context::Syscall);
        assert_eq!(classify(Sender, &at_its_end), Context::SoftirqOwn);
        assert_eq!(classify(Receiver, &by_irq), Context::SoftirqOwn);
        assert_eq!(classify(Soaker, &by_irq), Context::SoftirqElsewhere);
        assert_eq!(classify(Other, &by_irq), Context::SoftirqElsewhere);
        assert_eq!(classify(Ksoftirqd, &thread), Context::Ksoftirqd);
        assert_eq!(
            classify(Idle, &thread),
            Context::Ksoftirqd,
            "in a PID namespace the name of ksoftirqd is not visible"
        );
        assert_eq!(classify(Soaker, &preempted), Context::Switch);
        assert_eq!(classify(Sender, &preempted), Context::Interrupt);
        assert_eq!(classify(Soaker, &["handle_edge_irq", "common_interrupt"]), Context::Interrupt);
        assert_eq!(classify(Other, &syscall), Context::Others);
        assert_eq!(classify(Other, &[]), Context::Others);
        assert_eq!(
            classify(SampledTask::KernelThread, &["process_one_work", "kthread"]),
            Context::KernelThread
        );
    }
}
