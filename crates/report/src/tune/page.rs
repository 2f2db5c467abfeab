//! A tuning as a page: the answer, charts of cost and of latency by line, the difference to apply,
//! and what was measured. The texts are those of the terminal.

use super::document::TuneReport;
use super::lines::{ms, name, ratio_text, short_name};
use super::{basis, tables};
use crate::figures::entry::{bare, from_ratio};
use crate::fleet::parts::section;
use crate::html::dots::{self, Axis, Lane, Row};
use crate::html::page::Page;
use crate::html::plot::Caption;
use crate::html::skeleton::{begin, end, navigation};
use crate::html::{table, units};
use zc_analysis::tune::{Answer, Latency, LineAnswer, Outcome, PhaseName};
use zc_analysis::{Figure, RatioFigure};
use zc_run::escape;

/// The whole page, self-contained.
pub fn html(report: &TuneReport) -> String {
    let mut page = Page::new(units::units(&[]));
    let title = format!("What to change in {}", escape(&report.about.server, 120));
    let day = report.started_at.split('T').next().unwrap_or_default();
    let about = format!(
        "{}, Linux {}; {}",
        escape(&report.host, 60),
        escape(&report.kernel, 80),
        escape(day, 40)
    );
    begin(&mut page, &title, &[about]);
    let mut sections = vec![("lines", "Lines"), ("basis", "What was measured")];
    if !report.diff.is_empty() {
        sections.insert(1, ("diff", "The change"));
    }
    let named = sections.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
    navigation(&mut page, &named.collect::<Vec<_>>());
    page.out.raw("<main id=\"main\">\n");
    answer(&mut page, report);
    lines(&mut page, &report.answer);
    diff(&mut page, report);
    measured(&mut page, report);
    method(&mut page);
    page.out.raw("</main>\n");
    end(&mut page, "Tuned", env!("CARGO_PKG_VERSION"));
    page.out.finish()
}

fn answer(page: &mut Page, report: &TuneReport) {
    section(page, "answer", "Answer");
    let is_withheld = matches!(report.answer.outcome, Outcome::Withheld | Outcome::NothingKept);
    for (place, sentence) in report.sentences.iter().enumerate() {
        let class: &[(&str, &str)] = match place {
            0 if is_withheld => &[("class", "answer withheld")],
            0 => &[("class", "answer")],
            _ => &[],
        };
        page.out.element("p", class, sentence).raw("\n");
    }
    page.out.raw("</section>\n");
}

fn lines(page: &mut Page, answer: &Answer) {
    section(page, "lines", "Lines");
    costs(page, answer);
    latencies(page, answer);
    match tables::compared(answer, true) {
        Some(part) => table::part(page, &part),
        None => {
            page.out.raw("<p>No line was compared.</p>\n");
        }
    }
    if let Some(part) = tables::steps(answer) {
        table::part(page, &part);
    }
    let others = tables::not_compared(answer);
    if !others.is_empty() {
        page.out.raw("<h3>Lines that were not compared</h3>\n");
        page.notes(&others);
    }
    page.out.raw("</section>\n");
}

/// CPU per request by line, as a multiple of that in the present state.
fn costs(page: &mut Page, answer: &Answer) {
    let lane = |ratio: &RatioFigure, name: &str, hollow: bool| Lane {
        series: 0,
        figure: from_ratio(*ratio),
        hollow,
        name: format!("{name}: {}", ratio_text(ratio)),
    };
    let again = answer.phases.iter().rev().find(|phase| phase.phase != PhaseName::Together);
    let again = again.and_then(|phase| phase.control.as_ref()?.ratio.both);
    let mut rows: Vec<Row> = again
        .map(|ratio| Row {
            label: "as it is, again".to_owned(),
            lanes: vec![lane(&ratio, "the present state, measured again", false)],
        })
        .into_iter()
        .collect();
    rows.extend(tables::order(answer).into_iter().filter_map(|line| {
        let only_screened = line.phase == Some(PhaseName::Screening);
        let lanes = vec![lane(&line.ratio?, &name(line), only_screened)];
        Some(Row { label: short_name(line), lanes })
    }));
    let together = answer.together.as_ref().and_then(|together| together.ratio);
    rows.extend(together.map(|ratio| Row {
        label: "together".to_owned(),
        lanes: vec![lane(&ratio, "the lines to change together", false)],
    }));
    if rows.is_empty() {
        return;
    }
    let names = rows.iter().flat_map(|row| &row.lanes).map(|lane| lane.name.as_str());
    let description = format!("{}.", names.collect::<Vec<_>>().join("; "));
    let caption = Caption {
        title: "CPU per request, with the line / as it is".to_owned(),
        note: "Left of 1 is less. Line: 95 % interval. Hollow: from the screening alone."
            .to_owned(),
        description,
    };
    dots::dots(page, caption, &[], &rows, Axis::Ratios);
}

/// p50 and p99 by line.
fn latencies(page: &mut Page, answer: &Answer) {
    type Quantile = (&'static str, fn(&Latency) -> u64);
    let quantiles: [Quantile; 2] =
        [("p50", |latency| latency.p50_ns), ("p99", |latency| latency.p99_ns)];
    let lanes = |latency: &Latency, name: &str, hollow: bool| -> Vec<Lane> {
        let lane = |(series, (what, of)): (usize, &Quantile)| {
            let ns = of(latency);
            Lane {
                series,
                figure: figure_ms(ns),
                hollow,
                name: format!("{name}, {what}: {} ms", ms(ns)),
            }
        };
        quantiles.iter().enumerate().map(lane).collect()
    };
    let Some(present) = answer.present_latency else { return };
    let mut rows = vec![Row {
        label: "as it is".to_owned(),
        lanes: lanes(&present, "the present state", false),
    }];
    if let Some(ns) = present.again_p99_ns {
        let name = format!("the present state, measured again, p99: {} ms", ms(ns));
        let lane = Lane { series: 1, figure: figure_ms(ns), hollow: false, name };
        rows.push(Row { label: "as it is, again".to_owned(), lanes: vec![lane] });
    }
    rows.extend(tables::order(answer).into_iter().filter_map(|line: &LineAnswer| {
        let hollow = line.phase == Some(PhaseName::Screening);
        Some(Row { label: short_name(line), lanes: lanes(&line.latency?, &name(line), hollow) })
    }));
    let caption = Caption {
        title: "Latency, ms".to_owned(),
        note: "From when a request was due to the end of its response, beside soakers. The broken \
               line is the p99 as it is. A quantile has no interval: the present state, measured \
               again, shows how far it moves by itself. Hollow: from the screening alone."
            .to_owned(),
        description: String::new(),
    };
    let legend = quantiles.map(|(what, _)| what.to_owned());
    let reference = Some(present.p99_ns as f64 / 1e6);
    dots::dots(page, caption, &legend, &rows, Axis::Fixed { unit: "ms", reference });
}

fn figure_ms(ns: u64) -> Figure {
    bare(ns as f64 / 1e6)
}

fn diff(page: &mut Page, report: &TuneReport) {
    if report.diff.is_empty() {
        return;
    }
    section(page, "diff", "The change");
    page.out.raw("<pre tabindex=\"0\" role=\"region\" aria-labelledby=\"diff-h\">");
    for line in report.diff.lines() {
        for (place, part) in line.split('\t').enumerate() {
            page.out.raw(if place > 0 { "\t" } else { "" }).text(part);
        }
        page.out.raw("\n");
    }
    page.out.raw("</pre>\n</section>\n");
}

fn measured(page: &mut Page, report: &TuneReport) {
    section(page, "basis", "What was measured");
    page.notes(&basis::notes(report));
    page.out.raw("</section>\n");
}

fn method(page: &mut Page) {
    section(page, "method", "Method");
    page.out.raw(
        "<p>Each line was tried in a copy of the server that differs from the present state by \
         that line alone; all copies were asked the same mix in random order, block by block, \
         beside the present state, the same again, and the same with a known cost on top. The cost \
         is CPU time, the softirqs of the server&#39;s side included.</p>\n\
         <p>The screening has all lines and only chooses those that go on. Their verdicts are from \
         blocks of their own, corrected for their number, so that having been chosen does not make \
         a line look better (Cox, Biometrika 62, 1975). The lines to change were then measured \
         together, as effects do not add up, one more in each state, in an order that was fixed \
         before. From the end they were left out as long as the others were shown to be enough, \
         which errs in at most 2.5 % of all cases (Rosenbaum, Biometrika 95, 2008). A p99 counts \
         as changed only beyond what the present state differs from itself.</p>\n</section>\n",
    );
}
