//! Cells of paced clients: what does not go together with them, and what becomes of those that are
//! served too slowly.

use std::collections::HashMap;

use super::options::RunOptions;
use super::rates::TopSpeed;
use crate::plan::spec::{CONTROL_SUFFIX, Cells};
use zc_kernel::mapping::may_lock;
use zc_run::units::{bit_rate_text, rate_text};
use zc_run::{
    Cell, Clients, Error, Factor, FixedParams, ProxyPath, Result, SendPath, Support, SupportRow,
    Unavailable, Value,
};

/// The least share of its rate at which a cell is measured. Costs of one that reaches less would be
/// those of full CPUs.
const LEAST_SHARE: f64 = 0.9;

/// About what a client's sends lock of memory: as much as its send buffer holds.
const LOCKED_BYTES: usize = 128 << 10;

/// Checks that cells of clients have nothing that only flows have.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): they have.
pub(super) fn check(options: &RunOptions, cells: &[Cell]) -> Result<()> {
    let is_rate_held = options.held.more.get(Factor::ClientRate.name()).is_some();
    let has_clients = |cell: &Cell| cell.levels.clients(&options.held).is_some();
    let is_without = |cell: &&Cell| !has_clients(cell);
    let has_own_rate = |cell: &&Cell| cell.levels.more.get(Factor::ClientRate.name()).is_some();
    if is_rate_held && cells.iter().all(|cell| is_without(&cell)) {
        return Err(without_clients("no cell has clients"));
    }
    if let Some(cell) = cells.iter().filter(is_without).find(has_own_rate) {
        return Err(without_clients(&format!("\"{}\" has no clients", cell.label)));
    }
    cells.iter().filter(|cell| has_clients(cell)).try_for_each(|cell| check_cell(options, cell))
}

fn check_cell(options: &RunOptions, cell: &Cell) -> Result<()> {
    let (own, held) = (&cell.levels, &options.held);
    let refused = |option: &str, why: &str, help: &str| {
        let message = format!("--clients does not go together with {option}: {why}");
        Err(Error::usage("incompatible-with-clients", message).help(help))
    };
    if own.flows.or(held.flows).is_some() {
        return refused(
            "--flows",
            "clients are the connections, all of one thread on either side",
            "leave --flows out: the number of --clients is that of connections",
        );
    }
    if own.rate_bytes_per_s.or(held.rate_bytes_per_s).is_some() {
        return refused(
            "--rate",
            "all clients together have the rate of one times their number",
            "leave --rate out: --client-rate sets the rate of each",
        );
    }
    let proxy = Factor::Proxy.name();
    if own.more.get(proxy).or_else(|| held.more.get(proxy)).is_some_and(is_a_proxy) {
        return refused(
            "--proxy",
            "a proxy has one connection on either side",
            "leave one of the two out",
        );
    }
    if !options.burns.is_empty() {
        return refused(
            "--burn",
            "it burns for acknowledgements of flows",
            "leave --burn out: the run's positive control has a known cost of the sender's",
        );
    }
    if options.remote.is_some() {
        return refused(
            "another machine",
            "one thread of zc's holds all their ends, on this machine",
            "--link veth, or --link null as root",
        );
    }
    Ok(())
}

fn is_a_proxy(level: &Value) -> bool {
    level.to_string() != ProxyPath::None.name()
}

fn without_clients(which: &str) -> Error {
    Error::usage("client-rate-without-clients", format!("--client-rate: {which} to have that rate"))
        .help("--clients N, such as --clients 1000; or leave --client-rate out")
}

/// Removes the cells whose clients got less than their rate where nothing but they ran, and those
/// that would be compared with one of them; each becomes a row with its reason. Where the reference
/// is one of them, the first of the other cells with which cells are compared takes its place.
///
/// # Errors
/// No cell is left.
pub(super) fn leave_out_full(
    fixed: &FixedParams,
    cells: &mut Cells,
    speeds: &mut Vec<TopSpeed>,
) -> Result<Vec<SupportRow>> {
    let full = full(fixed, &cells.cells, speeds);
    let mut rows = Vec::new();
    let reference = cells.reference.clone();
    for cell in cells.cells.extract_if(.., |cell| {
        let by = cell.by.as_ref().unwrap_or(&reference);
        !cell.control && (full.contains_key(&cell.label) || full.contains_key(by))
    }) {
        let own = full.get(&cell.label).cloned();
        let by = cell.by.unwrap_or_else(|| reference.clone());
        let no = own.unwrap_or_else(|| {
            let why = full.get(&by).map_or("", |no| &no.reason);
            too_slow(format!("\"{by}\" would be compared with it, and is too slow: {why}"))
        });
        rows.push(SupportRow { what: "cell".into(), name: cell.label, support: Support::No(no) });
    }
    speeds.retain(|(label, _)| rows.iter().all(|row| row.name != *label));
    if let Some(no) = full.get(&reference) {
        replace_reference(cells, no)?;
    }
    Ok(rows)
}

/// The cells whose clients got less than their rate, by label.
fn full(fixed: &FixedParams, cells: &[Cell], speeds: &[TopSpeed]) -> HashMap<String, Unavailable> {
    let mut full = HashMap::new();
    for cell in cells.iter().filter(|cell| !cell.control) {
        let clients = fixed.at(&cell.levels).clients();
        let speed = speeds.iter().find(|(label, _)| *label == cell.label).map(|(_, speed)| *speed);
        if let Some((clients, speed)) = clients.zip(speed)
            && speed < LEAST_SHARE * clients.total_bytes_per_s()
        {
            let locks = cell.transfer.send_path() == Some(SendPath::MsgZerocopy);
            let no = too_slow(sentence(clients, speed, locks));
            full.insert(cell.label.clone(), no);
        }
    }
    full
}

/// `1000 clients at 50Mbit/s are 6.25GB/s, and 1.9GB/s arrived: the CPUs are full`.
/// A path that `locks` memory may lack that.
fn sentence(clients: Clients, speed_bytes_per_s: f64, locks: bool) -> String {
    let Clients { count, rate_bytes_per_s } = clients;
    format!(
        "{count} client{} at {} are {}, and {} arrived: {}",
        if count == 1 { "" } else { "s" },
        bit_rate_text(rate_bytes_per_s),
        rate_text(clients.total_bytes_per_s()),
        rate_text(three_digits(speed_bytes_per_s)),
        match locks && !may_lock(count * LOCKED_BYTES) {
            true => "the CPUs are full, or the memory that this user may lock (RLIMIT_MEMLOCK) is",
            false => "the CPUs are full",
        }
    )
}

fn three_digits(number: f64) -> f64 {
    let unit = 10_f64.powf(number.max(1.0).log10().floor() - 2.0);
    (number / unit).round() * unit
}

fn too_slow(reason: String) -> Unavailable {
    Unavailable::failed(reason).remedy("give fewer --clients, or a lower --client-rate")
}

/// Makes the first cell with which others are compared the reference, of which the control is a
/// copy.
fn replace_reference(cells: &mut Cells, no: &Unavailable) -> Result<()> {
    let is_base = |cell: &Cell| !cell.control && cell.by.as_ref() == Some(&cell.label);
    let Some(base) = cells.cells.iter().find(|cell| is_base(cell)).cloned() else {
        let what = "no clients of this plan get their rate";
        return Err(no.clone().into_error("clients-too-slow", what));
    };
    for cell in &mut cells.cells {
        if cell.control {
            let label = format!("{}{CONTROL_SUFFIX}", base.label);
            *cell = Cell { label, control: true, by: None, ..base.clone() };
        } else if cell.by.as_ref() == Some(&base.label) {
            cell.by = None; // which is the reference
        }
    }
    cells.reference = base.label;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::options::BlockOptions;
    use super::*;
    use crate::plan::{Spec, parse};
    use zc_run::{ErrorKind, Experiment, Level, RecvPath, SendPath};

    fn spec() -> Spec {
        parse(&Experiment::Clients.definition().plan_file().unwrap(), "clients").unwrap()
    }

    fn cells(spec: &Spec) -> Cells {
        spec.cells(SendPath::ReadSend, RecvPath::Recv).unwrap()
    }

    fn levels(factor: Factor, texts: &[&str]) -> Vec<Level> {
        texts.iter().map(|text| Level::parse(factor, text).unwrap()).collect()
    }

    fn fixed() -> FixedParams {
        zc_testkit::synthetic::Synthetic::default().run().header.plan.fixed
    }

    /// The plan with two numbers of clients at one rate.
    fn two_numbers() -> Cells {
        let mut spec = spec();
        spec.restrict(Factor::ClientRate, levels(Factor::ClientRate, &["50Mbit/s"]));
        spec.restrict(Factor::Send, levels(Factor::Send, &["read+send", "sendfile"]));
        cells(&spec)
    }

    fn left(cells: &Cells) -> Vec<(&str, Option<&str>)> {
        cells.cells.iter().map(|cell| (cell.label.as_str(), cell.by.as_deref())).collect()
    }

    fn speeds(list: [(&str, f64); 4]) -> Vec<TopSpeed> {
        list.into_iter().map(|(label, speed)| (label.to_owned(), speed)).collect()
    }

    #[test]
    fn the_plan_leaves_out_what_no_link_carries_unless_it_is_asked_for() {
        let labels = |spec: &Spec| -> Vec<String> {
            let cells = cells(spec).cells.into_iter();
            cells.filter(|cell| cell.label.ends_with("sendfile")).map(|cell| cell.label).collect()
        };
        let mut spec = spec();
        assert_eq!(
            labels(&spec),
            [
                "100 1Mbit/s sendfile",
                "100 5Mbit/s sendfile",
                "100 20Mbit/s sendfile",
                "100 50Mbit/s sendfile",
                "1000 1Mbit/s sendfile",
                "1000 5Mbit/s sendfile",
            ]
        );
        spec.restrict(Factor::Clients, levels(Factor::Clients, &["10000"]));
        spec.restrict(Factor::ClientRate, levels(Factor::ClientRate, &["1Mbit/s"]));
        assert_eq!(labels(&spec), ["sendfile"]);
    }

    #[test]
    fn a_cell_that_is_too_slow_is_a_row_with_its_numbers() {
        let mut cells = two_numbers();
        let mut speeds = speeds([
            ("100 read+send", 0.6e9),
            ("100 sendfile", 0.62e9),
            ("1000 read+send", 6.2e9),
            ("1000 sendfile", 1.903_4e9),
        ]);
        let rows = leave_out_full(&fixed(), &mut cells, &mut speeds).unwrap();
        let [SupportRow { name, support: Support::No(no), .. }] = &rows[..] else {
            panic!("{rows:?}")
        };
        assert_eq!(name, "1000 sendfile");
        assert_eq!(
            no.reason,
            "1000 clients at 50Mbit/s are 6.25GB/s, and 1.9GB/s arrived: the CPUs are full"
        );
        assert_eq!((speeds.len(), cells.cells.len(), &*cells.reference), (3, 4, "100 read+send"));
    }

    #[test]
    fn cells_go_with_the_one_that_they_are_compared_with_and_the_reference_moves_on() {
        let mut cells = two_numbers();
        let mut slow_reference = speeds([
            ("100 read+send", 0.3e9),
            ("100 sendfile", 0.62e9),
            ("1000 read+send", 6.2e9),
            ("1000 sendfile", 6.2e9),
        ]);
        let rows = leave_out_full(&fixed(), &mut cells, &mut slow_reference).unwrap();
        let named: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(named, ["100 read+send", "100 sendfile"]);
        assert!(format!("{:?}", rows[1]).contains("300MB/s arrived"), "{rows:?}");
        assert_eq!(cells.reference, "1000 read+send");
        assert_eq!(
            left(&cells),
            [("1000 read+send", None), ("1000 sendfile", None), ("1000 read+send (A/A)", None)]
        );
        let of_control = fixed().at(&cells.cells[2].levels).clients().unwrap();
        assert!(cells.cells[2].is_aa_control() && of_control.count == 1000);
    }

    #[test]
    fn a_run_whose_every_cell_is_too_slow_is_an_error_with_the_reference_s_numbers() {
        let mut all = speeds([
            ("100 read+send", 0.3e9),
            ("100 sendfile", 0.62e9),
            ("1000 read+send", 0.3e9),
            ("1000 sendfile", 0.3e9),
        ]);
        let error = leave_out_full(&fixed(), &mut two_numbers(), &mut all).unwrap_err();
        assert_eq!((&*error.id, error.kind), ("clients-too-slow", ErrorKind::Failed));
        assert!(error.message.contains("625MB/s, and 300MB/s arrived"), "{error}");
        assert!(error.help.unwrap().contains("--client-rate"));
    }

    #[test]
    fn what_only_flows_have_is_refused_and_a_rate_without_clients_too() {
        let mut options = RunOptions::plain(spec(), BlockOptions::plain("x".into()));
        let checked = |options: &RunOptions| check(options, &cells(&options.plan).cells);
        checked(&options).unwrap();
        let id = |options: &RunOptions| checked(options).unwrap_err().id;
        options.held.flows = Some(2);
        assert_eq!(id(&options), "incompatible-with-clients");
        options.held.flows = None;
        options.held.rate_bytes_per_s = Some(1e6);
        assert!(checked(&options).unwrap_err().message.contains("--rate"));
        options.held.rate_bytes_per_s = None;
        options.burns.insert("sendfile".to_owned(), 1);
        assert!(checked(&options).unwrap_err().message.contains("--burn"));
        options.burns.clear();
        let none = Level::parse(Factor::Clients, "none").unwrap();
        options.plan.restrict(Factor::Clients, vec![none]);
        assert_eq!(id(&options), "client-rate-without-clients");
    }

    #[test]
    fn levels_that_are_held_for_the_run_count_as_those_of_its_cells() {
        let paths = Experiment::Paths.definition().plan_file().unwrap();
        let plan = parse(&paths, "paths").unwrap();
        let mut options = RunOptions::plain(plan, BlockOptions::plain("x".into()));
        let hold = |options: &mut RunOptions, factor: Factor, text| {
            let value = Level::parse(factor, text).unwrap().value;
            options.held.more.insert(factor.name(), value);
        };
        let checked = |options: &RunOptions| check(options, &cells(&options.plan).cells);
        hold(&mut options, Factor::ClientRate, "5Mbit/s");
        assert_eq!(checked(&options).unwrap_err().id, "client-rate-without-clients");
        hold(&mut options, Factor::Clients, "20");
        checked(&options).unwrap();
        hold(&mut options, Factor::Proxy, "none");
        checked(&options).unwrap();
        hold(&mut options, Factor::Proxy, "splice");
        assert!(checked(&options).unwrap_err().message.contains("--proxy"));
    }
}
