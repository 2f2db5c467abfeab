//! `zc fleet plan FLEET.toml -o DIR`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::file;
use crate::known::{known, own};
use crate::{planned, run_line, tell};
use zc_fleet::fleet_file::{Engine, PlanEntry};
use zc_fleet::plan::{Planned, drawn_seed, file_of_plan};
use zc_fleet::{Cell, FleetPlan, Folder, NamedBy, Programs, kubernetes, slurm};
use zc_remote::secret::Secret;
use zc_run::nearest::{unknown, unknown_among};
use zc_run::units::duration_text;
use zc_run::{Error, ErrorKind, Experiment, Result, escape};

/// Arguments of `zc fleet plan`.
#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// The file that describes the fleet: hosts, pairs, plans
    #[arg(value_name = "FLEET.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// A new folder for jobs and results; with Slurm one that all hosts share
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// What runs the measurements, in place of what the file says: `slurm`, `kubernetes`, or `ssh`
    /// from one pair to the next
    #[arg(long, value_name = "NAME", value_parser = known(Engine::NAMES.into_iter()),
          hide_possible_values = true)]
    engine: Option<String>,
    /// What the order is drawn by [default: that of the file, else one that is drawn]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Print what would be measured, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Plans a fleet, and writes its folder.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): the file, or a plan that it names, is none;
/// [`ErrorKind::Output`](zc_run::ErrorKind): the folder is not empty, or cannot be written.
pub(super) fn run(args: &PlanArgs) -> Result<()> {
    let engine = args.engine.as_deref().map(|name| {
        let unknown = || unknown_among("engine", name, &Engine::NAMES).prefixed("--engine: ");
        Engine::from_name(name).ok_or_else(unknown)
    });
    let mut file = file::read(&args.file, engine.transpose()?)?;
    file.seed = args.seed.or(file.seed);
    let beside = args.file.parent().unwrap_or(Path::new(""));
    let plans: Vec<(Planned, Option<String>)> =
        file.plans.iter().map(|entry| planned(entry, beside)).collect::<Result<_>>()?;
    let hosts = file.hosts(|feature| match file.engine {
        Engine::Kubernetes => kubernetes::nodes_with(&file.kubernetes, feature),
        Engine::Slurm | Engine::Ssh => slurm::nodes_with(feature),
    })?;
    let words = plans.iter().map(|(planned, _)| planned.clone()).collect();
    let mut plan = FleetPlan::draw(&file, hosts, words, drawn_seed())?;
    if plan.programs != Programs::default() {
        // The plan does not say which: it says which file does.
        plan.programs_by = Some(NamedBy::now(&args.file).map_err(|error| {
            Error::input(
                "cannot-read",
                format!(
                    "cannot look at \"{}\": {}",
                    tell::path(&args.file),
                    zc_run::in_words(&error)
                ),
            )
        })?);
    }
    match (&args.out, args.dry_run) {
        (_, true) => tell::result(&in_words(&plan)),
        (Some(out), false) => {
            write(out, &plan, &plans)?;
            tell::result(&in_words(&plan))?;
            tell::note(&format!("next: zc fleet submit {}", tell::path(out)));
            Ok(())
        }
        (None, false) => Err(Error::usage(
            "folder-missing",
            "which folder the jobs and results go to is missing",
        )
        .help("-o DIR; --dry-run prints what would be measured")),
    }
}

fn write(out: &Path, plan: &FleetPlan, plans: &[(Planned, Option<String>)]) -> Result<()> {
    let (folder, _lock) = Folder::create(out)?;
    for (planned, text) in plans {
        if let (Some(file), Some(text)) = (&planned.file, text) {
            folder.write(&folder.path().join(file), text)?;
        }
    }
    match plan.engine {
        Engine::Slurm => slurm::write_jobs(&folder, plan)?,
        Engine::Kubernetes => {
            let (_, token) = Secret::one_time()?;
            kubernetes::write_jobs(&folder, plan, &token)?;
        }
        Engine::Ssh => {}
    }
    // Last: a folder that has a plan is whole.
    let text = serde_json::to_string(plan).map_err(|error| {
        Error::failed("cannot-write-plan", format!("the plan cannot be written as JSON: {error}"))
    })?;
    folder.write(&folder.plan(), &text)
}

/// Checks that zc has the plan and takes the options, and reads the plan where it is a file.
fn planned(entry: &PlanEntry, beside: &Path) -> Result<(Planned, Option<String>)> {
    let of =
        |error: Error| error.prefixed(format!("[[plans]] {}: ", entry.name)).kind(ErrorKind::Input);
    let named = entry.plan.as_deref().unwrap_or(&entry.name);
    let is_file = named.contains('/') || named.ends_with(".toml");
    let text = if is_file {
        let path = beside.join(named);
        let text = planned::text_of(&path).map_err(of)?;
        planned::of_text(&text, &path).map_err(of)?;
        Some(text)
    } else {
        let experiment: Experiment = named.parse().map_err(unknown).map_err(of)?;
        planned::of_experiment(experiment).map_err(of)?;
        None
    };
    let planned = Planned::from_entry(entry, is_file.then(|| file_of_plan(&entry.name)))?;
    let words = ["zc", "run"].into_iter().chain(planned.words.iter().map(String::as_str));
    let words: Vec<String> = words.chain(["--via", "true"]).map(str::to_owned).collect();
    run_line::parse(&words).map_err(|error| {
        let said = error.to_string();
        let line = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let message = own(&error).map_or_else(|| escape(line, 200), |own| own.message.clone());
        of(Error::input("invalid-options", message)
            .help("options are those of zc run, each word by itself"))
    })?;
    Ok((planned, text))
}

/// The plan in words.
fn in_words(plan: &FleetPlan) -> String {
    let cells = plan.cells().count();
    let budget_ns = |cell: &Cell| plan.plans[cell.plan].budget_ns;
    let least_ns = match plan.engine {
        // Each host is in one pair at a time, so the one with most to do decides.
        Engine::Slurm | Engine::Kubernetes => {
            let mut of_host = vec![0_u64; plan.hosts.len()];
            for cell in plan.cells() {
                of_host[cell.near] += budget_ns(cell);
                of_host[cell.far] += budget_ns(cell);
            }
            of_host.into_iter().max().unwrap_or(0)
        }
        Engine::Ssh => plan.cells().map(budget_ns).sum(),
    };
    let plans: Vec<String> = plan.plans.iter().map(|planned| planned.name.clone()).collect();
    format!(
        "fleet         {}: {} hosts, {} pairs, {cells} measurements ({})\n\
         seed          {}\n\
         grouped by    {}\n\
         takes         at least {} by {}, with budgets alone\n",
        plan.name,
        plan.hosts.len(),
        plan.pairs.len(),
        plans.join(", "),
        plan.seed,
        plan.by.iter().map(|name| escape(name, 40)).collect::<Vec<_>>().join(", "),
        duration_text(least_ns),
        match plan.engine {
            Engine::Slurm => "Slurm",
            Engine::Kubernetes => "Kubernetes",
            Engine::Ssh => "ssh, one pair after the other",
        },
    )
}
