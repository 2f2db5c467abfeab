//! A window as it stands in a file: a trial if it has a cell, an idle window if it has none.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    FragmentCounts, IdleWindow, Reading, RemoteReport, RemoteWindow, Slot, SocketFacts, Trial,
    TrialKind, Usage,
};

/// A window whose readings are saved as `R`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SlotLine<R> {
    cell: Option<String>,
    kind: Option<TrialKind>,
    opened: R,
    closed: R,
    #[serde(default)]
    whole_bytes: u64,
    whole_lost_bytes: Option<u64>,
    #[serde(default)]
    whole_completions: u64,
    #[serde(default)]
    whole_copied: u64,
    fragments: Option<FragmentCounts>,
    whole_sender_usage: Option<Usage>,
    sockets: Option<SocketFacts>,
    remote: Option<WindowLine<R>>,
    remote_report: Option<RemoteReport>,
}

/// The same window on the other machine.
#[derive(Debug, Deserialize, JsonSchema)]
struct WindowLine<R> {
    opened: R,
    closed: R,
}

/// Both readings of a window, or what is wrong with them.
pub(super) type Readings = Result<(Reading, Reading), String>;

impl<R> SlotLine<R> {
    /// Makes the slot. `near` and `far` decode the readings of this machine and of the other one.
    ///
    /// # Errors
    /// Errors of `near` and `far`, and a trial without its kind.
    pub(super) fn slot(
        self,
        near: impl FnOnce(R, R) -> Readings,
        far: impl FnOnce(R, R) -> Readings,
    ) -> Result<Slot, String> {
        let (opened, closed) = near(self.opened, self.closed)?;
        let remote = match self.remote {
            Some(window) => {
                let (opened, closed) = far(window.opened, window.closed)?;
                Some(Box::new(RemoteWindow { opened, closed, receiver: None }))
            }
            None => None,
        };
        Ok(match self.cell {
            None => Slot::Idle(IdleWindow { opened, closed, remote }),
            Some(cell) => Slot::Trial(Trial {
                cell,
                kind: self.kind.ok_or("a trial without its kind")?,
                opened,
                closed,
                whole_bytes: self.whole_bytes,
                whole_lost_bytes: self.whole_lost_bytes,
                whole_completions: self.whole_completions,
                whole_copied: self.whole_copied,
                fragments: self.fragments,
                whole_sender_usage: self.whole_sender_usage,
                sockets: self.sockets,
                remote,
                remote_report: self.remote_report,
            }),
        })
    }
}

impl TryFrom<SlotLine<Reading>> for Slot {
    type Error = String;

    fn try_from(line: SlotLine<Reading>) -> Result<Self, String> {
        let plain = |opened, closed| Ok((opened, closed));
        line.slot(plain, plain)
    }
}
