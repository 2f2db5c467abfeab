//! A block as it stands on its line of the file: every observation as it was made, written as what it differs in from the one before it.
//!
//! Counters grow by little from one edge of a window to the next, so differences are a third as long as the counts, and read as much
//! faster. Nothing is computed away: [`delta_reading`] has the rules, and every [`Block`] comes back as it was. A line stands for itself: the
//! first reading of a block differs from nothing.

mod delta_array;
mod delta_reading;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{
    Block, BlockSamples, Dropped, FailedTrial, IdleWindow, Reading, RemoteReport, RemoteWindow, Slot, SoftirqCounts,
    Trial, TrialKind, Usage,
};
use delta_reading::{DeltaCodec, DeltaReading};

/// The block as text.
pub(super) fn write(block: &Block) -> String {
    serde_json::to_string(&BlockLine::of(block)).expect("these types always serialise: no maps with non-string keys")
}

/// The block that stands in a line. Names that `known` holds already are shared with it, and `known` holds those of this block after.
///
/// # Errors
/// The line is no block. The error's column is that of the line.
pub(super) fn read(line: &[u8], known: &mut SoftirqCounts) -> serde_json::Result<Block> {
    serde_json::from_slice::<BlockLine<'_>>(line)?.block(known)
}

/// What stands in a line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BlockLine<'a> {
    index: usize,
    began_ns: u64,
    memcpy_bytes_per_s: Option<f64>,
    #[serde(borrow)]
    slots: Vec<SlotLine<'a>>,
    #[serde(default, skip_serializing_if = "<[FailedTrial]>::is_empty")]
    failed: Cow<'a, [FailedTrial]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples: Option<Cow<'a, BlockSamples>>,
    dropped: Option<Dropped>,
}

/// A window: an idle one where it has no `cell`.
#[derive(Debug, Serialize, Deserialize)]
struct SlotLine<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    cell: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<TrialKind>,
    #[serde(borrow)]
    opened: DeltaReading<'a>,
    #[serde(borrow)]
    closed: DeltaReading<'a>,
    #[serde(default, skip_serializing_if = "is_zero")]
    whole_bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    whole_completions: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    whole_copied: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole_sender_usage: Option<Usage>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    remote: Option<RemoteLine<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remote_report: Option<RemoteReport>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RemoteLine<'a> {
    #[serde(borrow)]
    opened: DeltaReading<'a>,
    #[serde(borrow)]
    closed: DeltaReading<'a>,
}

/// Text that is borrowed from the line unless something in it is escaped there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl<'a> BlockLine<'a> {
    fn of(block: &'a Block) -> Self {
        let Block { index, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped } = block;
        let (mut near, mut far) = (DeltaCodec::default(), DeltaCodec::default());
        Self {
            index: *index,
            began_ns: *began_ns,
            memcpy_bytes_per_s: *memcpy_bytes_per_s,
            slots: slots.iter().map(|slot| SlotLine::of(slot, &mut near, &mut far)).collect(),
            failed: Cow::Borrowed(failed),
            samples: samples.as_ref().map(Cow::Borrowed),
            dropped: dropped.clone(),
        }
    }

    /// # Errors
    /// A reading that cannot be one.
    pub(super) fn block(self, known: &mut SoftirqCounts) -> serde_json::Result<Block> {
        let Self { index, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped } = self;
        let (mut near, mut far) = (DeltaCodec::sharing(known), DeltaCodec::sharing(known));
        // Not collected into a Result, which does not know how many there are: half of the memory of a run would be room for more.
        let mut read = Vec::with_capacity(slots.len());
        for slot in slots {
            read.push(slot.slot(&mut near, &mut far).map_err(serde::de::Error::custom)?);
        }
        let slots = read;
        *known = near.softirqs();
        let (failed, samples) = (failed.into_owned(), samples.map(Cow::into_owned));
        Ok(Block { index, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped })
    }
}

impl<'a> SlotLine<'a> {
    fn of(slot: &'a Slot, near: &mut DeltaCodec, far: &mut DeltaCodec) -> Self {
        match slot {
            Slot::Idle(IdleWindow { opened, closed, remote }) => Self {
                cell: None,
                kind: None,
                opened: near.opens(opened),
                closed: near.closes(closed),
                whole_bytes: 0,
                whole_completions: 0,
                whole_copied: 0,
                whole_sender_usage: None,
                remote: remote.as_deref().map(|window| RemoteLine::of(window, far)),
                remote_report: None,
            },
            Slot::Trial(Trial {
                cell,
                kind,
                opened,
                closed,
                whole_bytes,
                whole_completions,
                whole_copied,
                whole_sender_usage,
                remote,
                remote_report,
            }) => Self {
                cell: Some(Text(Cow::Borrowed(cell))),
                kind: Some(*kind),
                opened: near.opens(opened),
                closed: near.closes(closed),
                whole_bytes: *whole_bytes,
                whole_completions: *whole_completions,
                whole_copied: *whole_copied,
                whole_sender_usage: *whole_sender_usage,
                remote: remote.as_deref().map(|window| RemoteLine::of(window, far)),
                remote_report: *remote_report,
            },
        }
    }

    fn slot(self, near: &mut DeltaCodec, far: &mut DeltaCodec) -> Result<Slot, String> {
        let (opened, closed) = both(&self.opened, &self.closed, near)?;
        let remote = self.remote.map(|remote| remote.window(far)).transpose()?;
        Ok(match self.cell {
            None => Slot::Idle(IdleWindow { opened, closed, remote }),
            Some(cell) => Slot::Trial(Trial {
                cell: cell.0.into_owned(),
                kind: self.kind.ok_or("a trial without its kind")?,
                opened,
                closed,
                whole_bytes: self.whole_bytes,
                whole_completions: self.whole_completions,
                whole_copied: self.whole_copied,
                whole_sender_usage: self.whole_sender_usage,
                remote,
                remote_report: self.remote_report,
            }),
        })
    }
}

impl<'a> RemoteLine<'a> {
    fn of(window: &'a RemoteWindow, far: &mut DeltaCodec) -> Self {
        Self { opened: far.opens(&window.opened), closed: far.closes(&window.closed) }
    }

    fn window(self, far: &mut DeltaCodec) -> Result<Box<RemoteWindow>, String> {
        let (opened, closed) = both(&self.opened, &self.closed, far)?;
        Ok(Box::new(RemoteWindow { opened, closed }))
    }
}

fn both(
    opened: &DeltaReading<'_>,
    closed: &DeltaReading<'_>,
    past: &mut DeltaCodec,
) -> Result<(Reading, Reading), String> {
    Ok((past.opened(opened)?, past.closed(closed)?))
}

#[cfg(test)]
mod tests;
