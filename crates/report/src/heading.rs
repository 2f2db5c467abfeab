//! What stands above the table: file set, rate, link, machines, and how the run ended.

use super::digits::{bytes, percent, rate, seconds, significant, size};
use super::escape;
use super::notes::{Note, note, shown};
use super::pivot::level;
use super::prose::list;
use zc_analysis::Estimates;
use zc_run::{EndReason, Factor, FixedParams, Host, IpVersion, PeerKind, RemoteFacts, Run};

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

    let several = several_rates(run);
    let chosen = match (fixed.rate_chosen, several) {
        (true, true) => " (chosen so that all cells that are compared with one another can hold it)",
        (true, false) => " (chosen so that every path can hold it)",
        (false, _) => "",
    };
    let received = if estimates.sender_alone {
        String::new()
    } else {
        format!(", received by {} of {}", receivers(run), spread(run, |at| size(at.recv_buffer_bytes)))
    };
    let flows = spread(run, |at| at.flows.to_string());
    let rate = format!(
        "{}{chosen}, {flows} flow{}, buffers of {}{received}",
        rates(run),
        if flows == "1" { "" } else { "s" },
        spread(run, |at| size(at.buffer_bytes))
    );

    let ip = if header.link.ip == IpVersion::V6 { ", IPv6" } else { "" };
    let mtu = distinct(run.header.plan.cells.iter().map(|cell| level(header, cell, Factor::Mtu).to_string()));
    let mtu = if mtu.is_empty() { header.link.mtu_bytes.to_string() } else { in_short(&mtu) };
    let mut link = format!("{}{ip}, MTU {mtu}, {}", fixed.link, spread(run, |at| shown(&at.congestion)));
    if plan.factors.contains(&Factor::Offloads) {
        let levels = header.plan.cells.iter().map(|cell| level(header, cell, Factor::Offloads).to_string());
        link.push_str(&format!(", offloads {}", in_short(&distinct(levels))));
    } else {
        for switch in &header.link.switched_off {
            link.push_str(&format!(", {switch}"));
        }
    }
    link.push_str(&noted(run));
    for passed_over in &header.link.passed_over {
        link.push_str("; not ");
        link.push_str(&escape(passed_over, 300));
    }

    if let Some(remote) = &header.remote {
        link.push_str(&format!(", {}", far_end(remote)));
    }

    let receiver_here = !estimates.sender_alone && header.remote.is_none();
    let placed = if plan.factors.contains(&Factor::Placement) { " where they have one each" } else { "" };
    let receiver =
        if receiver_here { format!(", receiver on CPU {}{placed}", fixed.receiver_cpu) } else { String::new() };
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
    notes.extend(factors(run));
    notes.extend(states(run));
    notes.extend([
        note("run", run_line),
        note(
            "figures",
            format!(
                "us of CPU time per MB, medians over blocks, ± half-width of the {level:.0} % interval; {}",
                if plan.factors.len() > 1 {
                    "- where there is nothing to say".to_owned()
                } else {
                    format!(
                        "ratios refer to {}; getrusage and /proc/stat: what they say of {}",
                        shown(&estimates.reference),
                        if estimates.sender_alone { "the sender" } else { "both" }
                    )
                }
            ),
        ),
    ]);
    notes
}

/// Factors that the heading names where they are not as by default: `, TCP_NOTSENT_LOWAT 16k`.
fn noted(run: &Run) -> String {
    let header = &run.header;
    let each = Factor::ALL.iter().filter_map(|factor| {
        let words = factor.definition().heading()?;
        let levels = distinct(header.plan.cells.iter().map(|cell| level(header, cell, *factor).to_string()));
        let default = factor.definition().default().to_string();
        levels.iter().any(|level| *level != default).then(|| format!(", {words} {}", shown(&in_short(&levels))))
    });
    each.collect()
}

/// What the cells of a plan of several factors differ in: `9 levels of message x 6 of send`.
fn factors(run: &Run) -> Option<Note> {
    let header = &run.header;
    let factors = &header.plan.factors;
    let cells = || header.plan.cells.iter().filter(|cell| !cell.control);
    let each = factors.iter().map(|factor| {
        let levels = distinct(cells().map(|cell| shown(&level(header, cell, *factor).to_string())));
        format!("{} of {factor}", levels.len())
    });
    let each = each.collect::<Vec<_>>().join(" x ");
    (factors.len() > 1).then(|| note("cells", format!("{}: levels: {each}", cells().count())))
}

/// What put the host into its two states.
fn states(run: &Run) -> Option<Note> {
    let states = run.header.plan.states.as_ref()?;
    let restored = match &states.restore {
        Some(command) => format!("put back by \"{}\"", escape(command, 300)),
        None => "nothing puts it back".to_owned(),
    };
    let text = format!("A is made by \"{}\", B by \"{}\"; {restored}", escape(&states.a, 300), escape(&states.b, 300));
    Some(note("states", text))
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
        (PeerKind::Iperf3, None) => "an iperf3 server".to_owned(),
        (PeerKind::Zc | PeerKind::Discard, None) => "a sink".to_owned(),
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

/// The rate, or the least and the greatest of those that cells have.
pub(super) fn rates(run: &Run) -> String {
    let mut rates: Vec<f64> = each(run).map(|at| at.rate_bytes_per_s).collect();
    rates.sort_by(f64::total_cmp);
    match (rates.first(), rates.last()) {
        (Some(least), Some(most)) if least != most => format!("{} to {}", rate(*least), rate(*most)),
        (Some(only), _) => rate(*only),
        _ => rate(run.header.plan.fixed.rate_bytes_per_s),
    }
}

/// Whether cells differ in it.
pub(super) fn several_rates(run: &Run) -> bool {
    let mut rates = each(run).map(|at| at.rate_bytes_per_s);
    rates.next().is_some_and(|first| rates.any(|other| other != first))
}

/// What holds for each cell.
fn each(run: &Run) -> impl Iterator<Item = FixedParams> {
    let plan = &run.header.plan;
    plan.cells.iter().map(|cell| plan.fixed.at(&cell.levels))
}

/// What cells have of one thing, in short; what the plan holds fixed where it has no cells.
fn spread(run: &Run, of: impl Fn(&FixedParams) -> String) -> String {
    let all = distinct(each(run).map(|at| of(&at)));
    if all.is_empty() { of(&run.header.plan.fixed) } else { in_short(&all) }
}

/// Each once, in their order.
pub(super) fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Up to three are named, of more the first and the last.
fn in_short(all: &[String]) -> String {
    match all {
        [first, .., last] if all.len() > 3 => format!("{first} ... {last}"),
        all => list(all),
    }
}

/// The receive paths of the plan, each once.
fn receivers(run: &Run) -> String {
    list(&distinct(run.header.plan.cells.iter().map(|cell| cell.recv.to_string())))
}
