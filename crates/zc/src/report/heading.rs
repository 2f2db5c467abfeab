//! What stands above the table: file set, rate, link, machines, and how the run ended.

use super::digits::{bytes, percent, rate, seconds, significant, size};
use super::escape;
use super::notes::{Note, note, shown};
use super::words::list;
use crate::estimate::Estimates;
use crate::record::{EndReason, FarKind, Host, IpVersion, RemoteFacts, Run};

/// File set, rate, link, machine: what stands above the table.
pub(super) fn above(run: &Run, estimates: &Estimates) -> Vec<Note> {
    let header = &run.header;
    let (plan, host) = (&header.plan, &header.host);
    let fixed = &plan.fixed;

    let files = &plan.files;
    let average = if files.files == 0 { 0.0 } else { files.total_bytes as f64 / files.files as f64 };
    let mut file_set = format!(
        "{} {} file{}, {} on average, {} together, on {}",
        files.files,
        shown(&files.origin),
        if files.files == 1 { "" } else { "s" },
        bytes(average),
        bytes(files.total_bytes as f64),
        shown(&files.filesystem)
    );
    if !files.skipped.is_empty() {
        file_set.push_str(&format!("; {} left out", files.skipped.len()));
    }

    let chosen = if fixed.rate_chosen { " (chosen so that every path can hold it)" } else { "" };
    let received = if estimates.sender_alone {
        String::new()
    } else {
        format!(", received by {} of {}", receivers(run), size(fixed.recv_buffer_bytes))
    };
    let rate = format!(
        "{}{chosen}, {} flow{}, buffers of {}{received}",
        rate(fixed.rate_bytes_per_s),
        fixed.flows,
        if fixed.flows == 1 { "" } else { "s" },
        size(fixed.buffer_bytes)
    );

    let ip = if header.link.ip == IpVersion::V6 { ", IPv6" } else { "" };
    let mut link = format!("{}{ip}, MTU {}, {}", fixed.link, header.link.mtu_bytes, shown(&fixed.congestion));
    for switch in &header.link.switched_off {
        link.push_str(&format!(", {switch}"));
    }
    for passed_over in &header.link.passed_over {
        link.push_str("; not ");
        link.push_str(&escape(passed_over, 300));
    }

    if let Some(remote) = &header.remote {
        link.push_str(&format!(", {}", far_end(remote)));
    }

    let receiver_here = !estimates.sender_alone && header.remote.is_none();
    let receiver = if receiver_here { format!(", receiver on CPU {}", fixed.receiver_cpu) } else { String::new() };
    let machine = format!("{}; sender on CPU {}{receiver}", machine(host), fixed.sender_cpu);

    let ended = match run.end.as_ref() {
        None => "no end was saved: the run was killed, or is still going on".to_owned(),
        Some(end) => match &end.reason {
            EndReason::TargetReached => {
                format!("every interval within ±{} after {}", percent(plan.target), seconds(end.elapsed_ns))
            }
            EndReason::BudgetSpent => format!("the budget of {} was spent", seconds(plan.budget_ns)),
            EndReason::Interrupted => format!("interrupted after {}", seconds(end.elapsed_ns)),
            EndReason::Failed { reason } => {
                format!("ended before its time, after {}: {}", seconds(end.elapsed_ns), escape(reason, 400))
            }
        },
    };
    let run_line = format!(
        "zc {}, {}, seed {}, {} soakers; {ended}",
        shown(&header.zc_version),
        to_the_second(&shown(&header.started_at)),
        plan.seed,
        fixed.soaker
    );
    let level = estimates.confidence * 100.0;
    let mut notes = vec![note("files", file_set), note("rate", rate), note("link", link), note("machine", machine)];
    notes.extend(far_machine(run));
    notes.extend([
        note("run", run_line),
        note(
            "figures",
            format!(
                "us of CPU time per MB, medians over blocks, ± half-width of the {level:.0} % interval; ratios refer to {}; \
                 getrusage and /proc/stat: what they say of {}",
                shown(&estimates.reference),
                if estimates.sender_alone { "the sender" } else { "both" }
            ),
        ),
    ]);
    notes
}

/// Name, kernel and CPUs of a machine.
fn machine(host: &Host) -> String {
    format!(
        "{}, Linux {} {}, {}, {} of {} CPUs{}",
        shown(&host.hostname),
        shown(&host.kernel_release),
        shown(&host.machine),
        shown(&host.cpu.model),
        host.cpu.allowed.len(),
        host.cpu.online,
        host.hypervisor.as_deref().map_or_else(String::new, |name| format!(", {}", shown(name)))
    )
}

/// `zc 0.1.0 at 192.0.2.2:2224, round trip 0.05 ms`.
fn far_end(remote: &RemoteFacts) -> String {
    let what = match (remote.kind, &remote.machine) {
        (_, Some(machine)) => format!("zc {}", shown(&machine.zc_version)),
        (FarKind::Iperf3, None) => "an iperf3 server".to_owned(),
        (FarKind::Zc | FarKind::Discard, None) => "a sink".to_owned(),
    };
    format!("{what} at {}, round trip {} ms", shown(&remote.address), significant(remote.rtt_ns as f64 / 1e6))
}

/// The machine that receives, where a zc measures there.
fn far_machine(run: &Run) -> Option<Note> {
    let far = run.header.remote.as_ref()?.machine.as_ref()?;
    let what = if far.same_machine { "the same machine".to_owned() } else { machine(&far.host) };
    Some(note("far machine", format!("{what}; receiver on CPU {}", far.receiver_cpu)))
}

/// A time of RFC 3339 without its fraction of a second.
fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, rest)) => format!("{whole}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => time.to_owned(),
    }
}

/// The receive paths of the plan, each once.
fn receivers(run: &Run) -> String {
    let mut names: Vec<String> = Vec::new();
    for cell in &run.header.plan.cells {
        let name = cell.recv.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    list(&names)
}
