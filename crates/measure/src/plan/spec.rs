//! A plan before the machine is known: factors x levels, what is compared with what, and the
//! resulting cells.

use std::collections::HashSet;

use zc_run::{
    Cell, Clients, Error, Factor, HostState, Level, Levels, RecvPath, Result, SendPath, Transfer,
    Unsoaked,
};

/// Suffix of the A/A control's label, after the name of the reference.
pub const CONTROL_SUFFIX: &str = " (A/A)";

/// Suffix of the positive control's label.
pub const POSITIVE_SUFFIX: &str = " (+burn)";

/// A plan with more cells is a mistake: one block would take an hour.
const MOST_CELLS: usize = 100_000;

/// Which cells share a rate that zc chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rates {
    /// All cells.
    #[default]
    One,
    /// Those that are compared with one another: the other levels determine how fast a path can be.
    ByLevel,
}

/// A fixed option of a plan, as it is typed: an option of `zc run` without its dashes, and its
/// value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// `link`, `rate` ...
    pub key: String,
    /// `veth`, `400MB/s` ...
    pub value: String,
    /// Its place in the file, for errors: `plan "my.toml", line 3`.
    pub place: String,
}

/// A plan, not yet resolved for a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// Name of the plan.
    pub name: String,
    /// The question that the plan answers, in a sentence.
    pub question: String,
    /// Time for the whole run; `None` derives it from the number of cells.
    pub budget_ns: Option<u64>,
    /// The factors with their levels, no factor twice and none without a level. The first ones make
    /// the rows of a table, the last one its columns.
    pub factors: Vec<(Factor, Vec<Level>)>,
    /// The reference cell, by its level of each factor.
    pub reference: Vec<Level>,
    /// A cell differs in these from the one that it is compared with, which has the reference's
    /// levels of them.
    pub compare: Vec<Factor>,
    /// Which cells share a rate that zc chooses.
    pub rates: Rates,
    /// Kind of unsoaked trials in a block.
    pub unsoaked: Unsoaked,
    /// Cells whose clients take more bytes per second than this together are left out.
    pub clients_at_most: Option<f64>,
    /// Options held fixed.
    pub fixed: Vec<Fixed>,
}

/// The cells of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// All cells, the control last.
    pub cells: Vec<Cell>,
    /// Label of the reference cell.
    pub reference: String,
}

impl Spec {
    /// Number of cells, without the control.
    pub fn product(&self) -> usize {
        self.factors.iter().fold(1, |product, (_, levels)| product.saturating_mul(levels.len()))
    }

    /// Levels of a factor, if it is one of the plan's.
    pub fn levels(&self, factor: Factor) -> Option<&[Level]> {
        self.factors.iter().find(|(each, _)| *each == factor).map(|(_, levels)| levels.as_slice())
    }

    /// Replaces the levels of a factor. If cells are compared by the factor, the reference's level
    /// stays. Returns whether it is a factor of the plan; if not, nothing changes.
    pub fn restrict(&mut self, factor: Factor, levels: Vec<Level>) -> bool {
        let Some(place) = self.factors.iter().position(|(each, _)| *each == factor) else {
            return false;
        };
        if matches!(factor, Factor::Clients | Factor::ClientRate) {
            // What is asked for is tried.
            self.clients_at_most = None;
        }
        if levels.is_empty() {
            return true;
        }
        let mut levels = without_repetitions(levels);
        let reference = &mut self.reference[place];
        if !levels.contains(reference) {
            if self.compare.contains(&factor) {
                levels.insert(0, reference.clone());
            } else {
                *reference = levels[0].clone();
            }
        }
        self.factors[place].1 = levels;
        true
    }

    /// Measures every cell in both states of the host, and compares each in state B with itself in
    /// state A.
    pub fn in_both_states(&mut self) {
        if self.levels(Factor::State).is_none() {
            let states = [HostState::a(), HostState::b()];
            let states = states.iter().map(|state| Level::named(Factor::State, state.name()));
            self.factors.push((Factor::State, states.collect()));
            self.reference.push(Level::named(Factor::State, HostState::a().name()));
        }
        self.compare = vec![Factor::State];
    }

    /// Every combination of levels, and the reference a second time as the A/A control. `send` and
    /// `recv` are the paths of cells whose plan sets none.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): there are too many cells to measure, or two are the
    /// same.
    pub fn cells(&self, send: SendPath, recv: RecvPath) -> Result<Cells> {
        let product = self.product();
        if product > MOST_CELLS {
            return Err(Error::usage(
                "too-many-cells",
                format!("the plan \"{}\" has {product} cells", self.name),
            )
            .help("give its factors fewer levels"));
        }
        let chosen: Vec<Vec<&Level>> =
            self.factors.iter().fold(vec![Vec::new()], |rows, (_, levels)| {
                let longer = |row: Vec<_>| {
                    levels.iter().map(move |level| [row.as_slice(), &[level]].concat())
                };
                rows.into_iter().flat_map(longer).collect()
            });
        let reference: Vec<&Level> = self.reference.iter().collect();
        let reference_label = self.label(&reference);
        let mut cells = Vec::new();
        for levels in &chosen {
            let cell = self.cell(levels, send, recv);
            if levels.iter().all(|level| level.suits(&cell)) && !self.is_beyond(&cell) {
                let by = self.label(&self.compared_with(levels));
                cells.push(Cell { by: Some(by).filter(|by| *by != reference_label), ..cell });
            }
        }
        let labels: HashSet<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
        if labels.len() < cells.len() {
            return Err(Error::usage(
                "duplicate-cell",
                format!("two cells of the plan \"{}\" are the same", self.name),
            )
            .help("give each level of a factor once"));
        }
        let compared = cells.iter().filter_map(|cell| cell.by.as_deref());
        if let Some(missing) = compared.chain([&*reference_label]).find(|by| !labels.contains(by)) {
            return Err(Error::usage(
                "no-such-cell",
                format!(
                    "the plan \"{}\" compares with \"{missing}\", whose levels do not go together",
                    self.name
                ),
            )
            .help("compare = [\"send\", \"cipher\"] compares with a path in the clear, and \"segments\" goes the same way"));
        }
        let control = Cell {
            label: format!("{reference_label}{CONTROL_SUFFIX}"),
            control: true,
            ..self.cell(&reference, send, recv)
        };
        cells.push(control);
        Ok(Cells { cells, reference: reference_label })
    }

    /// Whether the clients of a cell take more than the plan's cells are to.
    fn is_beyond(&self, cell: &Cell) -> bool {
        let total = cell.levels.clients(&Levels::default()).map(Clients::total_bytes_per_s);
        total.zip(self.clients_at_most).is_some_and(|(total, most)| total > most)
    }

    fn cell(&self, levels: &[&Level], send: SendPath, recv: RecvPath) -> Cell {
        // Paired once all levels are there: before that, `send` may not be the path that `recv` is
        // to receive from.
        let mut cell = Cell::with_transfer(Transfer::Paths { send, recv });
        levels.iter().for_each(|level| level.put(&mut cell));
        cell.label = self.label(levels);
        cell.transfer = cell.transfer.paired();
        cell
    }

    /// Levels of the cell that one with these levels is compared with.
    fn compared_with<'a>(&'a self, levels: &[&'a Level]) -> Vec<&'a Level> {
        let each = self.factors.iter().zip(&self.reference).zip(levels);
        each.map(
            |(((factor, _), reference), own)| {
                if self.compare.contains(factor) { reference } else { *own }
            },
        )
        .collect()
    }

    /// Label from the levels of factors with several levels, or of all factors if none has several.
    fn label(&self, levels: &[&Level]) -> String {
        let joined = |several: bool| {
            let each = self.factors.iter().zip(levels);
            each.filter(|((_, levels), _)| !several || levels.len() > 1)
                .map(|(_, level)| level.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let several = joined(true);
        if several.is_empty() { joined(false) } else { several }
    }
}

fn without_repetitions(levels: Vec<Level>) -> Vec<Level> {
    let mut once: Vec<Level> = Vec::new();
    for level in levels {
        if !once.contains(&level) {
            once.push(level);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(factor: Factor, text: &str) -> Level {
        Level::parse(factor, text).unwrap()
    }

    fn spec(factors: &[(Factor, &[&str])], compare: &[Factor]) -> Spec {
        let factors: Vec<(Factor, Vec<Level>)> = factors
            .iter()
            .map(|(factor, levels)| {
                (*factor, levels.iter().map(|text| level(*factor, text)).collect())
            })
            .collect();
        Spec {
            name: "test".to_owned(),
            question: String::new(),
            budget_ns: None,
            reference: factors.iter().map(|(_, levels)| levels[0].clone()).collect(),
            factors,
            compare: compare.to_vec(),
            rates: Rates::One,
            unsoaked: Unsoaked::InTurn,
            clients_at_most: None,
            fixed: Vec::new(),
        }
    }

    fn labels(spec: &Spec) -> Vec<String> {
        spec.cells(SendPath::ReadSend, RecvPath::Recv)
            .unwrap()
            .cells
            .into_iter()
            .map(|cell| cell.label)
            .collect()
    }

    #[test]
    fn the_reference_and_its_control_are_always_there() {
        let mut paths =
            spec(&[(Factor::Send, &["read+send", "sendfile", "splice"])], &[Factor::Send]);
        assert_eq!(labels(&paths), ["read+send", "sendfile", "splice", "read+send (A/A)"]);
        assert!(paths.restrict(Factor::Send, vec![level(Factor::Send, "sendfile")]));
        assert_eq!(labels(&paths), ["read+send", "sendfile", "read+send (A/A)"]);
        assert!(paths.restrict(Factor::Send, vec![level(Factor::Send, "read+send")]));
        assert_eq!(labels(&paths), ["read+send", "read+send (A/A)"]);
        assert!(!paths.restrict(Factor::Mtu, vec![level(Factor::Mtu, "9000")]));
    }

    #[test]
    fn cells_are_every_combination_and_name_what_they_are_compared_with() {
        let sizes = spec(
            &[(Factor::Message, &["64k", "4k"]), (Factor::Send, &["read+send", "sendfile"])],
            &[Factor::Send],
        );
        let Cells { cells, reference } = sizes.cells(SendPath::ReadSend, RecvPath::Recv).unwrap();
        assert_eq!(reference, "64k read+send");
        let seen: Vec<(&str, Option<&str>, bool)> = cells
            .iter()
            .map(|cell| (cell.label.as_str(), cell.by.as_deref(), cell.control))
            .collect();
        assert_eq!(
            seen,
            [
                ("64k read+send", None, false),
                ("64k sendfile", None, false),
                ("4k read+send", Some("4k read+send"), false),
                ("4k sendfile", Some("4k read+send"), false),
                ("64k read+send (A/A)", None, true),
            ]
        );
        assert_eq!(cells[3].levels.message_bytes, Some(4096));
        let paths = Transfer::Paths { send: SendPath::Sendfile, recv: RecvPath::Recv };
        assert_eq!(cells[3].transfer, paths);
    }

    #[test]
    fn a_factor_that_is_not_compared_takes_its_reference_from_the_restricted_levels() {
        let mut sizes = spec(
            &[(Factor::Message, &["64k", "4k"]), (Factor::Send, &["read+send", "sendfile"])],
            &[Factor::Send],
        );
        assert!(sizes.restrict(Factor::Message, vec![level(Factor::Message, "1m")]));
        // A factor with one level is in no label.
        assert_eq!(labels(&sizes), ["read+send", "sendfile", "read+send (A/A)"]);
    }

    #[test]
    fn in_both_states_of_the_host_each_cell_is_compared_with_itself() {
        let mut paths = spec(&[(Factor::Send, &["read+send", "sendfile"])], &[Factor::Send]);
        paths.in_both_states();
        paths.in_both_states(); // and once is enough
        let Cells { cells, reference } = paths.cells(SendPath::ReadSend, RecvPath::Recv).unwrap();
        assert_eq!(reference, "read+send A");
        let seen: Vec<(&str, Option<&str>, Option<HostState>)> = cells
            .iter()
            .map(|cell| (cell.label.as_str(), cell.by.as_deref(), cell.levels.state.clone()))
            .collect();
        let (a, b) = (Some(HostState::a()), Some(HostState::b()));
        assert_eq!(
            seen,
            [
                ("read+send A", None, a.clone()),
                ("read+send B", None, b.clone()),
                ("sendfile A", Some("sendfile A"), a.clone()),
                ("sendfile B", Some("sendfile A"), b),
                ("read+send A (A/A)", None, a),
            ]
        );
    }

    #[test]
    fn a_plan_of_a_million_cells_is_refused() {
        let many: Vec<String> = (1..=1000).map(|bytes| bytes.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let plan = spec(&[(Factor::Message, &many), (Factor::RecvBuffer, &many)], &[]);
        assert_eq!(plan.product(), 1_000_000);
        let error = plan.cells(SendPath::ReadSend, RecvPath::Recv).unwrap_err();
        assert!(error.id == "too-many-cells" && error.message.contains("1000000"), "{error:?}");
    }

    #[test]
    fn a_receiver_that_is_asked_for_receives_of_all_paths_of_its_form() {
        let plan = spec(&[(Factor::Send, &["read+send", "udp-gso"])], &[Factor::Send]);
        let cells = plan.cells(SendPath::ReadSend, RecvPath::UdpGro).unwrap().cells;
        let receivers: Vec<_> = cells.iter().map(|cell| cell.transfer.receiver()).collect();
        assert_eq!(receivers, [RecvPath::Recv, RecvPath::UdpGro, RecvPath::Recv]);
    }

    #[test]
    fn paths_that_encrypt_have_a_cipher_and_others_have_none() {
        let factors = [
            (Factor::Send, &["read+send", "tls-write"][..]),
            (Factor::Cipher, &["clear", "aes-128-gcm", "aes-256-gcm"]),
        ];
        let both = spec(&factors, &[Factor::Send, Factor::Cipher]);
        let cells = both.cells(SendPath::ReadSend, RecvPath::Recv).unwrap().cells;
        let named: Vec<_> = cells.iter().map(|cell| (&*cell.label, cell.transfer)).collect();
        let paths = |send, recv| Transfer::Paths { send, recv };
        let encrypted = paths(SendPath::TlsWrite, RecvPath::TlsRecv);
        let clear = paths(SendPath::ReadSend, RecvPath::Recv);
        assert_eq!(
            named,
            [
                ("read+send clear", clear),
                ("tls-write aes-128-gcm", encrypted),
                ("tls-write aes-256-gcm", encrypted),
                ("read+send clear (A/A)", clear),
            ]
        );
        // The cell to compare with would be read+send with a cipher.
        let by_path = spec(&factors, &[Factor::Send]);
        let error = by_path.cells(SendPath::ReadSend, RecvPath::Recv).unwrap_err();
        assert_eq!(error.id, "no-such-cell");
    }
}
