//! The folder of a fleet: the plan, the jobs, the saved runs, and what was said.
//!
//! ```text
//! fleet.json          the plan
//! lock                who plans or submits
//! plans/NAME.toml     plans of the user's own
//! jobs/0007.sbatch    what is submitted for a pair to Slurm
//! jobs/ID.json        what is submitted for a measurement to Kubernetes
//! jobs/fleet.json     what all of those use
//! runs/ID.JOB.jsonl.gz the run of a measurement, by the job that made it
//! runs/ID.JOB.exit    the exit code of that zc; in a second line what the engine said of it
//! logs/ID.JOB.txt     what it said
//! ```
//!
//! A measurement that is made again has a run of another name, so nothing is ever written over.
//!
//! A folder is code: its jobs are run on the hosts by whoever submits them. So another user's is
//! not used unless that is wanted, and all of its files are read by [`files`].

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use zc_kernel::open_folder::OpenFolder;
use zc_run::{Error, Result, in_words};

use crate::files::{self, Whose};
use crate::plan::{FleetPlan, Planned};

/// The largest plan that is read: a million measurements have less.
const LARGEST_PLAN_BYTES: u64 = 256 << 20;

/// The largest plan of the user's own.
const LARGEST_OWN_PLAN_BYTES: u64 = 1 << 20;

/// Bytes that are read at the end of a file.
pub(super) const TAIL_BYTES: u64 = 16 << 10;

/// A folder that holds a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    pub(super) path: PathBuf,
    pub(super) whose: Whose,
}

/// The folders in it.
pub(super) const PARTS: [&str; 4] = ["jobs", "runs", "logs", "plans"];

impl Folder {
    /// Opens a folder that has a plan, and reads the plan.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): there is no such folder, its plan cannot be read,
    /// or its owner's files are not read.
    pub fn open(path: &Path, whose: Whose) -> Result<(Self, FleetPlan)> {
        let absolute = path.canonicalize().map_err(|error| {
            Error::input(
                "cannot-open-folder",
                format!("cannot open the folder \"{}\": {}", path.display(), in_words(&error)),
            )
            .help("zc fleet plan FLEET.toml -o FOLDER makes one")
        })?;
        let folder = Self { path: absolute, whose };
        folder.check_owners()?;
        let wrong = |what: &str| {
            Error::input(
                "not-a-fleet-folder",
                format!("\"{}\" is not the folder of a fleet: {what}", path.display()),
            )
            .help("zc fleet plan FLEET.toml -o FOLDER makes one")
        };
        let bytes = folder
            .bytes(&folder.plan(), LARGEST_PLAN_BYTES)
            .map_err(|error| wrong(&in_words(&error)))?;
        let text = String::from_utf8(bytes).map_err(|_| wrong("its plan is no text in UTF-8"))?;
        let plan = FleetPlan::parse(&text).map_err(|error| {
            let wrong = wrong(&error.message);
            error.help.map_or(wrong.clone(), |help| wrong.help(help))
        })?;
        Ok((folder, plan))
    }

    /// Checks who has made it, and the folders and the plan in it.
    fn check_owners(&self) -> Result<()> {
        for part in ["", PLAN].into_iter().chain(PARTS) {
            let path = self.path.join(part);
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let checked = match PARTS.contains(&part) && !metadata.is_dir() {
                true => Err(io::Error::other("it is no folder")),
                false => self.whose.check(&metadata),
            };
            checked.map_err(|error| self.refused(&path, &error))?;
        }
        Ok(())
    }

    /// The error for a file or folder of it that is not used.
    fn refused(&self, path: &Path, error: &io::Error) -> Error {
        let path = if path == self.path.join("") { &self.path } else { path };
        let error = Error::input(
            "folder-not-trusted",
            format!("\"{}\" is not used: {}", path.display(), in_words(error)),
        );
        error.help(
            "whoever can write in a fleet's folder decides what is run on the hosts: --trust uses \
             it all the same",
        )
    }

    /// Whether a folder has a plan of a fleet.
    pub fn has_plan(path: &Path) -> bool {
        path.join(PLAN).is_file()
    }

    /// Owners whose files in it are read.
    pub fn whose(&self) -> Whose {
        self.whose
    }

    /// Its absolute path: jobs run elsewhere.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file with the plan.
    pub fn plan(&self) -> PathBuf {
        self.path.join(PLAN)
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
            format!("runs/{cell}.{job}.jsonl.gz"),
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
        let bytes = self.bytes(&self.path.join(file), LARGEST_OWN_PLAN_BYTES);
        let text = bytes.and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text in UTF-8"))
        });
        text.map(Some).map_err(|error| {
            Error::input(
                "cannot-read-plan",
                format!("cannot read the plan \"{file}\": {}", in_words(&error)),
            )
        })
    }

    /// The content of a file of it, at most so many bytes.
    pub(super) fn bytes(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        files::bytes(&self.path, self.below(path), self.whose, most)
    }

    /// The last bytes of a file of it.
    pub(super) fn tail(&self, path: &Path) -> io::Result<String> {
        let tail = files::tail(&self.path, self.below(path), self.whose, TAIL_BYTES)?;
        Ok(String::from_utf8_lossy(&tail).into_owned())
    }

    /// The path of a file of it, relative to it.
    pub fn below<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.path).unwrap_or(path)
    }

    /// Checks a job before it is submitted.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it is a link or not a regular file, or its owner's
    /// files are not read.
    pub(super) fn check_job(&self, path: &Path) -> Result<()> {
        let opened = files::open(&self.path, self.below(path), self.whose);
        opened.map(drop).map_err(|error| self.refused(path, &error))
    }

    /// Writes a file of the folder, which has its name once it is whole.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind).
    pub fn write(&self, path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
        self.place(path)
            .and_then(|(at, name)| at.replace(&name, |file| file.write_all(content.as_ref())))
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
        OpenFolder::open(&self.path)?.inner(self.below(path))
    }

    /// File of Slurm's output for the tasks of a pair, with its patterns for the task and for its
    /// job.
    pub(super) fn output_of_tasks(&self, pair: usize) -> String {
        format!("{}/logs/{pair:04}.%a.%j.txt", self.as_pattern())
    }

    /// File of Slurm's output for the job that makes the report.
    pub(super) fn output_of_report(&self) -> String {
        format!("{}/logs/report.txt", self.as_pattern())
    }

    /// Its path where Slurm looks for patterns (sbatch(1), "filename pattern").
    fn as_pattern(&self) -> String {
        self.path.display().to_string().replace('%', "%%")
    }
}

/// The plan's file.
pub(super) const PLAN: &str = "fleet.json";

/// The error for a file of the folder that cannot be written.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::output(
        "cannot-write",
        format!("cannot write \"{}\": {}", path.display(), in_words(error)),
    )
}
