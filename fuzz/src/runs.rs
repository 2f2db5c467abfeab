//! Saved runs with changes, and what must hold when they are read, written and analysed.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use serde_json::Value;
use zc_analysis::compare::{Selection, calibrate, compare};
use zc_analysis::{Estimates, cost_series, estimate};
use zc_run::{
    Dropped, ErrorKind, Factor, FailedTrial, HostState, Run, SampledTask, SendPath, Severity,
    Support, SupportRow, Unavailable, Warning,
};
use zc_testkit::documents::{by_lines, value};
use zc_testkit::samples::{CpuShare, with_samples};
use zc_testkit::synthetic::{Synthetic, TrueCell, null_link, size_sweep, two_machines};

use crate::documents::{self, Document};
use crate::edits::{CANARY, Edit, ForeignText};

/// A run of the list below with changes.
#[derive(Debug, Clone, Arbitrary)]
pub struct EditedRun {
    which: u8,
    texts: Vec<(u8, ForeignText)>,
    edits: Vec<Edit>,
    shape: Shape,
}

/// How the document is laid out.
#[derive(Debug, Clone, Arbitrary)]
enum Shape {
    /// As zc writes it.
    Lines,
    /// Cut off at this share of its length, in 1/65536.
    Cut(u16),
}

/// Runs of several shapes, with everything that a run can have, as JSON.
static RUNS: LazyLock<Vec<Value>> = LazyLock::new(|| runs().iter().map(value).collect());

/// Places of texts in each of them that may be anything: names, reasons, symbols. (Most texts of a
/// run are names that zc knows, and with another one it is no run.)
static TEXTS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| RUNS.iter().map(free_texts).collect());

fn free_texts(run: &Value) -> Vec<String> {
    let mut all = Vec::new();
    texts(run, "", &mut all);
    // One of each kind: places that differ in an index hold the same.
    let kind = |place: &str| place.replace(|c: char| c.is_ascii_digit(), "");
    let mut seen = BTreeSet::new();
    all.retain(|place| seen.insert(kind(place)));
    let may_be_anything = |place: &String| {
        let mut edited = run.clone();
        edited.pointer_mut(place).is_some_and(|text| {
            *text = Value::from(CANARY);
            true
        }) && zc_run::parse(&by_lines(&edited)).is_ok()
    };
    all.retain(may_be_anything);
    assert!(all.len() > 10, "{all:?}");
    all
}

fn texts(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::String(_) => into.push(at.to_owned()),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            texts(value, &format!("{at}/{key}"), into);
        }),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .for_each(|(place, value)| texts(value, &format!("{at}/{place}"), into)),
        _ => {}
    }
}

fn small() -> Synthetic {
    let reference = TrueCell::new(SendPath::ReadSend, 500.0, 400.0);
    Synthetic {
        cells: vec![
            reference.clone(),
            reference.control(),
            TrueCell::new(SendPath::Sendfile, 180.0, 390.0),
            TrueCell {
                copied_share: Some(1.0),
                ..TrueCell::new(SendPath::MsgZerocopy, 640.0, 400.0)
            },
        ],
        blocks: 4,
        harness_share: 0.02,
        ..Synthetic::default()
    }
}

fn runs() -> Vec<Run> {
    let mut full = small().run();
    full.header.warnings =
        vec![Warning::new("sniffer", Severity::Doubt, "a sniffer runs").remedy("stop it")];
    full.header.unavailable = vec![SupportRow {
        what: "send path".to_owned(),
        name: "uring-send".to_owned(),
        support: Support::No(Unavailable::failed("it is off").remedy("switch it on")),
    }];
    full.blocks[0].failed =
        vec![FailedTrial { cell: "splice".to_owned(), reason: "the pipe broke".to_owned() }];
    full.blocks[1].dropped = Some(Dropped::Steal { share: 0.02 });

    let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 900.0, 100.0)];
    let mut sizes = Synthetic {
        cells: size_sweep(&paths, &[256, 4096, 65_536]),
        factors: vec![Factor::Message, Factor::Send],
        ..small()
    }
    .run();
    sizes.header.plan.experiment = "sizes".to_owned();

    let mut sockbuf = Synthetic { factors: vec![Factor::Sockbuf, Factor::Send], ..small() }.run();
    sockbuf.header.plan.experiment = "sockbuf".to_owned();

    let mut burned = small();
    burned.cells.push(burned.cells[0].positive_control(70.0));
    let burned = Synthetic { idle_clock: true, user_share: Some(0.1), ..burned };

    let stack = &["entry_SYSCALL_64", "tcp_sendmsg", "copy_user"];
    let share = |cpu, task, share| CpuShare { cpu, task, stack, share };
    let sampled = with_samples(small().run(), |cell| {
        let busy = if cell.is_some() { 0.3 } else { 0.01 };
        vec![share(0, SampledTask::Sender, busy), share(1, SampledTask::Receiver, busy)]
    });

    vec![
        full,
        sizes,
        sockbuf,
        burned.run(),
        sampled,
        two_machines(Synthetic { harness_share: 0.0, ..small() }.run()),
        null_link(small().run()),
        Synthetic { blocks: 1, unsoaked: false, ..small() }.run(),
    ]
}

/// Short runs as files, each of a kind of its own.
pub fn seeds() -> Vec<String> {
    let short =
        || Synthetic { cells: small().cells[..3].to_vec(), blocks: 2, ..Synthetic::default() };
    let mut whole = short().run();
    whole.header.warnings =
        vec![Warning::new("sniffer", Severity::Doubt, "a sniffer runs").remedy("stop it")];
    let sampled = with_samples(short().run(), |_| {
        let stack = &["entry_SYSCALL_64", "tcp_sendmsg"];
        vec![CpuShare { cpu: 0, task: SampledTask::Sender, stack, share: 0.1 }]
    });
    let all = [whole, sampled, two_machines(short().run()), null_link(short().run())];
    all.iter().map(zc_run::run_lines).collect()
}

impl EditedRun {
    /// The text of the file.
    pub fn text(&self) -> String {
        let which = usize::from(self.which) % RUNS.len();
        let mut document = RUNS[which].clone();
        for (place, text) in self.texts.iter().take(4) {
            let places = &TEXTS[which];
            let place = &places[usize::from(*place) % places.len()];
            if let Some(old) = document.pointer_mut(place) {
                *old = Value::from(text.text());
            }
        }
        for edit in self.edits.iter().take(12) {
            edit.apply(&mut document);
        }
        match self.shape {
            Shape::Lines => by_lines(&document),
            Shape::Cut(share) => {
                let mut text = by_lines(&document).into_bytes();
                text.truncate(text.len() * usize::from(share) / 65_536);
                String::from_utf8_lossy(&text).into_owned()
            }
        }
    }

    /// What is read of it.
    pub fn read(&self) -> Option<Run> {
        read(self.text().as_bytes()).map(|(run, _)| run)
    }
}

/// Reads a file; what is no run is an error of its input, in a sentence.
pub fn read(bytes: &[u8]) -> Option<(Run, usize)> {
    match zc_run::read(bytes) {
        Ok(read) => Some(read),
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Input, "{error}");
            assert!(!error.message.is_empty());
            None
        }
    }
}

/// A run that was read, written and read again is the same, compressed or not; and so is every
/// beginning of the file, up to its last whole block.
pub fn check_format(run: &Run, cut: u16) {
    let text = zc_run::run_lines(run);
    let (again, broken) = read(text.as_bytes()).expect("zc reads what it writes");
    assert_eq!(broken, 0);
    assert!(again == *run, "another run is read than was written");
    assert_eq!(zc_run::run_lines(&again), text);

    let (unzipped, _) = read(&zc_run::gzip_members(&text)).expect("zc reads what it compresses");
    assert!(unzipped == *run, "another run is read compressed");

    let at = text.len() * usize::from(cut) / 65_536;
    if let Some((part, broken)) = read(&text.as_bytes()[..at]) {
        assert!(part.header == run.header, "a beginning of the file has another header");
        assert!(part.blocks[..] == run.blocks[..part.blocks.len()]);
        let is_whole = [at, at + 1].iter().any(|end| text[..*end].ends_with('\n'));
        assert!(broken == 1 || is_whole, "{broken} at {at} of {}", text.len());
    }
}

/// Documents about the run are functions of it, and are what their forms ask for. `which` chooses
/// three of them: all of them take longer than the rest of an input together.
pub fn check_reports(run: &Run, which: [u8; 3]) {
    let estimates = estimate(run);
    let number = documents::words_without_number(&zc_run::run_lines(run));
    let mut length = 0;
    for which in which {
        if let Some(document) = report(run, &estimates, which) {
            document.check(number);
            length += document.text.len();
            // Once in a while: it takes as long again.
            if length.is_multiple_of(4) {
                let again = report(run, &estimate(run), which).map(|again| again.text);
                assert_eq!(Some(document.text), again, "two documents of one run differ");
            }
        }
    }
    if length.is_multiple_of(4) {
        drop(cost_series(run));
    }
}

fn report(run: &Run, estimates: &Estimates, which: u8) -> Option<Document> {
    let one: &[(&Run, &Estimates)] = &[(run, estimates)];
    let two: &[(&Run, &Estimates)] = &[(run, estimates), (run, estimates)];
    let table = |columns, verbose, colour| {
        let layout = zc_report::Layout { columns, verbose, colour };
        Document::terminal(zc_report::table(run, estimates, layout))
    };
    Some(match which % 15 {
        0 => table(80, true, false),
        1 => table(40, false, true),
        2 => table(120, true, true),
        3 => {
            let dma = zc_report::dma(estimates, 50.0, zc_report::Layout::plain(80));
            return dma.map(Document::terminal);
        }
        4 => Document::markdown(zc_report::markdown(run, estimates)),
        5 => Document::markdown(zc_report::multi::markdown(two, zc_report::TEXT_COLUMNS)),
        6 => Document::csv(zc_report::csv(run, estimates)),
        7 => Document::csv(zc_report::multi::csv(two)),
        8 => Document::json(zc_report::json(run, estimates)),
        9 => Document::json(zc_report::multi::json(two)),
        10 => Document::html(zc_report::html(one)),
        11 => Document::html(zc_report::html(two)),
        12 => Document::openmetrics(zc_report::openmetrics(one)),
        13 => Document::openmetrics(zc_report::openmetrics(two)),
        _ => Document::folded(zc_report::folded(run)),
    })
}

/// What two runs are compared by, as on the command line.
#[derive(Debug, Clone, Arbitrary)]
pub struct Comparison {
    old: EditedRun,
    new: EditedRun,
    cells: (Option<u8>, Option<u8>),
    states: (Option<bool>, Option<bool>),
    margin: Option<u8>,
    calibrated: bool,
}

impl Comparison {
    /// Compares, calibrates, and writes all documents about it.
    pub fn check(&self) {
        let (Some(old), Some(new)) = (self.old.read(), self.new.read()) else { return };
        let text = zc_run::run_lines(&old) + &zc_run::run_lines(&new);
        let number = documents::words_without_number(&text);
        let select = |run, cell: Option<u8>, state: Option<bool>| selection(run, cell, state);
        let (old, new) =
            (select(&old, self.cells.0, self.states.0), select(&new, self.cells.1, self.states.1));
        let calibration = self.calibrated.then(|| {
            let third =
                Run { blocks: old.run.blocks.iter().rev().cloned().collect(), ..old.run.clone() };
            let third = selection(&third, None, None);
            let runs: Vec<Selection<'_>> = [&old, &new, &third, &old]
                .iter()
                .enumerate()
                .map(|(place, each)| Selection {
                    name: format!("run {place}"),
                    run: each.run,
                    cell: None,
                    state: None,
                })
                .collect();
            calibrate(&runs, &[]).ok().map(|calibration| {
                Document::terminal(zc_report::compare::calibration::table(&calibration, 80))
                    .check(number);
                Document::json(zc_report::compare::calibration::json(&calibration)).check(number);
                drop(zc_report::compare::calibration::disqualifying(&calibration.unlike(&new)));
                calibration
            })
        });
        let margin = self.margin.map(|percent| f64::from(percent) / 100.0);
        let once = || {
            let news = [new.clone(), old.clone()];
            let (compared, judgement) =
                compare(&old, &news, margin, calibration.as_ref().and_then(Option::as_ref));
            let judgement = judgement.as_ref();
            let pairs = vec![(
                "new against old".to_owned(),
                zc_report::profile::differences(
                    (old.run, old.cell.as_deref()),
                    (new.run, new.cell.as_deref()),
                ),
            )];
            vec![
                Document::terminal(zc_report::compare::table(&compared, judgement, 80)),
                Document::terminal(zc_report::compare::table(&compared, judgement, 200)),
                Document::markdown(zc_report::compare::markdown(
                    &compared,
                    judgement,
                    zc_report::TEXT_COLUMNS,
                )),
                Document::json(zc_report::compare::json(&compared, judgement)),
                Document::html(zc_report::compare::html(&compared, judgement)),
                Document::terminal(zc_report::profile::compared(&pairs, 80)),
                Document::markdown(zc_report::profile::compared_markdown(
                    &pairs,
                    zc_report::TEXT_COLUMNS,
                )),
                Document::json(zc_report::profile::compared_json(&pairs)),
            ]
        };
        let all = once();
        all.iter().for_each(|document| document.check(number));
        if all[0].text.len().is_multiple_of(4) {
            for (document, again) in all.iter().zip(once()) {
                assert_eq!(document.text, again.text, "two comparisons of the same runs differ");
            }
        }
    }
}

/// A part of a run, as `run.json:CELL` or `run.json:A` names it.
fn selection(run: &Run, cell: Option<u8>, state: Option<bool>) -> Selection<'_> {
    let cells = &run.header.plan.cells;
    let cell = cell
        .filter(|_| !cells.is_empty())
        .map(|which| cells[usize::from(which) % cells.len()].label.clone());
    let state = state.filter(|_| cell.is_none() && run.header.plan.states.is_some());
    Selection {
        name: "saved.json".to_owned(),
        run,
        cell,
        state: state.map(|b| if b { HostState::b() } else { HostState::a() }),
    }
}
