//! Files that attempts at measurements have left in the folder of a fleet.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use zc_run::{EndReason, Error, Result, in_words};

use crate::files;
use crate::folder::{Folder, TAIL_BYTES};

/// Largest size of a file with an exit code, and of one with an engine's message.
const LARGEST_EXIT_BYTES: u64 = 64 << 10;

/// One attempt at a measurement, as far as it left files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The number of its job.
    pub job: String,
    /// Its run.
    pub run: Option<PathBuf>,
    /// The exit code of its zc.
    pub exit_code: Option<u8>,
    /// Its engine's message about its end.
    pub said: Option<String>,
}

impl Folder {
    /// The attempts that have left anything, by measurement, in the order of their jobs.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn attempts(&self) -> Result<BTreeMap<String, Vec<Attempt>>> {
        let mut found: BTreeMap<String, BTreeMap<(usize, String), Attempt>> = BTreeMap::new();
        let runs = self.path.join("runs");
        let failed = |error: io::Error| {
            Error::input(
                "cannot-read",
                format!("cannot read \"{}\": {}", runs.display(), in_words(&error)),
            )
        };
        for entry in runs.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let name = name.strip_suffix(".gz").unwrap_or(name);
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
                "jsonl" | "json" => attempt.run = Some(path),
                "exit" => {
                    let (code, said) = self.exit(&path);
                    (attempt.exit_code, attempt.said) = (code, said);
                }
                _ => {}
            }
        }
        Ok(found.into_iter().map(|(cell, all)| (cell, all.into_values().collect())).collect())
    }

    /// The exit code of an attempt, and what its engine said of how it ended.
    fn exit(&self, path: &Path) -> (Option<u8>, Option<String>) {
        let bytes = match self.bytes(path, LARGEST_EXIT_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => {
                return (None, Some(format!("its exit code cannot be read: {}", in_words(&error))));
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let (code, said) = text.split_once('\n').unwrap_or((&text, ""));
        let said = Some(said.trim().to_owned()).filter(|said| !said.is_empty());
        (code.trim().parse().ok(), said)
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

    /// The last line of what Slurm wrote of each task that said anything, and its job: by index of
    /// the pair and of the cell. The last of several jobs counts.
    pub(super) fn slurm_messages(&self) -> BTreeMap<(usize, usize), (String, String)> {
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
            Some((*task, (job.to_string(), self.last_line(path)?)))
        };
        files.iter().filter_map(said).collect()
    }

    /// The last error that a file of the folder tells, else its last line; `None` if it says
    /// nothing.
    pub(super) fn last_line(&self, path: &Path) -> Option<String> {
        let text = match self.tail(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(format!("its log cannot be read: {}", in_words(&error))),
        };
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let error = lines.clone().rfind(|line| line.starts_with("error: "));
        error.or_else(|| lines.next_back()).map(str::to_owned)
    }

    /// Whether a saved run came to its own end: neither interrupted, nor killed. Only its last line
    /// is read.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn is_whole(&self, run: &Path) -> io::Result<bool> {
        let tail = files::tail(&self.path, self.below(run), self.whose, TAIL_BYTES)?;
        Ok(matches!(
            zc_run::end_reason(&tail),
            Some(EndReason::TargetReached | EndReason::Decided | EndReason::BudgetSpent)
        ))
    }
}
