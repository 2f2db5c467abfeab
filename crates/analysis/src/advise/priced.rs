//! Send paths of zc's own server, or configurations of another server, whose costs a run measured,
//! each at several response lengths.

use std::collections::HashMap;

use super::model::Unfit;
use super::tls::TlsCosts;
use crate::sizes::series::{SeriesCells, series};
use zc_run::{Configuration, Run, ServerPlan, ServerState, configurations};

/// All that a run prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Priced {
    /// Each with two lengths or more, in the plan's order; not empty.
    pub(super) paths: Vec<PricedPath>,
    /// The names of those with one.
    pub(super) left_out: Vec<String>,
    /// Whether connections carried more than one request.
    pub(super) keepalive: bool,
    /// Name of what a server is assumed to use today unless one is given.
    usual: Option<&'static str>,
}

/// A send path, or a configuration of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PricedPath {
    pub(super) name: String,
    /// Whether the plan's reference is one of its cells.
    reference: bool,
    /// Bytes of a response and index of the cell in the plan, by rising length.
    pub(super) cells: Vec<(usize, usize)>,
}

impl Priced {
    /// # Errors
    /// The run's messages are no responses; it has fewer than two lengths of everything; or two
    /// states of a configuration have responses of the same length.
    pub(super) fn from_run(run: &Run) -> Result<Self, Unfit> {
        let plan = &run.header.plan;
        let (all, keepalive, usual) = match (plan.traffic.server(), plan.traffic.responses()) {
            (Some(server), _) => (configurations_of(run, server)?, server.keepalive, None),
            (None, Some(responses)) => (paths_of(run), responses.keepalive, Some(USUAL_TODAY)),
            (None, None) => return Err(Unfit::NoResponses),
        };
        let (paths, left_out): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|path| path.cells.len() > 1);
        if paths.is_empty() {
            return Err(Unfit::OneLength);
        }
        let left_out = left_out.into_iter().map(|path| path.name).collect();
        Ok(Self { paths, left_out, keepalive, usual })
    }

    /// The place of what is used `today`, behind which the ways of the kernel's TLS have theirs. If
    /// none is given, that of the usual one, or else of the
    /// one that the run compares with.
    ///
    /// # Errors
    /// There is none of that name.
    pub(super) fn today(
        &self,
        today: Option<&str>,
        tls: Option<&TlsCosts>,
    ) -> Result<usize, Unfit> {
        let named = |name: &str| self.paths.iter().position(|path| path.name == name);
        if let Some(name) = today {
            let of_tls = tls.into_iter().flat_map(TlsCosts::by_the_kernel);
            let of_tls = of_tls.map(|way| way.path.to_string());
            let names: Vec<String> =
                self.paths.iter().map(|path| path.name.clone()).chain(of_tls).collect();
            let place = names.iter().position(|own| own == name);
            return place.ok_or(Unfit::NoSuchPath(names));
        }
        let usual = self.usual.and_then(named);
        Ok(usual.or_else(|| self.paths.iter().position(|path| path.reference)).unwrap_or(0))
    }

    /// Shortest and longest length in bytes between which all of them were measured.
    pub(super) fn common_bytes(&self) -> (usize, usize) {
        let ends = |path: &PricedPath| Some((path.cells.first()?.0, path.cells.last()?.0));
        let both =
            |one: (usize, usize), other: (usize, usize)| (one.0.max(other.0), one.1.min(other.1));
        let (least, most) = self.paths.iter().filter_map(ends).reduce(both).unwrap_or_default();
        (least, most.max(least))
    }
}

/// The path that a server is taken to use unless it is said: what servers do without sendfile.
const USUAL_TODAY: &str = "read+send";

fn paths_of(run: &Run) -> Vec<PricedPath> {
    let priced = |group: SeriesCells| PricedPath {
        name: group.name,
        reference: group.reference,
        cells: group.cells,
    };
    series(&run.header).into_iter().map(priced).collect()
}

/// # Errors
/// Two states of one have responses of the same length.
fn configurations_of(run: &Run, server: &ServerPlan) -> Result<Vec<PricedPath>, Unfit> {
    let plan = &run.header.plan;
    // A command makes a configuration of its own at the same address.
    let alone = |state| Configuration { name: String::new(), states: vec![state] };
    let found = match &plan.states {
        Some(_) => server.states.iter().map(alone).collect(),
        None => configurations(&server.states),
    };
    let cells = plan.cells.iter().enumerate().filter(|(_, cell)| !cell.control);
    let places: HashMap<&str, usize> = cells
        .filter_map(|(place, cell)| Some((cell.levels.state.as_ref()?.name(), place)))
        .collect();
    let priced = |each: Configuration<'_>| {
        if let Some(states) = each.same_length() {
            return Err(Unfit::SameLength(states.map(|state| state.state.to_string())));
        }
        let own = |state: &&ServerState| {
            let bytes = usize::try_from(state.response.body_bytes).ok().filter(|bytes| *bytes > 0);
            Some((bytes?, *places.get(state.state.name())?))
        };
        let mut cells: Vec<(usize, usize)> = each.states.iter().filter_map(own).collect();
        cells.sort_unstable();
        let reference = cells.iter().any(|(_, cell)| plan.cells[*cell].label == plan.reference);
        Ok(PricedPath { name: each.name, reference, cells })
    };
    found.into_iter().map(priced).collect()
}
