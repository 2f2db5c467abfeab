//! Classification of kernel functions: which part of sending bytes a function belongs to, by its
//! name.
//!
//! A sample has the class of its innermost function, as in Cai et al., "Understanding Host Network
//! Stack Overheads" (SIGCOMM 2021). A function with many kinds of callers (memcpy, a tree, a thunk)
//! has no class of its own and takes that of the innermost caller that has one. The table of
//! functions is `classes.tsv`.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::class::Class;
use zc_run::{Profile, SampledEvent};

/// The table, parsed once.
struct Table {
    whole: HashMap<&'static str, Found>,
    prefixes: HashMap<&'static str, Found>,
}

/// One line of the table.
#[derive(Debug)]
struct Line {
    pattern: &'static str,
    found: Found,
}

/// The lines of `classes.tsv`, comments and empty lines left out; `None` for one that does not
/// parse.
fn lines() -> impl Iterator<Item = Option<Line>> {
    let lines = include_str!("classes.tsv").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let mut fields = line.split('\t');
        let (pattern, class, source) = (fields.next()?, fields.next()?, fields.next()?);
        let found =
            if class == "caller" { Found::Caller } else { Found::Class(Class::from_key(class)?) };
        let name = pattern.strip_suffix('*').unwrap_or(pattern);
        let complete = !name.is_empty()
            && !name.contains('*')
            && !source.is_empty()
            && fields.next().is_none();
        complete.then_some(Line { pattern, found })
    })
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table { whole: HashMap::new(), prefixes: HashMap::new() };
        for Line { pattern, found } in lines().flatten() {
            match pattern.strip_suffix('*') {
                Some(prefix) => table.prefixes.insert(prefix, found),
                None => table.whole.insert(pattern, found),
            };
        }
        table
    })
}

/// Functions that enable interrupts. A timer that expires while interrupts are off fires there, not
/// where the time was spent. Samples by [`SampledEvent::CpuClock`] in them belong to the caller
/// that had disabled interrupts.
const ENABLES_INTERRUPTS: &[&str] = &[
    "_raw_spin_unlock_irqrestore",
    "_raw_spin_unlock_irq",
    "_raw_read_unlock_irqrestore",
    "_raw_read_unlock_irq",
    "_raw_write_unlock_irqrestore",
    "_raw_write_unlock_irq",
    "__raw_spin_unlock_irqrestore",
    "__raw_spin_unlock_irq",
];

/// Instructions that exit from a virtual machine to its hypervisor, wrapped into functions: writes
/// to a register of the interrupt controller that send an interrupt to another CPU or set the
/// timer. On a physical machine they belong to their callers.
const EXITS_TO_THE_HYPERVISOR: &[&str] =
    &["native_write_msr", "native_write_msr_safe", "native_read_msr"];

/// The class of each frame of a profile as the innermost one of its stack: frame number n at index
/// n - 1. `virtual_machine`: whether there is a hypervisor.
pub(super) fn classes_of_frames(profile: &Profile, virtual_machine: bool) -> Vec<Class> {
    let lands = |name: &str| {
        profile.sampling.event == SampledEvent::CpuClock
            && ENABLES_INTERRUPTS.contains(&function_name(name))
    };
    let found = |name: &str| {
        let leaves = virtual_machine && EXITS_TO_THE_HYPERVISOR.contains(&name);
        if leaves { Found::Class(Class::Virtualisation) } else { look_up(name) }
    };
    let of_symbols: Vec<(Found, bool)> =
        profile.symbols.iter().map(|name| (found(function_name(name)), lands(name))).collect();
    // Classes of a frame as a caller, and as the innermost one. A caller precedes the frames that
    // it calls.
    let mut found: Vec<(Class, Class)> = Vec::with_capacity(profile.frames.len());
    for &(caller, symbol) in &profile.frames {
        let above = (caller as usize)
            .checked_sub(1)
            .and_then(|place| found.get(place))
            .map_or(Class::Unknown, |one| one.0);
        let (what, lands) =
            of_symbols.get(symbol as usize).copied().unwrap_or((Found::Nothing, false));
        let class = match what {
            Found::Class(class) => class,
            Found::Caller => above,
            Found::Nothing => Class::Unknown,
        };
        found.push((class, if lands { above } else { class }));
    }
    found.into_iter().map(|(_, innermost)| innermost).collect()
}

/// Entry of the table for a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Found {
    Class(Class),
    /// It takes the class of its caller.
    Caller,
    Nothing,
}

/// A function's name without suffixes of the compiler, and without the name of its module.
pub fn function_name(name: &str) -> &str {
    let name = name.split(' ').next().unwrap_or(name);
    let name = name.strip_prefix("__pfx_").unwrap_or(name);
    let name = match name.find('.') {
        Some(0) | None => name,
        Some(place) => &name[..place],
    };
    name.strip_suffix("_noprof").unwrap_or(name)
}

fn look_up(name: &str) -> Found {
    let table = table();
    let prefix = |length: usize| table.prefixes.get(name.get(..length)?);
    let found = table.whole.get(name).or_else(|| (0..=name.len()).rev().find_map(prefix));
    found.copied().unwrap_or(Found::Nothing)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use zc_run::Sampling;

    /// The class of a stack, its innermost function first.
    fn sampled(stack: &[&str], event: SampledEvent) -> Class {
        sampled_on(stack, event, true)
    }

    fn sampled_on(stack: &[&str], event: SampledEvent, virtual_machine: bool) -> Class {
        let frames = (0..stack.len() as u32).map(|frame| (frame, frame)).collect();
        let symbols = stack.iter().rev().map(ToString::to_string).collect();
        let sampling = Sampling {
            event,
            no_cycles: None,
            frequency_hz: 1,
            cpus: Vec::new(),
            kernel_functions: 0,
        };
        let profile = Profile { sampling, symbols, frames, blocks: Vec::new() };
        classes_of_frames(&profile, virtual_machine).last().copied().unwrap_or(Class::Unknown)
    }

    fn class(stack: &[&str]) -> Class {
        sampled(stack, SampledEvent::Cycles)
    }

    #[test]
    fn the_innermost_function_decides() {
        assert_eq!(class(&["_copy_from_iter", "tcp_sendmsg_locked", "do_syscall_64"]), Class::Copy);
        assert_eq!(class(&["tcp_sendmsg_locked", "do_syscall_64"]), Class::Tcp);
        assert_eq!(class(&["skb_release_data.isra.0"]), Class::Skb);
        assert_eq!(class(&["tcp_v4_rcv.cold"]), Class::Tcp);
        assert_eq!(class(&["nf_hook_slow [nf_conntrack]"]), Class::Tcp);
        assert_eq!(class(&["alloc_pages_noprof"]), Class::Memory);
        assert_eq!(class(&["no_such_function", "tcp_sendmsg"]), Class::Unknown);
        assert_eq!(class(&[]), Class::Unknown);
    }

    #[test]
    fn a_function_with_many_kinds_of_callers_has_the_class_of_its_caller() {
        assert_eq!(class(&["rep_movs_alternative", "_copy_to_iter", "tcp_recvmsg"]), Class::Copy);
        assert_eq!(
            class(&["rep_movs_alternative", "_copy_from_user", "do_epoll_wait"]),
            Class::Sched
        );
        assert_eq!(class(&["memcpy", "skb_copy_bits"]), Class::Copy);
        assert_eq!(class(&["memcpy", "__ip_queue_xmit"]), Class::Tcp);
        assert_eq!(class(&["rb_erase", "tcp_clean_rtx_queue"]), Class::Tcp);
        assert_eq!(class(&["rb_erase", "timerqueue_del"]), Class::Timers);
        assert_eq!(class(&["xas_load", "filemap_get_read_batch"]), Class::PageCache);
        assert_eq!(class(&["bpf_prog_0123_zc", "cls_bpf_classify"]), Class::Netdev);
        assert_eq!(class(&["memcpy"]), Class::Unknown);
    }

    #[test]
    fn the_longer_name_wins() {
        assert_eq!(class(&["tcp_zerocopy_receive"]), Class::ZeroCopy);
        assert_eq!(class(&["tcp_stream_alloc_skb"]), Class::Skb);
        assert_eq!(class(&["skb_copy_ubufs"]), Class::Copy);
        assert_eq!(class(&["skb_checksum_help"]), Class::Checksum);
        assert_eq!(class(&["io_send"]), Class::Tcp);
        assert_eq!(class(&["io_send_zc"]), Class::ZeroCopy);
        assert_eq!(class(&["io_submit_sqes"]), Class::Syscall);
        assert_eq!(class(&["tick_nohz_idle_exit"]), Class::Idle);
        assert_eq!(class(&["__x64_sys_futex"]), Class::Sched);
        assert_eq!(class(&["asm_exc_page_fault"]), Class::Memory);
    }

    #[test]
    fn timer_samples_of_enabling_interrupts_belong_to_the_caller() {
        let stack = ["_raw_spin_unlock_irqrestore", "try_to_wake_up", "tcp_data_queue"];
        assert_eq!(sampled(&stack, SampledEvent::CpuClock), Class::Sched);
        assert_eq!(sampled(&stack, SampledEvent::Cycles), Class::Locks);
        assert_eq!(
            sampled(&["_raw_spin_lock", "tcp_v4_rcv"], SampledEvent::CpuClock),
            Class::Locks
        );
    }

    #[test]
    fn exits_to_a_hypervisor_belong_to_the_caller_on_a_physical_machine() {
        let stack = ["native_write_msr", "x2apic_send_IPI", "__smp_call_single_queue"];
        assert_eq!(sampled_on(&stack, SampledEvent::CpuClock, true), Class::Virtualisation);
        assert_eq!(sampled_on(&stack, SampledEvent::CpuClock, false), Class::Irq);
    }

    #[test]
    fn every_line_of_the_table_parses() {
        let text = include_str!("classes.tsv");
        let numbered =
            text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        for ((number, text), line) in std::iter::zip(numbered, lines()) {
            assert!(line.is_some(), "line {}: {text}", number + 1);
        }
    }

    #[test]
    fn every_pattern_gives_its_class() {
        for line in lines().flatten() {
            // No function has a ~ in its name, so only prefixes match.
            let name = line.pattern.replace('*', "~");
            assert_eq!(look_up(&name), line.found, "{}", line.pattern);
        }
    }

    #[test]
    fn no_pattern_occurs_twice() {
        let mut seen = HashSet::new();
        for line in lines().flatten() {
            assert!(seen.insert(line.pattern), "{} occurs twice", line.pattern);
        }
        assert!(seen.len() > 1000, "{}", seen.len());
    }

    #[test]
    fn every_class_of_kernel_code_has_patterns() {
        let used: HashSet<Found> = lines().flatten().map(|line| line.found).collect();
        let user_mode = [Class::Program, Class::Others, Class::Unknown];
        let without: Vec<Class> =
            Class::ALL.into_iter().filter(|class| !used.contains(&Found::Class(*class))).collect();
        assert_eq!(without, user_mode);
    }
}
