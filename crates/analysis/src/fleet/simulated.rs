//! Fleets that do not exist, and whose truth is known: figures of runs as `figures` makes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::{CellFigures, HostFacts, Logarithm, RunFigures};
use super::recorded::Recorded;
use crate::random::Random;

/// Paths and what they cost the sender and the receiver, in us per MB, as on the machines of
/// docs/performance.md.
const PATHS: [(&str, f64, f64); 6] = [
    ("read+send", 480.0, 390.0),
    ("read+write", 485.0, 390.0),
    ("mmap+write", 540.0, 390.0),
    ("sendfile", 176.0, 380.0),
    ("splice", 205.0, 380.0),
    ("msg-zerocopy", 620.0, 400.0),
];

/// Blocks of a run.
const BLOCKS: usize = 40;

/// A fleet to be simulated. Spreads are standard deviations of logarithms.
#[derive(Debug, Clone)]
pub(super) struct Simulated {
    pub(super) seed: u64,
    /// Hosts, which are of `generations` in turn.
    pub(super) hosts: usize,
    /// Each generation costs so many times the one before: 0.8 to the power of its number.
    pub(super) generations: usize,
    /// Other hosts that each sends to in a night.
    pub(super) partners: usize,
    pub(super) nights: usize,
    /// Between hosts in all cells; half as much in each cell on its own.
    pub(super) between_hosts: f64,
    pub(super) by_far_host: f64,
    pub(super) between_sessions: f64,
    pub(super) between_nights: f64,
    /// Standard error of a cell of a run.
    pub(super) within_runs: f64,
    /// Runs have stretches of these blocks, in place of normal values by `within_runs`.
    pub(super) recorded: Option<Arc<Recorded>>,
    /// Standard deviation of the logarithm of what runs give as that error.
    pub(super) error_of_errors: f64,
    /// Every so many hosts one is odd: its costs as sender are so many times as high.
    pub(super) odd: Option<(usize, f64)>,
    /// Sender and receiver of a pair whose costs are so many times as high.
    pub(super) odd_pair: Option<(usize, usize, f64)>,
    /// From this night on, the kernel of these hosts (of every second one, say) makes sending so
    /// many times as expensive.
    pub(super) new_kernel: Option<(usize, f64)>,
    /// A fact of every third host, which makes sending so many times as expensive.
    pub(super) condition: Option<f64>,
}

impl Default for Simulated {
    fn default() -> Self {
        Self {
            seed: 1,
            hosts: 24,
            generations: 1,
            partners: 4,
            nights: 1,
            between_hosts: 0.02,
            by_far_host: 0.005,
            between_sessions: 0.01,
            between_nights: 0.0,
            within_runs: 0.01,
            recorded: None,
            error_of_errors: 0.0,
            odd: None,
            odd_pair: None,
            new_kernel: None,
            condition: None,
        }
    }
}

impl Simulated {
    /// Runs are stretches of a recorded one, by whose wander sessions differ.
    pub(super) fn from_recorded_blocks() -> Self {
        let recorded = Some(Arc::new(Recorded::veth()));
        Self { recorded, between_sessions: 0.0, ..Self::default() }
    }

    /// Whether a host is odd.
    pub(super) fn is_odd(&self, host: usize) -> bool {
        self.odd.is_some_and(|(every, _)| host % every == (every / 2 + host / every) % every)
    }

    /// Name of a host.
    pub(super) fn name(host: usize) -> String {
        format!("n{host:03}")
    }

    /// The cost of a cell of a generation: its truth.
    pub(super) fn truth(label: &str, generation: usize, receiver: bool) -> f64 {
        let path = PATHS.iter().find(|path| path.0 == label).copied().unwrap_or(PATHS[0]);
        let cost = if receiver { path.2 } else { path.1 };
        cost * 0.8_f64.powi(generation as i32)
    }

    /// The paths of its runs: as many as were recorded.
    fn paths(&self) -> &'static [(&'static str, f64, f64)] {
        &PATHS[..self.recorded.as_ref().map_or(PATHS.len(), |recorded| recorded.cell_count())]
    }

    /// Mean error of runs of a cell, in logarithms: sender, receiver, ratio.
    pub(super) fn mean_errors(&self) -> BTreeMap<&'static str, [f64; 3]> {
        let means = match &self.recorded {
            Some(recorded) => recorded.means(BLOCKS),
            None => vec![[0.0; 3]; PATHS.len()],
        };
        self.paths().iter().map(|path| path.0).zip(means).collect()
    }

    /// The same of one run, in place of a session.
    pub(super) fn moment(&self, random: &mut Random) -> BTreeMap<&'static str, [f64; 3]> {
        let moment = self.recorded.as_ref().map(|recorded| recorded.moment(random, BLOCKS));
        self.paths().iter().map(|path| path.0).zip(moment.into_iter().flatten()).collect()
    }

    fn facts(&self, host: usize, night: usize) -> HostFacts {
        let kernel = match self.new_kernel {
            Some((from, _)) if night >= from => "6.12.1",
            _ => "6.1.0",
        };
        let facts = [
            ("kernel", kernel.to_owned()),
            ("generation", format!("g{}", host % self.generations)),
            ("serial", format!("{host}")),
            ("sysctl a", format!("{}", usize::from(host.is_multiple_of(3)))),
            ("sysctl b", if host.is_multiple_of(3) { "on" } else { "off" }.to_owned()),
            ("sysctl c", format!("{}", host / 2 % 2)),
            ("sysctl d", format!("{}", host * 7 % 5)),
            ("sysctl all", "1".to_owned()),
        ];
        HostFacts {
            host: Self::name(host),
            facts: BTreeMap::from(facts.map(|(name, value)| (name.to_owned(), value))),
        }
    }

    /// The runs, night by night.
    pub(super) fn runs(&self) -> Vec<RunFigures> {
        let mut random = Random(self.seed.wrapping_mul(0x1234_5678_9abc_def1));
        let mut draw = |by: f64| by * random.normal();
        let mut moments = Random(!self.seed);
        let cells = self.paths().len();
        // Effects of each host: as sender, as receiver, at the far end of either, and by cell.
        let mut effects = |by: f64| -> Vec<f64> { (0..self.hosts).map(|_| draw(by)).collect() };
        let own = [effects(self.between_hosts), effects(self.between_hosts)];
        let far = [effects(self.by_far_host), effects(self.by_far_host)];
        let by_cell: Vec<Vec<f64>> =
            (0..2 * cells).map(|_| effects(self.between_hosts / 2.0)).collect();
        let mut runs = Vec::new();
        for night in 0..self.nights {
            let of_night = draw(self.between_nights);
            let facts: Vec<Arc<HostFacts>> =
                (0..self.hosts).map(|host| Arc::new(self.facts(host, night))).collect();
            for near in 0..self.hosts {
                for turn in 0..self.partners {
                    let to = (near + 1 + turn * (turn + 3) / 2) % self.hosts;
                    let odd =
                        if self.is_odd(near) { self.odd.map_or(1.0, |odd| odd.1) } else { 1.0 };
                    let pair = match self.odd_pair {
                        Some((one, other, by)) if (one, other) == (near, to) => by,
                        _ => 1.0,
                    };
                    let kernel = match self.new_kernel {
                        Some((from, by)) if night >= from => by,
                        _ => 1.0,
                    };
                    let condition =
                        self.condition.filter(|_| near.is_multiple_of(3)).unwrap_or(1.0);
                    let session = [draw(self.between_sessions), draw(self.between_sessions)];
                    let mut cost = |path: usize, end: usize| {
                        let (host, other) = if end == 0 { (near, to) } else { (to, near) };
                        let truth = Self::truth(PATHS[path].0, host % self.generations, end == 1);
                        let of_end = if end == 0 { odd * kernel * condition } else { 1.0 };
                        let ln = (truth * of_end * pair).ln()
                            + own[end][host]
                            + far[end][other]
                            + by_cell[2 * path + end][host]
                            + session[end]
                            + of_night
                            + draw(if self.recorded.is_none() { self.within_runs } else { 0.0 });
                        let off = if self.error_of_errors > 0.0 {
                            draw(self.error_of_errors)
                        } else {
                            0.0
                        };
                        Some(Logarithm { ln, error: self.within_runs * off.exp() })
                    };
                    let mut figures: Vec<CellFigures> = (0..cells)
                        .map(|path| CellFigures {
                            label: PATHS[path].0.to_owned(),
                            sender: cost(path, 0),
                            receiver: cost(path, 1),
                            both: None,
                            ratio: None,
                        })
                        .collect();
                    let reference = figures[0].sender;
                    for cell in figures.iter_mut().skip(1) {
                        cell.ratio =
                            cell.sender.zip(reference).map(|(cell, reference)| Logarithm {
                                ln: cell.ln - reference.ln,
                                error: self.within_runs * std::f64::consts::SQRT_2,
                            });
                    }
                    if let Some(recorded) = &self.recorded {
                        let ln = |figure: Option<Logarithm>| figure.map_or(0.0, |figure| figure.ln);
                        let costs: Vec<(&str, [f64; 2])> = self
                            .paths()
                            .iter()
                            .zip(&figures)
                            .map(|(path, cell)| (path.0, [ln(cell.sender), ln(cell.receiver)]))
                            .collect();
                        figures = recorded.cells(&mut moments, BLOCKS, &costs);
                    }
                    let minute = near * self.partners + turn;
                    runs.push(RunFigures {
                        name: format!("{night:03}/{near}-{to}.json"),
                        started_at: format!(
                            "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                            1 + night / 28,
                            1 + night % 28,
                            minute / 3600 % 24,
                            minute / 60 % 60,
                            minute % 60
                        ),
                        zc_version: "0.2.0".to_owned(),
                        experiment: "paths".to_owned(),
                        link: "remote".to_owned(),
                        reference: PATHS[0].0.to_owned(),
                        near: Arc::clone(&facts[near]),
                        far: Some(Arc::clone(&facts[to])),
                        blocks_kept: BLOCKS,
                        blocks: BLOCKS,
                        is_whole: true,
                        withheld: Vec::new(),
                        cells: figures,
                    });
                }
            }
        }
        runs
    }
}
