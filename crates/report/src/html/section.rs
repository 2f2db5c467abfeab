//! The section of one run: verdict, charts, tables, machine, controls, warnings and the raw spread.

use std::collections::{BTreeMap, BTreeSet};

use super::page::Page;
use super::{charts, machine, server, strips, table};
use crate::run::pivot::Pivot;
use crate::run::{answer, notes_above, notes_below};
use crate::terminal::note::Note;
use crate::terminal::part::Part;
use crate::{experiments, profile};
use zc_analysis::profile::{ProfileEstimates, profile as sampled};
use zc_analysis::{Estimates, cost_series};
use zc_run::units::size_text;
use zc_run::{Experiment, Factor, Level, Run, escape};

/// The names of a run on the page.
pub(super) struct Name {
    /// The id of its section.
    pub(super) id: String,
    /// Its name in the navigation.
    pub(super) short: String,
    title: &'static str,
}

/// A name for each run; experiments that occur twice are numbered, and followed by their
/// differences.
pub(super) fn names(runs: &[(&Run, &Estimates)]) -> Vec<Name> {
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, (run, _)) in runs.iter().enumerate() {
        alike.entry(run.header.plan.experiment.as_str()).or_default().push(place);
    }
    let mut numbers = vec![String::new(); runs.len()];
    for places in alike.values().filter(|places| places.len() > 1) {
        let of_experiment: Vec<&Run> = places.iter().map(|place| runs[*place].0).collect();
        for (before, (place, apart)) in
            places.iter().zip(distinguishing_names(&of_experiment)).enumerate()
        {
            numbers[*place] = format!(" {} ({apart})", before + 1);
        }
    }
    let name = |(place, number): (usize, String)| {
        let experiment = runs[place].0.header.plan.experiment.as_str();
        Name {
            id: format!("run-{}", place + 1),
            short: format!("{}{number}", escape(experiment, 40)),
            title: title(experiment),
        }
    };
    numbers.into_iter().enumerate().map(name).collect()
}

/// At most this many differences are in a name.
const MOST_APART: usize = 4;

/// Names that distinguish each of these runs of an experiment from the others: the settings in
/// which they differ, and when it began where another one has the same.
fn distinguishing_names(runs: &[&Run]) -> Vec<String> {
    let all: Vec<Vec<(String, String)>> = runs.iter().map(|run| settings(run)).collect();
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in all.iter().flatten() {
        values.entry(name).or_default().insert(value);
    }
    let differs = |name: &str| values.get(name).is_some_and(|values| values.len() > 1);
    let named = |settings: &Vec<(String, String)>| {
        let found = settings.iter().filter(|(name, _)| differs(name)).take(MOST_APART);
        let found = found.map(|(name, value)| format!("{name} {}", escape(value, 40)));
        found.collect::<Vec<_>>().join(", ")
    };
    let found: Vec<String> = all.iter().map(named).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for text in &found {
        *times.entry(text).or_default() += 1;
    }
    let each = found.iter().zip(runs).map(|(text, run)| {
        let begun = format!("begun {}", escape(&run.header.started_at, 40));
        match times.get(text.as_str()) {
            Some(1) => text.clone(),
            _ if text.is_empty() => begun,
            _ => format!("{text}, {begun}"),
        }
    });
    each.collect()
}

/// Settings that a run's cells have in common, by name, the most telling first.
fn settings(run: &Run) -> Vec<(String, String)> {
    let header = &run.header;
    let plan = &header.plan;
    let far = header.remote.as_ref().map(|remote| remote.address.clone());
    let mut settings = vec![
        ("link".to_owned(), header.link.kind.to_string()),
        ("host".to_owned(), header.host.hostname.clone()),
        ("to".to_owned(), far.unwrap_or_else(|| "this machine".to_owned())),
    ];
    if let Some(server) = plan.traffic.server() {
        settings.push(("server".to_owned(), server.serve.clone().unwrap_or_default()));
    }
    let first = plan.cells.first();
    for factor in Factor::ALL.iter().copied().filter(|factor| !plan.factors.contains(factor)) {
        // A message is a buffer, which is said below. A server's rate is one of requests.
        let is_said = factor == Factor::Message
            || (plan.traffic.server().is_some() && factor == Factor::Rate);
        if let Some(cell) = first.filter(|_| !is_said) {
            let level = Level::for_cell(factor, cell, &plan.fixed, &header.link);
            settings.push((factor.to_string(), level.to_string()));
        }
    }
    settings.push(("buffers of".to_owned(), size_text(plan.fixed.buffer_bytes as u64)));
    settings.push(("files".to_owned(), format!("{} {}", plan.files.files, plan.files.origin)));
    settings.push(("kernel".to_owned(), header.host.kernel_release.clone()));
    settings.push(("zc".to_owned(), header.zc_version.clone()));
    settings
}

/// The question that a run answers; empty for a plan of the user's own.
fn title(experiment: &str) -> &'static str {
    match experiment.parse::<Experiment>() {
        Ok(experiment) => experiment.definition().title,
        Err(_) if experiment == "profile" => "where the CPU time goes",
        Err(_) => "",
    }
}

/// A run with everything that its section prints.
pub(super) struct RunReport<'a> {
    pub(super) run: &'a Run,
    pub(super) estimates: &'a Estimates,
    /// The profile of a sampled run.
    profile: Option<ProfileEstimates>,
    /// Verdict sentences, the most general first.
    pub(super) sentences: Vec<String>,
    /// Whether the last sentence is the conclusion of an experiment.
    has_conclusion: bool,
    /// Tables of responses, which come before those of the cells.
    first: Vec<Part>,
    parts: Vec<Part>,
}

impl<'a> RunReport<'a> {
    pub(super) fn new(run: &'a Run, estimates: &'a Estimates) -> Self {
        if let Some(sampled) = sampled(run) {
            let sentences = profile::sentences(run, estimates, &sampled);
            let parts = profile::parts(run, &sampled);
            return Self {
                run,
                estimates,
                profile: Some(sampled),
                has_conclusion: sentences.len() > 1,
                sentences,
                first: Vec::new(),
                parts,
            };
        }
        let added = experiments::section(run, estimates);
        let (mut first, parts) = experiments::placed(run, added.parts);
        if run.header.plan.traffic.server().is_some() {
            first.clear(); // its charts and tables are made for the page
        }
        let has_conclusion = added.conclusion.is_some();
        let sentences = answer::in_full(run, estimates, added.conclusion);
        Self { run, estimates, profile: None, sentences, has_conclusion, first, parts }
    }

    /// The one sentence that sums up the run.
    pub(super) fn headline(&self) -> &str {
        let sentence =
            if self.has_conclusion { self.sentences.last() } else { self.sentences.first() };
        sentence.map_or("", String::as_str)
    }
}

/// Writes the section of a run. `before` is the first run of the page, unless this is it: the first
/// run's verdict stands at the top of the page, and host facts equal to its are not repeated.
pub(super) fn section(page: &mut Page, report: &RunReport, name: &Name, before: Option<&Run>) {
    let RunReport { run, estimates, .. } = report;
    let heading = format!("{}-h", name.id);
    page.out
        .open("section", &[("id", &name.id), ("class", "run"), ("aria-labelledby", &heading)])
        .raw("\n");
    page.out.open("h2", &[("id", &heading)]).text(&name.short);
    if !name.title.is_empty() {
        page.out.raw("<span>: ").text(name.title).raw("</span>");
    }
    page.out.raw("</h2>\n");
    if before.is_some() {
        let class = if estimates.verdict.stands() { "finding" } else { "finding withheld" };
        for sentence in &report.sentences {
            page.out.element("p", &[("class", class)], sentence).raw("\n");
        }
    }

    let pivot = Pivot::build(run, estimates);
    let (above, below) = match &report.profile {
        Some(sampled) => {
            crate::html::profile::charts(page, run, sampled);
            page.out.raw("<h3>Figures</h3>\n");
            (profile::above(run, estimates, sampled), profile::below(run, estimates, sampled))
        }
        None => {
            let server = run.header.plan.traffic.server();
            match server {
                Some(server) => {
                    server::charts(page, estimates, server);
                    server::cores(page, estimates, server);
                }
                None => charts::charts(page, run, estimates),
            }
            page.out.raw("<h3>Figures</h3>\n");
            for part in &report.first {
                table::part(page, part);
            }
            match (crate::run::rough::part(estimates), &pivot, server) {
                (Some(rough), ..) => table::part(page, &rough),
                (None, Some(pivot), _) => table::grids(page, run, estimates, pivot),
                (None, None, Some(server)) => server::states(page, estimates, server),
                (None, None, None) => table::main_table(page, run, estimates),
            }
            footnotes(page, run, estimates);
            if let Some(server) = server {
                table::part(page, &experiments::server::responses(server));
            }
            if pivot.is_none() && estimates.blocks.kept > 0 {
                table::traffic(page, run, estimates);
            }
            if !report.parts.is_empty() {
                page.out.raw("<h3>Then and now</h3>\n");
            }
            (notes_above::above(run, estimates), notes_below::below(run, estimates))
        }
    };
    for part in &report.parts {
        table::part(page, part);
    }

    page.out.raw("<h3>Machine and plan</h3>\n");
    page.notes(&above);
    machine::details(&mut page.out, run, before);

    page.out.raw("<h3>Controls and conditions</h3>\n");
    // The label of a warning is its severity.
    let (warnings, notes): (Vec<Note>, Vec<Note>) = below
        .into_iter()
        .partition(|note| matches!(note.label, "note" | "doubt" | "WITHHELD" | "UNKNOWN"));
    page.notes(&notes);
    page.out.raw("<h3>Warnings</h3>\n");
    if warnings.is_empty() {
        page.out.raw("<p>None.</p>\n");
    } else {
        page.notes(&warnings);
    }

    let blocks = cost_series(run);
    if blocks.iter().any(|strip| strip.ns_per_kib.len() > 1) {
        page.out.raw("<h3>Raw spread</h3>\n");
        strips::strips(page, estimates, pivot.as_ref(), &blocks);
    }
    page.out.raw("</section>\n");
}

/// The meaning of the marks, and what was not available.
fn footnotes(page: &mut Page, run: &Run, estimates: &Estimates) {
    let marks = notes_below::footnotes(run, estimates);
    if !marks.is_empty() {
        page.out.raw("<ul class=\"marks\">\n");
        for mark in marks {
            page.out.element("li", &[], &mark).raw("\n");
        }
        page.out.raw("</ul>\n");
    }
    let unavailable = notes_below::unavailable(run);
    if !unavailable.is_empty() {
        page.out.raw("<h4>Not available here</h4>\n<dl>\n");
        for (name, reason) in unavailable {
            page.out.element("dt", &[], &name).element("dd", &[], &reason).raw("\n");
        }
        page.out.raw("</dl>\n");
    }
}
