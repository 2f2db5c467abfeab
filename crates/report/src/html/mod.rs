//! Runs as one self-contained page of HTML: no network, no asset, no JavaScript needed. Its own
//! script adds sorting, filters, tooltips and a choice of units.
//!
//! Escaping in [`markup`] is not the only defence: the page's Content-Security-Policy allows the
//! one style sheet and the one script by their hashes, and nothing else.

mod advise;
mod bars;
mod charts;
mod curves;
pub(crate) mod dots;
pub(crate) mod filters;
mod heat;
mod icicle;
mod machine;
mod markup;
pub(crate) mod nights;
pub(crate) mod page;
pub(crate) mod plot;
mod policy;
mod profile;
mod scale;
mod section;
mod server;
pub(crate) mod skeleton;
mod stacked;
mod strips;
pub(crate) mod table;
pub(crate) mod units;

pub use advise::advise;
use page::Page;
use section::RunReport;
use skeleton::{begin, end, navigation};

use zc_analysis::{AccountKind, Estimates};
use zc_run::{Experiment, Run, escape};

/// The whole page. Runs keep their order, except that one of the default experiment comes first, as
/// the page opens with its verdict.
pub fn html(runs: &[(&Run, &Estimates)]) -> String {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|(run, _)| run.header.plan.experiment != Experiment::DEFAULT.name()); // stable
    let mut page = Page::new(units::units(&runs));
    let names = section::names(&runs);
    let reports: Vec<RunReport> =
        runs.iter().map(|(run, estimates)| RunReport::new(run, estimates)).collect();
    head(&mut page, &runs);
    let places: Vec<(String, String)> =
        names.iter().map(|name| (name.id.clone(), name.short.clone())).collect();
    navigation(&mut page, &places);
    page.out.raw("<main id=\"main\">\n");
    opening(&mut page, &reports, &names);
    for (place, report) in reports.iter().enumerate() {
        let before = (place > 0).then(|| runs[0].0);
        section::section(&mut page, report, &names[place], before);
    }
    method(&mut page, &runs);
    page.out.raw("</main>\n");
    foot(&mut page, &runs);
    page.out.finish()
}

fn head(page: &mut Page, runs: &[(&Run, &Estimates)]) {
    let servers = runs.iter().all(|(run, _)| run.header.plan.traffic.server().is_some());
    let title = match runs.first() {
        Some((run, _)) => {
            let what = if servers { "What a request costs" } else { "What sending over TCP costs" };
            format!("{what} on {}", escape(&run.header.host.hostname, 60))
        }
        None => "What sending over TCP costs".to_owned(),
    };
    let mut about: Vec<String> = Vec::new();
    for (run, _) in runs {
        let host = &run.header.host;
        let day = run.header.started_at.split('T').next().unwrap_or_default();
        let line = format!(
            "{}, Linux {}, {}, {} of {} CPUs{}; {}",
            escape(&host.hostname, 60),
            escape(&host.kernel_release, 80),
            escape(&host.cpu.model, 80),
            host.cpu.allowed.len(),
            host.cpu.online,
            host.hypervisor
                .as_deref()
                .map_or_else(String::new, |name| format!(", {}", escape(name, 40))),
            escape(day, 40),
        );
        if !about.contains(&line) {
            about.push(line);
        }
    }
    begin(page, &title, &about);
}

/// The verdict of the first run, and one sentence for each further run.
fn opening(page: &mut Page, reports: &[RunReport], names: &[section::Name]) {
    let out = &mut page.out;
    out.raw(
        "<section id=\"answer\" aria-labelledby=\"answer-h\">\n<h2 id=\"answer-h\">Answer</h2>\n",
    );
    let Some(first) = reports.first() else {
        out.raw("<p>No run was given.</p></section>\n");
        return;
    };
    let class = if first.estimates.verdict.stands() { "answer" } else { "answer withheld" };
    out.element(
        "p",
        &[("class", class)],
        &first.sentences.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" "),
    );
    for sentence in first.sentences.iter().skip(2) {
        out.element("p", &[], sentence);
    }
    if reports.len() > 1 {
        out.raw("<ul class=\"findings\">\n");
        for (report, name) in reports.iter().zip(names).skip(1) {
            out.raw("<li>").element("a", &[("href", &format!("#{}", name.id))], &name.short);
            out.text(": ").text(report.headline()).raw("</li>\n");
        }
        out.raw("</ul>\n");
    }
    out.raw("</section>\n");
}

/// The section on the method, the same on every page.
fn method(page: &mut Page, runs: &[(&Run, &Estimates)]) {
    let out = &mut page.out;
    out.raw(
        "<section id=\"method\" aria-labelledby=\"method-h\">\n<h2 id=\"method-h\">Method</h2>\n\
         <p>A thread of the lowest scheduling class on every CPU counts units of fixed work. Costs \
         are taken at a fixed rate below saturation, top speeds in windows without those threads.",
    );
    if runs.iter().any(|(_, estimates)| estimates.account == AccountKind::OwnClocks) {
        out.raw(
            " Costs are CPU time by the clocks of threads: those of the traffic and of ksoftirqd, \
             and what interrupts and softirqs took from the counting threads, by their speed in \
             idle windows right before and after. What other programs and the hypervisor take is \
             in no cost.",
        );
    }
    if runs.iter().any(|(_, estimates)| estimates.account != AccountKind::OwnClocks) {
        out.raw(
            " Costs by wall time are measured by subtraction: what was taken from the counting \
             threads, by their rate in idle windows right before and after, whichever task the \
             kernel charges it to.",
        );
    }
    out.raw(
        "</p>\n\
         <p>Every cell is measured once in every block, in random order; cells are compared within \
         blocks. A block is dropped only by rules fixed in advance. Costs are medians over blocks \
         with exact intervals, ratios are Hodges-Lehmann estimates with Wilcoxon&#39;s intervals, \
         and verdicts (less, more, same) follow Holm&#39;s procedure over all comparisons of a \
         run. The reference is measured twice, under two names; no difference is judged that its \
         difference from itself could explain, or that it could not have seen. A third time a \
         known cost is added to it; where that is not found, verdicts are withheld.</p>\n",
    );
    let servers: Vec<_> =
        runs.iter().filter_map(|(run, _)| run.header.plan.traffic.server()).collect();
    if !servers.is_empty() {
        server::method(out, &servers);
    }
    let costs = runs
        .iter()
        .flat_map(|(_, estimates)| &estimates.cells)
        .any(|cell| cell.cost_ns_per_kib.both.is_some());
    if costs {
        page.about_units();
    }
    page.out.raw("</section>\n");
}

fn foot(page: &mut Page, runs: &[(&Run, &Estimates)]) {
    let mut versions: Vec<&str> =
        runs.iter().map(|(run, _)| run.header.zc_version.as_str()).collect();
    versions.dedup();
    end(page, "Measured", &versions.join(", "));
}

#[cfg(test)]
pub(crate) mod tests;
