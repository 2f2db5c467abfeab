//! The notes around the table of two kernels.

use super::document::{BootOutcome, KernelFacts, KernelsReport, MachineFacts};
use crate::compare::aspects;
use crate::compare::{reason_in_words, sentences};
use crate::digits::percent;
use crate::fleet::names::count;
use crate::terminal::note::{Note, note};
use crate::text::list;
use zc_analysis::compare::kernels::{LeftOutBoot, WhyLeftOut};
use zc_analysis::compare::{Aspect, Difference};
use zc_run::{WHY_EMULATED, escape};

/// At most this many differences are listed; further ones are counted.
const MOST: usize = 20;

/// What was booted, what was not measured, and what else differs.
pub(super) fn above(report: &KernelsReport) -> Vec<Note> {
    let mut notes: Vec<Note> =
        report.kernels.iter().enumerate().map(|(place, it)| kernel(report, it, place)).collect();
    notes.push(match &report.machine {
        MachineFacts::Guest(guest) => {
            let on = match &guest.emulated_because {
                None => "the host's by KVM, each bound to one of the host's".to_owned(),
                Some(why) => format!("emulated, as {}", escape(why, 300)),
            };
            let cpus = count(guest.cpus, "CPU");
            let mut guests = format!("{cpus}, {on}; {} MiB", guest.memory_mib);
            if let Some(far) = &guest.far_kernel {
                let far = escape(far, 40);
                guests.push_str(&format!(
                    "; two on a wire, of which the far one has {far} in every boot"
                ));
            }
            note("guests", guests)
        }
        MachineFacts::Machine(host) => note(
            "machine",
            format!(
                "{} by {}, each boot by {}",
                escape(&host.name, 100),
                escape(&host.reached_by, 200),
                escape(&host.boot, 200),
            ),
        ),
    });
    for boot in &report.boots {
        if let BootOutcome::Dropped { why, last_lines } = &boot.outcome {
            let which = format!("round {}, {}", boot.round, escape(&report.name(boot.arm), 40));
            notes.push(note("dropped", format!("{which}: {}", escape(why, 1000))));
            notes.extend(last_lines.iter().map(|line| note("|", escape(line, 200))));
        }
    }
    notes.extend(lost(report));
    notes.extend(report.comparison.left_out.iter().map(|boot| left_out(report, boot)));
    notes.extend(differences(&report.comparison.differences));
    match &report.config {
        None if matches!(report.machine, MachineFacts::Machine(_)) => {}
        None => notes.push(note("config", "the .config of one of them was not found")),
        Some(options) if options.is_empty() => notes.push(note("config", "the same options")),
        Some(options) => {
            let differ = count(options.len(), "option");
            notes.push(note("config", format!("{differ} of .config differ (--config-diff)")));
        }
    }
    notes
}

fn kernel(report: &KernelsReport, kernel: &KernelFacts, place: usize) -> Note {
    let (made, measured) = report.counts(place == 1);
    note(
        "kernels",
        format!(
            "{}: Linux {}, {}: {measured} of {} measured",
            escape(&kernel.name, 40),
            escape(&kernel.release, 100),
            escape(&kernel.given, 200),
            count(made, "boot"),
        ),
    )
}

fn left_out(report: &KernelsReport, boot: &LeftOutBoot) -> Note {
    let which = format!("round {}, {}", boot.round, escape(&report.name(boot.arm), 40));
    note("left out", why_left_out(&which, &boot.why))
}

/// Why a boot of this name is in no figure.
pub fn why_left_out(which: &str, why: &WhyLeftOut) -> String {
    let why = match why {
        WhyLeftOut::TooFewBlocks { kept, needed } => {
            format!("{} kept, and {needed} are needed", count(*kept, "block"))
        }
        WhyLeftOut::Differs { differences } => {
            list(&differences.iter().map(aspects::text).collect::<Vec<_>>())
        }
        WhyLeftOut::Withheld { reason } => return reason_in_words(which, reason),
    };
    format!("{which}: {why}")
}

/// The cells that the second kernel alone cannot measure.
fn lost(report: &KernelsReport) -> Option<Note> {
    let compared = &report.comparison;
    let cells = compared.cells.iter().filter(|cell| compared.is_lost(cell));
    let cells: Vec<String> = cells.map(|cell| escape(&cell.label, 40)).collect();
    let [old, new] = report.kernels.each_ref().map(|kernel| escape(&kernel.name, 40));
    (!cells.is_empty()).then(|| {
        note("lost", format!("{} can be measured under {old}, and not under {new}", list(&cells)))
    })
}

/// Whether the names of the kernels say it already.
pub(crate) fn of_kernels(each: &Difference) -> bool {
    matches!(each.what, Aspect::KernelRelease | Aspect::KernelBuild | Aspect::KernelCommandLine)
}

/// What differs besides the kernel's own name.
fn differences(all: &[Difference]) -> Vec<Note> {
    let others: Vec<&Difference> = all.iter().filter(|each| !of_kernels(each)).collect();
    let mut notes: Vec<Note> =
        others.iter().take(MOST).map(|each| note("differs", aspects::text(each))).collect();
    if others.len() > MOST {
        notes.push(note("differs", format!("in {} more", others.len() - MOST)));
    }
    notes
}

/// How figures were made, or why there are none.
pub(super) fn below(report: &KernelsReport) -> Vec<Note> {
    let compared = &report.comparison;
    let mut notes = Vec::new();
    if compared.emulated {
        notes.push(note("no cost", WHY_EMULATED));
    } else if compared.rounds > 0 {
        notes.push(note(
            "ratios",
            format!(
                "{} by Student's t, seed {}: a boot is one value, and each round has the first \
                 kernel twice and the second one in random order; verdicts are for all cells \
                 together at {} (Holm)",
                count(compared.rounds, "round"),
                report.seed,
                percent(compared.confidence),
            ),
        ));
    }
    if !compared.control_differs.is_empty() {
        let cells: Vec<String> =
            compared.control_differs.iter().map(|cell| escape(cell, 40)).collect();
        notes.push(note(
            "WITHHELD",
            format!(
                "the first kernel differs from itself in {}: this host is not fit to tell such \
                 differences",
                list(&cells)
            ),
        ));
    }
    if !compared.emulated && !compared.net && compared.rounds > 0 {
        notes.push(crate::compare::gross());
    }
    if compared.wire && compared.rounds > 0 {
        notes.push(note("costs", "those of the near guest, which sends"));
    }
    notes.extend(report.judgement.as_ref().map(|it| note("margin", sentences::judgement(it))));
    if report.interrupted {
        notes.push(note("interrupted", "this is what was measured by then"));
    }
    notes.push(note(
        "runs",
        format!("{}: zc show and zc compare read each", escape(&report.folder, 300)),
    ));
    notes
}
