//! `zc soak --service NAME`, `--container NAME`, `--cgroup PATH` and `--pid N`: what a service costs
//! that runs already.

use std::path::PathBuf;

use clap::ValueHint;

use serde_json::json;

use super::soak_command::{line, stood_still};
use super::tell;
use zc_analysis::soak::{Unit, paces, service_cost, taken_share};
use zc_kernel::stop::Stop;
use zc_report::soak::{self as report, ServiceDocument};
use zc_run::{Error, ErrorKind, Result, SoakService, units};
use zc_soak::{ServiceOptions, Soaked, StatusUrl, Who, service};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;
/// The longest that a service is looked at.
const LONGEST_NS: u64 = 7 * 24 * 3600 * S;

/// Options of a service.
#[derive(Debug, clap::Args)]
pub(super) struct OfServiceArgs {
    /// A unit of systemd that runs: what it costs while its load comes from elsewhere
    #[arg(long, value_name = "NAME", requires = "lasting")]
    service: Option<String>,
    /// The same of a container of Docker or Podman, by name or id, or of a pod of Kubernetes, by
    /// its name or uid
    #[arg(long, value_name = "NAME", requires = "lasting")]
    container: Option<String>,
    /// The same of the processes of a cgroup, by its folder or by its path in the hierarchy
    #[arg(long, value_name = "PATH", requires = "lasting")]
    cgroup: Option<String>,
    /// The same of a process and its descendants
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "lasting")]
    pid: Option<String>,
    /// For how long, in windows of --period
    #[arg(
        long = "for",
        id = "for_",
        value_name = "DURATION",
        allow_hyphen_values = true,
        requires = "running"
    )]
    length: Option<String>,
    /// Meter it until Ctrl-C with little work of its own, and write what it costs to this file, as
    /// metrics for node_exporter's textfile collector
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "running",
        conflicts_with_all = ["json", "per"],
    )]
    pub(super) openmetrics: Option<PathBuf>,
    /// Time after which the file is written anew
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "60s",
        allow_hyphen_values = true,
        requires = "openmetrics",
        conflicts_with = "for_"
    )]
    pub(super) every: String,
    /// Access log whose lines count the requests: of them nothing else is looked at
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "openmetrics",
        conflicts_with_all = ["for_", "status_url"],
    )]
    pub(super) log: Option<PathBuf>,
}

/// Options of `zc soak` that a service shares with what else it does.
pub(super) struct Shared<'a> {
    pub(super) period: &'a str,
    /// `--per`.
    pub(super) per: Option<&'a str>,
    pub(super) json: bool,
    pub(super) raw: bool,
    pub(super) status: Option<StatusUrl>,
}

impl OfServiceArgs {
    /// The processes to observe, if any were named.
    ///
    /// # Errors
    /// `--pid` is no number.
    pub(super) fn who(&self) -> Result<Option<Who>> {
        if let Some(pid) = &self.pid {
            let pid = units::count("pid", pid, 1..=i32::MAX as u64)?;
            return Ok(Some(Who::Pid(i32::try_from(pid).unwrap_or(i32::MAX))));
        }
        let service = self.service.clone().map(Who::Service);
        let container = self.container.clone().map(Who::Container);
        Ok(service.or(container).or_else(|| self.cgroup.clone().map(Who::Cgroup)))
    }
}

/// Observes the service and prints what it costs.
///
/// # Errors
/// The options are wrong, there is no such service, or it could not be measured for as long as was
/// asked for: what was measured is printed.
pub(super) fn run(
    who: Who,
    typed: &OfServiceArgs,
    shared: Shared<'_>,
    soaked: Soaked,
    stop: &Stop,
) -> Result<()> {
    let period_ns = units::duration(shared.period, 10 * MS..=3600 * S)?;
    let length = typed.length.as_deref().unwrap_or_default();
    let length_ns = units::duration(length, period_ns..=LONGEST_NS)?;
    let wanted = shared.per.map(|unit| wanted(unit, shared.status.is_some())).transpose()?;
    let options = ServiceOptions {
        soaked,
        who,
        period_ns,
        windows: length_ns.div_ceil(period_ns),
        status: shared.status,
    };
    let observed = service(&options, stop)?;
    let seen = &observed.seen;
    let cost = service_cost(seen).ok_or_else(|| stood_still(&seen.start))?;
    let taken = taken(seen);
    tell::note(report::start(&seen.start, taken).trim_end());
    tell::result(&if shared.json {
        line(&json!(ServiceDocument {
            service: &seen.target,
            cpus: &seen.start.cpus,
            rank: &seen.start.rank,
            cost: &cost,
            taken,
            ended_early: observed.fault.as_ref().map(|fault| fault.message.clone()),
            seen: shared.raw.then_some(seen),
        }))
    } else {
        report::service(seen, &cost)
    })?;
    let withheld = cost.withheld.map(|why| {
        Error::new(
            ErrorKind::NothingKept,
            "interrupts-not-measured",
            format!("its interrupts were not measured: {why}"),
        )
        .help(
            seen.start
                .without_costs()
                .map_or("stop what runs beside it, or choose other CPUs with --cpus", |it| it.1),
        )
    });
    let uncounted =
        wanted.filter(|unit| cost.per.iter().all(|per| per.unit != *unit)).map(|unit| {
            Error::failed("count-is-zero", format!("no {} of the service was counted", unit.name()))
                .help("is there any load on it?")
        });
    observed.fault.or(withheld).or(uncounted).map_or(Ok(()), Err)
}

fn taken(seen: &SoakService) -> Option<zc_analysis::soak::TakenShare> {
    let rates = paces(&seen.start)?;
    seen.start.taken.as_ref().and_then(|taken| taken_share(taken, &rates))
}

/// The unit of `--per`.
fn wanted(unit: &str, has_status: bool) -> Result<Unit> {
    match unit {
        "bytes" => Ok(Unit::Bytes),
        "requests" if has_status => Ok(Unit::Requests),
        "requests" => {
            Err(Error::usage("unit-not-counted", "nobody counts the requests of the service").help(
                "--status-url http://127.0.0.1/stub_status has nginx count them \
             (ngx_http_stub_status_module)",
            ))
        }
        _ => Err(Error::usage(
            "cannot-count",
            format!("cannot count \"{}\" of a service", zc_run::escape(unit, 40)),
        )
        .help("--per takes bytes or requests here")),
    }
}
