//! The format of saved runs and of the output for programs: golden files of every version, files of
//! later versions, and the JSON Schemas. docs/format.md describes what is
//! tested here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use zc_run::{Dropped, FormatVersion, MAJOR, MINOR, Run, Slot, TrialKind};
use zc_testkit::json_schema::Schema;
use zc_testkit::synthetic::Synthetic;

use crate::support::{Bounded as _, assert_ended, measuring, stderr, zc_in};

/// The folder of the golden files: see its README.md.
fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/testdata")
}

/// The golden files, by name.
fn golden() -> Vec<(String, PathBuf)> {
    let mut files: Vec<(String, PathBuf)> = std::fs::read_dir(testdata())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> Run {
    let (run, broken) = zc_run::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(broken, 0, "{}", path.display());
    run
}

fn zc(folder: &Path, args: &[&str]) -> Output {
    zc_in(folder, args).finish().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn synthetic() -> Run {
    Synthetic { blocks: 5, ..Synthetic::default() }.run()
}

/// A synthetic run as a document that `change` has changed.
fn edited(change: impl FnOnce(&mut Value)) -> String {
    let mut document: Value = serde_json::from_str(&zc_run::whole(&synthetic())).unwrap();
    change(&mut document);
    document.to_string()
}

/// The first line as zc writes it, of another version.
fn of_version(start: &str) -> String {
    let FormatVersion { major, minor, read_by } = FormatVersion::current();
    let now = format!("{{\"zc_run\":{major},\"zc_run_minor\":{minor},\"read_by\":\"{read_by}\",");
    let text = zc_run::whole(&synthetic());
    assert!(text.starts_with(&now), "{}", &text[..100]);
    text.replacen(&now, start, 1)
}

/// `zc show` of a file with this text.
fn show(text: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.json"), text).unwrap();
    zc(folder.path(), &["show", "x.json"])
}

#[test]
fn every_major_version_that_is_read_has_a_golden_file() {
    let names: Vec<String> = golden().into_iter().map(|(name, _)| name).collect();
    for major in zc_run::OLDEST_MAJOR..=MAJOR {
        assert!(
            names.iter().any(|name| name.starts_with(&format!("schema-{major}-"))),
            "{major}: {names:?}"
        );
    }
}

#[test]
fn a_golden_file_is_of_the_version_that_its_name_says() {
    for (name, path) in golden() {
        let text = std::fs::read_to_string(&path).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert!(name.starts_with(&format!("schema-{}-", document["zc_run"])), "{name}");
        assert!(text.len() < 250_000, "{name}");
        let run = read(&path);
        assert_eq!(run.header.format.major, MAJOR, "{name}: it is converted");
        assert!(run.end.is_some(), "{name}");
        let trials =
            run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
                Slot::Trial(trial) => Some(trial.kind),
                Slot::Idle(_) => None,
            });
        let kinds: Vec<TrialKind> = trials.collect();
        for kind in [TrialKind::Soaked, TrialKind::UnsoakedControl, TrialKind::TopSpeed] {
            assert!(kinds.contains(&kind), "{name}: {kind:?}");
        }
    }
}

/// The same number, as far as the order of additions allows.
fn same(value: Option<f64>, expected: Option<f64>) -> bool {
    match (value, expected) {
        (Some(value), Some(expected)) => {
            (value - expected).abs() <= 1e-9 * expected.abs().max(1e-3)
        }
        (None, None) => true,
        _ => false,
    }
}

/// A cell's ratio as zc computed it when it wrote the golden files: by the arithmetic mean of the
/// two references, which made it up to some per cent too small.
fn ratio_to_arithmetic_mean(run: &Run, cell: usize) -> Option<f64> {
    let index = zc_analysis::PlanIndex::new(&run.header.plan);
    let divisors = index.divisors(cell);
    let pair = |block: &zc_run::Block| {
        let costs = zc_analysis::costs::trial_costs(&[block], &run.header, &index).remove(0);
        let of = |cell: usize| costs[cell]?.ns_per_kib(zc_analysis::costs::Side::Both);
        let sum = divisors.iter().map(|divisor| of(*divisor)).sum::<Option<f64>>()?;
        let costs = (of(cell)?, sum / divisors.len() as f64);
        (!divisors.is_empty()).then_some(costs.into())
    };
    let kept = run.blocks.iter().filter(|block| block.dropped.is_none());
    let pairs: Vec<zc_analysis::ratios::Pair> = kept.filter_map(pair).collect();
    Some(zc_analysis::ratios::ratio(&pairs, 0.95, None)?.value)
}

/// The same run as a zc would have saved it whose soakers had clocks, and had their CPUs all the
/// time.
fn with_own_clocks(old: &Run) -> Run {
    let mut new = old.clone();
    new.header.started_at = "2026-11-27T12:00:00Z".to_owned();
    for slot in new.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        let (opened, closed) = match slot {
            Slot::Trial(trial) => (&mut trial.opened, &mut trial.closed),
            Slot::Idle(window) => (&mut window.opened, &mut window.closed),
        };
        for reading in [opened, closed] {
            reading.soak.cpu_ns = vec![reading.soak.at_ns; reading.soak.units.len()];
        }
    }
    new
}

#[test]
fn a_run_of_an_older_format_is_compared_with_a_newer_one_by_the_account_that_both_permit() {
    for (name, path) in golden() {
        let old = read(&path);
        let new = with_own_clocks(&old);
        let is_own = zc_analysis::estimate(&new).account == zc_analysis::AccountKind::OwnClocks;
        assert!(is_own, "{name}");
        let folder = tempfile::tempdir().unwrap();
        let save = |file: &str, run: &Run| {
            std::fs::write(folder.path().join(file), zc_run::whole(run)).unwrap();
        };
        save("old.json", &old);
        save("new.json", &new);
        let document = printed(&zc(folder.path(), &["compare", "old.json", "new.json", "--json"]));
        let document: Value = serde_json::from_str(&document).unwrap();
        let compared = &document["comparisons"][0];
        let account = json!({"by": "wall-time", "because": "compared-run"});
        assert_eq!(compared["account"], account, "{name}");
        assert_eq!(compared["new"]["blocks_kept"], compared["old"]["blocks_kept"], "{name}");
        for cell in compared["cells"].as_array().unwrap() {
            assert_eq!(cell["new_cost_us_per_mb"], cell["old_cost_us_per_mb"], "{name}: {cell}");
        }
        let page = printed(&zc(folder.path(), &["compare", "old.json", "new.json"]));
        assert!(page.contains("one run has costs by wall time alone"), "{name}: {page}");
    }
}

#[test]
fn a_golden_file_has_the_estimates_that_the_zc_that_wrote_it_printed() {
    for (name, path) in golden() {
        let expected = std::fs::read_to_string(path.with_extension("expected")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let mut run = read(&path);
        assert_eq!(json!(zc_analysis::estimate(&run).blocks), expected["blocks"], "{name}");
        // On a busy machine few blocks or none are kept: the figures are those of all that were
        // finished.
        for block in &mut run.blocks {
            block.dropped = block
                .dropped
                .take()
                .filter(|rule| matches!(rule, Dropped::Unfinished | Dropped::TrialFailed { .. }));
        }
        let estimates = zc_analysis::estimate(&run);
        let cells = expected["all_blocks_counted"].as_array().unwrap();
        assert_eq!(estimates.cells.len(), cells.len(), "{name}");
        for (place, (cell, expected)) in estimates.cells.iter().zip(cells).enumerate() {
            assert_eq!(
                (json!(cell.label), json!(cell.blocks)),
                (expected["label"].clone(), expected["blocks"].clone()),
                "{name}"
            );
            let check = |what: &str, value: Option<f64>| {
                let expected = expected[what].as_f64();
                assert!(
                    same(value, expected),
                    "{name}, {}, {what}: {value:?}, {expected:?}",
                    cell.label
                );
            };
            let costs = &cell.cost_ns_per_kib;
            for (side, cost) in
                [("sender", costs.sender), ("receiver", costs.receiver), ("both", costs.both)]
            {
                let cost = cost.map(|figure| figure.value);
                // zc 0.1 printed nanoseconds per KiB.
                if name.starts_with("schema-2-") {
                    check(&format!("{side}_cost_ns_per_kib"), cost);
                } else {
                    check(&format!("{side}_cost_us_per_mb"), cost.map(zc_analysis::us_per_mb));
                }
            }
            check("ratio_both", ratio_to_arithmetic_mean(&run, place));
            let (now, then) = (cell.ratio.both.map(|ratio| ratio.value), &expected["ratio_both"]);
            assert_eq!(now.is_some(), then.is_number(), "{name}, {}", cell.label);
            if let (Some(now), Some(then)) = (now, then.as_f64()) {
                assert!((0.999..1.02).contains(&(now / then)), "{name}, {}: {now}", cell.label);
            }
            check("top_speed_bytes_per_s", cell.top_speed_bytes_per_s.map(|figure| figure.value));
            check("soaked_by_unsoaked_control", cell.perturbation.soaked_by_unsoaked_control);
        }
        assert!(estimates.cells.iter().any(|cell| cell.cost_ns_per_kib.both.is_some()), "{name}");
    }
}

#[test]
fn a_golden_file_is_shown_and_reported() {
    for (name, path) in golden() {
        let path = path.to_str().unwrap();
        let output = zc(&testdata(), &["show", path]);
        assert_eq!(stderr(&output), "", "{name}");
        assert!(printed(&output).contains("read+send"), "{name}");
        assert!(
            printed(&zc(&testdata(), &["report", path, "--csv"])).lines().count() > 3,
            "{name}"
        );
    }
}

/// Adds an unknown field to every object, and to what is in it. Objects whose keys are names of
/// something (sysctls, kinds of softirqs) or the choice of a variant are left out.
fn add_unknown_fields(value: &mut Value, key: &str) {
    const MAPS: [&str; 5] = ["mitigations", "sysctls", "offloads", "softirqs", "support"];
    match value {
        Value::Object(map) => {
            map.iter_mut().for_each(|(key, value)| add_unknown_fields(value, key));
            if !MAPS.contains(&key) {
                map.insert("of_a_later_version".to_owned(), json!({"a": [1, null, {"b": "c"}]}));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| add_unknown_fields(value, key)),
        _ => {}
    }
}

#[test]
fn unknown_fields_are_ignored_everywhere() {
    for run in golden().iter().map(|(_, path)| read(path)).chain([synthetic()]) {
        let mut document: Value = serde_json::from_str(&zc_run::whole(&run)).unwrap();
        add_unknown_fields(&mut document, "");
        assert!(document["blocks"][0]["slots"][0]["opened"]["of_a_later_version"].is_object());
        assert_eq!(zc_run::parse(&document.to_string()).map(|(again, _)| again), Ok(run));
    }
}

#[test]
fn a_later_minor_version_is_read_with_a_warning() {
    let output =
        show(&of_version("{\"zc_run\":3,\"zc_run_minor\":8,\"read_by\":\"0.9.0\",\"later\":[1],"));
    assert!(printed(&output).contains("sendfile"));
    assert_eq!(
        stderr(&output),
        format!(
            "warning: file \"x.json\" is of format 3.8, and this zc knows {MAJOR}.{MINOR}: what the \
             newer one added is not shown\n\
             hint: zc 0.9.0 and later read it\n"
        )
    );
}

#[test]
fn a_later_minor_version_with_a_value_that_is_not_known_names_the_zc_that_reads_it() {
    let text = edited(|document| {
        document["zc_run_minor"] = json!(8);
        document["read_by"] = json!("0.9.0");
        document["plan"]["cells"][1]["send"] = json!("teleport");
    });
    let output = show(&text);
    assert_eq!(output.status.code(), Some(3));
    let stderr = stderr(&output);
    assert!(stderr.contains("unknown variant `teleport`"), "{stderr}");
    assert!(stderr.ends_with(&format!(
        "hint: its format 3.8 is newer than {MAJOR}.{MINOR}, which this zc knows; zc 0.9.0 and later \
         read it\n"
    )));
}

#[test]
fn a_later_major_version_is_refused_with_the_zc_that_reads_it() {
    for (start, hint) in [
        ("{\"zc_run\":4,\"zc_run_minor\":2,\"read_by\":\"1.2.0\",", "zc 1.2.0 and later read it"),
        ("{\"zc_run\":4,\"zc_run_minor\":2,", "zc 0.2.0 wrote it and reads it"),
        (
            "{\"zc_run\":4,\"zc_run_minor\":2,\"read_by\":\"\\u001b[2J\",",
            "zc \\u{1b}[2J and later read it",
        ),
    ] {
        let mut text = of_version(start);
        let version = synthetic().header.zc_version;
        text =
            text.replacen(&format!("\"zc_version\":\"{version}\""), "\"zc_version\":\"0.2.0\"", 1);
        let output = show(&text);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), &b""[..]));
        assert_eq!(
            stderr(&output),
            format!(
                "error: cannot read \"x.json\": it is a saved run of format 4.2, and this zc reads \
                 formats 2 and 3\nhint: {hint}\n"
            )
        );
    }
}

/// The JSON Schema that `zc schema` prints, as a validator.
fn schema(args: &[&str]) -> (Value, Schema) {
    let folder = tempfile::tempdir().unwrap();
    let text = printed(&zc(folder.path(), &[&["schema"], args].concat()));
    let schema: Value = serde_json::from_str(&text).unwrap();
    (schema.clone(), Schema(schema))
}

/// The same schema, which refuses fields that it does not describe.
fn closed(mut schema: Value) -> Schema {
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(map) => {
                map.values_mut().for_each(close);
                if map.get("properties").is_some_and(Value::is_object)
                    && !map.contains_key("additionalProperties")
                {
                    map.insert("unevaluatedProperties".to_owned(), json!(false));
                }
            }
            Value::Array(all) => all.iter_mut().for_each(close),
            _ => {}
        }
    }
    // Where a variant adds its fields to those of a struct, the struct is open.
    let Some(definitions) = schema.get_mut("$defs") else {
        return Schema(schema);
    };
    close(definitions);
    if let Some(map) = schema.as_object_mut() {
        map.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    Schema(schema)
}

/// A document of this kind is as `zc schema` says.
#[track_caller]
pub(crate) fn is_as_described(kind: &str, document: &Value) {
    valid(&schema(&[kind]).1, document, kind);
}

#[track_caller]
fn valid(schema: &Schema, document: &Value, what: &str) {
    assert_eq!(schema.check(document), Ok(()), "{what}");
}

/// A run that is measured now.
fn fresh() -> Value {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args =
        ["run", "--link", "loopback", "--paths", "sendfile", "--budget", "4s", "--out", "run.json"];
    assert_ended(&zc(folder.path(), &args));
    serde_json::from_str(&std::fs::read_to_string(folder.path().join("run.json")).unwrap()).unwrap()
}

#[test]
fn saved_runs_are_as_their_schema_says() {
    let (schema, validator) = schema(&[]);
    let strict = closed(schema);
    let written_now = golden().into_iter().map(|(name, path)| {
        let document: Value = serde_json::from_str(&zc_run::whole(&read(&path))).unwrap();
        (name, document)
    });
    let all: Vec<(String, Value)> =
        written_now.chain([("a fresh run".to_owned(), fresh())]).collect();
    for (name, document) in &all {
        valid(&validator, document, name);
        valid(&strict, document, name);
    }
    for (name, path) in
        golden().iter().filter(|(name, _)| name.starts_with(&format!("schema-{}-", MAJOR)))
    {
        valid(
            &validator,
            &serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(),
            name,
        );
    }
}

#[test]
fn each_line_of_blocks_is_as_the_definition_of_a_block_says() {
    let (schema, _) = schema(&["run"]);
    let block = json!({ "$ref": "#/$defs/Block", "$defs": schema["$defs"] });
    let validator = Schema(block);
    let text = zc_run::whole(&synthetic());
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"index\":")).collect();
    assert_eq!(lines.len(), 5);
    for line in lines {
        valid(&validator, &serde_json::from_str(line.trim_end_matches(',')).unwrap(), line);
    }
}

#[test]
fn what_is_no_saved_run_is_not_as_the_schema_says() {
    let (_, validator) = schema(&["run"]);
    let document = |change: &dyn Fn(&mut Value)| {
        let mut document: Value = serde_json::from_str(&zc_run::whole(&synthetic())).unwrap();
        change(&mut document);
        document
    };
    valid(&validator, &document(&|_| ()), "unchanged");
    valid(
        &validator,
        &document(&|run| run["of_a_later_version"] = json!(1)),
        "a later minor version",
    );
    let slot =
        |run: &mut Value, change: &dyn Fn(&mut Value)| change(&mut run["blocks"][1]["slots"][1]);
    let wrong: [&dyn Fn(&mut Value); 7] = [
        &|run| run["zc_run"] = json!(2),
        &|run| drop(run.as_object_mut().map(|run| run.remove("plan"))),
        &|run| run["host"]["cpu"]["online"] = json!("two"),
        &|run| slot(run, &|slot| slot["kind"] = json!("twin")),
        &|run| slot(run, &|slot| slot["opened"]["soak"] = json!([1, [2]])),
        &|run| slot(run, &|slot| slot["opened"]["stat"][1][0] = json!("busy")),
        &|run| slot(run, &|slot| drop(slot.as_object_mut().map(|slot| slot.remove("closed")))),
    ];
    for (place, change) in wrong.iter().enumerate() {
        assert!(!validator.is_valid(&document(change)), "{place}");
    }
}

#[test]
fn the_output_for_programs_is_as_its_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), zc_run::whole(&synthetic())).unwrap();
    let other = Synthetic { blocks: 9, seed: 3, ..Synthetic::default() }.run();
    std::fs::write(folder.path().join("b.json"), zc_run::whole(&other)).unwrap();
    let document = |args: &[&str]| -> Value {
        serde_json::from_str(&printed(&zc(folder.path(), args))).unwrap()
    };
    let (_, shown) = schema(&["show"]);
    let mut show = document(&["show", "b.json", "--json"]);
    valid(&shown, &show, "zc show");
    show["estimates"]["cells"][0]["cost_us_per_mb"]["both"]["value"] = json!("dear");
    assert!(!shown.is_valid(&show));
    let (_, compared) = schema(&["compare"]);
    valid(&compared, &document(&["compare", "a.json", "b.json", "--json"]), "zc compare");
    for (name, seed) in [("1.json", 11), ("2.json", 12), ("3.json", 13)] {
        let run = Synthetic { blocks: 9, seed, ..Synthetic::default() }.run();
        std::fs::write(folder.path().join(name), zc_run::whole(&run)).unwrap();
    }
    let (_, calibrated) = schema(&["calibrate"]);
    let words = ["calibrate", "1.json", "2.json", "3.json", "--json"];
    valid(&calibrated, &document(&words), "zc calibrate");
    for (_, path) in golden() {
        valid(&shown, &document(&["show", path.to_str().unwrap(), "--json"]), "zc show");
    }
}

#[test]
fn a_schema_that_is_not_there_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let output = zc(folder.path(), &["schema", "sho"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("\"sho\""), "{}", stderr(&output));
}

/// Soaked windows of each cell, bytes received in them, and units that the soakers counted in them.
fn soaked_windows(run: &Run) -> Value {
    let mut cells = serde_json::Map::new();
    for cell in &run.header.plan.cells {
        let (mut windows, mut bytes, mut units) = (0_u64, 0_u64, 0_u64);
        for block in &run.blocks {
            for slot in &block.slots {
                if let Slot::Trial(trial) = slot
                    && (&trial.cell, trial.kind) == (&cell.label, TrialKind::Soaked)
                {
                    let counted =
                        |reading: &zc_run::Reading| reading.soak.units.iter().sum::<u64>();
                    windows += 1;
                    bytes += trial.closed.received.bytes - trial.opened.received.bytes;
                    units += counted(&trial.closed) - counted(&trial.opened);
                }
            }
        }
        cells.insert(
            cell.label.clone(),
            json!({ "windows": windows, "bytes": bytes, "units": units }),
        );
    }
    Value::Object(cells)
}

#[test]
fn a_reader_in_python_written_from_the_documentation_reads_the_same() {
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/read_run.py");
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: there is no python3");
        return;
    }
    for (name, path) in golden() {
        let run = read(&path);
        let output = Command::new("python3").arg(&reader).arg(&path).finish().unwrap();
        let read: Value = serde_json::from_str(&printed(&output)).unwrap();
        assert_eq!(read["soaked_windows"], soaked_windows(&run), "{name}");
        let last = run.blocks.iter().rev().find_map(|block| block.slots.last());
        let Some(
            Slot::Trial(zc_run::Trial { closed, .. })
            | Slot::Idle(zc_run::IdleWindow { closed, .. }),
        ) = last
        else {
            panic!("{name}: no block");
        };
        assert_eq!(
            read["last_reading"],
            json!(closed),
            "{name}: every counter of the last reading"
        );
    }
}
