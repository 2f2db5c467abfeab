//! A run of `zc run tls` on a machine that does not exist.

use super::synthetic::{Synthetic, TrueCell};
use zc_run::{Experiment, Factor, Level, Run, SendPath};

/// A run of these ways of sending: the path, its cipher (`clear` for none), and what the sender's
/// CPU loses per KiB in ns. The first is the reference. The receiver loses 400 ns per KiB, which is
/// no cost of the sender.
pub fn tls_run(ways: &[(SendPath, &str, f64)], world: Synthetic) -> Run {
    let cells = ways.iter().map(|(send, cipher, ns_per_kib)| {
        let mut cell = TrueCell::new(*send, *ns_per_kib, 400.0);
        cell.cell.transfer = cell.cell.transfer.paired();
        cell.cell.label = format!("{send} {cipher}");
        if let Ok(level) = Level::parse(Factor::Cipher, cipher) {
            level.put(&mut cell.cell);
        }
        cell
    });
    let mut cells: Vec<TrueCell> = cells.collect();
    if let Some(first) = cells.first() {
        cells.insert(1, first.control());
    }
    let factors = vec![Factor::Send, Factor::Cipher];
    let mut run = Synthetic { cells, factors, unsoaked: false, ..world }.run();
    run.header.plan.experiment = Experiment::Tls.name().to_owned();
    run
}
