//! `zc fleet collect DIR`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};

use super::folder_args::FolderArgs;
use super::host_features::HostFeatures;
use super::judge;
use super::states_now::states_now;
use crate::archive::{self, Figures, RunFile};
use crate::{apart, tell};
use zc_analysis::fleet::day;
use zc_fleet::{CellState, FleetPlan, state};
use zc_kernel::open_folder::OpenFolder;
use zc_run::{Error, ErrorKind, Result, escape, in_words};

/// The most measurements of a kind that are named; `zc fleet status` names all.
const MOST_NAMED: usize = 10;

/// Arguments of `zc fleet collect`.
#[derive(Debug, Args)]
pub(super) struct CollectArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Copy the runs into this folder of saved runs, in a folder for each day
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "zc-runs")]
    archive: PathBuf,
}

/// Result of checking a run that came back.
#[derive(Debug, Serialize, Deserialize)]
struct Checked {
    name: String,
    /// The day on which it began.
    day: String,
    near: String,
    far: Option<String>,
    /// Why it cannot be used.
    why: Option<String>,
}

/// Checks the runs that have come back, copies them to the archive, and returns the exit code.
///
/// # Errors
/// [`ErrorKind::Output`]: a run cannot be copied. The runs stay in the folder.
pub(super) fn run(args: &CollectArgs) -> Result<u8> {
    let (folder, plan) = args.folder.open()?;
    let states = states_now(&folder, &plan)?;
    let mut cells = HashMap::new();
    for (cell, state) in plan.cells().zip(&states) {
        if let Some(path) = state.run() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            cells.insert(name, cell);
        }
    }
    // All of the folder, as the index is to have.
    let files = judge::files(&folder, &state::runs(&folder, &plan)?);
    let document = archive::document(&files, folder.path(), folder.whose(), |read| {
        Ok(apart::Document::from(serde_json::to_string(&checked(read)).unwrap_or_default()))
    })?;
    let checked: Vec<Checked> = serde_json::from_slice(&document.bytes).map_err(|error| {
        Error::failed("reader-gone", format!("what was read of the runs is lost: {error}"))
    })?;
    let files: HashMap<&str, &RunFile> =
        files.iter().map(|file| (file.name.as_str(), file)).collect();
    let (mut copied, mut known) = (0, 0);
    let mut problems: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut of_no_use = HashSet::new();
    let mut features = HostFeatures::default();
    for run in &checked {
        let (Some(cell), Some(file)) = (cells.get(&run.name), files.get(run.name.as_str())) else {
            continue;
        };
        if let Some(why) = &run.why {
            let what = format!("unusable: {}", escape(why, 160));
            problems.entry(what).or_default().push(cell.id.clone());
            of_no_use.insert(&cell.id);
            continue;
        }
        for (host, named) in [(cell.near, Some(&run.near)), (cell.far, run.far.as_ref())] {
            let host = &plan.hosts[host];
            features.0.insert(named.unwrap_or(&host.name).clone(), host.features.clone());
        }
        // Its name tells for good what its file does not.
        let (stem, suffix) = run.name.split_at(archive::stem(&run.name).len());
        let shared = if plan.shared { archive::SHARED } else { "" };
        let name = format!("{stem}{shared}{suffix}");
        let name = Path::new(&run.day).join(format!("{}-{name}", plan.name));
        match copy(file, &args.archive, &name)? {
            true => copied += 1,
            false => known += 1,
        }
    }
    if copied + known > 0 {
        let file = args.archive.join(archive::HOSTS);
        HostFeatures::read(&file)?.write_with(features, &file)?;
    }
    for (cell, state) in plan.cells().zip(&states) {
        let what = match state {
            CellState::Done(_) => continue,
            CellState::Part(..) | CellState::Unusable(..) if of_no_use.contains(&cell.id) => {
                continue;
            }
            CellState::Part(_, why) => format!("in part, and used as it is: {}", why.what),
            state => state.kind(),
        };
        problems.entry(what).or_default().push(cell.id.clone());
    }
    tell::result(&in_words_of(&plan, &args.archive, copied, known, &problems))?;
    match (problems.is_empty(), copied + known) {
        (true, _) => Ok(0),
        (false, 0) => Ok(ErrorKind::NothingKept.exit_code()),
        (false, _) => Ok(ErrorKind::Failed.exit_code()),
    }
}

fn checked(read: Figures) -> Vec<Checked> {
    let of_use = read.runs.into_iter().map(|run| Checked {
        day: folder_of(&run.started_at),
        near: run.near.host.clone(),
        far: run.far.as_ref().map(|far| far.host.clone()),
        name: run.name,
        why: None,
    });
    let of_none = read.left_out.into_iter().map(|left| Checked {
        name: left.name,
        day: String::new(),
        near: String::new(),
        far: None,
        why: Some(left.why),
    });
    of_use.chain(of_none).collect()
}

/// The name of the folder of a run's day. A text that is no time is not used: it could lead
/// anywhere.
fn folder_of(started_at: &str) -> String {
    day(started_at).unwrap_or_else(|| "undated".to_owned())
}

/// Copies a run to `name` in the archive, unless it is there; whether it was copied. A run that was
/// cut off and is there with other content is not touched.
fn copy(from: &RunFile, archive: &Path, name: &Path) -> Result<bool> {
    let to = archive.join(name);
    let failed = |error: io::Error| {
        Error::output(
            "cannot-write",
            format!("cannot write \"{}\": {}", tell::path(&to), in_words(&error)),
        )
        .help("nothing is lost: the run stays where it is, and the same command goes on")
    };
    let (folder, name) =
        OpenFolder::make(archive).and_then(|archive| archive.inner(name)).map_err(failed)?;
    if archive::has_run(&folder, &name).map_err(failed)? {
        return Ok(false);
    }
    let copied = from
        .open()
        .and_then(|mut from| folder.replace(&name, |to| io::copy(&mut from, to).map(drop)));
    copied.map(|()| true).map_err(failed)
}

fn in_words_of(
    plan: &FleetPlan,
    archive: &Path,
    copied: usize,
    known: usize,
    problems: &BTreeMap<String, Vec<String>>,
) -> String {
    let all = plan.cells().count();
    let mut text = format!(
        "{}: {} of {all} measurements have a run; {copied} copied to \"{}\", {known} there \
         already\n",
        plan.name,
        copied + known,
        tell::path(archive)
    );
    for (what, cells) in problems {
        let named =
            cells.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = match cells.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text += &format!("{} {what}\n  {named}{more}\n", cells.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_time_is_no_folder_elsewhere() {
        assert_eq!(folder_of("2026-11-24T23:59:59.9Z"), "2026-11-24");
        for text in ["/etc/cron.", "../../../x", "", "2026-11-31T00:00:00Z", "2026-11-24"] {
            assert_eq!(folder_of(text), "undated", "{text}");
        }
    }
}
