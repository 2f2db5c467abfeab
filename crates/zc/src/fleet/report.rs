//! `zc fleet report DIR`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};

use crate::archive::{self, RunFile};
use crate::format::WidthArgs;
use crate::grouping::{GroupingArgs, of_one_experiment, refused};
use crate::{apart, render, replace};
use zc_analysis::fleet::{Grouping, HostFacts, LeftOut, NoFleet, RunFigures, WITHHELD, fleet};
use zc_fleet::{FleetPlan, Folder, state};
use zc_report::fleet::Missing;
use zc_run::nearest::unknown_among;
use zc_run::{Error, ErrorKind, Result, escape};

use super::folder_args::TrustArgs;
use super::host_features::HostFeatures;
use super::judge;

/// Arguments of `zc fleet report`.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The folder of a fleet, or an archive: any folder of saved runs
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// Only this plan of the fleet
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Use runs whose own verdicts are withheld, too, and say so: a busy machine, a reference that
    /// did not hold its rate
    #[arg(long)]
    include_withheld: bool,
    #[command(flatten)]
    grouping: GroupingArgs,
    #[command(flatten)]
    form: FleetForm,
}

/// The form of what is said of many runs, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct FleetForm {
    /// Write one JSON document
    #[arg(long, help_heading = "Output", conflicts_with_all = ["csv", "openmetrics", "html"])]
    json: bool,
    /// Write CSV
    #[arg(long, help_heading = "Output", conflicts_with_all = ["openmetrics", "html"])]
    csv: bool,
    /// Write OpenMetrics text, for collectors of metrics
    #[arg(long, help_heading = "Output", conflicts_with = "html")]
    openmetrics: bool,
    /// Write a self-contained HTML page; the default where -o names one
    #[arg(long, help_heading = "Output")]
    html: bool,
    #[command(flatten)]
    width: WidthArgs,
    /// Where it is written; an older file is replaced once it is complete [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = "Output")]
    out: Option<PathBuf>,
}

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
    Csv,
    OpenMetrics,
    Html,
}

impl FleetForm {
    /// The form that was asked for.
    ///
    /// # Errors
    /// A page would go to a terminal, or something that is no report would be replaced.
    pub(crate) fn checked(&self) -> Result<Form> {
        let is_page = |out: &PathBuf| out.extension().is_some_and(|kind| kind == "html");
        let form = match () {
            () if self.json => Form::Json,
            () if self.csv => Form::Csv,
            () if self.openmetrics => Form::OpenMetrics,
            () if self.html || self.out.as_ref().is_some_and(is_page) => Form::Html,
            () => Form::Text,
        };
        match &self.out {
            Some(out) => replace::check(out)?,
            None if form == Form::Html => {
                render::no_page_to_a_terminal("without --html the tables are printed here")?;
            }
            None => {}
        }
        Ok(form)
    }

    /// The width of text.
    pub(crate) fn columns(&self) -> usize {
        render::columns(self.width)
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, document: &[u8]) -> Result<()> {
        replace::or_stdout(self.out.as_deref(), document)
    }
}

/// Prints the report.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): it is no folder of runs;
/// [`ErrorKind::NothingKept`](zc_run::ErrorKind): none of its runs is of use;
/// [`ErrorKind::Incomparable`](zc_run::ErrorKind): they are of several experiments.
pub(super) fn run(args: &ReportArgs) -> Result<u8> {
    let form = args.form.checked()?;
    let found = match Folder::has_plan(&args.folder) {
        true => of_fleet(args)?,
        false => of_archive(args)?,
    };
    let columns = args.form.columns();
    let whose = args.trust.whose();
    let document = archive::document(&found.files, &args.folder, whose, |mut read| {
        read.runs.retain(|run| found.is_wanted(&run.name));
        read.left_out.retain(|left| found.is_wanted(&left.name));
        for run in &mut read.runs {
            found.rename(run);
        }
        let mut runs = of_one_experiment(read.runs, &args.grouping)?;
        let withheld = match args.include_withheld {
            true => runs.iter_mut().filter_map(RunFigures::include).collect(),
            false => Vec::new(),
        };
        let mut fleet = match fleet(&runs, &found.grouping) {
            Ok(fleet) => fleet,
            Err(why) => return Err(found.nothing(why, read.left_out)),
        };
        fleet.shared_runs = if found.shared { fleet.runs } else { archive::shared(&runs) };
        fleet.left_out.extend(read.left_out);
        fleet.withheld = withheld;
        fleet.withheld.retain(|run| !fleet.left_out.iter().any(|left| left.name == run.name));
        let missing = &found.missing;
        Ok(apart::Document::from(match form {
            Form::Text => zc_report::fleet::text(&fleet, missing, columns),
            Form::Json => zc_report::fleet::json(&fleet, missing),
            Form::Csv => zc_report::fleet::csv(&fleet),
            Form::OpenMetrics => zc_report::fleet::openmetrics(&fleet, missing),
            Form::Html => zc_report::fleet::html(&fleet, missing),
        }))
    })?;
    args.form.write(&document.bytes)?;
    Ok(document.code)
}

/// Input of a report.
struct Found {
    /// All files of the folder, so that its index has them all, whichever plan is asked for.
    files: Vec<RunFile>,
    missing: Vec<Missing>,
    grouping: Grouping,
    /// Whether other jobs could use the hosts of all runs.
    shared: bool,
    /// The files that are wanted of a fleet, with what it calls the host that sends, and the one
    /// that receives; of an archive all are.
    hosts: Option<HashMap<String, [String; 2]>>,
}

impl Found {
    fn is_wanted(&self, name: &str) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains_key(name))
    }

    /// Why there is no report: what is wrong with each run, or why there is none.
    fn nothing(&self, why: NoFleet, unreadable: Vec<LeftOut>) -> Error {
        let NoFleet::NoRun { mut left_out } = why else { return refused(why) };
        left_out.extend(unreadable);
        if left_out.is_empty() && !self.missing.is_empty() {
            let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
            for missing in &self.missing {
                *kinds.entry(&missing.why).or_default() += 1;
            }
            let kinds: Vec<String> =
                kinds.iter().map(|(why, count)| format!("{count} {}", escape(why, 200))).collect();
            let message = format!("there is no run: {}", kinds.join("; "));
            return Error::new(ErrorKind::NothingKept, "no-usable-run", message)
                .help("zc fleet submit DIR measures what is missing");
        }
        let is_withheld = |left: &LeftOut| left.why.starts_with(WITHHELD);
        let has_withheld = left_out.iter().any(is_withheld);
        let error = refused(NoFleet::NoRun { left_out });
        match has_withheld {
            true => error.help(
                "zc fleet submit DIR measures them again; --include-withheld shows what they say \
                 all the same",
            ),
            false => error,
        }
    }

    /// Hosts are called as the fleet calls them: what they call themselves may be anything.
    fn rename(&self, run: &mut RunFigures) {
        let Some([near, far]) = self.hosts.as_ref().and_then(|hosts| hosts.get(&run.name)) else {
            return;
        };
        let renamed = |facts: &Arc<HostFacts>, name: &String| {
            let mut facts = (**facts).clone();
            facts.host.clone_from(name);
            Arc::new(facts)
        };
        if run.near.host != *near {
            run.near = renamed(&run.near, near);
        }
        if let Some(facts) = run.far.as_ref().filter(|facts| facts.host != *far) {
            run.far = Some(renamed(facts, far));
        }
    }
}

fn of_fleet(args: &ReportArgs) -> Result<Found> {
    let (folder, plan) = Folder::open(&args.folder, args.trust.whose())?;
    let wanted = wanted(args.plan.as_deref(), &plan)?;
    let states = state::states(&folder, &plan, &|runs| judge::judge(&folder, runs))?;
    let mut found = Found {
        files: judge::files(&folder, &state::runs(&folder, &plan)?),
        missing: Vec::new(),
        shared: plan.shared,
        grouping: Grouping {
            by: args.grouping.by().unwrap_or_else(|| plan.by.clone()),
            features: plan
                .hosts
                .iter()
                .map(|host| (host.name.clone(), host.features.clone()))
                .collect(),
        },
        hosts: None,
    };
    let mut hosts = HashMap::new();
    for (cell, state) in plan.cells().zip(&states) {
        let is_wanted = wanted.is_none_or(|at| cell.plan == at);
        match state.run() {
            Some(path) if is_wanted => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                hosts.insert(name, plan.ends(cell).map(str::to_owned));
            }
            None if is_wanted => {
                found.missing.push(Missing { cell: cell.id.clone(), why: state.kind() });
            }
            _ => {}
        }
    }
    found.hosts = Some(hosts);
    Ok(found)
}

/// The index of the plan that is wanted.
fn wanted(name: Option<&str>, plan: &FleetPlan) -> Result<Option<usize>> {
    let Some(name) = name else { return Ok(None) };
    let names: Vec<&str> = plan.plans.iter().map(|planned| planned.name.as_str()).collect();
    match names.iter().position(|known| *known == name) {
        Some(place) => Ok(Some(place)),
        None => Err(unknown_among("plan", name, &names)),
    }
}

fn of_archive(args: &ReportArgs) -> Result<Found> {
    if args.plan.is_some() {
        return Err(Error::usage(
            "plan-of-archive",
            "--plan: an archive has experiments, not plans of a fleet",
        )
        .help("--experiment paths"));
    }
    archive_found(&args.folder, &args.grouping).map(|(files, grouping)| Found {
        files,
        missing: Vec::new(),
        shared: false,
        grouping,
        hosts: None,
    })
}

/// The files of an archive, and how its hosts are grouped.
///
/// # Errors
/// It is no folder of runs.
pub(crate) fn archive_found(
    folder: &Path,
    grouping: &GroupingArgs,
) -> Result<(Vec<RunFile>, Grouping)> {
    let files = archive::files(folder)?;
    let features = HostFeatures::read(&folder.join(archive::HOSTS))?;
    let by = grouping.by().unwrap_or_else(|| features.names());
    Ok((files, Grouping { by, features: features.0 }))
}
