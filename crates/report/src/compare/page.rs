//! A comparison of runs as a page: the verdict, then for each pair a chart and a table of ratios,
//! what else differs, and the method. The texts are those of the terminal.

use super::rows::{self, name};
use super::sentences;
use crate::digits::ratio;
use crate::html::dots::{self, Axis, Lane, Row};
use crate::html::page::Page;
use crate::html::plot::Caption;
use crate::html::skeleton::{begin, end, navigation};
use crate::html::{table, units};
use zc_analysis::compare::{CellChange, Change, Compared, JudgedBy, Judgement, RelativeTo};
use zc_analysis::{Bounds, Figure, Withheld};
use zc_run::escape;

/// The comparisons as one self-contained page of HTML.
pub fn html(compared: &[Compared], judgement: Option<&Judgement>) -> String {
    let mut page = Page::new(units::units(&[]));
    let old = compared.first().map_or_else(String::new, |compared| escape(&compared.old.name, 80));
    let title = match compared {
        [one] => format!("{} against {old}", escape(&one.new.name, 80)),
        several => format!("{} runs against {old}", several.len()),
    };
    begin(&mut page, &title, &[]);
    let names: Vec<(String, String)> = compared
        .iter()
        .enumerate()
        .map(|(place, compared)| (format!("pair-{}", place + 1), escape(&compared.new.name, 60)))
        .collect();
    navigation(&mut page, &names);
    page.out.raw("<main id=\"main\">\n");
    opening(&mut page, compared, judgement, &names);
    for (compared, (id, short)) in compared.iter().zip(&names) {
        pair(&mut page, compared, id, short);
    }
    method(&mut page, compared);
    page.out.raw("</main>\n");
    end(&mut page, "Compared", env!("CARGO_PKG_VERSION"));
    page.out.finish()
}

/// The result of `--fail-if-worse`, if it was given, and the verdict of each pair.
fn opening(
    page: &mut Page,
    compared: &[Compared],
    judgement: Option<&Judgement>,
    names: &[(String, String)],
) {
    let out = &mut page.out;
    out.raw(
        "<section id=\"answer\" aria-labelledby=\"answer-h\">\n<h2 id=\"answer-h\">Answer</h2>\n",
    );
    if let Some(judgement) = judgement {
        out.element("p", &[("class", "answer")], &sentences::judgement(judgement)).raw("\n");
    }
    if let [one] = compared {
        let class = match () {
            () if !is_judged(one) => "answer withheld",
            () if judgement.is_none() => "answer",
            () => "finding",
        };
        for sentence in sentences::verdict(one) {
            out.element("p", &[("class", class)], &sentence).raw("\n");
        }
    } else {
        out.raw("<ul class=\"findings\">\n");
        for (compared, (id, short)) in compared.iter().zip(names) {
            out.raw("<li>").element("a", &[("href", &format!("#{id}"))], short);
            out.text(": ").text(&sentences::verdict(compared).join(" ")).raw("</li>\n");
        }
        out.raw("</ul>\n");
    }
    out.raw("</section>\n");
}

/// Whether there are verdicts.
fn is_judged(compared: &Compared) -> bool {
    compared.impossible.is_empty() && compared.withheld.is_empty()
}

fn pair(page: &mut Page, compared: &Compared, id: &str, short: &str) {
    let heading = format!("{id}-h");
    page.out
        .open("section", &[("id", id), ("class", "run"), ("aria-labelledby", &heading)])
        .raw("\n");
    page.out.open("h2", &[("id", &heading)]).text(short);
    page.out.raw("<span> against ").text(&escape(&compared.old.name, 60)).raw("</span></h2>\n");
    chart(page, compared);
    if !compared.cells.is_empty() {
        page.out.raw("<h3>Figures</h3>\n");
        let requests = rows::compares_servers(compared);
        for (place, grid) in rows::grids(compared).iter().enumerate() {
            let caption = match place {
                0 if requests => {
                    "CPU time of the server's side in us per request, medians over blocks, and \
                     their ratios, each with its half-width"
                }
                0 => {
                    "Costs of all that was measured in us/MB, medians over blocks, and their \
                     ratios, each with its half-width"
                }
                _ => "The same ratios of the two ends by themselves",
            };
            table::table(page, caption, 1, grid, |row, column| {
                let cost =
                    compared.cells.get(row).filter(|_| place == 0 && !requests).and_then(|cell| {
                        match column {
                            1 => cell.old_cost_ns_per_kib.both,
                            2 => cell.new_cost_ns_per_kib.both,
                            _ => None,
                        }
                    });
                table::CellValues { cost, ..table::CellValues::default() }
            });
        }
    }
    for (title, notes) in [
        ("What was compared", sentences::above(compared)),
        ("How the ratios came about", sentences::below(compared)),
    ] {
        if notes.is_empty() {
            continue;
        }
        page.out.element("h3", &[], title).raw("\n<dl>\n");
        let mut last = "";
        for note in notes {
            // Repeated labels are printed once.
            if note.label != last {
                page.out.element("dt", &[], note.label);
            }
            last = note.label;
            page.out.element("dd", &[], &note.text).raw("\n");
        }
        page.out.raw("</dl>\n");
    }
    page.out.raw("</section>\n");
}

/// Every cell's ratio, absolute and relative to the others; the judged one is filled.
fn chart(page: &mut Page, compared: &Compared) {
    let relative = match compared.relative_to {
        Some(RelativeTo::Others) => "relative to the others".to_owned(),
        _ => format!(
            "relative to {}",
            escape(compared.reference.as_deref().unwrap_or("the reference"), 24)
        ),
    };
    let lanes = |cell: &CellChange| -> Vec<Lane> {
        let both = [
            (JudgedBy::Cost, cell.cost.both, "cost"),
            (JudgedBy::Relative, cell.relative.both, &relative),
        ];
        let lane = |(series, (by, change, what)): (usize, (JudgedBy, Option<Change>, &str))| {
            let change = change.filter(|change| change.ratio.is_finite() && change.ratio > 0.0)?;
            Some(Lane {
                series,
                figure: figure(&change, compared.confidence),
                hollow: cell.judged_by != Some(by),
                name: format!(
                    "{}, {what}: {} new / old",
                    name(cell),
                    ratio(change.ratio, change.half_width())
                ),
            })
        };
        both.into_iter().enumerate().filter_map(lane).collect()
    };
    let of: Vec<Row> = compared
        .cells
        .iter()
        .map(|cell| Row { label: name(cell), lanes: lanes(cell) })
        .filter(|row| !row.lanes.is_empty())
        .collect();
    if of.is_empty() {
        return;
    }
    let alone = !of.iter().flat_map(|row| &row.lanes).any(|lane| lane.series == 1);
    let legend: Vec<String> =
        if alone { vec!["cost".to_owned()] } else { vec!["cost".to_owned(), relative] };
    let mut note =
        "Left of the broken line is cheaper, right of it dearer. Lines are 95 % intervals."
            .to_owned();
    if of.iter().flat_map(|row| &row.lanes).any(|lane| lane.hollow) {
        note.push_str(" Filled: what the verdict is about.");
    }
    let description = match is_judged(compared) {
        true => "Every figure is in the tables of this section.".to_owned(),
        false => "No words may be said about it. Every figure is in the tables of this section."
            .to_owned(),
    };
    let title = match rows::compares_servers(compared) {
        true => "CPU per request in each state, new by old",
        false => "Cost of each cell, new by old",
    };
    let caption = Caption { title: title.to_owned(), note, description };
    dots::dots(page, caption, &legend, &of, Axis::Ratios);
}

/// A ratio as a figure for the chart. An open lower end of an interval is drawn to 0.
fn figure(change: &Change, confidence: f64) -> Figure {
    let open = change.low.is_none() && change.high.is_none();
    let high = change.high.filter(|high| high.is_finite());
    let bounds = Bounds { low: change.low.unwrap_or(0.0), high, confidence };
    let half_width = change.half_width();
    Figure { value: change.ratio, interval: (!open).then_some(bounds), half_width, blocks: 0 }
}

/// The method of the comparisons.
fn method(page: &mut Page, compared: &[Compared]) {
    let out = &mut page.out;
    out.raw(
        "<section id=\"method\" aria-labelledby=\"method-h\">\n<h2 id=\"method-h\">Method</h2>\n\
         <p>Costs are measured by subtraction, as zc report explains. Two cells of one run \
         stand in the same blocks and are compared \
         within them. Blocks of two runs are independent samples; what differs from one \
         run to the next is added to the width \
         of their intervals. A cell of two runs is judged by its cost relative to what was \
         measured beside it, in which what slows \
         a whole machine down cancels, and by its own cost where the machine itself has \
         changed.</p>\n\
         <p>Better and worse are said with an error of 5 % for all cells of a pair together \
         (Holm). The same within x % means that the whole \
         interval is that near to 1. Undecided is everything else, and is not the same as the \
         same.</p>\n",
    );
    let distrusted = |why: &Withheld| matches!(why, Withheld::ControlDiffers { .. });
    if compared.iter().flat_map(|compared| &compared.doubts).any(|doubt| distrusted(&doubt.why)) {
        out.raw(
            "<p>Every run measures its reference twice, under two names (A/A control). Where \
            it differs from itself, its figures are doubtful.</p>\n",
        );
    }
    out.raw("</section>\n");
}
