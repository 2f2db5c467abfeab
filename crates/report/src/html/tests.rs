//! Properties of every page, whatever its runs contain: it is well-formed, nothing from outside
//! becomes markup, it has no address, and the same runs give the same page. Its look is checked by
//! eye and by tests/browser.

use proptest::prelude::*;

use super::skeleton::{SCRIPT, STYLE};
use super::*;
use crate::tests::fixture::{iperf3, loopback, null, remote, veth, without_blocks};
use crate::tests::fixture_plans;
use crate::tests::server::server;
use zc_analysis::compare::{Selection, compare};
use zc_analysis::estimate;
use zc_run::{Severity, Support, SupportRow, Unavailable, Warning};
use zc_testkit::synthetic::Synthetic;

fn all() -> Vec<(Run, Estimates)> {
    let mut all = vec![veth(), loopback(), remote(), iperf3(), null(), without_blocks(), server()];
    all.extend(plans());
    all
}

fn plans() -> Vec<(Run, Estimates)> {
    use crate::tests::fixture_plans::{
        affinity, cork, mtu, offloads, receive, sixty, sizes, sockbuf,
    };
    vec![sizes(), receive(), offloads(), cork(), affinity(), sockbuf(), mtu(), sixty()]
}

/// Elements that have no end tag.
const VOID: [&str; 2] = ["meta", "!doctype"];

/// The page's tags in their order. Panics if one is not closed by its own end tag.
pub(crate) fn tags(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap().to_owned();
        if let Some(ended) = tag.strip_prefix('/') {
            assert_eq!(
                open.pop().as_deref(),
                Some(ended),
                "before {}",
                &rest[..rest.len().min(80)]
            );
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
            // Their content is not markup.
            if matches!(name.as_str(), "style" | "script") {
                rest = &rest[rest.find(&format!("</{name}>")).expect("it ends")..];
            }
        }
        found.push(name);
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[track_caller]
/// Any text, and texts of what markup consists of.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "(<|>|&|\"|'|/|script|style|!--|-->|]]>|svg|a| |=|onload){1,12}",]
}

pub(crate) fn no_id_is_there_twice(page: &str) {
    let mut seen = std::collections::BTreeSet::new();
    for id in page.split(" id=\"").skip(1) {
        let id = id.split('"').next().unwrap_or_default();
        assert!(seen.insert(id), "{id} is there twice");
    }
}

#[test]
fn runs_of_one_experiment_are_named_by_what_tells_them_apart() {
    let named = |change: &dyn Fn(&mut Run)| {
        let (first, (mut second, estimates)) = (veth(), veth());
        change(&mut second);
        html(&[(&first.0, &first.1), (&second, &estimates)])
    };
    let page = named(&|run| run.header.plan.fixed.buffer_bytes = 4096);
    assert!(
        page.contains(">paths 1 (buffers of 64k)<") && page.contains(">paths 2 (buffers of 4k)<")
    );
    let (of_veth, mut of_null) = (veth(), null());
    of_null.0.header.plan.experiment.clone_from(&of_veth.0.header.plan.experiment);
    let mut later = of_veth.clone();
    later.0.header.started_at = "2026-11-23T00:00:00Z".to_owned();
    let page = html(&[(&of_veth.0, &of_veth.1), (&of_null.0, &of_null.1), (&later.0, &later.1)]);
    assert!(page.contains(">paths 2 (link null"), "{page}");
    assert!(page.contains("begun 2026-11-23T00:00:00Z)<"), "{page}");
    let page = named(&|run| run.header.host.hostname = "other".to_owned());
    assert!(page.contains(">paths 2 (host other)<"), "{page}");
    let page = named(&|run| run.header.started_at = "2026-11-23T00:00:00Z".to_owned());
    assert!(page.contains(">paths 2 (begun 2026-11-23T00:00:00Z)<"), "{page}");
}

#[test]
fn every_page_is_well_formed_and_has_no_address() {
    let runs = all();
    let mut pages: Vec<String> =
        runs.iter().map(|(run, estimates)| html(&[(run, estimates)])).collect();
    pages.push(html(&runs.iter().map(|(run, estimates)| (run, estimates)).collect::<Vec<_>>()));
    pages.push(html(&[]));
    for page in pages {
        tags(&page);
        no_id_is_there_twice(&page);
        // The addresses of a server are text.
        let page = page.replace(SCRIPT, "").replace(STYLE, "").replace("http://localhost:", "");
        assert!(
            !page.contains("NaN") && !page.contains("inf%") && !page.contains("Infinity"),
            "{page}"
        );
        for fetches in
            ["http:", "https:", "//www", "url(", "@import", " src=", "<link", "<img", "<iframe"]
        {
            assert!(!page.contains(fetches), "{fetches}");
        }
    }
}

#[test]
fn the_page_opens_with_the_answer_and_the_paths_come_first() {
    let (paths, sizes) = (veth(), fixture_plans::sizes());
    let page = html(&[(&sizes.0, &sizes.1), (&paths.0, &paths.1)]);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text:?} is not there"));
    assert!(place("id=\"answer\"") < place("id=\"run-1\""));
    assert!(place("<h2 id=\"run-1-h\">paths") < place("<h2 id=\"run-2-h\">"));
    let figure = place("<figure");
    assert!(place("id=\"run-1\"") < figure && figure < place("<table>"));
    assert!(
        place("<h3>Machine and plan") < place("<h3>Controls and conditions")
            && place("<h3>Warnings") < place("id=\"run-2\"")
    );
}

#[test]
fn a_verdict_that_is_withheld_opens_the_page_with_its_reason() {
    let (mut run, mut estimates) = veth();
    run.header.warnings.push(Warning::new(
        "sniffer",
        Severity::Withhold,
        "a packet socket listens to all protocols",
    ));
    estimates.verdict.withheld = vec![zc_analysis::Withheld::Warning {
        name: "sniffer".to_owned(),
        severity: Severity::Withhold,
    }];
    let page = html(&[(&run, &estimates)]);
    assert!(page.contains(
        "<p class=\"answer withheld\">Verdict withheld: a packet socket listens to all protocols."
    ));
}

#[test]
fn a_run_of_many_cells_and_blocks_stays_within_its_bytes() {
    let world = Synthetic { blocks: 600, ..Synthetic::default() };
    let run = world.run();
    let estimates = estimate(&run);
    let page = html(&[(&run, &estimates)]);
    assert!(page.len() < 80_000, "{} bytes", page.len());
    assert!(page.contains("One block in"), "not every block is drawn, and it is said");
}

/// The page that compares two runs called `name`; the second has another kernel, on which sendfile
/// is dearer.
fn comparison_page(name: &str, change: impl Fn(&mut Run)) -> String {
    let run = |seed: u64, sendfile: f64| {
        let mut world = Synthetic { seed, blocks: 60, block_drift: 0.002, ..Synthetic::default() };
        for cell in world.cells.iter_mut().filter(|cell| cell.cell.label == "sendfile") {
            cell.sender_ns_per_kib *= sendfile;
            cell.receiver_ns_per_kib *= sendfile;
        }
        let mut run = world.run();
        run.header.started_at = format!("2026-11-2{seed}T12:00:00Z");
        run
    };
    let (old, mut new) = (run(1, 1.0), run(2, 2.0));
    new.header.host.kernel_release = "6.19.0".to_owned();
    change(&mut new);
    let part = |run| Selection { name: name.to_owned(), run, cell: None, state: None };
    let mut other = part(&new);
    other.name.push('2');
    let (compared, judgement) = compare(&part(&old), &[part(&new), other], Some(0.05), None);
    crate::compare::html(&compared, judgement.as_ref())
}

#[test]
fn a_page_of_comparisons_opens_with_the_answer_and_shows_every_pair() {
    let page = comparison_page("run.json", |_| {});
    tags(&page);
    let place =
        |text: &str| page.find(text).unwrap_or_else(|| panic!("{text:?} is not there in {page}"));
    assert!(
        place("Worse by more than 5.0 %: run.json: sendfile")
            < place("<a href=\"#pair-1\">run.json</a>: ")
    );
    assert!(place("id=\"pair-1\"") < place("<figure") && place("<figure") < place("<table>"));
    assert!(place("<dt>differs</dt><dd>kernel ") < place("id=\"pair-2\""));
    assert!(page.contains("data-n=\"sendfile, cost: "), "marks are read out");
    let own = page.replace(SCRIPT, "").replace(STYLE, "");
    assert!(!own.contains("NaN") && !own.contains("inf%") && !own.contains("Infinity"), "{own}");
    // An impossible comparison has a page too.
    let nothing = comparison_page("run.json", |run| run.header.plan.fixed.rate_bytes_per_s = 1.0);
    tags(&nothing);
    let nothing = nothing.replace(SCRIPT, "").replace(STYLE, "");
    assert!(nothing.contains("Cannot be compared") && !nothing.contains("<figure"), "{nothing}");
}

/// A run with `text` in every string from outside.
fn containing(text: &str) -> (Run, Estimates) {
    let mut run = Synthetic { blocks: 3, ..Synthetic::default() }.run();
    let change = || text.to_owned();
    let header = &mut run.header;
    header.zc_version = change();
    header.started_at = change();
    header.command = vec![change()];
    header.plan.files.origin = change();
    header.plan.files.filesystem = change();
    header.plan.fixed.congestion = change();
    let host = &mut header.host;
    for field in [
        &mut host.hostname,
        &mut host.kernel_release,
        &mut host.kernel_version,
        &mut host.machine,
        &mut host.cpu.model,
    ] {
        *field = change();
    }
    for field in [
        &mut host.kernel_command_line,
        &mut host.hypervisor,
        &mut host.clocksource,
        &mut host.cpu.governor,
    ] {
        *field = Some(change());
    }
    host.sysctls.insert(change(), change());
    host.conditions.insert(change(), change());
    host.mitigations.insert(change(), change());
    header.link.device = change();
    header.link.passed_over = vec![change()];
    header.link.offloads = Some([(change(), true)].into());
    header.link.settings = [(change(), change())].into();
    header.warnings = vec![Warning::new(text, Severity::Doubt, change()).remedy(change())];
    header.unavailable = vec![SupportRow {
        what: change(),
        name: change(),
        support: Support::No(Unavailable::unsupported(change()).remedy(change())),
    }];
    header.plan.experiment = format!("x{text}");
    // Labels identify cells, so the text is only prepended to them.
    let relabel = |label: &mut String| *label = format!("{text}{label}");
    header.plan.cells.iter_mut().for_each(|cell| relabel(&mut cell.label));
    relabel(&mut header.plan.reference);
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let zc_run::Slot::Trial(trial) = slot {
            relabel(&mut trial.cell);
        }
    }
    let estimates = estimate(&run);
    (run, estimates)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_page_has_the_same_tags_whatever_text_its_run_contains(
        text in hostile()
    ) {
        let (run, estimates) = containing(&text);
        let (harmless, of_harmless) = containing("text");
        let page = html(&[(&run, &estimates)]);
        prop_assert_eq!(&page, &html(&[(&run, &estimates)]), "the same document, the same bytes");
        prop_assert_eq!(tags(&page), tags(&html(&[(&harmless, &of_harmless)])));
        let differing = |name: &str, text: &str| {
            comparison_page(name, |run| run.header.host.hostname = format!("x{text}"))
        };
        prop_assert_eq!(tags(&differing(&text, &text)), tags(&differing("run.json", "host")));
    }
}
