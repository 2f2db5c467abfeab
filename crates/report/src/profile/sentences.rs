//! Sentences about a profile: how it was sampled, what sampling misses, its controls, and where the
//! CPU time goes.

use super::tables::{cells, only_difference};
use crate::digits::{percent, significant, us_per_mb};
use crate::run::rows::comparison;
use crate::terminal::note::{Note, note};
use crate::text::{list, shown};
use zc_analysis::profile::{CellProfile, Class, ProfileEstimates, difference};
use zc_analysis::{Comparison, Estimates, Figure};
use zc_run::{LinkKind, Run, SampledEvent};

/// Above this share of the cost, unclassified functions raise a warning.
const UNKNOWN: f64 = 0.05;

/// The sampled event, the number of samples per path and the losses.
pub(super) fn sampled(run: &Run, profile: &ProfileEstimates) -> String {
    let cpus = run.header.sampling.as_ref().map_or(0, |sampling| sampling.cpus.len());
    let why =
        profile.no_cycles.as_ref().map_or_else(String::new, |why| format!(" ({})", shown(why)));
    let each: Vec<String> = cells(profile)
        .map(|cell| {
            format!("{} of {} in {}", cell.samples, cell.samples_of_all, shown(&cell.label))
        })
        .collect();
    let lost: u64 = profile.cells.iter().map(|cell| cell.lost).fold(0, u64::saturating_add);
    let lost =
        if lost == 0 { "no sample was lost".to_owned() } else { format!("{lost} WERE LOST") };
    let each = if each.is_empty() { "no sample counts".to_owned() } else { list(&each) };
    format!(
        "{}{why}, {} Hz on {cpus} CPUs; {each}; {lost}",
        profile.event.name(),
        profile.frequency_hz
    )
}

/// The meaning of the figures.
pub(super) fn figures(estimates: &Estimates, profile: &ProfileEstimates) -> String {
    let whose = if estimates.sender_alone { "the sender" } else { "both ends" };
    let costs: Vec<String> = cells(profile)
        .filter_map(|cell| {
            let cost = significant(us_per_mb(cell.cost_ns_per_kib?.value));
            Some(format!("{cost} us/MB for {}", shown(&cell.label)))
        })
        .collect();
    let all = if costs.is_empty() { String::new() } else { format!(" ({})", list(&costs)) };
    format!(
        "shares of the soaked cost of {whose}, and ns of it per KiB, ± half-width of the {:.0} % \
         interval over blocks; their sum is the cost that zc run prints{all}",
        estimates.confidence * 100.0
    )
}

/// Coverage, limits and controls of the samples.
pub(super) fn reliability(run: &Run, profile: &ProfileEstimates) -> Vec<Note> {
    let mut notes = Vec::new();
    let seen: Vec<String> = cells(profile)
        .filter_map(|cell| Some(format!("{} ({})", percent(cell.seen?), shown(&cell.label))))
        .collect();
    if !seen.is_empty() {
        notes.push(note(
            "seen",
            format!("of the CPU time that the soakers lost, the samples cover {}", list(&seen)),
        ));
    }
    notes.extend(unsampled_code(run, profile));
    notes.extend(unknown(profile));
    notes.extend(same(run, profile));
    if profile.irq_time_accounting == Some(true) {
        notes.push(note(
            "getrusage",
            "this kernel keeps interrupts and softirqs out of the accounts of threads \
             (CONFIG_IRQ_TIME_ACCOUNTING): it covers system calls and user mode only",
        ));
    }
    notes
}

/// Code that the samples of a timer miss.
pub(super) fn unsampled_code(run: &Run, profile: &ProfileEstimates) -> Option<Note> {
    if profile.event != SampledEvent::CpuClock {
        return None;
    }
    let link = &run.header.link;
    let own = match link.kind {
        LinkKind::Null => "; on this link zc's ACK generator interrupts the sender's CPU",
        _ if link.rps.is_some() => {
            "; on this link zc has set RPS, by which each CPU wakes the other with an interrupt"
        }
        _ => "",
    };
    Some(note(
        "unseen",
        format!(
            "cpu-clock is a timer: code that runs with interrupts off is sampled where they are \
             enabled again (at the end of a lock or a switch, at the entry into softirqs), and an \
             interrupt that returns to a soaker is not sampled at all{own}"
        ),
    ))
}

/// A warning with the largest functions that have no class.
pub(super) fn unknown(profile: &ProfileEstimates) -> Option<Note> {
    let unclassified = |cell: &CellProfile| {
        let share = cell.class(Class::Unknown).share;
        let largest = cell
            .unknown
            .iter()
            .take(5)
            .map(|each| format!("{} {}", shown(&each.function), percent(each.part.share)));
        let largest = largest.collect::<Vec<_>>().join(", ");
        (share >= UNKNOWN)
            .then(|| format!("{} of {} ({largest})", percent(share), shown(&cell.label)))
    };
    let unclassified: Vec<String> = cells(profile).filter_map(unclassified).collect();
    (!unclassified.is_empty())
        .then(|| note("UNKNOWN", format!("no class is known for {}", list(&unclassified))))
}

/// The A/A control by class.
fn same(run: &Run, profile: &ProfileEstimates) -> Option<Note> {
    let control = profile.cells.iter().find(|cell| cell.control && cell.blocks > 0)?;
    let reference = profile.cells.iter().find(|cell| cell.reference && cell.blocks > 0)?;
    let found = difference((run, &reference.label), (run, &control.label))?;
    let apart: Vec<String> = found
        .classes
        .iter()
        .filter(|class| stands_out(&class.difference))
        .map(|class| {
            format!("{} {}", class.what.name(), crate::profile::tables::signed(&class.difference))
        })
        .collect();
    let with_intervals =
        found.classes.iter().filter(|class| class.difference.interval.is_some()).count();
    let half_widths = found.classes.iter().filter_map(|class| class.difference.half_width);
    let widest = format!("±{} ns/KiB", significant(half_widths.fold(0.0, f64::max)));
    let text = match apart.len() {
        _ if with_intervals == 0 => return None,
        0 => format!("no class differs by more than its interval, the widest of which is {widest}"),
        several => format!(
            "{several} of {with_intervals} classes differ where none does: {} ns/KiB; one in \
             twenty is to be expected",
            list(&apart)
        ),
    };
    Some(note("A/A classes", format!("{} against itself: {text}", shown(&reference.label))))
}

fn stands_out(difference: &Figure) -> bool {
    difference.interval.is_some_and(|interval| !interval.contains(0.0))
}

/// The difference between two paths, by its largest classes, if the verdict on the second is one.
pub(super) fn largest_class_differences(
    run: &Run,
    estimates: &Estimates,
    profile: &ProfileEstimates,
) -> Vec<String> {
    let Some(found) = only_difference(run, profile) else { return Vec::new() };
    let labels: Vec<String> = cells(profile).map(|cell| shown(&cell.label)).collect();
    let (Some(all), [first, second]) = (found.all, &labels[..]) else { return Vec::new() };
    let less = all.value < 0.0;
    let last = estimates.cells.iter().rfind(|cell| !cell.control);
    let is_told = match last.and_then(|cell| comparison(estimates, cell)) {
        Some(Comparison::Cheaper { .. }) => less,
        Some(Comparison::Dearer { .. }) => !less,
        Some(Comparison::Same { .. } | Comparison::Undecided) => false,
        None => true,
    };
    if !stands_out(&all) || !is_told {
        return vec![format!("{second} and {first} were not shown to differ in cost.")];
    }
    let (saves, word) = (all.value.abs(), if less { "less" } else { "more" });
    let side = |class: &&zc_analysis::profile::PartDifference<Class>| {
        (class.difference.value < 0.0) == less
    };
    let (resolved, unresolved): (Vec<_>, Vec<_>) = found
        .classes
        .iter()
        .filter(|class| stands_out(&class.difference))
        .partition(|class| class.what.is_resolved_by(profile.event));
    let largest = resolved.iter().copied().filter(side).take(3);
    let largest: Vec<String> = largest
        .map(|class| format!("{} {}", class.what.name(), significant(class.difference.value.abs())))
        .collect();
    let against = resolved.iter().copied().filter(|class| !side(class)).take(2);
    let against: Vec<String> = against
        .map(|class| format!("{} {}", significant(class.difference.value.abs()), class.what.name()))
        .collect();
    let mut sentence =
        format!("{second} spends {} ns per KiB {word} than {first}", significant(saves));
    if !largest.is_empty() {
        sentence.push_str(&format!(": {}", list(&largest)));
    }
    if !against.is_empty() {
        sentence.push_str(&format!(
            "; and {} {}",
            list(&against),
            if less { "more" } else { "less" }
        ));
    }
    sentence.push('.');
    let mut sentences = vec![sentence];
    if !unresolved.is_empty() {
        let each: Vec<String> = unresolved
            .iter()
            .map(|class| {
                format!(
                    "{} {}",
                    class.what.name(),
                    crate::profile::tables::signed(&class.difference)
                )
            })
            .collect();
        let own = if zc_interrupts(run) { ", and part of it is zc's own interrupts" } else { "" };
        sentences.push(format!(
            "Not resolved without a counter of cycles (PMU){own}: {} ns/KiB.",
            list(&each)
        ));
    }
    sentences
}

/// Whether zc itself has one CPU interrupt the other on this link.
fn zc_interrupts(run: &Run) -> bool {
    run.header.link.kind == LinkKind::Null || run.header.link.rps.is_some()
}
