//! A run on an emulated machine: in whatever form it is shown, no cost is, the reason is, and what
//! was counted is.

use super::server::by_length;
use crate::*;
use zc_analysis::estimate;
use zc_run::{
    Dropped, EMULATED, EMULATOR, Factor, Reading, Run, SendPath, Severity, Slot, Warning,
};
use zc_testkit::synthetic::{Synthetic, size_sweep, two_machines};

const WHY: &str = "the CPU of this machine is emulated";

/// The run as if its machine had been emulated.
fn emulated(mut run: Run) -> Run {
    run.header.host.hypervisor = Some(EMULATOR.to_owned());
    run.header.warnings.push(Warning::new(EMULATED, Severity::Withhold, WHY));
    run
}

/// Every form that a run can be shown in.
fn forms(run: &Run) -> Vec<(&'static str, String)> {
    let estimates = &estimate(run);
    vec![
        ("brief", table(run, estimates, Layout::plain(120))),
        ("table", table(run, estimates, Layout { verbose: true, ..Layout::plain(120) })),
        ("markdown", markdown(run, estimates)),
        ("csv", csv(run, estimates)),
        ("json", json(run, estimates)),
        ("html", html(&[(run, estimates)])),
        ("openmetrics", openmetrics(&[(run, estimates)])),
    ]
}

/// The run as if its trials had taken a third more CPU time by every account.
fn dearer(mut run: Run) -> Run {
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        let Slot::Trial(trial) = slot else { continue };
        if let Some(usage) = &mut trial.whole_sender_usage {
            (usage.user_ns, usage.system_ns) = (usage.user_ns / 3 * 4, usage.system_ns / 3 * 4);
        }
        dearer_window(&trial.opened, &mut trial.closed);
        if let Some(remote) = &mut trial.remote {
            dearer_window(&remote.opened, &mut remote.closed);
        }
    }
    run
}

fn dearer_window(opened: &Reading, closed: &mut Reading) {
    let third_more = |opened: u64, closed: &mut u64| *closed += (*closed - opened) / 3;
    // What the traffic takes is what soakers and idle CPUs lose.
    for (opened, closed) in std::iter::zip(&opened.soak.units, &mut closed.soak.units) {
        *closed -= (*closed - opened) / 3;
    }
    if let (Some(opened), Some(closed)) = (opened.idle_ns, &mut closed.idle_ns) {
        *closed -= (*closed - opened) / 3;
    }
    third_more(opened.sender.cpu_ns, &mut closed.sender.cpu_ns);
    third_more(opened.receiver.cpu_ns, &mut closed.receiver.cpu_ns);
    for (opened, closed) in std::iter::zip(&opened.stat.cpus, &mut closed.stat.cpus) {
        third_more(opened.user, &mut closed.user);
        third_more(opened.system, &mut closed.system);
        third_more(opened.softirq, &mut closed.softirq);
    }
}

/// Two runs that differ in nothing but CPU time are shown differently in every form where they were
/// measured, and alike where their machine was emulated.
fn shows_no_cost(run: &Run, emulate: impl Fn(Run) -> Run) {
    for ((name, cheap), (_, dear)) in std::iter::zip(forms(run), forms(&dearer(run.clone()))) {
        assert_ne!(cheap, dear, "{name} shows no cost of a run that has some");
    }
    let emulated = [emulate(run.clone()), emulate(dearer(run.clone()))];
    for ((name, cheap), (_, dear)) in std::iter::zip(forms(&emulated[0]), forms(&emulated[1])) {
        let mut lines = std::iter::zip(cheap.lines(), dear.lines());
        let differing = lines.find(|(cheap, dear)| cheap != dear);
        assert_eq!(differing, None, "{name} shows a cost");
        assert_eq!(cheap.len(), dear.len(), "{name} shows a cost");
        if name != "openmetrics" {
            assert!(cheap.contains(WHY), "{name} does not say why");
        }
    }
}

/// A run with everything that has a cost: an idle clock, user and system time, controls without
/// soakers.
fn world() -> Synthetic {
    Synthetic { user_share: Some(0.2), idle_clock: true, unsoaked: true, ..Synthetic::default() }
}

#[test]
fn no_form_shows_a_cost_of_an_emulated_machine() {
    shows_no_cost(&world().run(), emulated);
}

#[test]
fn an_emulated_machine_at_the_other_end_has_no_costs_either() {
    shows_no_cost(&two_machines(world().run()), |mut run| {
        let remote = run.header.remote.as_mut().and_then(|remote| remote.machine.as_mut()).unwrap();
        remote.host.hypervisor = Some(EMULATOR.to_owned());
        run.header.warnings.push(Warning::new(EMULATED, Severity::Withhold, WHY));
        run
    });
}

#[test]
fn a_request_to_a_server_on_an_emulated_machine_has_no_cost() {
    shows_no_cost(&by_length().0, emulated);
}

#[test]
fn sizes_rates_and_socket_buffers_show_no_cost_of_an_emulated_machine() {
    let paths = [(SendPath::ReadSend, 20_000.0, 300.0), (SendPath::Sendfile, 19_000.0, 120.0)];
    let cells = size_sweep(&paths, &[1024, 16_384, 1 << 20]);
    let sizes = Synthetic { cells, factors: vec![Factor::Message, Factor::Send], ..world() };
    shows_no_cost(&sizes.run(), emulated);

    let mut sockbuf = world();
    sockbuf.cells.truncate(2);
    sockbuf.factors = vec![Factor::Sockbuf, Factor::Send];
    shows_no_cost(&sockbuf.run(), emulated);
}

#[test]
fn blocks_that_were_dropped_show_no_cost_of_an_emulated_machine() {
    let mut run = world().run();
    for block in &mut run.blocks {
        block.dropped = Some(Dropped::IdleDrift { share: 0.2 });
    }
    let rough =
        |run: &Run| estimate(run).rough.iter().any(|cell| cell.threads_ns_per_kib.is_some());
    assert!(rough(&run));
    let run = emulated(run);
    assert!(!rough(&run) && estimate(&run).rough.iter().all(|cell| cell.windows > 0));
}

#[test]
fn what_was_counted_on_an_emulated_machine_is_shown() {
    let run = world().run();
    let (real, emulated) = (estimate(&run), estimate(&emulated(run)));
    for (real, emulated) in std::iter::zip(real.cells, emulated.cells) {
        assert!(real.traffic.bytes > 0 && real.traffic.send_calls_per_mb.is_some());
        assert_eq!(real.traffic, emulated.traffic);
        assert_eq!(real.copied_share, emulated.copied_share);
        assert_eq!(real.top_speed_bytes_per_s, emulated.top_speed_bytes_per_s);
    }
}
