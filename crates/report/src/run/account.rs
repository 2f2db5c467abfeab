//! The account by which costs were computed, in words: blocks and windows that count, what other
//! programs used meanwhile, and what other tasks worked for the traffic.

use crate::digits::{percent, with_half_width};
use crate::terminal::note::{Note, note};
use crate::text::{list, shown};
use zc_analysis::{AccountKind, Estimates, OtherPrograms, Unattributed, WhyWallTime, us_per_mb};
use zc_run::{OtherProgram, Run};

/// Shares below it print as nothing.
const WORTH_SAYING: f64 = 0.0005;

/// Other programs used so much more of a CPU than of all of them that it is named.
const UNEVEN: f64 = 0.1;

/// `135 of 135; other programs used 11 % of 2 CPUs, the hypervisor 1.5 %: neither is in the costs`.
/// `reasons` are those for which blocks were dropped.
pub(crate) fn blocks(run: &Run, estimates: &Estimates, reasons: &[String]) -> Note {
    let account = &estimates.blocks;
    let others = estimates.other_programs.as_ref();
    let mut text = format!("{} of {}", account.kept, account.measured);
    if others.is_none() || !reasons.is_empty() {
        text.push_str(" kept");
    }
    if !reasons.is_empty() {
        text.push_str(&format!("; dropped: {}", list(reasons)));
    }
    let steal = estimates.conditions.steal_share.filter(|share| *share >= WORTH_SAYING);
    match others {
        Some(others) => text.push_str(&beside(run, others, steal)),
        None => {
            text.push_str(&steal.map_or_else(String::new, |share| {
                format!("; the hypervisor took {}", percent(share))
            }))
        }
    }
    note("blocks", text)
}

/// Other load during the traffic, and windows that it left without a cost.
fn beside(run: &Run, others: &OtherPrograms, steal: Option<f64>) -> String {
    let mut text = String::new();
    if others.share >= WORTH_SAYING {
        let cpus = match others.cpus {
            1 => "1 CPU".to_owned(),
            cpus => format!("{cpus} CPUs"),
        };
        text.push_str(&format!("; other programs used {} of {cpus}", percent(others.share)));
        let uneven = others.by_cpu.iter().filter(|of| of.share >= others.share + UNEVEN);
        let uneven: Vec<String> =
            uneven.map(|of| format!("CPU {} {}", of.cpu, percent(of.share))).collect();
        let programs = run.end.as_ref().map_or(&[][..], |end| &end.other_programs);
        let more: Vec<String> = [OtherProgram::in_words(programs), list(&uneven)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        if !more.is_empty() {
            text.push_str(&format!(" ({})", more.join("; ")));
        }
    }
    text.push_str(&match (text.is_empty(), steal) {
        (true, Some(steal)) => {
            format!("; the hypervisor took {}, which is not in the costs", percent(steal))
        }
        (false, Some(steal)) => {
            format!(", the hypervisor {}: neither is in the costs", percent(steal))
        }
        (false, None) => ", which is not in the costs".to_owned(),
        (true, None) => String::new(),
    });
    if others.windows_left_out > 0 {
        text.push_str(&format!(
            "; {} of {} windows left out: the soakers hardly ran",
            grouped(others.windows_left_out),
            grouped(others.windows)
        ));
    }
    text
}

/// `1,890`.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `+0.3 ±1.2 us/MB: no other task worked for the traffic`.
pub(crate) fn unattributed(estimates: &Estimates) -> Option<Note> {
    let Unattributed { label, cost_ns_per_kib: cost, added } = estimates.unattributed.as_ref()?;
    let value = us_per_mb(cost.value);
    let sign = if value > 0.0 { "+" } else { "" };
    let cost = with_half_width(value, cost.half_width.map(us_per_mb));
    let what = match added {
        true => "other tasks worked for the traffic, and that is in the costs",
        false => "no other task worked for the traffic",
    };
    // What requests cost is not by bytes.
    let much = match estimates.requests.is_empty() {
        true => format!("{sign}{cost} us/MB at most ({}): ", shown(label)),
        false => String::new(),
    };
    Some(note("unattributed", format!("{much}{what}")))
}

/// Note on the account by which costs are.
pub(crate) fn account(estimates: &Estimates) -> Note {
    note("account", in_words(estimates.account))
}

/// The account of the costs, and why it is not that of own clocks.
pub(crate) fn in_words(kind: AccountKind) -> String {
    match kind {
        AccountKind::OwnClocks => "by own clocks: other programs are in no cost".to_owned(),
        AccountKind::WallLessOthers => format!(
            "by wall time, less what other programs used by the clocks of their cgroups: {}",
            why(WhyWallTime::InterruptsApart)
        ),
        AccountKind::WallTime { because } => {
            format!("by wall time, with what other programs use in them: {}", why(because))
        }
    }
}

fn why(because: WhyWallTime) -> &'static str {
    match because {
        WhyWallTime::NoClocks => "the run has no clocks of soakers, as those before format 3.7",
        WhyWallTime::UnknownTasks => "tasks that zc does not know work for the traffic",
        WhyWallTime::InterruptsApart => {
            "the kernel keeps interrupts out of task clocks (CONFIG_IRQ_TIME_ACCOUNTING)"
        }
        WhyWallTime::ClocksTick => "thread clocks advance by ticks",
        WhyWallTime::ComparedRun => "it is compared with a run whose costs are",
    }
}
