//! Folders of fleets as another user may have left them: a plan with changes, and anything under
//! the names of runs, exit codes and logs; and what must hold for what is made of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use rustix::fs::{CWD, mkfifoat};
use serde_json::Value;
use zc_fleet::files::Whose;
use zc_fleet::fleet_file::Engine;
use zc_fleet::kubernetes::{self, Now};
use zc_fleet::plan::Planned;
use zc_fleet::state::{self, Cause};
use zc_fleet::{CellState, Count, FleetFile, FleetPlan, Folder, Programs, slurm};
use zc_run::ErrorKind;

use crate::edits::Edit;

/// A folder of a fleet.
#[derive(Debug, Arbitrary)]
pub struct FleetFolder {
    engine: u8,
    edits: Vec<Edit>,
    /// In place of the plan.
    plan: Option<Content>,
    entries: Vec<Entry>,
}

#[derive(Debug, Arbitrary)]
struct Entry {
    name: Name,
    content: Content,
}

#[derive(Debug, Arbitrary)]
enum Name {
    Run { cell: u8, job: u8 },
    Exit { cell: u8, job: u8 },
    Said { cell: u8, job: u8 },
    SaidBySlurm { pair: u8, task: u8, job: u8 },
    Job { pair: u8 },
    Runs(String),
    Logs(String),
}

#[derive(Debug, Arbitrary)]
enum Content {
    /// A run that came to its end.
    Whole,
    /// The same up to here.
    Cut(u16),
    Bytes(Vec<u8>),
    Text(String),
    Secret,
    Zero,
    Fifo,
    Sparse,
    Folder,
    /// A link to itself.
    Loop,
}

/// What nobody may see: it is outside of the folder.
const SECRET: &str = "hunter2-hunter2";

/// The last lines of a run.
const RUN: &str = "{\"zc_run\":4}\n{\"x\":1}\n{\"reason\":{\"why\":\"budget-spent\"}}\n";

const ENGINES: [Engine; 3] = [Engine::Slurm, Engine::Ssh, Engine::Kubernetes];

/// The plan of a fleet of three hosts for each engine.
fn plans() -> &'static [Value] {
    static PLANS: OnceLock<Vec<Value>> = OnceLock::new();
    PLANS.get_or_init(|| ENGINES.into_iter().map(plan).collect())
}

fn plan(engine: Engine) -> Value {
    let text = "name = \"f\"\nseed = 1\n[kubernetes]\nimage = \"zc:1\"\nresource = \"zc/host\"\n\
                [[hosts]]\nnames = \"n[1-3]\"\nfeatures = { rack = \"r1\" }\nwires = [\"w\"]\n\
                [[plans]]\nname = \"paths\"\nbudget = \"8s\"\n";
    let file = FleetFile::parse(text, "f.toml", Some(engine)).expect("a fleet");
    let hosts = file.hosts(|_| Ok(Vec::new())).expect("hosts");
    let plans =
        file.plans.iter().map(|plan| Planned::from_entry(plan, None).expect("a plan")).collect();
    let plan = FleetPlan::draw(&file, hosts, plans, 1).expect("a plan of them");
    serde_json::to_value(plan).expect("JSON")
}

impl Name {
    fn path(&self, plan: &Value) -> String {
        let cell = |which: u8| {
            let pairs = plan["pairs"].as_array().into_iter().flatten();
            let cells = pairs.flat_map(|pair| pair["cells"].as_array().into_iter().flatten());
            let ids: Vec<&str> = cells.filter_map(|cell| cell["id"].as_str()).collect();
            ids.get(usize::from(which) % ids.len().max(1)).copied().unwrap_or("x").to_owned()
        };
        match self {
            Self::Run { cell: which, job } => format!("runs/{}.{job}.json", cell(*which)),
            Self::Exit { cell: which, job } => format!("runs/{}.{job}.exit", cell(*which)),
            Self::Said { cell: which, job } => format!("logs/{}.{job}.txt", cell(*which)),
            Self::SaidBySlurm { pair, task, job } => {
                format!("logs/{:04}.{}.{job}.txt", pair % 4, task % 3)
            }
            Self::Job { pair } => format!("jobs/{:04}.sbatch", pair % 4),
            Self::Runs(name) => format!("runs/{}", name.replace(['/', '\0'], "_")),
            Self::Logs(name) => format!("logs/{}", name.replace(['/', '\0'], "_")),
        }
    }
}

impl Content {
    /// Puts it there, unless something is there already or the name is none.
    fn put(&self, path: &Path) {
        let secret = path.parent().and_then(Path::parent).map(|out| out.join("../secret"));
        let _ = match self {
            Self::Whole => fs::write(path, RUN),
            Self::Cut(at) => fs::write(path, &RUN[..usize::from(*at) % RUN.len()]),
            Self::Bytes(bytes) => fs::write(path, bytes),
            Self::Text(text) => fs::write(path, text),
            Self::Secret => symlink(secret.unwrap_or_default(), path),
            Self::Zero => symlink("/dev/zero", path),
            Self::Fifo => mkfifoat(CWD, path, 0o600.into()).map_err(Into::into),
            Self::Sparse => File::create(path).and_then(|file| file.set_len(1 << 40)),
            Self::Folder => fs::create_dir(path),
            Self::Loop => symlink(path, path),
        };
    }
}

/// What is no folder of a fleet is refused; what is one has a state for each measurement, in words
/// that a terminal can have. Nothing outside of it is read or named, and it names no programs.
pub fn check(given: &FleetFolder) {
    // Where there is no disk: each input is a dozen files.
    let at = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let at = at.expect("a folder");
    fs::write(at.path().join("secret"), SECRET).expect("a file");
    let (folder, lock) = Folder::create(&at.path().join("out")).expect("a new folder");
    drop(lock);
    let mut plan = plans()[usize::from(given.engine) % ENGINES.len()].clone();
    for edit in given.edits.iter().take(6) {
        edit.apply(&mut plan);
    }
    match &given.plan {
        Some(content) => content.put(&folder.plan()),
        None => fs::write(folder.plan(), plan.to_string()).expect("a plan"),
    }
    for entry in given.entries.iter().take(12) {
        let path = folder.path().join(entry.name.path(&plan));
        if path.symlink_metadata().is_err() {
            entry.content.put(&path);
        }
    }
    let (folder, plan) = match Folder::open(folder.path(), Whose::Own) {
        Ok(opened) => opened,
        Err(error) => {
            assert!(matches!(error.kind, ErrorKind::Input), "{error}");
            assert!(!error.message.contains(SECRET), "{error}");
            return;
        }
    };
    assert_eq!(plan.programs, Programs::default());
    let text = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(FleetPlan::parse(&text).expect("a plan is read again"), plan);
    let runs = state::runs(&folder, &plan).expect("a folder");
    assert!(runs.iter().all(|run| run.parent() == Some(&folder.path().join("runs"))));
    // Every second run is of no use.
    let judge = |runs: &[std::path::PathBuf]| {
        let unusable = runs.iter().step_by(2).map(|run| (run.clone(), "why".to_owned()));
        Ok(unusable.collect::<BTreeMap<_, _>>())
    };
    let states = state::states(&folder, &plan, &judge).expect("a folder");
    assert_eq!(states.len(), plan.cells().count());
    let count = Count::from_states(&states);
    let parts =
        [count.done, count.running, count.waiting, count.part, count.unusable, count.failed];
    assert_eq!(parts.iter().sum::<usize>() + count.missing, count.all);
    for (state, cell) in states.iter().zip(plan.cells()) {
        let said =
            format!("{} {}", state.kind(), state.why().map(Cause::to_string).unwrap_or_default());
        assert!(said.chars().all(zc_run::is_safe), "{said:?}");
        assert!(!said.contains(SECRET), "{said}");
        assert!(state.run().is_none_or(|run| runs.contains(run)), "{state:?}");
        assert!(folder.manifest(&cell.id).starts_with(folder.path().join("jobs")));
        assert!(!cell.id.contains('/'));
    }
    let open = states.iter().filter(|state| state.is_open()).count();
    match plan.engine {
        Engine::Slurm => {
            let submissions = slurm::submissions(&folder, &plan, &states);
            let cells: usize = submissions.iter().map(|each| each.cells).sum();
            assert_eq!(cells, open);
        }
        Engine::Kubernetes => {
            let now = Now::from_folder(&folder, &plan, &judge).expect("a folder");
            let free = kubernetes::free(&plan, &now, |_| true);
            assert!(free.iter().all(|number| now.states[*number].is_open()));
            for call in kubernetes::calls(&folder, &plan, &free) {
                assert_eq!(call[0], "kubectl");
            }
        }
        Engine::Ssh => {
            for cell in plan.cells() {
                folder.next_attempt(&cell.id).expect("a folder");
            }
        }
    }
    assert!(
        states.iter().all(|state| !matches!(state, CellState::Running(_) | CellState::Waiting(_)))
    );
}
