//! No field of a fleet's file can add a line to a script: what sbatch takes for an option begins a
//! line of its own.

use proptest::prelude::*;
use serde_json::Value;
use zc_fleet::plan::Planned;
use zc_fleet::{FleetFile, FleetPlan, Folder, slurm};

/// A file that has every field.
const FULL: &str = r#"
name = "f"
engine = "slurm"
zc = "zc"
seed = 1
shared = false
by = ["kernel", "rack"]

[pairs]
choose = "reference"
within = "rack"
reference = "n1"
directions = "both"

[slurm]
partition = "bench"
deadline = "6h"
options = ["--account=a b", "--qos=x"]

[ssh]
command = "ssh -p 22"

[kubernetes]
image = "zc:1"
resource = "zc/host"
namespace = "bench"
kubectl = "kubectl --context lab"
scheduler = "gangs"
labels = { a = "b" }
annotations = { c = "d" }
tolerations = ["dedicated=bench:NoSchedule"]
limits = { memory = "2Gi" }
port = 2223
privileged = true
gang = false
wait = "5m"

[[hosts]]
names = "n[1-3]"
features = { rack = "r1" }
wires = ["w1"]
machine = "m1"

[[hosts]]
with_feature = "gen1"
features = { rack = "r1" }

[[plans]]
name = "paths"
plan = "paths"
options = ["--paths", "sendfile"]
budget = "8s"
repeats = 2
"#;

/// The fleet of a file and its scripts, or why there are none.
fn scripts(text: &str) -> Result<(FleetPlan, Vec<String>), String> {
    let file = FleetFile::parse(text, "f.toml", None).map_err(|error| error.message)?;
    let hosts = file.hosts(|_| Ok(vec!["m1".to_owned()])).map_err(|error| error.message)?;
    let plans = file.plans.iter().map(|plan| Planned::from_entry(plan, None));
    let plans = plans.collect::<Result<_, _>>().map_err(|error| error.message)?;
    let plan = FleetPlan::draw(&file, hosts, plans, 1).map_err(|error| error.message)?;
    let at = tempfile::tempdir().unwrap();
    let (folder, _lock) = Folder::create(&at.path().join("out")).unwrap();
    slurm::write_jobs(&folder, &plan).map_err(|error| error.message)?;
    let pairs = (0..plan.pairs.len()).map(|pair| folder.job(pair));
    let texts = pairs.chain([folder.report_job()]);
    let texts = texts.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    Ok((plan, texts))
}

/// The lines of each script beyond those of its measurements, options and licences.
fn lines_left(plan: &FleetPlan, scripts: &[String]) -> Vec<usize> {
    let has_wires = |host: usize| !plan.hosts[host].wires.is_empty();
    let given = usize::from(plan.slurm.partition.is_some()) + plan.slurm.options.len();
    let own = plan.pairs.iter().map(|pair| {
        let first = &pair.cells[0];
        pair.cells.len() + usize::from(has_wires(first.near) || has_wires(first.far)) + given
    });
    let own = own.chain([plan.plans.len() + given]);
    scripts.iter().zip(own).map(|(script, own)| script.lines().count() - own).collect()
}

/// The place of a text as a JSON pointer, and whether it is a key.
type Place = (String, bool);

fn places(value: &Value, at: &str, found: &mut Vec<Place>) {
    match value {
        Value::String(_) => found.push((at.to_owned(), false)),
        Value::Array(all) => {
            for (place, each) in all.iter().enumerate() {
                places(each, &format!("{at}/{place}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, each) in fields {
                let at = format!("{at}/{key}");
                found.push((at.clone(), true));
                places(each, &at, found);
            }
        }
        _ => {}
    }
}

fn full() -> (Value, Vec<Place>) {
    let file: Value = toml::from_str(FULL).unwrap();
    let mut found = Vec::new();
    places(&file, "", &mut found);
    (file, found)
}

/// The file with another text in a place.
fn changed(file: &Value, (at, is_key): &Place, text: &str) -> String {
    let mut file = file.clone();
    if *is_key {
        let (parent, key) = at.rsplit_once('/').unwrap();
        let parent = file.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let value = parent.remove(key).unwrap();
        parent.insert(text.to_owned(), value);
    } else {
        *file.pointer_mut(at).unwrap() = text.into();
    }
    toml::to_string(&file).unwrap()
}

#[test]
fn the_full_file_has_every_field() {
    let (plan, texts) = scripts(FULL).unwrap();
    assert!(texts.len() > 2 && plan.slurm.options.len() == 2);
    for table in ["", "[pairs]", "[slurm]", "[ssh]", "[kubernetes]", "[[hosts]]", "[[plans]]"] {
        let with = match table {
            "" => format!("none = 1\n{FULL}"),
            table => FULL.replacen(table, &format!("{table}\nnone = 1"), 1),
        };
        let refused = scripts(&with).unwrap_err();
        let fields: Vec<&str> = refused.split('`').skip(3).step_by(2).collect();
        assert!(!fields.is_empty(), "{refused}");
        for field in fields.iter().filter(|field| **field != "partners") {
            let is_there = FULL.lines().any(|line| {
                line.starts_with(&format!("{field} = ")) || line.trim_matches(['[', ']']) == *field
            });
            assert!(is_there, "{table} {field} is not in the full file: {refused}");
        }
    }
}

#[test]
fn a_line_break_in_any_text_is_refused() {
    let (file, places) = full();
    assert!(places.len() > 60, "{}", places.len());
    for place in &places {
        for text in ["x\n#SBATCH --uid=0", "x\r", "\u{1b}[2J", "x\0y"] {
            let refused = scripts(&changed(&file, place, text)).unwrap_err();
            // A field or a variant of that name does not exist.
            let is_named =
                refused.contains("unknown") || refused.contains("a line break or another");
            assert!(is_named || refused.contains("missing field"), "{place:?}: {refused}");
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    let breaks = vec!['\n', '\r', '\0', '\u{85}', '\u{2028}', '\u{b}', '\u{c}'];
    let marks = vec!['#', '\'', '"', '\\', ' ', '-', '=', '%', 'a', '$', '`', ';'];
    let letter = prop_oneof![
        2 => any::<char>(),
        1 => prop::sample::select(breaks),
        4 => prop::sample::select(marks),
    ];
    prop::collection::vec(letter, 0..8).prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_field_can_add_a_line(
        place in any::<prop::sample::Index>(),
        text in text(),
        is_end in any::<bool>(),
    ) {
        let (file, places) = full();
        let place = place.get(&places);
        let before = file.pointer(&place.0).and_then(Value::as_str).filter(|_| is_end && !place.1);
        let text = before.unwrap_or_default().to_owned() + &text;
        if let Ok((plan, texts)) = scripts(&changed(&file, place, &text)) {
            let (of_full, full) = scripts(FULL).unwrap();
            let of_full = lines_left(&of_full, &full);
            let mut left = lines_left(&plan, &texts);
            prop_assert_eq!(left.pop(), of_full.last().copied(), "{:?} {:?}", place, &text);
            for (lines, script) in left.iter().zip(&texts) {
                prop_assert_eq!(*lines, of_full[0], "{:?} {:?}:\n{}", place, &text, script);
                let is_safe = |letter| letter == '\n' || zc_run::is_safe(letter);
                prop_assert!(script.chars().all(is_safe));
            }
        }
    }
}

#[test]
fn a_folder_whose_name_would_add_a_line_or_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let at = tempfile::tempdir().unwrap();
    for name in [&b"a\n#SBATCH --uid=0"[..], b"a\xff", b"a\x1b[2J"] {
        let path = at.path().join(std::ffi::OsStr::from_bytes(name));
        let refused = Folder::create(&path).unwrap_err();
        assert_eq!(refused.id, "cannot-make-folder");
        assert!(refused.message.chars().all(zc_run::is_safe), "{refused}");
        assert!(!path.exists());
    }
    let (folder, _lock) = Folder::create(&at.path().join("50%done")).unwrap();
    let (plan, _) = scripts(FULL).unwrap();
    slurm::write_jobs(&folder, &plan).unwrap();
    let script = std::fs::read_to_string(folder.job(0)).unwrap();
    let output = script.lines().find(|line| line.contains("--output=")).unwrap();
    assert!(output.contains("50%%done/logs/"), "sbatch reads patterns there: {output}");
}
