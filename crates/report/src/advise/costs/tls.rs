//! What TLS takes of the costs: where that is from, the ways of encrypting in a table, and what it
//! means for the answer.

use schemars::JsonSchema;
use serde::Serialize;

use super::machines::machine_differences;
use super::part::share;
use super::units::{Unit, figure};
use crate::run::notes_below::unavailable;
use crate::terminal::note::{Note, note};
use crate::terminal::table::{Column, Grid};
use crate::text::list;
use zc_access_log::RequestMix;
use zc_analysis::Figure;
use zc_analysis::advise::{CostAdvice, PathVerdict, Rates, TlsAdvice, TlsWay};
use zc_run::{Run, escape};

/// The run of `zc run tls` that the cost of encryption is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TlsRun {
    /// Its file.
    pub file: String,
    /// When it began, as the run says.
    pub started_at: String,
    /// The name of its machine.
    pub host: String,
    /// The kernel of it.
    pub kernel: String,
    /// Its link.
    pub link: String,
    /// Why it has no cost of the kernel's TLS, if it says so.
    pub without_kernel: Option<String>,
    /// What its machine and kernel differ in from those of the run of responses.
    pub differences: Vec<String>,
}

impl TlsRun {
    pub(super) fn new(run: &Run, file: &str, responses: &Run) -> Self {
        let header = &run.header;
        let of_kernel = unavailable(run).into_iter().find(|(name, _)| name.starts_with("ktls-"));
        Self {
            file: file.to_owned(),
            started_at: header.started_at.clone(),
            host: header.host.hostname.clone(),
            kernel: header.host.kernel_release.clone(),
            link: header.plan.fixed.link.to_string(),
            without_kernel: of_kernel.map(|(_, reason)| reason),
            differences: machine_differences(&header.host, &responses.header.host),
        }
    }

    /// Where the cost of encryption is from, and doubts. `advice` is `None` where nobody says which
    /// responses were encrypted.
    pub(super) fn notes(&self, advice: Option<&TlsAdvice>) -> Vec<Note> {
        let day = self.started_at.split('T').next().unwrap_or_default();
        let run = format!(
            "{}: {}, Linux {}, {}",
            escape(&self.file, 200),
            escape(&self.host, 60),
            escape(&self.kernel, 80),
            escape(day, 40),
        );
        let Some(advice) = advice else {
            let doubt = "the log does not say which responses went over TLS, so encryption is in \
                         no cost: --tls all, --tls none or a share, as in --tls 0.8, says it";
            return vec![note("TLS", run), note("doubt", doubt.to_owned())];
        };
        let by = if advice.stated { "as --tls says" } else { "by the log" };
        let mut notes = vec![note(
            "TLS",
            format!(
                "{run}; {} blocks, link {}, the sender's part; {} of the bytes, {by}, {}",
                advice.blocks,
                escape(&self.link, 20),
                of_bytes(advice.bytes_share),
                advice.cipher
            ),
        )];
        if !self.differences.is_empty() {
            let differences: Vec<String> =
                self.differences.iter().map(|each| escape(each, 200)).collect();
            notes.push(note(
                "doubt",
                format!(
                    "what encryption costs is from another machine or kernel than the rest: {}",
                    differences.join("; ")
                ),
            ));
        }
        notes
    }
}

/// The share of HTTP/2 and 3, and what is not known of it; `None` where the log has none.
pub(super) fn multiplexed(mix: &RequestMix) -> Option<String> {
    let later = mix.multiplexed();
    let of = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    (later.requests > 0).then(|| {
        format!(
            "{} of the requests and {} of the bytes; what frames, header compression \
             and UDP cost was not measured, and is in no cost",
            share(of(later.requests, mix.all.requests)),
            of_bytes(of(later.bytes, mix.all.bytes))
        )
    })
}

/// A share of the bytes, which may be 0.
fn of_bytes(of: f64) -> String {
    if of > 0.0 { share(of) } else { "none".to_owned() }
}

/// The table: a row for each way of encrypting, with what it adds to a KiB and the cores it takes.
pub(crate) fn grid(advice: &TlsAdvice, rates: &Rates) -> Grid {
    type Of = fn(&TlsWay) -> Option<Figure>;
    let quantities: [(&str, bool, Of); 3] = [
        ("in the log", true, |way| Some(way.cores)),
        ("busiest", rates.busiest.is_some(), |way| way.busiest_cores),
        ("at --rate", rates.asked.is_some(), |way| way.asked_cores),
    ];
    let mut columns = vec![
        Column::left("encrypted by", ""),
        Column::left("on top of", ""),
        Column::right("a KiB", "ns"),
    ];
    let mut rows: Vec<Vec<String>> = advice
        .ways
        .iter()
        .map(|way| {
            let added = figure(way.added_ns_per_kib, Unit::PLAIN);
            vec![escape(&way.path, 40), escape(&way.clear, 40), added]
        })
        .collect();
    for (name, has, of) in quantities {
        let Some(first) = advice.ways.first().and_then(of).filter(|_| has) else { continue };
        let unit = Unit::for_cores(first.value);
        columns.push(Column::right(name, unit.name));
        for (row, way) in std::iter::zip(&mut rows, &advice.ways) {
            row.push(of(way).map_or_else(String::new, |cores| figure(cores, unit)));
        }
    }
    Grid::new(columns, rows)
}

/// What TLS takes, what is saved under it, and what the run does not tell.
pub(super) fn sentences(advice: &CostAdvice, run: Option<&TlsRun>) -> String {
    let Some(tls) = &advice.tls else { return String::new() };
    let Some(user) = tls.ways.first() else { return String::new() };
    if tls.bytes_share <= 0.0 {
        return " No byte went over TLS.".to_owned();
    }
    let cores = user.asked_cores.unwrap_or(user.cores);
    let today = advice.paths.iter().find(|path| path.today);
    let all = today.map(|path| path.asked_cores.unwrap_or(path.cores).value);
    let unit = Unit::for_cores(all.map_or(cores.value, |all| all.value));
    let today_is_of_kernel = tls.ways.iter().skip(1).any(|way| way.path == advice.today);
    let mut text = format!(
        " TLS in user space {} {} {} for {} of the bytes ({}).",
        if today_is_of_kernel { "would take" } else { "takes" },
        figure(cores, unit),
        unit.of,
        share(tls.bytes_share),
        tls.cipher
    );
    let in_part = advice.paths.iter().any(|path| {
        matches!(path.verdict, Some(PathVerdict::Saves { .. }))
            && tls.ways.iter().all(|way| way.path != path.path)
    });
    if in_part && !today_is_of_kernel {
        text += &format!(
            " There every path sends from a buffer, so what paths save in the clear they save for \
             the other {} alone.",
            share(1.0 - tls.bytes_share)
        );
    }
    if !tls.missing.is_empty() {
        let reason = run.and_then(|run| run.without_kernel.as_deref());
        let reason =
            reason.map_or_else(String::new, |reason| format!(" ({})", escape(reason, 400)));
        text += &format!(
            " What the kernel's TLS would save is not known: the run has no cost of {}{reason}.",
            list(&tls.missing)
        );
    }
    if !tls.withheld.is_empty() {
        text += " What the kernel's TLS saves is not told, as verdicts of the run of zc run tls \
                 are withheld.";
    }
    text
}
