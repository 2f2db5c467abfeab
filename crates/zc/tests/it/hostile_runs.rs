//! Saved runs with manual or random changes: whatever the file contains, reading it gives a run or
//! an error, and every report of such a run can be written, without a panic, a NaN, an infinity, or
//! a character that moves a terminal's cursor.

use std::io::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};
use zc_analysis::compare::{Selection, compare};
use zc_analysis::{Estimates, estimate};
use zc_run::{
    self, BlockSamples, Dropped, ErrorKind, Factor, FailedTrial, Run, SampledEvent, SampledTask,
    Sampling, SendPath, Severity, Support, SupportRow, TaskSamples, Unavailable, Warning,
    WindowSamples,
};
use zc_testkit::documents::{by_lines, value};
use zc_testkit::synthetic::{Synthetic, null_link, size_sweep, two_machines};

/// Text that would be markup, or move the cursor, if it were not escaped.
const HOSTILE: &str =
    "<script>alert(1)</script>\u{1b}[2J\u{9b}2J\u{202e}\r\n| a | `b` | \"c\" \\ ,=1+1";

/// Runs of several shapes, with everything that a run can have.
static RUNS: LazyLock<Vec<Run>> = LazyLock::new(runs);

fn runs() -> Vec<Run> {
    let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 900.0, 100.0)];
    let small = || Synthetic { blocks: 7, ..Synthetic::default() };
    let sizes = Synthetic {
        cells: size_sweep(&paths, &[256, 4096, 65_536]),
        factors: vec![Factor::Message, Factor::Send],
        ..small()
    };
    let sockbuf = Synthetic { factors: vec![Factor::Sockbuf, Factor::Send], ..small() };
    let mut full = small().run();
    full.header.warnings =
        vec![Warning::new("sniffer", Severity::Doubt, "a sniffer runs").remedy("stop it")];
    full.header.unavailable = vec![SupportRow {
        what: "send path".to_owned(),
        name: "uring-send".to_owned(),
        support: Support::No(Unavailable::failed("it is off").remedy("switch it on")),
    }];
    full.header.sampling = Some(Sampling {
        event: SampledEvent::CpuClock,
        no_cycles: Some("there are none".to_owned()),
        frequency_hz: 2618,
        cpus: vec![0, 1],
        kernel_functions: 3,
    });
    let counts = vec![(1, 3), (0, 5)];
    let window = |cell: Option<&str>| WindowSamples {
        cell: cell.map(str::to_owned),
        elapsed_ns: 80_000_000,
        lost: 1,
        tasks: vec![TaskSamples { cpu: 0, task: SampledTask::Sender, counts: counts.clone() }],
    };
    for (place, block) in full.blocks.iter_mut().enumerate() {
        block.samples = Some(BlockSamples {
            symbols: if place == 0 { vec!["tcp_sendmsg".to_owned()] } else { Vec::new() },
            frames: if place == 0 { vec![(0, 0)] } else { Vec::new() },
            windows: vec![window(None), window(Some("sendfile")), window(Some("read+send"))],
        });
    }
    full.blocks[0].failed =
        vec![FailedTrial { cell: "splice".to_owned(), reason: "the pipe broke".to_owned() }];
    full.blocks[1].dropped = Some(Dropped::Steal { share: 0.02 });
    let mut sizes = sizes.run();
    sizes.header.plan.experiment = "sizes".to_owned();
    let mut sockbuf = sockbuf.run();
    sockbuf.header.plan.experiment = "sockbuf".to_owned();
    vec![full, sizes, sockbuf, two_machines(small().run()), null_link(small().run())]
}

/// Runs of the formats that were one JSON document, as documents.
static DOCUMENTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/testdata");
    let read = |name| std::fs::read_to_string(testdata.join(name)).unwrap();
    ["schema-2-null.json", "schema-3-veth.json"]
        .map(|name| {
            let mut document: Value = serde_json::from_str(&read(name)).unwrap();
            document["blocks"].as_array_mut().unwrap().truncate(4);
            document
        })
        .into()
});

/// A document of these formats with one block per line.
fn by_blocks(document: &Value) -> String {
    let text = by_lines(document);
    let lines: Vec<&str> = text.lines().collect();
    let count = document["blocks"].as_array().map_or(0, Vec::len);
    let blocks = lines.get(1..=count).unwrap_or_default().join(",\n");
    let head = lines[0].strip_suffix('}').unwrap_or(lines[0]);
    format!("{head},\"blocks\":[\n{blocks}\n],\"end\":{}}}\n", document["end"])
}

/// The text as another program compresses it: in one member.
fn gzipped_once(text: &str) -> Vec<u8> {
    let mut member = GzEncoder::new(Vec::new(), Compression::fast());
    member.write_all(text.as_bytes()).unwrap();
    member.finish().unwrap()
}

/// Every place in a document.
fn places(document: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, into: &mut Vec<String>) {
        into.push(at.to_owned());
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                walk(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), into);
            }),
            Value::Array(all) => {
                // Only the first and the last few of a list: a run is mostly lists.
                let few = |place: &usize| *place < 3 || *place + 3 >= all.len();
                all.iter().enumerate().filter(|(place, _)| few(place)).for_each(
                    |(place, value)| {
                        walk(value, &format!("{at}/{place}"), into);
                    },
                );
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(document, "", &mut found);
    found.remove(0);
    found
}

/// The changes that are made at one place.
#[derive(Debug, Clone)]
enum Edit {
    Put(Value),
    Remove,
    Twice,
    Shorter,
    Reversed,
}

fn edit(document: &mut Value, place: &str, edit: &Edit) {
    let (above, key) = place.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    match (edit, document.pointer_mut(above)) {
        (Edit::Remove, Some(Value::Object(map))) => {
            map.remove(&key);
        }
        (Edit::Remove, Some(Value::Array(all))) => {
            all.remove(key.parse().unwrap());
        }
        (Edit::Twice, Some(Value::Array(all))) => {
            let place: usize = key.parse().unwrap();
            all.insert(place, all[place].clone());
        }
        _ => {
            let Some(value) = document.pointer_mut(place) else { return };
            match (edit, value) {
                (Edit::Put(new), value) => *value = new.clone(),
                (Edit::Shorter, Value::Array(all)) => all.truncate(all.len() / 2),
                (Edit::Reversed, Value::Array(all)) => all.reverse(),
                (Edit::Shorter, Value::Number(number)) => {
                    *number = number.as_f64().map_or(1, |n| (n / 2.0) as i64).into()
                }
                (Edit::Reversed, Value::Number(number)) => {
                    *number = number.as_i64().map_or(-1, i64::wrapping_neg).into()
                }
                _ => {}
            }
        }
    }
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let numbers = prop::sample::select(vec![
        json!(0),
        json!(-1),
        json!(1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
        json!(0.5),
        json!(1_u64 << 32),
        json!(1000),
    ]);
    let others = prop::sample::select(vec![
        Value::Null,
        json!(true),
        json!(""),
        json!("sendfile"),
        json!("read+send"),
        json!("message"),
        json!("soaked"),
        json!("null"),
        json!(HOSTILE),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!({"NET_RX": [1, 2, 3]}),
        json!([HOSTILE]),
    ]);
    prop_oneof![
        4 => numbers.prop_map(Edit::Put),
        3 => others.prop_map(Edit::Put),
        2 => Just(Edit::Remove),
        1 => Just(Edit::Twice),
        2 => Just(Edit::Shorter),
        1 => Just(Edit::Reversed),
    ]
}

/// All documents that can be made of runs.
fn documents(runs: &[(&Run, &Estimates)]) -> Vec<(&'static str, String)> {
    let mut documents = vec![
        ("several markdown", zc_report::multi::markdown(runs, 72)),
        ("several csv", zc_report::multi::csv(runs)),
        ("several json", zc_report::multi::json(runs)),
        ("html", zc_report::html(runs)),
        ("openmetrics", zc_report::openmetrics(runs)),
    ];
    for &(run, estimates) in runs {
        for verbose in [true, false] {
            let layout = zc_report::Layout { columns: 80, verbose, colour: false };
            documents.push(("table", zc_report::table(run, estimates, layout)));
        }
        documents.push(("json", zc_report::json(run, estimates)));
        documents.push(("csv", zc_report::csv(run, estimates)));
        documents.push(("markdown", zc_report::markdown(run, estimates)));
    }
    documents
}

/// Compares a run with another one, in both directions, and two cells of it.
fn comparisons(run: &Run) -> Vec<(&'static str, String)> {
    let part = |run, cell: Option<&str>| Selection {
        name: "x".to_owned(),
        run,
        cell: cell.map(str::to_owned),
        state: None,
    };
    let other = &RUNS[0];
    let mut documents = Vec::new();
    for (old, new) in [
        (part(other, None), part(run, None)),
        (part(run, None), part(other, None)),
        (part(run, Some("read+send")), part(run, Some("sendfile"))),
    ] {
        let (compared, judgement) = compare(&old, &[new], Some(0.05), None);
        documents.push(("compare", zc_report::compare::table(&compared, judgement.as_ref(), 80)));
        documents.push((
            "compare markdown",
            zc_report::compare::markdown(&compared, judgement.as_ref(), 72),
        ));
        documents.push(("json", zc_report::compare::json(&compared, judgement.as_ref())));
    }
    documents
}

/// Checks what holds for every document.
fn check(what: &str, text: &str) {
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let no_number = ["nan", "inf", "infinity"].iter().any(|no| word.eq_ignore_ascii_case(no));
        assert!(!no_number, "{what}: {word} in {text}");
    }
    let moves = |c: char| !zc_run::is_safe(c) && c != '\n';
    assert_eq!(text.chars().find(|c| moves(*c)), None, "{what}");
    if what == "html" {
        assert!(!text.contains("<script>alert"), "{text}");
    }
    if ["json", "several json"].contains(&what) {
        serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// Reads a text and writes whatever can be written of it.
fn survive(text: &str) -> Option<Run> {
    match zc_run::parse(text) {
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Input, "{}", error.message);
            assert!(!error.message.contains("panic"), "{}", error.message);
            None
        }
        Ok((run, _)) => {
            let estimates = estimate(&run);
            for (what, text) in
                documents(&[(&run, &estimates)]).into_iter().chain(comparisons(&run))
            {
                check(what, &text);
            }
            // What has been read can be written and read again.
            assert_eq!(
                zc_run::parse(&zc_run::run_lines(&run)).map(|(again, _)| again),
                Ok(run.clone())
            );
            Some(run)
        }
    }
}

#[test]
fn runs_of_every_shape_come_back_whole_and_can_be_shown() {
    for run in &*RUNS {
        let text = zc_run::run_lines(run);
        assert_eq!(survive(&text).as_ref(), Some(run));
        assert_eq!(survive(&by_lines(&value(run))).as_ref(), Some(run), "keys in another order");
        let parts = std::iter::once(zc_run::gzip_members(&text)).chain([gzipped_once(&text)]);
        for gzip in parts {
            assert_eq!(zc_run::read(&gzip[..]), Ok((run.clone(), 0)), "compressed");
        }
    }
}

#[test]
fn several_runs_can_be_reported_together() {
    let estimates: Vec<Estimates> = RUNS.iter().map(estimate).collect();
    let all: Vec<(&Run, &Estimates)> = RUNS.iter().zip(&estimates).collect();
    for (what, text) in documents(&all) {
        check(what, &text);
    }
}

#[test]
fn names_from_outside_are_escaped() {
    let mut document = value(&RUNS[0]);
    // Without samples a report takes a fifth of the time. What a profile names are cells and
    // functions.
    let mut without_samples = RUNS[0].clone();
    without_samples.header.sampling = None;
    without_samples.blocks.iter_mut().for_each(|block| block.samples = None);
    let without_samples = value(&without_samples);
    let (mut edits, mut read) = (0, 0);
    // Of what each element of a list has, two are edited.
    let mut tried = std::collections::BTreeMap::<String, usize>::new();
    let mut is_new = |place: &str| {
        let times = tried.entry(place.replace(|c: char| c.is_ascii_digit(), "")).or_default();
        *times += 1;
        *times <= 2
    };
    for place in places(&document) {
        if document.pointer(&place).is_some_and(Value::is_string) && is_new(&place) {
            let of_profile = ["sampl", "cell", "label", "reference"];
            let is_in_profile = of_profile.iter().any(|part| place.contains(part));
            let mut edited = if is_in_profile { &document } else { &without_samples }.clone();
            assert!(edited.pointer(&place).is_some(), "{place}");
            edit(&mut edited, &place, &Edit::Put(json!(HOSTILE)));
            edits += 1;
            read += usize::from(survive(&by_lines(&edited)).is_some());
        }
    }
    // Names of a list that zc knows are refused; free text is not.
    assert!(edits > 50 && read > 20 && read < edits, "{read} of {edits} edited runs were read");
    // And all that are free at once.
    for place in [
        "/host/hostname",
        "/host/kernel_release",
        "/plan/experiment",
        "/started_at",
        "/zc_version",
        "/end/ended_at",
    ] {
        edit(&mut document, place, &Edit::Put(json!(HOSTILE)));
    }
    assert!(survive(&by_lines(&document)).is_some());
}

#[test]
fn manual_changes_to_a_run_are_reported() {
    let document = || value(&RUNS[0]);
    let cells = |document: &mut Value| document["plan"]["cells"].as_array_mut().unwrap().len();
    assert_eq!(cells(&mut document()), 10);
    for (place, change, id, names) in [
        ("/plan/cells/2/label", Edit::Put(json!("sendfile")), "duplicate-cell", "\"sendfile\""),
        ("/plan/cells/2/send", Edit::Put(json!("teleport")), "run-damaged", "`teleport`"),
        ("/plan/fixed/link", Edit::Put(json!("wet string")), "run-damaged", "`wet string`"),
        ("/blocks/3/slots/1/whole_bytes", Edit::Put(json!(-1)), "run-damaged", "line 5, column "),
        ("/zc_run", Edit::Put(json!(1)), "run-format", " 1."),
        ("/zc_run", Edit::Remove, "not-a-run", ""),
    ] {
        let mut edited = document();
        edit(&mut edited, place, &change);
        let error = zc_run::parse(&by_lines(&edited)).unwrap_err();
        assert!(error.id == id && error.message.contains(names), "{error:?}");
    }
    for number in ["NaN", "1e400", "1e", "01"] {
        let mut edited = document();
        edited["blocks"][2]["began_ns"] = json!(123_454_321);
        let text = by_lines(&edited).replacen("123454321", number, 1);
        let error = zc_run::parse(&text).unwrap_err();
        assert!(error.message.contains("line 4, column "), "{number}: {error:?}");
        assert_eq!(error.id, "run-damaged");
    }
}

#[test]
fn windows_that_contradict_themselves_give_no_figures_and_no_panic() {
    for (place, new) in [
        ("/plan/fixed/soaked_cpus", json!([0])),
        ("/plan/fixed/soaked_cpus", json!([])),
        ("/plan/fixed/soaked_cpus", json!([7, 7, 7])),
        ("/plan/fixed/rate_bytes_per_s", json!(0)),
        ("/plan/fixed/rate_bytes_per_s", json!(-1e308)),
        ("/plan/fixed/sender_cpu", json!(99)),
        ("/plan/target", json!(0)),
        ("/plan/timing/window_ns", json!(0)),
        ("/plan/reference", json!("nobody")),
        ("/plan/cells", json!([])),
        ("/blocks/0/slots", json!([])),
        ("/blocks/0/slots/1/cell", json!("nobody")),
        ("/blocks/0/slots/1/closed/soak/at_ns", json!(u64::MAX)),
        ("/blocks/0/slots/1/closed/soak/at_ns", json!(0)),
        ("/blocks/0/slots/1/closed/soak/units", json!([])),
        ("/blocks/0/slots/1/closed/soak/units", json!([u64::MAX, 0])),
        ("/blocks/0/slots/1/closed/stat/cpus", json!([])),
        ("/blocks", json!([])),
        ("/end/elapsed_ns", json!(0)),
        ("/end/interim_analyses_at_blocks", json!([0, u64::MAX])),
    ] {
        let mut edits = 0;
        for run in &*RUNS {
            let mut edited = value(run);
            if edited.pointer(place).is_some() {
                edit(&mut edited, place, &Edit::Put(new.clone()));
                survive(&by_lines(&edited));
                edits += 1;
            }
        }
        assert!(edits > 0, "no run has \"{place}\"");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_known_up_to_its_last_whole_block() {
    let run = Synthetic { blocks: 4, ..Synthetic::default() }.run();
    let text = zc_run::run_lines(&run);
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let last_line = ends[ends.len() - 2] + 1..text.len();
    let edges = ends.iter().flat_map(|end| [end - 1, *end, end + 1]);
    for cut in (0..text.len()).step_by(97).chain(edges).chain(last_line) {
        match zc_run::parse(&text[..cut]) {
            // Without a whole header it is no run yet.
            Err(error) => assert!(cut < ends[0], "{cut} of {}: {}", text.len(), error.message),
            Ok((part, broken)) => {
                let whole = ends[1..5].iter().filter(|end| **end <= cut).count();
                assert_eq!(part.blocks[..], run.blocks[..whole], "{cut}");
                let is_whole = ends.iter().any(|end| [*end, end + 1].contains(&cut));
                assert_eq!(broken, usize::from(!is_whole), "{cut} of {}", text.len());
                assert_eq!(part.end.is_some(), cut + 1 >= text.len(), "{cut} of {}", text.len());
            }
        }
    }
}

#[test]
fn a_compressed_file_that_is_cut_anywhere_loses_one_block_at_most() {
    let mut run = Run { end: None, ..Synthetic { blocks: 3, ..Synthetic::default() }.run() };
    run.blocks.iter_mut().for_each(|block| block.slots.truncate(2));
    let mut starts = vec![0];
    let mut bytes = Vec::new();
    for line in zc_run::run_lines(&run).split_inclusive('\n') {
        bytes.extend(zc_run::gzip_members(line));
        starts.push(bytes.len());
    }
    for cut in starts[1]..=bytes.len() {
        let (part, _) = zc_run::read(&bytes[..cut]).unwrap();
        let whole = starts[2..].iter().filter(|end| **end <= cut).count();
        // The text of a block is whole some bytes before its checksum is.
        let read = part.blocks.len();
        assert!(read == whole || read == whole + 1, "{read} of {whole} blocks at {cut}");
        assert_eq!(part.blocks[..], run.blocks[..read]);
    }
    for cut in 0..starts[1] {
        if let Err(error) = zc_run::read(&bytes[..cut]) {
            assert_eq!(error.kind, ErrorKind::Input, "{error}");
        }
    }
}

#[test]
fn a_compressed_file_that_is_damaged_is_an_error_that_says_so() {
    let run = Synthetic { blocks: 3, ..Synthetic::default() }.run();
    let bytes = zc_run::gzip_members(&zc_run::run_lines(&run));
    // In the checksum of the header's member, in a member, and behind the last one.
    let header = zc_run::gzip_members(&zc_run::header_line(&run.header)).len();
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        bytes
    };
    let appended = [&bytes[..], b"x\n0123456789"].concat();
    for damaged in [changed(header - 6), changed(bytes.len() - 6), changed(header + 900), appended]
    {
        let error = zc_run::read(&damaged[..]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input);
        assert!(error.message.starts_with("it is damaged, and gzip cannot"), "{error}");
        assert!(error.help.is_some_and(|help| help.contains("gzip -t")));
    }
}

#[test]
fn what_follows_the_end_of_a_run_is_an_error() {
    let text = zc_run::run_lines(&RUNS[0]);
    let line = text.lines().count();
    let error = zc_run::parse(&(text.clone() + &text)).unwrap_err();
    assert_eq!(error.message, format!("line {line} ends the run, and others follow"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_edit_makes_a_reader_panic(
        which in 0_usize..7,
        edits in prop::collection::vec((any::<Index>(), any_edit()), 1..4),
        in_one_piece in any::<bool>(),
    ) {
        let mut document = match &DOCUMENTS.get(which) {
            Some(document) => (*document).clone(),
            None => value(&RUNS[which - DOCUMENTS.len()]),
        };
        for (place, what) in edits {
            let places = places(&document);
            if !places.is_empty() {
                edit(&mut document, &places[place.index(places.len())], &what);
            }
        }
        if which >= DOCUMENTS.len() {
            survive(&by_lines(&document));
        } else if in_one_piece {
            survive(&document.to_string());
        } else {
            survive(&by_blocks(&document));
        }
    }

    #[test]
    fn no_broken_text_makes_a_reader_panic(
        which in 0_usize..5,
        changes in prop::collection::vec((any::<Index>(), "[\\x00-\\x7f]{0,3}", 0_usize..4), 1..4),
    ) {
        let mut text = zc_run::run_lines(&RUNS[which]);
        for (at, new, gone) in changes {
            let at = at.index(text.len());
            text.replace_range(at..(at + gone).min(text.len()), &new); // it is ASCII throughout
        }
        survive(&text);
    }
}

/// The keys of the current version are in the documentation of the format, and in this list.
#[test]
fn the_head_begins_with_the_version() {
    let run = &RUNS[0];
    let text = zc_run::run_lines(run);
    assert!(text.starts_with(&format!("{{\"zc_run\":{},", zc_run::MAJOR)));
    let keys: Map<String, Value> = value(run).as_object().cloned().unwrap();
    assert!(["plan", "host", "link", "blocks", "end"].iter().all(|key| keys.contains_key(*key)));
}
