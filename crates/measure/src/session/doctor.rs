//! `zc doctor`: what this user can use on this machine, and how fit the machine is. Every answer
//! comes from trying.

use std::path::PathBuf;
use std::time::Duration;

use super::options::{BlockOptions, RunOptions};
use super::prepare::{Standing, set_up};
use super::proving::try_out;
use crate::plan::Spec;
use zc_kernel::stop::Stop;
use zc_rig::meter;
use zc_rig::trial::{self, Rig};
use zc_run::{Cell, Host, RecvPath, Result, SendPath, Support, SupportRow, Warning};

/// Time for which each path may send for its proof.
const PROOF_TIME: Duration = Duration::from_secs(1);

/// Findings of `zc doctor`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// Facts about this machine.
    pub host: Host,
    /// Every send path, receive path, link and meter, in the order of the documentation.
    pub rows: Vec<SupportRow>,
    /// Conditions that make this machine less fit to measure.
    pub warnings: Vec<Warning>,
}

/// Tries what this user can use on this machine, and how fit the machine is, without measuring
/// anything. Paths are tried on the best link. Call it while the process has one thread, like
/// [`super::run`].
///
/// # Errors
/// No rig can be set up here: no link, no soakers, or no room for the files.
pub fn examine() -> Result<Findings> {
    let options = RunOptions::plain(Spec::default(), BlockOptions::plain(PathBuf::new()));
    let links = trial::LINKS
        .iter()
        .rev()
        .map(|&kind| row("link", kind.name(), trial::try_out_link(kind)))
        .collect();
    let Standing { mut rig, host, warnings, .. } =
        set_up(&options, &[], 0, &Stop::default(), |_| {})?;
    let mut rows: Vec<SupportRow> = links;
    for &send in SendPath::ALL {
        rows.push(row("send path", send.name(), support(&mut rig, send, RecvPath::Recv)?));
    }
    for &recv in RecvPath::ALL {
        let send = recv.form().usual_sender();
        rows.push(row("receive path", recv.name(), support(&mut rig, send, recv)?));
    }
    rows.extend(meter::meters());
    Ok(Findings { host, rows, warnings })
}

fn support(rig: &mut Rig, send: SendPath, recv: RecvPath) -> Result<Support> {
    let cell = Cell { label: format!("{send} to {recv}"), ..Cell::of_paths(send, recv) };
    Ok(match try_out(rig, &cell, PROOF_TIME)? {
        Ok(_) => Support::Yes,
        Err(no) => Support::No(no),
    })
}

fn row(what: &str, name: &str, support: Support) -> SupportRow {
    SupportRow { what: what.to_owned(), name: name.to_owned(), support }
}
