//! The proofs of a run: every cell sends the files once before anything is measured.

use std::time::Duration;

use super::steps::Steps;
use crate::plan::spec::Cells;
use zc_rig::trial::Rig;
use zc_run::{Cell, Probe, Result, Support, SupportRow, Unavailable};

/// The share of the budget that all proofs may take: over a slow link, or by calls of a byte, all
/// files take longer than the whole run may.
const SHARE: f64 = 0.1;

const WHAT: &str = "proving the bytes of";

/// Proves every cell; a cell that cannot run here becomes a row with its reason.
pub(super) fn prove(
    rig: &mut Rig,
    wanted: Cells,
    probes: &mut Vec<Probe>,
    steps: &mut Steps,
) -> Result<(Cells, Vec<SupportRow>)> {
    let Cells { cells: wanted, reference } = wanted;
    let (mut cells, mut unavailable) = (wanted.clone(), Vec::new());
    let wanted = to_try(&wanted);
    let time = steps.budget.length.mul_f64(SHARE / wanted.len().max(1) as f64);
    for cell in wanted {
        steps.enter(cell, WHAT)?;
        let tried = try_out(rig, cell, time);
        if !matches!(tried, Ok(Ok(_))) {
            steps.goes_on(&format!("{WHAT} {}", cell.label))?;
        }
        match tried? {
            Ok(probe) => probes.push(probe),
            Err(no) => {
                unavailable.push(cannot_run(cell.label.clone(), &reference, no)?);
                cells.retain(|other| other.label != cell.label);
            }
        }
    }
    Ok((Cells { cells, reference }, unavailable))
}

/// The cells without the control, which is the reference under another name. They are ordered so
/// that the host changes its state as seldom as possible, and otherwise as in the plan.
pub(super) fn to_try(cells: &[Cell]) -> Vec<&Cell> {
    let mut ordered: Vec<&Cell> = cells.iter().filter(|cell| !cell.control).collect();
    ordered.sort_by_key(|cell| &cell.levels.state);
    ordered
}

/// Proves one cell, with as many bytes as it sends in about `time`. A cell that fails during its
/// proof is not available either, and the failure is the reason.
///
/// # Errors
/// The files have changed, or the other machine is gone.
pub(super) fn try_out(
    rig: &mut Rig,
    cell: &Cell,
    time: Duration,
) -> Result<std::result::Result<Probe, Unavailable>> {
    match rig.prove(cell, time) {
        Err(error) if !error.kind.ends_a_run() => {
            Ok(Err(Unavailable { remedy: error.help, ..Unavailable::failed(error.message) }))
        }
        proven => proven,
    }
}

/// The row of a cell that cannot run here.
///
/// # Errors
/// It is the reference.
pub(super) fn cannot_run(label: String, reference: &str, no: Unavailable) -> Result<SupportRow> {
    if label == reference {
        return Err(no.into_error(
            "reference-unavailable",
            format!("the reference \"{reference}\" cannot run here"),
        ));
    }
    Ok(SupportRow { what: "cell".into(), name: label, support: Support::No(no) })
}
