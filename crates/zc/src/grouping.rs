//! Options of `zc fleet report` and `zc trend` that group many runs and select among them.

use clap::Args;

use zc_analysis::fleet::{NoFleet, RunFigures};
use zc_run::{Error, ErrorKind, Result, escape};

/// Options that choose and group runs.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct GroupingArgs {
    /// Group hosts by these features and facts: generation,kernel,cpu [default: features of hosts,
    /// and for a report the kernel]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    by: Vec<String>,
    /// Only runs of this experiment
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// Only runs over this link
    #[arg(long, value_name = "LINK")]
    link: Option<String>,
}

impl GroupingArgs {
    /// Features to group by; `None` if none were given. `--by ''` groups by nothing.
    pub(super) fn by(&self) -> Option<Vec<String>> {
        let names = self.by.iter().filter(|name| !name.is_empty()).cloned();
        (!self.by.is_empty()).then(|| names.collect())
    }
}

/// The runs that are wanted.
///
/// # Errors
/// [`ErrorKind::Incomparable`]: there is none.
pub(super) fn of_one_experiment(
    runs: Vec<RunFigures>,
    args: &GroupingArgs,
) -> Result<Vec<RunFigures>> {
    let fits = |wanted: &Option<String>, has: &str| wanted.as_deref().is_none_or(|it| it == has);
    let had: std::collections::BTreeSet<(String, String)> =
        runs.iter().map(|run| (run.experiment.clone(), run.link.clone())).collect();
    let wanted: Vec<RunFigures> = runs
        .into_iter()
        .filter(|run| fits(&args.experiment, &run.experiment) && fits(&args.link, &run.link))
        .collect();
    if wanted.is_empty() && !had.is_empty() {
        let had: Vec<String> = had
            .iter()
            .map(|(what, link)| format!("{} over {}", escape(what, 40), escape(link, 40)))
            .collect();
        return Err(Error::new(
            ErrorKind::Incomparable,
            "no-such-runs",
            "no run is of that experiment and link",
        )
        .help(format!("there are: {}", had.join(", "))));
    }
    Ok(wanted)
}

/// Why runs are no fleet, as an error.
pub(super) fn refused(why: NoFleet) -> Error {
    let (kind, id) = match why {
        NoFleet::NoRun { .. } => (ErrorKind::NothingKept, "no-usable-run"),
        NoFleet::Several { .. } => (ErrorKind::Incomparable, "runs-differ"),
    };
    let error = Error::new(kind, id, escape(&why.to_string(), 600));
    error.help(match why {
        NoFleet::NoRun { .. } => "zc fleet status DIR says what has come of each measurement",
        NoFleet::Several { .. } => "choose with --plan, --experiment or --link",
    })
}
