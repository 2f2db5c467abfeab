//! The folder of a fleet: the plan, the jobs, the saved runs, and what was said.
//!
//! ```text
//! fleet.json          the plan
//! plans/NAME.toml     plans of the user's own
//! jobs/0007.sbatch    what is submitted for a pair to Slurm
//! jobs/ID.json        what is submitted for a measurement to Kubernetes
//! jobs/fleet.json     what all of those use
//! runs/ID.JOB.json    the run of a measurement, by the job that made it
//! runs/ID.JOB.exit    the exit code of that zc; in a second line what the engine said of it
//! logs/ID.JOB.txt     what it said
//! ```
//!
//! A measurement that is made again has a run of another name, so nothing is ever written over.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use zc_kernel::open_folder::OpenFolder;
use zc_run::{Error, Result, in_words};

use crate::plan::{FleetPlan, Planned};

/// The largest plan that is read.
const LARGEST_PLAN_BYTES: u64 = 1 << 30;

/// How much of the end of a file is looked at.
const TAIL_BYTES: u64 = 16 << 10;

/// A folder that holds a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

/// What is there of one attempt at a measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The number of its job.
    pub job: String,
    /// Its run.
    pub run: Option<PathBuf>,
    /// The exit code of its zc.
    pub exit_code: Option<u8>,
    /// What its engine said of how it ended.
    pub said: Option<String>,
}

impl Folder {
    /// A new one, with nothing in it yet.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it exists and is not empty, or cannot be made.
    pub fn create(path: &Path) -> Result<Self> {
        let name = path.display();
        let failed = |error: &io::Error| {
            Error::output(format!("cannot make the folder \"{name}\": {}", in_words(error)))
                .help("name another one with -o")
        };
        if path.is_dir() && path.read_dir().map_err(|error| failed(&error))?.next().is_some() {
            return Err(Error::output(format!("the folder \"{name}\" is not empty"))
                .help("a fleet has a folder of its own: name a new one with -o"));
        }
        let folder = OpenFolder::make(path).map_err(|error| failed(&error))?;
        for part in ["jobs", "runs", "logs", "plans"] {
            folder.within(part.as_ref()).map_err(|error| failed(&error))?;
        }
        Self::at(path)
    }

    /// One that has a plan, and the plan.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): there is none, or its plan cannot be read.
    pub fn open(path: &Path) -> Result<(Self, FleetPlan)> {
        let folder = Self::at(path)?;
        let wrong = |what: &str| {
            Error::input(format!("\"{}\" is not the folder of a fleet: {what}", path.display()))
                .help("zc fleet plan FLEET.toml -o FOLDER makes one")
        };
        let mut text = String::new();
        let file = File::open(folder.plan()).map_err(|error| wrong(&in_words(&error)))?;
        file.take(LARGEST_PLAN_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| wrong(&in_words(&error)))?;
        let plan = FleetPlan::parse(&text).map_err(|error| {
            let wrong = wrong(&error.message);
            error.help.map_or(wrong.clone(), |help| wrong.help(help))
        })?;
        Ok((folder, plan))
    }

    /// Whether a folder has a plan of a fleet.
    pub fn has_plan(path: &Path) -> bool {
        path.join("fleet.json").is_file()
    }

    /// Jobs run elsewhere, so all paths are absolute.
    fn at(path: &Path) -> Result<Self> {
        let absolute = path.canonicalize().map_err(|error| {
            Error::input(format!(
                "cannot open the folder \"{}\": {}",
                path.display(),
                in_words(&error)
            ))
            .help("zc fleet plan FLEET.toml -o FOLDER makes one")
        })?;
        Ok(Self { path: absolute })
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file with the plan.
    pub fn plan(&self) -> PathBuf {
        self.path.join("fleet.json")
    }

    /// The script of a pair.
    pub fn job(&self, pair: usize) -> PathBuf {
        self.path.join(format!("jobs/{pair:04}.sbatch"))
    }

    /// The script of the job that writes the report.
    pub fn report_job(&self) -> PathBuf {
        self.path.join("jobs/report.sbatch")
    }

    /// The manifest of a measurement in Kubernetes.
    pub fn manifest(&self, cell: &str) -> PathBuf {
        self.path.join(format!("jobs/{cell}.json"))
    }

    /// The manifest of what all measurements in Kubernetes use. It has the token.
    pub fn fleet_manifest(&self) -> PathBuf {
        self.path.join("jobs/fleet.json")
    }

    /// The index of the pair whose script this is.
    pub(super) fn pair_of(&self, script: &str) -> Option<usize> {
        let name = Path::new(script).strip_prefix(self.path.join("jobs")).ok()?.to_str()?;
        name.strip_suffix(".sbatch")?.parse().ok()
    }

    /// The saved run, the exit code, and what was said, of an attempt.
    pub(super) fn files(&self, cell: &str, job: &str) -> [PathBuf; 3] {
        [
            format!("runs/{cell}.{job}.json"),
            format!("runs/{cell}.{job}.exit"),
            format!("logs/{cell}.{job}.txt"),
        ]
        .map(|name| self.path.join(name))
    }

    /// The text of a plan of the user's own; `None` for a built-in one.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be read.
    pub(super) fn own_plan(&self, planned: &Planned) -> Result<Option<String>> {
        let Some(file) = &planned.file else { return Ok(None) };
        std::fs::read_to_string(self.path.join(file)).map(Some).map_err(|error| {
            Error::input(format!("cannot read the plan \"{file}\": {}", in_words(&error)))
        })
    }

    /// Writes a file of the folder, which has its name once it is whole.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind).
    pub fn write(&self, path: &Path, text: &str) -> Result<()> {
        self.place(path)
            .and_then(|(at, name)| at.replace(&name, |file| file.write_all(text.as_bytes())))
            .map_err(|error| unwritable(path, &error))
    }

    /// Writes a new file of the folder that nobody else may read.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind).
    pub fn write_secret(&self, path: &Path, text: &str) -> Result<()> {
        let file = self.place(path).and_then(|(at, name)| at.create_new(&name, 0o600));
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| unwritable(path, &error))
    }

    /// Creates a file of the folder that is not there yet.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind).
    pub(super) fn create_new(&self, path: &Path) -> Result<File> {
        self.place(path)
            .and_then(|(at, name)| at.create_new(&name, 0o666))
            .map_err(|error| unwritable(path, &error))
    }

    /// The open folder that a file of this one is in, and the file's name. No link leads there.
    fn place(&self, path: &Path) -> io::Result<(OpenFolder, OsString)> {
        OpenFolder::open(&self.path)?.inner(path.strip_prefix(&self.path).unwrap_or(path))
    }

    /// The attempts that have left anything, by measurement, in the order of their jobs.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn attempts(&self) -> Result<BTreeMap<String, Vec<Attempt>>> {
        let mut found: BTreeMap<String, BTreeMap<(usize, String), Attempt>> = BTreeMap::new();
        let runs = self.path.join("runs");
        let failed = |error: io::Error| {
            Error::input(format!("cannot read \"{}\": {}", runs.display(), in_words(&error)))
        };
        for entry in runs.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let Some((stem, kind)) = name.rsplit_once('.') else { continue };
            let Some((cell, job)) = stem.rsplit_once('.') else { continue };
            if cell.starts_with('.') {
                continue; // not whole yet
            }
            // Numbers of jobs grow: the longer one is the later one.
            let of_cell = found.entry(cell.to_owned()).or_default();
            let attempt = of_cell.entry((job.len(), job.to_owned())).or_default();
            job.clone_into(&mut attempt.job);
            match kind {
                "json" => attempt.run = Some(path),
                "exit" => {
                    let code = std::fs::read_to_string(&path).unwrap_or_default();
                    let (code, said) = code.split_once('\n').unwrap_or((&code, ""));
                    attempt.exit_code = code.trim().parse().ok();
                    attempt.said = Some(said.trim().to_owned()).filter(|said| !said.is_empty());
                }
                _ => {}
            }
        }
        Ok(found.into_iter().map(|(cell, all)| (cell, all.into_values().collect())).collect())
    }

    /// The number of the next attempt at a measurement, where no scheduler gives one.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn next_attempt(&self, cell: &str) -> Result<String> {
        let attempts = self.attempts()?;
        let numbers = attempts.get(cell).into_iter().flatten().map(|attempt| attempt.job.parse());
        Ok((numbers.flatten().max().unwrap_or(0_u64) + 1).to_string())
    }

    /// What Slurm writes of the tasks of a pair, with its patterns for the task and for its job.
    pub(super) fn output_of_tasks(&self, pair: usize) -> PathBuf {
        self.path.join(format!("logs/{pair:04}.%a.%j.txt"))
    }

    /// The last line of what Slurm wrote of each task that said anything, and its job: by index of the pair and of
    /// the cell. Of several jobs the last one counts.
    pub(super) fn said_by_slurm(&self) -> BTreeMap<(usize, usize), (String, String)> {
        let mut files: Vec<(u64, (usize, usize), PathBuf)> = Vec::new();
        for entry in self.path.join("logs").read_dir().into_iter().flatten().flatten() {
            let name = entry.file_name();
            let mut parts = name.to_str().unwrap_or_default().splitn(4, '.');
            let mut next = || parts.next();
            if let (Some(pair), Some(task), Some(job), Some("txt")) =
                (next(), next(), next(), next())
                && let (Ok(pair), Ok(task), Ok(job)) = (pair.parse(), task.parse(), job.parse())
            {
                files.push((job, (pair, task), entry.path()));
            }
        }
        files.sort_unstable();
        let said = |(job, task, path): &(u64, _, PathBuf)| {
            Some((*task, (job.to_string(), Self::last_line(path)?)))
        };
        files.iter().filter_map(said).collect()
    }

    /// The last error that a file of the folder tells, else its last line; `None` if it says nothing.
    pub(super) fn last_line(path: &Path) -> Option<String> {
        let text = tail(path)?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let error = lines.clone().rfind(|line| line.starts_with("error: "));
        error.or_else(|| lines.next_back()).map(str::to_owned)
    }
}

/// That a file of the folder cannot be written.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::output(format!("cannot write \"{}\": {}", path.display(), in_words(error)))
}

/// Whether a saved run came to its own end: neither interrupted, nor killed. Only its last line is read.
pub fn is_whole(run: &Path) -> bool {
    let Some(text) = tail(run) else { return false };
    let end = text.trim_end().lines().last().and_then(|line| line.split_once("\"end\":"));
    let Some(end) = end.and_then(|(_, end)| end.strip_suffix('}')) else { return false };
    let Ok(end) = serde_json::from_str::<serde_json::Value>(end) else { return false };
    matches!(end["reason"]["why"].as_str(), Some("target-reached" | "budget-spent"))
}

fn tail(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    Some(String::from_utf8_lossy(&tail).into_owned())
}
