//! The notes above the tables: file set, rate, link, machines and how the run ended.

use std::collections::BTreeMap;

use super::pivot::level;
use super::pivot_tables::measured_side;
use super::rates::{each, rates, several_rates};
use crate::digits::{bytes, percent, seconds, significant, size};
use crate::experiments;
use crate::terminal::note::{Note, note};
use crate::text::{distinct, list, shown};
use zc_analysis::Estimates;
use zc_run::escape;
use zc_run::units::bit_rate_text;
use zc_run::{
    Cell, Clients, EndReason, Factor, FixedParams, Host, IpVersion, LinkKind, PeerKind,
    RemoteFacts, Run, Slot, StatePlace, StateReading, StateValue,
};

/// All notes above the tables.
pub(crate) fn above(run: &Run, estimates: &Estimates) -> Vec<Note> {
    let mut notes = match run.header.plan.traffic.server() {
        Some(server) => experiments::about_server(server),
        None => vec![note("files", files(run)), note("rate", rate(run, estimates))],
    };
    notes.extend(experiments::about_replay(run));
    notes.extend(run.header.plan.traffic.nfs().map(experiments::about_nfs));
    notes.push(note("link", link_in_full(run)));
    notes.push(note("machine", machines(run, estimates)));
    notes.extend(sending_device(run).map(|text| note("card", text)));
    notes.extend(far_machine(run));
    notes.extend(receiving_device(run).map(|text| note("far card", text)));
    notes.extend(factors(run).map(|text| note("plan", text)));
    notes.extend(states(run));
    let plan = &run.header.plan;
    notes.push(note(
        "run",
        format!(
            "{}, seed {}, {} soakers (threads of lowest priority, which count idle CPU time); {}",
            version(run),
            plan.seed,
            plan.fixed.soaker,
            ended(run)
        ),
    ));
    notes.push(note("figures", figures(run, estimates)));
    notes
}

fn files(run: &Run) -> String {
    let files = &run.header.plan.files;
    let average =
        if files.files == 0 { 0.0 } else { files.total_bytes as f64 / files.files as f64 };
    let skipped = match files.skipped.len() {
        0 => String::new(),
        several => format!("; {several} left out"),
    };
    format!(
        "{}, {} on average, {} together, on {}{skipped}",
        file_set(run),
        bytes(average),
        bytes(files.total_bytes as f64),
        shown(&files.filesystem)
    )
}

/// `63 generated files`.
pub(crate) fn file_set(run: &Run) -> String {
    let files = &run.header.plan.files;
    format!(
        "{} {} file{}",
        files.files,
        shown(&files.origin),
        if files.files == 1 { "" } else { "s" }
    )
}

fn rate(run: &Run, estimates: &Estimates) -> String {
    let chosen = match (run.header.plan.fixed.rate_chosen, several_rates(run)) {
        (true, true) => {
            " (chosen so that all cells that are compared with one another can sustain it)"
        }
        (true, false) => " (chosen so that every path can sustain it)",
        (false, _) => "",
    };
    let received = if estimates.sender_alone {
        String::new()
    } else {
        format!(
            ", received by {} of {}",
            receivers(run),
            spread(run, |at| size(at.recv_buffer_bytes))
        )
    };
    format!("{}{chosen}, {}{received}", rates(run), flows_and_buffers(run))
}

/// `1 flow, buffers of 64k`, `100 and 1000 clients of 5Mbit/s, buffers of 32k`.
pub(crate) fn flows_and_buffers(run: &Run) -> String {
    let of_clients = |text: fn(Clients) -> String| {
        let texts = distinct(each(run).filter_map(|at| at.clients().map(text)));
        (!texts.is_empty()).then(|| in_short(&texts))
    };
    let number = of_clients(|clients| clients.count.to_string());
    let connections = match number.zip(of_clients(|it| bit_rate_text(it.rate_bytes_per_s))) {
        Some((number, rate)) => {
            let plural = if number == "1" { "" } else { "s" };
            format!("{number} client{plural} of {rate}")
        }
        None => {
            let flows = spread(run, |at| at.flows.to_string());
            let plural = if flows == "1" { "" } else { "s" };
            format!("{flows} flow{plural}")
        }
    };
    format!("{connections}, buffers of {}", spread(run, |at| size(at.buffer_bytes)))
}

/// Link, MTU, congestion control and offloads.
pub(crate) fn link(run: &Run) -> String {
    let header = &run.header;
    let levels =
        |factor| header.plan.cells.iter().map(move |cell| level(header, cell, factor).to_string());
    let ip = if header.link.ip == IpVersion::V6 { ", IPv6" } else { "" };
    let mtu = distinct(levels(Factor::Mtu));
    let mtu = if mtu.is_empty() { header.link.mtu_bytes.to_string() } else { in_short(&mtu) };
    let congestion = spread(run, |at| congestion(run, at));
    let mut link = format!("{}{ip}, MTU {mtu}, {congestion}", header.plan.fixed.link);
    if header.plan.factors.contains(&Factor::Offloads) {
        link.push_str(&format!(", offloads {}", in_short(&distinct(levels(Factor::Offloads)))));
    } else {
        for switch in &header.link.switched_off {
            link.push_str(&format!(", {switch}"));
        }
    }
    link.push_str(&noted(run));
    // A layer's own device is what TCP sees of the link.
    for layer in header.links().filter_map(|link| link.layer.as_ref()) {
        if let Some(bytes) = layer.mtu_bytes.filter(|bytes| *bytes != header.link.mtu_bytes) {
            link.push_str(&format!(", MTU {bytes} over {}", layer.name));
        }
    }
    link
}

/// The congestion control of cells with these parameters. If the run set none, it is read from
/// their sockets.
fn congestion(run: &Run, at: &FixedParams) -> String {
    if let Some(name) = at.set_congestion() {
        return shown(name);
    }
    let fixed = &run.header.plan.fixed;
    let left = |cell: &Cell| fixed.at(&cell.levels).set_congestion().is_none();
    let cells = run.header.plan.cells.iter().filter(|cell| left(cell));
    let labels: Vec<&str> = cells.map(|cell| cell.label.as_str()).collect();
    let used = run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
        Slot::Trial(trial) if labels.contains(&trial.cell.as_str()) => trial.sockets.as_ref(),
        _ => None,
    });
    let names = distinct(used.map(|sockets| shown(&sockets.congestion)));
    if names.is_empty() { "the host's congestion control".to_owned() } else { list(&names) }
}

/// The link, the links that were not available, and the other machine.
fn link_in_full(run: &Run) -> String {
    let mut link = link(run);
    for passed_over in &run.header.link.passed_over {
        link.push_str("; not ");
        link.push_str(&escape(passed_over, 300));
    }
    if let Some(remote) = &run.header.remote {
        link.push_str(&format!(", {}", far_end(remote)));
    }
    link
}

/// The settings of the sending device, where it is not zc's own.
fn sending_device(run: &Run) -> Option<String> {
    let link = &run.header.link;
    if link.kind != LinkKind::Remote || link.settings.is_empty() {
        return None;
    }
    Some(device(&link.device, settings(&link.settings)))
}

/// The settings of the device by which the other machine receives, and whether it merges segments.
fn receiving_device(run: &Run) -> Option<String> {
    let facts = run.header.remote.as_ref()?.machine.as_ref()?.device.as_ref()?;
    let offloads = facts.offloads.iter().flatten();
    let merging = offloads.filter(|(name, _)| MERGING.contains(&name.as_str()));
    let merging = merging.map(|(name, on)| format!("{name} {}", if *on { "on" } else { "off" }));
    Some(device(&facts.name, merging.chain(settings(&facts.settings))))
}

/// Offloads that merge received segments, by ethtool's names (net/ethtool/common.c).
const MERGING: [&str; 3] = ["rx-gro", "rx-gro-hw", "rx-lro"];

fn settings(settings: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    settings.iter().map(|(name, value)| format!("{name} {value}"))
}

fn device(name: &str, settings: impl Iterator<Item = String>) -> String {
    let settings = escape(&settings.collect::<Vec<_>>().join("; "), 600);
    format!("{}: {settings}", escape(name, 40))
}

fn machines(run: &Run, estimates: &Estimates) -> String {
    let (plan, fixed) = (&run.header.plan, &run.header.plan.fixed);
    let receiver_here = !estimates.sender_alone && run.header.remote.is_none();
    let placed =
        if plan.factors.contains(&Factor::Placement) { " where they have one each" } else { "" };
    if let Some(server) = plan.traffic.server().filter(|server| server.ran_already()) {
        let load = match &server.load_from {
            Some(from) => format!("load from {}", escape(from, 80)),
            None => format!("load on CPU {}", fixed.receiver_cpu),
        };
        return format!("{}; {load}", machine(&run.header.host));
    }
    if let Some(client_at) = plan.traffic.nfs().and_then(|nfs| nfs.client_at.as_ref()) {
        return format!("{}; client at {}", machine(&run.header.host), escape(client_at, 80));
    }
    if plan.is_of_a_server() {
        return format!(
            "{}; server on CPU {}, load on CPU {}",
            machine(&run.header.host),
            fixed.sender_cpu,
            fixed.receiver_cpu
        );
    }
    let receiver = if receiver_here {
        format!(", receiver on CPU {}{placed}", fixed.receiver_cpu)
    } else {
        String::new()
    };
    let realtime = if fixed.realtime { "; their threads real-time (SCHED_RR)" } else { "" };
    format!("{}; sender on CPU {}{receiver}{realtime}", machine(&run.header.host), fixed.sender_cpu)
}

/// The noun for the sender: in the run of a server it is the server.
pub(crate) fn sender(run: &Run) -> &'static str {
    if run.header.plan.is_of_a_server() { "the server" } else { "the sender" }
}

/// `zc 0.1.0, 2026-11-21T20:25:00Z`.
pub(crate) fn version(run: &Run) -> String {
    format!(
        "zc {}, {}",
        shown(&run.header.zc_version),
        to_the_second(&shown(&run.header.started_at))
    )
}

pub(crate) fn ended(run: &Run) -> String {
    let plan = &run.header.plan;
    let Some(end) = &run.end else {
        return "no end was saved: the run was killed, or is still running".to_owned();
    };
    match &end.reason {
        EndReason::TargetReached => {
            format!(
                "every interval within ±{} after {}",
                percent(plan.target),
                seconds(end.elapsed_ns)
            )
        }
        EndReason::Decided => {
            format!("every comparison decided after {}", seconds(end.elapsed_ns))
        }
        EndReason::BudgetSpent => format!("the budget of {} was spent", seconds(plan.budget_ns)),
        EndReason::Interrupted => format!("interrupted after {}", seconds(end.elapsed_ns)),
        EndReason::Failed { reason } => {
            format!("ended early, after {}: {}", seconds(end.elapsed_ns), escape(reason, 400))
        }
    }
}

fn figures(run: &Run, estimates: &Estimates) -> String {
    let level = estimates.confidence * 100.0;
    if run.header.plan.traffic.server().is_some() {
        let against = match experiments::several_lengths(estimates) {
            true => "the first configuration's responses of the same length".to_owned(),
            false => shown(&estimates.reference),
        };
        return format!(
            "us of CPU time per request, medians over blocks, ± half-width of the {level:.0} % \
             interval; ratios refer to {against}"
        );
    }
    let more = if run.header.plan.factors.len() > 1 {
        "- where there is no figure".to_owned()
    } else {
        let of = if estimates.sender_alone { sender(run) } else { measured_side(estimates) };
        format!(
            "ratios refer to {}; getrusage and /proc/stat: the cost of {of} by these accounts",
            shown(&estimates.reference)
        )
    };
    format!(
        "us of CPU time per MB, medians over blocks, ± half-width of the {level:.0} % interval; \
         {more}"
    )
}

/// Factors that the heading names where they are not as by default: `, TCP_NOTSENT_LOWAT 16k`.
fn noted(run: &Run) -> String {
    let header = &run.header;
    let each = Factor::ALL.iter().filter_map(|factor| {
        let words = factor.definition().heading()?;
        let levels =
            distinct(header.plan.cells.iter().map(|cell| level(header, cell, *factor).to_string()));
        let default = factor.definition().default().to_string();
        levels
            .iter()
            .any(|level| *level != default)
            .then(|| format!(", {words} {}", shown(&in_short(&levels))))
    });
    each.collect()
}

/// The cells of a plan of several factors: `54 cells: 9 of message x 6 of send`.
pub(crate) fn factors(run: &Run) -> Option<String> {
    let header = &run.header;
    let factors = &header.plan.factors;
    let replaying = header.plan.replaying();
    let has_levels = |cell: &&Cell| !cell.control && !replaying.contains(cell.label.as_str());
    let cells = || header.plan.cells.iter().filter(has_levels);
    let each = factors.iter().map(|factor| {
        let levels = distinct(cells().map(|cell| shown(&level(header, cell, *factor).to_string())));
        format!("{} of {factor}", levels.len())
    });
    let each = each.collect::<Vec<_>>().join(" x ");
    let replays = match replaying.len() {
        0 => String::new(),
        some => format!(", and {some} of the log"),
    };
    (factors.len() > 1).then(|| format!("{} cells: {each}{replays}", cells().count()))
}

/// The commands that switch between the states of the host.
fn states(run: &Run) -> Option<Note> {
    let states = run.header.plan.states.as_ref()?;
    let restored = match &states.restore {
        Some(command) => format!("restored by \"{}\"", escape(command, 300)),
        None => "nothing restores it".to_owned(),
    };
    let each = states.commands.iter().enumerate().map(|(place, each)| {
        let verb = if place == 0 { "is set by" } else { "by" };
        format!("{} {verb} \"{}\"", each.state, escape(&each.command, 300))
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let found = read_back(run).map_or_else(String::new, |found| format!("; {found}"));
    Some(note("states", format!("{each}; {restored}{found}")))
}

/// Values read back in the states: `net.ipv4.tcp_sack is 0 in A and 1 in B where the traffic runs`.
/// Sender and receiver mostly have the same.
pub(crate) fn read_back(run: &Run) -> Option<String> {
    let readings = &run.header.state_readings;
    let words = |reading: &StateReading| {
        let name = match reading.place {
            StatePlace::Command => format!("\"{}\" says", escape(&reading.name, 60)),
            _ => format!("{} is", escape(&reading.name, 60)),
        };
        let off = if reading.name.contains(" of ") { "off" } else { "nothing" };
        let value = |it: &StateValue| {
            let value = it.value.as_deref().unwrap_or(off).trim();
            format!("{} in {}", escape(value, 40), it.state)
        };
        let values = reading.values.iter().map(value).collect::<Vec<_>>();
        match values.as_slice() {
            [first @ .., last] if !first.is_empty() => {
                format!("{name} {} and {last}", first.join(", "))
            }
            values => format!("{name} {}", values.join(", ")),
        }
    };
    let each = distinct(readings.iter().map(words));
    (!each.is_empty()).then(|| format!("{} where the traffic runs", each.join(", ")))
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
    format!(
        "{what} at {}, round trip {} ms",
        shown(&remote.address),
        significant(remote.rtt_ns as f64 / 1e6)
    )
}

/// The receiving machine, where zc measures there.
fn far_machine(run: &Run) -> Option<Note> {
    let far = run.header.remote.as_ref()?.machine.as_ref()?;
    let what = if far.same_machine { "the same machine".to_owned() } else { machine(&far.host) };
    Some(note("far machine", format!("{what}; receiver on CPU {}", far.receiver_cpu)))
}

/// A time of RFC 3339 without its fraction of a second.
pub(crate) fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, rest)) => {
            format!("{whole}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => time.to_owned(),
    }
}

/// The distinct values of one parameter over all cells, abbreviated; the fixed value where the plan
/// has no cells.
fn spread(run: &Run, of: impl Fn(&FixedParams) -> String) -> String {
    let all = distinct(each(run).map(|at| of(&at)));
    if all.is_empty() { of(&run.header.plan.fixed) } else { in_short(&all) }
}

/// Lists up to three values; if there are more, the first and the last.
fn in_short(all: &[String]) -> String {
    match all {
        [first, .., last] if all.len() > 3 => format!("{first} ... {last}"),
        all => list(all),
    }
}

/// The receive paths of the plan, each once.
fn receivers(run: &Run) -> String {
    list(&distinct(run.header.plan.cells.iter().map(|cell| cell.transfer.receiver().to_string())))
}
