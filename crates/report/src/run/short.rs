//! The short report for a terminal: what was measured in three lines, the one table that decides,
//! the controls in a line each, and the answer last. The rest is in the full report.

use super::pivot::Pivot;
use super::rates::rates;
use super::{account, answer, notes_above, notes_below, pivot_tables, rough, rows};
use crate::digits::{percent, signed_percent};
use crate::experiments;
use crate::figures::entry::Side;
use crate::figures::table::{self as cells, Field};
use crate::terminal::layout::{Layout, Tone};
use crate::terminal::note::{self, Note, note};
use crate::terminal::part::Part;
use crate::terminal::table::Grid;
use crate::text::{distinct, list, shown, wrap};
use zc_analysis::{CellEstimate, Estimates};
use zc_run::{Run, ServerPlan, Severity};

/// The whole short report.
pub(crate) fn brief(run: &Run, estimates: &Estimates, layout: Layout) -> String {
    let mut out = note::terminal(&above(run, estimates), layout);
    out.push('\n');
    let pivot = Pivot::build(run, estimates);
    let rough = rough::part(estimates);
    let server = run.header.plan.traffic.server();
    let responses = run.header.plan.traffic.responses().zip(pivot.as_ref());
    let requests =
        server.and_then(|server| experiments::server_table(estimates, server)).or_else(|| {
            responses
                .and_then(|(of, pivot)| experiments::responses_table(run, estimates, of, pivot))
        });
    if rough.is_none()
        && let Some((nfs, pivot)) = run.header.plan.traffic.nfs().zip(pivot.as_ref())
        && let Some(table) = experiments::nfs_table(run, estimates, nfs, pivot)
    {
        out.push_str(&table.terminal(layout));
        out.push('\n');
    }
    match (rough.as_ref().or(requests.as_ref()), &pivot) {
        (Some(table), _) => out.push_str(&table.terminal(layout)),
        (None, Some(pivot)) => out.push_str(&ratios(run, estimates, pivot).terminal(layout)),
        (None, None) => out.push_str(&table(run, estimates, layout.columns).terminal(layout)),
    }
    if rough.is_none()
        && let Some(replay) = experiments::replay_table(estimates)
    {
        out.push('\n');
        out.push_str(&replay.terminal(layout));
    }
    out.push_str(&unavailable(run, layout.columns));
    if rough.is_none() {
        out.push_str(&wrap("", &legend(estimates, pivot.is_some()), 0, layout.columns));
    }
    out.push_str(&note::terminal(&controls(run, estimates), layout));
    out.push('\n');
    out + &closing(&answer::answer(run, estimates, pivot.as_ref()), layout)
}

/// Notes above the table: what was measured, where, and in which run.
pub(crate) fn above(run: &Run, estimates: &Estimates) -> Vec<Note> {
    let host = &run.header.host;
    let hypervisor =
        host.hypervisor.as_deref().map_or_else(String::new, |name| format!(", {}", shown(name)));
    let machine = format!(
        "{}, Linux {}, {}, {} of {} CPUs{hypervisor}",
        shown(&host.hostname),
        shown(&host.kernel_release),
        shown(&host.cpu.model),
        host.cpu.allowed.len(),
        host.cpu.online
    );
    let server = run.header.plan.traffic.server();
    let nfs = run.header.plan.traffic.nfs();
    let to = match &run.header.remote {
        None if server.is_some_and(|server| server.load_from.is_some()) => ", the server's side",
        None if server.is_some_and(ServerPlan::ran_already) => ", both sides of it",
        None if run.header.plan.is_of_a_server() => ", the server's side",
        None if estimates.sender_alone => ", the sender alone",
        None if estimates.client_alone => ", the client's side",
        None if nfs.is_some_and(|nfs| nfs.shares_machine) => ", both ends on this machine",
        None => "",
        Some(remote) => match &remote.machine {
            None => ", the sender alone: nothing measures at the other end",
            Some(machine) if machine.same_machine => ", both ends on this machine",
            Some(_) => ", to another host",
        },
    };
    let cells = notes_above::factors(run).map_or_else(String::new, |cells| format!("{cells}; "));
    let files = || {
        let (files, flows) = (notes_above::file_set(run), notes_above::flows_and_buffers(run));
        vec![note("files", format!("{files} at {}, {flows}", rates(run)))]
    };
    let mut notes = server.map_or_else(files, experiments::about_server);
    notes.extend(experiments::about_replay(run));
    notes.extend(nfs.map(experiments::about_nfs));
    notes.push(note("link", format!("{}{to}; {machine}", notes_above::link(run))));
    notes.push(note(
        "run",
        format!("{cells}{}; {}", notes_above::version(run), notes_above::ended(run)),
    ));
    notes
}

/// The table of a plan of one factor, without empty columns and those that do not fit.
fn table(run: &Run, estimates: &Estimates, columns: usize) -> Grid {
    let rows = rows::sorted(estimates);
    // Where only the sender was measured, "both" repeats its cost.
    let doubled = |field: &Field| estimates.sender_alone && field.is_cost_of(Side::Both);
    let filled = |field: &Field| {
        let mut cells = rows.iter().filter(|cell| !cell.reference || !field.is_verdict());
        cells.any(|cell| !field.text(estimates, cell).is_empty())
    };
    let mut fields = cells::short();
    fields.retain(|field| filled(field) && !doubled(field));
    if fields.is_empty() {
        fields = cells::names();
    }
    let mut grid = cells::grid(run, estimates, &fields);
    for step in 1..=cells::last_step() {
        if grid.columns_wide() <= columns {
            break;
        }
        let both = fields.iter().any(|field| field.is_cost_of(Side::Both));
        fields.retain(|field| {
            !field.is_dropped_in(step) || (!both && field.is_cost_of(Side::Sender))
        });
        grid = cells::grid(run, estimates, &fields);
    }
    grid
}

/// The grid of a plan of several factors: ratios, or costs where nothing was compared.
fn ratios(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Part {
    let none =
        || Part::Text(vec![format!("No figures yet for any of {} cells.", pivot.cells().count())]);
    pivot_tables::ratios(run, estimates, pivot)
        .or_else(|| pivot_tables::grids(run, estimates, pivot).into_iter().next())
        .unwrap_or_else(none)
}

/// More cells than this that are not available for one reason are not listed one by one.
const LISTED: usize = 3;

/// The paths that are not available, one per line, with the remedy where it fits. What many have in
/// common is said once, and whole.
fn unavailable(run: &Run, columns: usize) -> String {
    let rows: Vec<_> = run.header.unavailable.iter().filter_map(notes_below::reason).collect();
    let mut alike: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for (name, reason, remedy) in &rows {
        match alike
            .iter_mut()
            .find(|(known, cure, _)| (known, cure) == (&reason.as_str(), &remedy.as_str()))
        {
            Some((.., names)) => names.push(name),
            None => alike.push((reason, remedy, vec![name])),
        }
    }
    let listed = alike.iter().filter(|(.., names)| names.len() <= LISTED);
    let longest = listed.flat_map(|(.., names)| names).map(|name| name.chars().count()).max();
    let width = longest.unwrap_or(0).min(30);
    let lines = |(reason, remedy, names): &(&str, &str, Vec<&str>)| -> String {
        if let [first, others @ ..] = names.as_slice()
            && names.len() > LISTED
        {
            let name = format!("{first} and {} more cells:", others.len());
            return wrap("", &format!("{name} {reason}{remedy}"), 0, columns);
        }
        let line = |name: &&str| {
            let short = format!("{name:<width$}  {reason}");
            let whole = format!("{short}{remedy}");
            one_line(if whole.chars().count() <= columns { &whole } else { &short }, columns)
        };
        names.iter().map(line).collect()
    };
    alike.iter().map(lines).collect()
}

/// Meaning of `±` and of the marks.
fn legend(estimates: &Estimates, several: bool) -> String {
    let costs = match (several, estimates.requests.is_empty()) {
        (true, _) => "",
        (false, true) => "us of CPU time per MB ",
        (false, false) => "medians over blocks ",
    };
    let mut parts =
        vec![format!("{costs}± half of the {:.0} % interval", estimates.confidence * 100.0)];
    let marks = rows::marks_in_use(estimates);
    parts.extend(marks.iter().map(|mark| format!("{} {}", mark.sign, mark.brief)));
    if several {
        parts.extend(
            pivot_tables::footnote(estimates)
                .map(|_| format!("{} undecided", pivot_tables::UNDECIDED)),
        );
    }
    parts.join("; ")
}

/// Intervals that are more than so many times as wide because of wander are explained.
const WORTH_A_LINE: f64 = 1.5;

/// The controls, one per line. Doubts are named here and explained in the full report.
pub(crate) fn controls(run: &Run, estimates: &Estimates) -> Vec<Note> {
    let mut controls = vec![notes_below::control(estimates)];
    controls.extend(notes_below::positive_control(estimates));
    controls.extend(notes_below::little_traffic(run, estimates));
    controls.extend(notes_above::read_back(run).map(|text| note("states", text)));
    controls.extend(notes_below::two_states(estimates));
    controls.extend(notes_below::wander(estimates, WORTH_A_LINE));
    controls.extend(notes_below::harness(estimates));
    controls.extend(notes_below::idle_host(estimates));
    controls.extend(perturbation(estimates));
    // Its absence is in the full report.
    if estimates.unattributed.as_ref().is_some_and(|work| work.added) {
        controls.extend(account::unattributed(estimates));
    }
    controls.push(account::blocks(run, estimates, &dropped(estimates)));
    let failed: usize = run.blocks.iter().map(|block| block.failed.len()).sum();
    if failed > 0 {
        let trials = if failed == 1 { "1 trial".to_owned() } else { format!("{failed} trials") };
        controls.push(note("failed", format!("{trials}; zc show -v explains")));
    }
    let doubts =
        notes_below::warnings(run).into_iter().filter(|each| each.severity != Severity::Note);
    let doubts = distinct(doubts.map(|warning| shown(&warning.name)));
    if !doubts.is_empty() {
        controls.push(note(
            "doubts",
            format!("what weakens figures: {}; zc show -v explains", doubts.join(", ")),
        ));
    }
    controls
}

/// Effect of the soakers.
fn perturbation(estimates: &Estimates) -> Option<Note> {
    let change =
        |cell: &CellEstimate| cell.perturbation.soaked_by_unsoaked_control.map(|share| share - 1.0);
    let throughput = notes_below::extremes(estimates, change).map(|((_, low), (_, high))| {
        format!("throughput by {} to {}", signed_percent(low), signed_percent(high))
    });
    let cost = estimates.cost_ratio_with_soakers.map(|times| {
        let half = times.half_width.map_or_else(String::new, |half| format!(" ±{}", percent(half)));
        format!("a byte's cost by {}{half}", signed_percent(times.value - 1.0))
    });
    let parts: Vec<String> = throughput.into_iter().chain(cost).collect();
    (!parts.is_empty()).then(|| {
        note("perturbation", format!("soakers (which count idle time) changed {}", list(&parts)))
    })
}

/// The reasons for which blocks were dropped: `4 steal`, `2 idle drift`.
fn dropped(estimates: &Estimates) -> Vec<String> {
    let dropped = &estimates.blocks.dropped;
    let reasons = [
        (dropped.steal, "steal"),
        (dropped.idle_drift, "idle drift"),
        (dropped.foreign, "other work"),
        (dropped.trial_failed, "failed trials"),
        (dropped.unfinished, "cut short"),
    ];
    let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
    reasons.map(|(count, why)| format!("{count} {why}")).collect()
}

/// The answer, highlighted where there is colour.
pub(crate) fn closing(answer: &[String], layout: Layout) -> String {
    let lines = answer.iter().map(|sentence| wrap("", sentence, 0, layout.columns));
    let paint = |line: &str| layout.paint(Tone::Answer, line) + "\n";
    lines.collect::<String>().lines().map(paint).collect()
}

/// A text cut to one line.
fn one_line(text: &str, columns: usize) -> String {
    let columns = columns.max(20);
    if text.chars().count() <= columns {
        return format!("{text}\n");
    }
    let cut: String = text.chars().take(columns - 3).collect();
    format!("{}...\n", cut.trim_end())
}
