//! The format of saved runs and of the output for programs: golden files of every version, files of
//! later versions, and the JSON Schemas. docs/format.md describes what is
//! tested here.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use zc_run::{Dropped, FormatVersion, MAJOR, MINOR, Run, Slot, TrialKind};
use zc_testkit::documents::{by_lines, from_lines, value};
use zc_testkit::json_schema::Schema;
use zc_testkit::synthetic::Synthetic;

use crate::support::{Bounded as _, assert_ended, measuring, refused, stderr, zc_in};

/// The folder of the golden files: see its README.md.
fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/testdata")
}

/// The golden files, by name.
fn golden() -> Vec<(String, PathBuf)> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<(String, PathBuf)> = std::fs::read_dir(testdata())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| name(path).contains(".json"))
        .map(|path| (name(&path).split('.').next().unwrap().to_owned(), path))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> Run {
    let (run, broken) = zc_run::read(File::open(path).unwrap()).unwrap();
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
    let mut document = value(&synthetic());
    change(&mut document);
    by_lines(&document)
}

/// The first line as zc writes it, of another version.
fn of_version(start: &str) -> String {
    let FormatVersion { major, minor, read_by } = FormatVersion::current();
    let now = format!("{{\"zc_run\":{major},\"zc_run_minor\":{minor},\"read_by\":\"{read_by}\",");
    let text = zc_run::run_lines(&synthetic());
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
        let bytes = std::fs::read(&path).unwrap();
        let mut text = String::new();
        match bytes.starts_with(b"{") {
            true => text.push_str(std::str::from_utf8(&bytes).unwrap()),
            false => drop(MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap()),
        }
        let major = &name["schema-".len()..][..1];
        assert!(text.starts_with(&format!("{{\"zc_run\":{major},")), "{name}");
        assert!(bytes.len() < 250_000, "{name}");
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
            std::fs::write(folder.path().join(file), zc_run::run_lines(run)).unwrap();
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
        let expected =
            std::fs::read_to_string(testdata().join(format!("{name}.expected"))).unwrap();
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
        let mut document = value(&run);
        add_unknown_fields(&mut document, "");
        assert!(document["blocks"][0]["slots"][0]["opened"]["of_a_later_version"].is_object());
        assert_eq!(zc_run::parse(&by_lines(&document)).map(|(again, _)| again), Ok(run));
    }
}

#[test]
fn a_later_minor_version_is_read_with_a_warning() {
    let output =
        show(&of_version("{\"zc_run\":4,\"zc_run_minor\":1,\"read_by\":\"0.9.0\",\"later\":[1],"));
    assert!(printed(&output).contains("sendfile"));
    assert_eq!(
        stderr(&output),
        format!(
            "warning: file \"x.json\" is of format 4.1, and this zc knows {MAJOR}.{MINOR}: what \
             the newer one added is not shown\n\
             hint: zc 0.9.0 and later read it\n"
        )
    );
}

#[test]
fn a_later_minor_version_with_a_value_that_is_not_known_names_the_zc_that_reads_it() {
    let text = edited(|document| {
        document["zc_run_minor"] = json!(1);
        document["read_by"] = json!("0.9.0");
        document["plan"]["cells"][1]["send"] = json!("teleport");
    });
    let output = show(&text);
    assert_eq!(refused(&output, 3), "run-damaged");
    let said = stderr(&output);
    assert!(said.contains("`teleport`") && said.contains(" zc 0.9.0 "), "{said}");
}

#[test]
fn a_later_major_version_is_refused_with_the_zc_that_reads_it() {
    for (start, hint) in [
        ("{\"zc_run\":5,\"zc_run_minor\":2,\"read_by\":\"1.2.0\",", "hint: zc 1.2.0 "),
        ("{\"zc_run\":5,\"zc_run_minor\":2,", "hint: zc 0.2.0 "),
        ("{\"zc_run\":5,\"zc_run_minor\":2,\"read_by\":\"\\u001b[2J\",", "hint: zc \\u{1b}[2J "),
    ] {
        let mut text = of_version(start);
        let version = synthetic().header.zc_version;
        text =
            text.replacen(&format!("\"zc_version\":\"{version}\""), "\"zc_version\":\"0.2.0\"", 1);
        let output = show(&text);
        assert_eq!(refused(&output, 3), "run-format");
        let said = stderr(&output);
        assert!(said.contains(" 5.2") && said.contains(hint), "{said}");
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
    from_lines(&std::fs::read_to_string(folder.path().join("run.json")).unwrap())
}

#[test]
fn each_line_of_a_saved_run_is_as_the_schema_says() {
    let (schema, validator) = schema(&[]);
    let definition = |name: &str| {
        let definition = json!({ "$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"] });
        closed(definition)
    };
    let strict = ["Header", "Block", "End"].map(definition);
    let golden = golden().into_iter().map(|(name, path)| (name, value(&read(&path))));
    for (name, document) in golden.chain([("a fresh run".to_owned(), fresh())]) {
        let text = by_lines(&document);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (place, line) in lines.iter().enumerate() {
            valid(&validator, line, &name);
            let kind = match place {
                0 => 0,
                _ if place + 1 == lines.len() => 2,
                _ => 1,
            };
            valid(&strict[kind], line, &name);
        }
    }
}

#[test]
fn what_is_no_line_of_a_saved_run_is_not_as_the_schema_says() {
    let (_, validator) = schema(&["run"]);
    let lines = |change: &dyn Fn(&mut Value)| -> Vec<Value> {
        let mut document = value(&synthetic());
        change(&mut document);
        by_lines(&document).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let is_valid = |change| lines(change).iter().all(|line| validator.is_valid(line));
    assert!(is_valid(&|_| ()), "unchanged");
    assert!(is_valid(&|run| run["of_a_later_version"] = json!(1)), "a later minor version");
    let slot =
        |run: &mut Value, change: &dyn Fn(&mut Value)| change(&mut run["blocks"][1]["slots"][1]);
    let wrong: [&dyn Fn(&mut Value); 6] = [
        &|run| run["zc_run"] = json!(3),
        &|run| drop(run.as_object_mut().map(|run| run.remove("plan"))),
        &|run| run["host"]["cpu"]["online"] = json!("two"),
        &|run| slot(run, &|slot| slot["opened"]["soak"]["units"] = json!("many")),
        &|run| slot(run, &|slot| slot["opened"]["stat"]["cpus"][0] = json!("busy")),
        &|run| slot(run, &|slot| drop(slot.as_object_mut().map(|slot| slot.remove("closed")))),
    ];
    for (place, change) in wrong.into_iter().enumerate() {
        assert!(!is_valid(change), "{place}");
    }
}

#[test]
fn older_runs_are_converted_and_are_the_same_in_memory() {
    for (name, path) in golden() {
        if name.starts_with(&format!("schema-{MAJOR}-")) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = "old.json";
        std::fs::copy(&path, folder.path().join(file)).unwrap();
        let said = printed(&zc(folder.path(), &["convert", file]));
        assert_eq!(said, "old.jsonl.gz\n", "{name}");
        let run = read(&path);
        assert_eq!(read(&folder.path().join("old.jsonl.gz")), run, "{name}");
        // Neither the older file nor one of the new name is written over.
        let again = zc(folder.path(), &["convert", file]);
        assert_eq!(again.status.code(), Some(5), "{}", stderr(&again));
        assert!(stderr(&again).contains("\"old.jsonl.gz\" exists already"), "{}", stderr(&again));
        let onto = zc(folder.path(), &["convert", "old.jsonl.gz", "-o", file]);
        assert_eq!(onto.status.code(), Some(5), "{}", stderr(&onto));
        assert_eq!(std::fs::read(folder.path().join(file)).unwrap(), std::fs::read(&path).unwrap());
        let lines = printed(&zc(folder.path(), &["convert", file, "-o", "-"]));
        assert_eq!(lines, zc_run::run_lines(&run), "{name}");
    }
}

#[test]
fn a_run_of_format_3_that_another_program_has_laid_out_is_read() {
    let path = testdata().join("schema-3-null.json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
        assert_eq!(zc_run::parse(&text), Ok((read(&path), 0)));
    }
}

#[test]
fn the_output_for_programs_is_as_its_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), zc_run::run_lines(&synthetic())).unwrap();
    let other = Synthetic { blocks: 9, seed: 3, ..Synthetic::default() }.run();
    std::fs::write(folder.path().join("b.json"), zc_run::run_lines(&other)).unwrap();
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
        std::fs::write(folder.path().join(name), zc_run::run_lines(&run)).unwrap();
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

#[test]
fn the_reader_in_python_of_the_documentation_reads_the_same() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    let page = std::fs::read_to_string(page).unwrap();
    let reader =
        page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(reader.lines().count() <= 12, "{reader}");
    let Ok(_) = Command::new("python3").arg("--version").output() else {
        println!("skipped: there is no python3");
        return;
    };
    for (name, path) in golden().iter().filter(|(name, _)| name.starts_with("schema-4-")) {
        let output = Command::new("python3").args(["-c", reader]).arg(path).finish().unwrap();
        let run = read(path);
        let mut expected = String::new();
        for cell in &run.header.plan.cells {
            let trials =
                run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
                    Slot::Trial(trial) => Some(trial),
                    Slot::Idle(_) => None,
                });
            let soaked =
                trials.filter(|trial| trial.cell == cell.label && trial.kind == TrialKind::Soaked);
            let (mut windows, mut bytes) = (0, 0);
            for trial in soaked {
                windows += 1;
                bytes += trial.closed.sent.bytes - trial.opened.sent.bytes;
            }
            expected += &format!("{} {windows} {bytes}\n", cell.label);
        }
        assert_eq!(printed(&output), expected, "{name}");
    }
}
