//! `zc soak --openmetrics FILE`: a running service is metered until Ctrl-C, and what it costs is
//! written as metrics for node_exporter's textfile collector, after each period.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::soak_service::OfServiceArgs;
use super::{replace, tell};
use zc_analysis::soak::{MeterTotals, ServiceCost, service_cost};
use zc_kernel::stop::Stop;
use zc_report::soak::{MeterFigures, meter as metrics};
use zc_run::{Error, MeterPeriod, Result, ServiceTarget, units};
use zc_soak::{MeterOptions, Metered, RequestsFrom, Soaked, StatusUrl, Who, meter};

const S: u64 = 1_000_000_000;
const ANOTHER_FILE: &str = "--openmetrics names a file in a folder that node_exporter reads";

/// Meters the service.
///
/// # Errors
/// The options are wrong, there is no such service, it has ended for good, or the file cannot be
/// written at the start or at the end.
pub(super) fn run(
    who: Who,
    typed: &OfServiceArgs,
    path: &Path,
    status: Option<StatusUrl>,
    soaked: Soaked,
    stop: &Stop,
) -> Result<()> {
    let every_ns = units::duration(&typed.every, S..=3600 * S)?;
    let requests = match (&typed.log, status) {
        (Some(path), _) => Some(RequestsFrom::Log(path.clone())),
        (None, Some(page)) => Some(RequestsFrom::Status(page)),
        (None, None) => None,
    };
    replace::check(path).map_err(|error| error.help(ANOTHER_FILE))?;
    let mut file = MeterFile {
        path: path.to_owned(),
        requests_by: match &requests {
            Some(RequestsFrom::Log(_)) => "log",
            Some(RequestsFrom::Status(_)) => "stub-status",
            None => "",
        },
        target: None,
        totals: MeterTotals::default(),
        unwritten: None,
        is_said: false,
    };
    let options = MeterOptions { soaked, who, every_ns, requests };
    let ended = meter(&options, stop, &mut |heard| file.hear(heard));
    file.end();
    ended?;
    file.unwritten.map_or(Ok(()), Err)
}

/// The file with the metrics.
struct MeterFile {
    path: PathBuf,
    requests_by: &'static str,
    /// The service, once it was found.
    target: Option<ServiceTarget>,
    totals: MeterTotals,
    /// Why it was not written the last time.
    unwritten: Option<Error>,
    /// Whether a period without requests was told.
    is_said: bool,
}

impl MeterFile {
    /// # Errors
    /// It cannot be written at the start: that is told before anything is measured.
    fn hear(&mut self, heard: Metered<'_>) -> Result<()> {
        let was_written = self.unwritten.is_none();
        match heard {
            Metered::Begun(target) => {
                let is_first = self.target.is_none();
                self.target = Some(target.clone());
                self.write(None, true);
                if is_first && let Some(error) = self.unwritten.take() {
                    return Err(error);
                }
                tell::note(if is_first { "metered until Ctrl-C" } else { "it runs again" });
            }
            Metered::Period(period) => {
                let cost = service_cost(&period.seen);
                self.totals.add(period, cost.as_ref());
                self.say(period);
                self.write(Some((period, cost.as_ref())), true);
            }
            Metered::Gone(why) => {
                tell::note(&format!("{}: waiting until it runs again", why.message));
                self.write(None, false);
            }
        }
        // Said once: the disk may have room again later.
        if was_written && let Some(error) = &self.unwritten {
            tell::warning(&error.message, Some("it is tried again after each period"));
        }
        Ok(())
    }

    /// Writes it once more: who reads it finds that nothing is measured any more, and no figure of
    /// a period that is over.
    fn end(&mut self) {
        self.write(None, false);
    }

    fn say(&mut self, period: &MeterPeriod) {
        if !self.is_said
            && let Some(why) = &period.no_requests
        {
            tell::warning(
                &format!("requests were not counted in a period, which has no cost of one: {why}"),
                None,
            );
        }
        self.is_said = period.no_requests.is_some();
    }

    /// Writes it, or keeps the reason why not.
    fn write(&mut self, last: Option<(&MeterPeriod, Option<&ServiceCost>)>, is_metered: bool) {
        let Some(target) = &self.target else { return };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let text = metrics(&MeterFigures {
            target,
            last,
            is_metered,
            totals: &self.totals,
            requests_by: self.requests_by,
            at_s: now.map_or(0.0, |now| now.as_secs_f64()),
        });
        let written = replace::file(&self.path, &text);
        self.unwritten = written.err().map(|error| error.help(ANOTHER_FILE));
    }
}
