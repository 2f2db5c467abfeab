//! Costs of the requests of access logs by each send path, or in each configuration of a server:
//! the cost half of `zc advise`, as text and as JSON.

mod assumptions;
pub(crate) mod hosts;
mod machines;
mod part;
mod priced;
mod responses;
pub(crate) mod tls;
mod units;
mod verdict;

use schemars::JsonSchema;
use serde::Serialize;

use super::rates::{bits, moment, per_second};
use crate::digits::{percent, size};
use crate::money::{money_with_half_width, of_currency};
use crate::run::verdict::why_withheld;
use crate::terminal::layout::Layout;
use crate::terminal::note::{self, Note, note};
use crate::terminal::table::{Column, Grid};
use crate::text::{list, wrap};
pub use assumptions::Assumption;
pub use machines::machine_differences;
use part::share;
pub(crate) use priced::Priced;
pub use tls::TlsRun;
pub(crate) use units::Unit;
use units::figure;
use zc_access_log::RequestMix;
use zc_analysis::Estimates;
use zc_analysis::advise::{Compared, CostAdvice, Logged, PathAdvice, Question, Unfit, advise};
use zc_run::{Cell, Plan, Run, ServerState, escape};

/// Costs of requests, and their basis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Costs {
    /// The run that costs are from.
    pub run: CostRun,
    /// The run that the cost of encryption is from; null without one.
    pub tls_run: Option<TlsRun>,
    /// What is not known of HTTP/2 and 3; null where the log has none.
    pub multiplexed: Option<String>,
    /// The costs.
    #[serde(flatten)]
    pub advice: CostAdvice,
    /// Why the run's own verdicts, and so these, are withheld: a part of a sentence each.
    pub withheld_because: Vec<String>,
    /// Assumptions, and what they would change.
    pub assumptions: Vec<Assumption>,
    /// The answer in a sentence.
    pub verdict: String,
}

/// The run that costs are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CostRun {
    /// Its file.
    pub file: String,
    /// When it began, as the run says.
    pub started_at: String,
    /// The name of its machine.
    pub host: String,
    /// The kernel of it.
    pub kernel: String,
    /// Its lengths, in bytes.
    pub lengths_bytes: Vec<usize>,
    /// The server that it measured; null where that is zc's own, by its send paths.
    pub server: Option<CostServer>,
}

/// A server that is not zc's, whose costs are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CostServer {
    /// The command with which zc started it; null if it ran already.
    pub started_by: Option<String>,
    /// Origin of the load, in words; null: zc's own load on the same machine.
    pub load: Option<String>,
}

/// The requests whose costs are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Requests<'a> {
    /// Those of all logs.
    pub mix: &'a RequestMix,
    /// The hosts by name, if they were named, each with its own.
    pub hosts: &'a [(String, RequestMix)],
    /// The share of the bytes over TLS, if it was stated: the logs are not asked then.
    pub over_tls: Option<f64>,
}

impl Costs {
    /// Costs of requests by the paths of a run, from `file`; `tls_file` is that of the run of
    /// `zc run tls` in the question.
    ///
    /// # Errors
    /// See [`Unfit`].
    pub fn estimate(
        run: &Run,
        estimates: &Estimates,
        file: &str,
        requests: Requests<'_>,
        question: &Question<'_>,
        tls_file: &str,
    ) -> Result<Self, Unfit> {
        let Requests { mix, hosts, over_tls: stated } = requests;
        let logged = |mix: &RequestMix| responses::logged_responses(mix, stated);
        let of_hosts = hosts.iter().map(|(host, mix)| (host.clone(), logged(mix)));
        let logged = Logged { all: logged(mix), hosts: of_hosts.collect() };
        let advice = advise(run, &logged, question)?;
        let tls_run = question.tls.map(|(tls, _)| TlsRun::new(tls, tls_file, run));
        let over_tls = match &advice.tls {
            Some(_) => 0.0,
            None => over_tls(mix, stated, &run.header.plan),
        };
        let plan = &run.header.plan;
        let bytes = |cell: &Cell| match plan.response_bytes(cell) {
            Some(bytes) => usize::try_from(bytes).ok(),
            None => cell.levels.message_bytes,
        };
        let mut lengths_bytes: Vec<usize> = plan.cells.iter().filter_map(bytes).collect();
        lengths_bytes.sort_unstable();
        lengths_bytes.dedup();
        let withheld_because =
            if advice.withheld.is_empty() { Vec::new() } else { why_withheld(run, estimates) };
        Ok(Self {
            run: CostRun {
                file: file.to_owned(),
                started_at: run.header.started_at.clone(),
                host: run.header.host.hostname.clone(),
                kernel: run.header.host.kernel_release.clone(),
                lengths_bytes,
                server: plan.traffic.server().map(|server| CostServer {
                    started_by: server.serve.clone(),
                    load: server.load_in_words(),
                }),
            },
            assumptions: assumptions::collect(run, mix, &advice),
            verdict: verdict::sentence(
                &advice,
                Priced::new(plan.traffic.server().is_some()),
                &withheld_because,
                over_tls,
                tls_run.as_ref(),
            ),
            tls_run,
            multiplexed: tls::multiplexed(mix),
            withheld_because,
            advice,
        })
    }

    /// Renders for a terminal: the origin of the costs, the table of paths, and the assumptions;
    /// without the verdict.
    pub(crate) fn terminal(&self, layout: Layout) -> String {
        let mut out = note::terminal(&self.notes(), layout);
        out.push('\n');
        for grid in self.grids() {
            out.push_str(&grid.terminal(layout));
            out.push('\n');
        }
        let assumed: Vec<&str> =
            self.assumptions.iter().map(|assumption| assumption.assumed.as_str()).collect();
        out.push_str(&note::terminal(&[note("assumed", assumed.join("; "))], layout));
        out
    }

    /// The tables: the paths, the ways of encrypting, the hosts.
    fn grids(&self) -> impl Iterator<Item = Grid> {
        let tls = self.tls_grid();
        std::iter::once(self.grid()).chain(tls).chain(hosts::grid(&self.advice))
    }

    /// The table of the ways of encrypting, where encryption is in the costs.
    pub(crate) fn tls_grid(&self) -> Option<Grid> {
        self.advice.tls.as_ref().map(|tls| tls::grid(tls, &self.advice.rates))
    }

    /// Words for the things that have costs: send paths, or configurations.
    pub(crate) fn priced(&self) -> Priced {
        Priced::new(self.run.server.is_some())
    }

    /// The verdict for a terminal.
    pub(crate) fn conclusion(&self, layout: Layout) -> String {
        wrap("", &self.verdict, 0, layout.columns)
    }

    /// Notes on the origin of the costs, and doubts.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let Self { run, advice, .. } = self;
        let lengths = match (run.lengths_bytes.first(), run.lengths_bytes.last()) {
            (Some(least), Some(most)) => {
                format!(", responses of {} to {}", size(*least), size(*most))
            }
            _ => String::new(),
        };
        let kept = if advice.keepalive { "kept" } else { "closed after each" };
        let day = run.started_at.split('T').next().unwrap_or_default();
        let mut notes = vec![note(
            "costs",
            format!(
                "{}: {}, Linux {}, {}; {} blocks{lengths}, connections {kept}",
                escape(&run.file, 200),
                escape(&run.host, 60),
                escape(&run.kernel, 80),
                escape(day, 40),
                advice.blocks
            ),
        )];
        notes.extend(run.server.as_ref().map(|server| note("server", self::server(server))));
        if let Some(at) = advice.rates.busiest_unix_s {
            let rate = advice.rates.busiest.map_or(0.0, |rate| rate.requests_per_s);
            let begin = moment(at);
            let shown = per_second(rate);
            notes.push(note("busiest", format!("the minute from {begin}: {shown}")));
        }
        if let Some(rate) = advice.rates.asked {
            notes.push(note(
                "rate",
                format!("{}, {}", per_second(rate.requests_per_s), bits(rate.bytes_per_s)),
            ));
        }
        notes.extend(self.outside().map(|text| note("lengths", text)));
        let tls = self.advice.tls.as_ref();
        notes.extend(self.tls_run.iter().flat_map(|run| run.notes(tls)));
        let multiplexed = self.multiplexed.as_ref();
        notes.extend(multiplexed.map(|text| note("HTTP/2", format!("or HTTP/3: {text}"))));
        notes.extend(self.month().map(|text| note("a month", text)));
        notes.extend(self.doubts().into_iter().map(|doubt| note("doubt", doubt)));
        notes
    }

    /// Share of the mix outside the lengths that were measured.
    fn outside(&self) -> Option<String> {
        let CostAdvice { below, beyond, .. } = &self.advice;
        let mut parts = Vec::new();
        if below.requests_share > 0.0 {
            parts.push(format!(
                "{} of the requests are below {}, and counted as one of it",
                share(below.requests_share),
                size(below.bytes)
            ));
        }
        if beyond.requests_share > 0.0 {
            parts.push(format!(
                "{} of the requests, {} of the bytes and {} of the cost are beyond {}, by the cost \
                 of a byte below it",
                share(beyond.requests_share),
                share(beyond.bytes_share),
                share(beyond.cost_share),
                size(beyond.bytes)
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// What each path costs a month, where a core has a price.
    fn month(&self) -> Option<String> {
        let CostAdvice { paths, currency, price_per_core_hour, .. } = &self.advice;
        let price = of_currency(&price_per_core_hour.as_ref()?.to_string(), currency);
        let each = paths.iter().filter_map(|path| {
            let Compared { value, saved } = path.money_per_month?;
            let saved = saved.map_or_else(String::new, |saved| {
                format!(", saved {}", money_with_half_width(&saved, currency))
            });
            let value = money_with_half_width(&value, currency);
            Some(format!("{} {value}{saved}", escape(&path.path, 40)))
        });
        let each: Vec<String> = each.collect();
        Some(format!("at {price} a core-hour: {}", each.join("; ")))
    }

    fn doubts(&self) -> Vec<String> {
        let advice = &self.advice;
        let mut doubts = Vec::new();
        if !advice.left_out.is_empty() {
            let names: Vec<String> = advice.left_out.iter().map(|name| escape(name, 40)).collect();
            doubts.push(format!(
                "the run has one length of {}, and requests are of many: left out",
                list(&names)
            ));
        }
        if !advice.without_cost.is_empty() {
            let names = advice.without_cost.iter().map(|name| escape(name, 40));
            doubts.push(format!(
                "the run has no cost of {}: a length of it was measured in no block that counts, \
                 or scatter made its cost less than nothing",
                list(&names.collect::<Vec<_>>())
            ));
        }
        if advice.slices.is_none() {
            doubts.push(
                "the log is too short to tell how it varies, so intervals have only the run in them"
                    .to_owned(),
            );
        }
        if !advice.saturated_bytes.is_empty() {
            let lengths: Vec<String> = advice.saturated_bytes.iter().map(|at| size(*at)).collect();
            doubts.push(format!(
                "responses of {} did not reach their rate in the run: their costs are those at top \
                 speed",
                lengths.join(", ")
            ));
        }
        if let Some(error) = advice.control_error {
            doubts.push(format!(
                "the run's controls show an error of {}, and what it could explain is not told",
                percent(error)
            ));
        }
        doubts
    }

    /// The table: a row for each path, with cores at each rate and what is saved.
    pub(crate) fn grid(&self) -> Grid {
        let paths = &self.advice.paths;
        let today = paths.iter().find(|path| path.today);
        type Of = fn(&PathAdvice) -> Option<Compared>;
        let quantities: [(&str, Of); 3] = [
            ("in the log", |path| Some(path.cores)),
            ("busiest", |path| path.busiest_cores),
            ("at --rate", |path| path.asked_cores),
        ];
        let mut columns =
            vec![Column::left(self.priced().one, ""), Column::right("a request", "us")];
        let mut rows: Vec<Vec<String>> = paths
            .iter()
            .map(|path| {
                vec![escape(&path.path, 40), figure(path.us_per_request.value, Unit::PLAIN)]
            })
            .collect();
        for (name, of) in quantities {
            let Some(reference) = today.and_then(of) else { continue };
            let unit = Unit::for_cores(reference.value.value);
            columns.push(Column::right(name, unit.name));
            columns.push(Column::right("saved", ""));
            for (row, path) in std::iter::zip(&mut rows, paths) {
                let compared = of(path);
                row.push(compared.map_or_else(String::new, |it| figure(it.value, unit)));
                let saved = compared.and_then(|it| it.saved);
                row.push(saved.map_or_else(String::new, |it| figure(it, unit)));
            }
        }
        Grid::new(columns, rows)
    }
}

/// The share of a log's requests that were encrypted, where the run's were not.
fn over_tls(mix: &RequestMix, stated: Option<f64>, plan: &Plan) -> f64 {
    let is_https = |state: &ServerState| state.url.to_ascii_lowercase().starts_with("https:");
    match plan.traffic.server().is_some_and(|server| server.states.iter().any(is_https)) {
        true => 0.0,
        false => stated.unwrap_or(mix.tls.with.requests as f64 / mix.all.requests.max(1) as f64),
    }
}

/// The server in words.
fn server(CostServer { started_by, load }: &CostServer) -> String {
    let mut text = match started_by {
        Some(command) => format!("started by \"{}\"", escape(command, 300)),
        None => "was running, on CPUs of its owner's choice".to_owned(),
    };
    if let Some(load) = load {
        text += &format!("; requests {}", escape(load, 300));
    }
    text
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod tests_tls;
