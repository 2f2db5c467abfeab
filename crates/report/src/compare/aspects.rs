//! Differences between two runs in words.

use zc_analysis::compare::{Aspect, Difference, End};
use zc_run::escape;

/// `kernel 6.12.1, now 6.13.0`, or `at the far end: kernel 6.12.1, now 6.13.0`.
pub(crate) fn text(difference: &Difference) -> String {
    match difference.end {
        End::Near => changed(difference),
        End::Far => format!("at the far end: {}", changed(difference)),
    }
}

fn changed(difference: &Difference) -> String {
    let name =
        difference.name.as_deref().map(|name| format!(" {}", escape(name, 60))).unwrap_or_default();
    let value = |value: &Option<String>| {
        value.as_deref().map_or_else(|| "nothing".to_owned(), |value| escape(value, 300))
    };
    let (old, new) = (value(&difference.old), value(&difference.new));
    if matches!(
        difference.what,
        Aspect::KernelCommandLine
            | Aspect::Sysctl
            | Aspect::Condition
            | Aspect::DeviceSetting
            | Aspect::Mitigation
            | Aspect::FarEnd
            | Aspect::Serve
            | Aspect::Load
    ) {
        return format!("{}{name} \"{old}\", now \"{new}\"", words(difference.what));
    }
    format!("{}{name} {old}, now {new}", words(difference.what))
}

fn words(what: Aspect) -> &'static str {
    match what {
        Aspect::Link => "link",
        Aspect::Soaker => "soaker",
        Aspect::Receiver => "the receiver's cost:",
        Aspect::KernelRelease => "kernel",
        Aspect::KernelBuild => "kernel build",
        Aspect::KernelCommandLine => "kernel command line",
        Aspect::Architecture => "architecture",
        Aspect::Host => "host",
        Aspect::Cpu => "CPU",
        Aspect::CpusOnline => "CPUs online:",
        Aspect::ThreadsPerCore => "threads per core:",
        Aspect::Governor => "frequency governor",
        Aspect::Boost => "boost",
        Aspect::LastLevelCache => "last-level cache",
        Aspect::NumaNodes => "NUMA nodes:",
        Aspect::Memory => "bytes of memory:",
        Aspect::Hypervisor => "hypervisor",
        Aspect::Tick => "tick (Hz)",
        Aspect::IrqTimeAccounting => "IRQ_TIME_ACCOUNTING",
        Aspect::Clocksource => "clock source",
        Aspect::Mitigation => "mitigation",
        Aspect::Sysctl => "sysctl",
        Aspect::Condition => "condition",
        Aspect::Privilege => "run by",
        Aspect::Memlock => "RLIMIT_MEMLOCK",
        Aspect::Device => "device",
        Aspect::DeviceSetting => "device's",
        Aspect::ReceiverMerges => "GRO at the receiver",
        Aspect::Rps => "RPS set by",
        Aspect::Ip => "IP version",
        Aspect::InitialWindow => "initial window (packets)",
        Aspect::FarEnd => "far end",
        Aspect::RoundTrip => "round trip",
        Aspect::Socket => "sockets'",
        Aspect::Burn => "burned in softirqs on purpose",
        Aspect::Factor(parameter) => parameter.words,
        Aspect::SenderCpu => "sender on CPU",
        Aspect::ReceiverCpu => "receiver on CPU",
        Aspect::Scheduling => "scheduling policy of flows:",
        Aspect::SoakedCpus => "soaked CPUs",
        Aspect::Timing => "timing:",
        Aspect::Files => "files:",
        Aspect::Filesystem => "file system",
        Aspect::ZcVersion => "zc",
        Aspect::RequestRate => "requests at",
        Aspect::ResponseLength => "bytes of a response:",
        Aspect::Serve => "server started by",
        Aspect::Load => "asked",
        Aspect::Connections => "connections to the server:",
        Aspect::Keepalive => "keep-alive",
    }
}
