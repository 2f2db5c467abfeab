//! A block as one line of the file: every observation, written as its difference from the previous
//! one.
//!
//! Counters grow by little from one edge of a window to the next, so differences take a third of
//! the space of the counts, and of the time to read them. Every [`Block`] is restored exactly;
//! [`delta_reading`] has the rules. A line can be read by itself: the first reading of a block is
//! absolute.

mod delta_array;
mod delta_reading;
mod room;
mod text;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Block, BlockSamples, Dropped, FailedTrial, FragmentCounts, IdleWindow, Reading, RemoteReport,
    RemoteWindow, Slot, SocketFacts, SoftirqCounts, Trial, TrialKind, Usage,
};
use delta_reading::{DeltaCodec, DeltaReading};
use text::Text;

pub(crate) use room::Room;

/// Encodes a block.
pub(super) fn write(block: &Block) -> String {
    serde_json::to_string(&BlockLine::of(block))
        .expect("these types always serialise: no maps with non-string keys")
}

/// Decodes a block. Names in `known` are shared with it, and `known` has those of this block
/// afterwards.
///
/// # Errors
/// The line is not a block. The error's column is that of the line.
pub(super) fn read(line: &[u8], known: &mut SoftirqCounts) -> serde_json::Result<Block> {
    serde_json::from_slice::<BlockLine<'_>>(line)?.block(known, &mut Room::of(line.len()))
}

/// A block: every cell of the plan once, in random order, with its idle windows. One line of the
/// file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Block")]
pub(super) struct BlockLine<'a> {
    /// Counts from 0.
    index: usize,
    /// The session that it belongs to; since 3.2.
    #[serde(default, skip_serializing_if = "is_first")]
    session: usize,
    /// When it began: CLOCK_MONOTONIC.
    began_ns: u64,
    /// The speed of a short memcpy of memory that is not in the cache.
    memcpy_bytes_per_s: Option<f64>,
    /// Idle windows and trials in the order of time.
    #[serde(borrow)]
    slots: Vec<SlotLine<'a>>,
    /// Trials that failed. The rest of the block counts.
    #[serde(default, skip_serializing_if = "<[FailedTrial]>::is_empty")]
    failed: Cow<'a, [FailedTrial]>,
    /// Samples, in runs of `zc profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples: Option<Cow<'a, BlockSamples>>,
    /// Null if the block counts; otherwise why it does not.
    dropped: Option<Dropped>,
}

/// A trial's window, or an idle window if there is no `cell`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Slot")]
struct SlotLine<'a> {
    /// The cell's label.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    cell: Option<Text<'a>>,
    /// Kind of the trial; present if `cell` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<TrialKind>,
    /// All meters as the window opened.
    #[serde(borrow)]
    opened: DeltaReading<'a>,
    /// All meters as it closed.
    #[serde(borrow)]
    closed: DeltaReading<'a>,
    /// Bytes sent and received over the whole trial, warm-up and drain included.
    #[serde(default, skip_serializing_if = "is_zero")]
    whole_bytes: u64,
    /// Zero-copy sends completed over the whole trial.
    #[serde(default, skip_serializing_if = "is_zero")]
    whole_completions: u64,
    /// Of these, the sends that the kernel flagged as copied.
    #[serde(default, skip_serializing_if = "is_zero")]
    whole_copied: u64,
    /// Packets and their fragments, where they were counted; since 3.4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fragments: Option<FragmentCounts>,
    /// CPU time of the sender threads over the whole trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole_sender_usage: Option<Usage>,
    /// State of the sockets as the window closed; since 3.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sockets: Option<Cow<'a, SocketFacts>>,
    /// The same window on the other machine, if a zc measures there. Its readings are differences
    /// from one another.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    remote: Option<RemoteLine<'a>>,
    /// The far end's report about the trial, if it is not a zc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remote_report: Option<RemoteReport>,
}

/// A window on the other machine, by its own clock.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RemoteWindow")]
struct RemoteLine<'a> {
    /// All meters as the window opened.
    #[serde(borrow)]
    opened: DeltaReading<'a>,
    /// All meters as it closed.
    #[serde(borrow)]
    closed: DeltaReading<'a>,
}

fn is_first(session: &usize) -> bool {
    *session == 0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl<'a> BlockLine<'a> {
    fn of(block: &'a Block) -> Self {
        let Block { index, session, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped } =
            block;
        let (mut near, mut far) = (DeltaCodec::default(), DeltaCodec::default());
        Self {
            index: *index,
            session: *session,
            began_ns: *began_ns,
            memcpy_bytes_per_s: *memcpy_bytes_per_s,
            slots: slots.iter().map(|slot| SlotLine::of(slot, &mut near, &mut far)).collect(),
            failed: Cow::Borrowed(failed),
            samples: samples.as_ref().map(Cow::Borrowed),
            dropped: dropped.clone(),
        }
    }

    /// # Errors
    /// A reading contradicts the one before it, or more is restored than there is room for.
    pub(super) fn block(
        self,
        known: &mut SoftirqCounts,
        room: &mut Room,
    ) -> serde_json::Result<Block> {
        let Self { index, session, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped } =
            self;
        let (mut near, mut far) = (DeltaCodec::sharing(known), DeltaCodec::sharing(known));
        // Not collected into a Result, which does not know how many there are: half of the memory
        // of a run would be room for more.
        let mut read = Vec::with_capacity(slots.len());
        for slot in slots {
            let slot = slot.slot(&mut near, &mut far, room);
            read.push(slot.map_err(serde::de::Error::custom)?);
        }
        let slots = read;
        *known = near.softirqs();
        let (failed, samples) = (failed.into_owned(), samples.map(Cow::into_owned));
        Ok(Block { index, session, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped })
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
                fragments: None,
                whole_sender_usage: None,
                sockets: None,
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
                fragments,
                whole_sender_usage,
                sockets,
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
                fragments: *fragments,
                whole_sender_usage: *whole_sender_usage,
                sockets: sockets.as_ref().map(Cow::Borrowed),
                remote: remote.as_deref().map(|window| RemoteLine::of(window, far)),
                remote_report: *remote_report,
            },
        }
    }

    fn slot(
        self,
        near: &mut DeltaCodec,
        far: &mut DeltaCodec,
        room: &mut Room,
    ) -> Result<Slot, String> {
        let (opened, closed) = both(&self.opened, &self.closed, near, room)?;
        let remote = self.remote.map(|remote| remote.window(far, room)).transpose()?;
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
                fragments: self.fragments,
                whole_sender_usage: self.whole_sender_usage,
                sockets: self.sockets.map(Cow::into_owned),
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

    fn window(self, far: &mut DeltaCodec, room: &mut Room) -> Result<Box<RemoteWindow>, String> {
        let (opened, closed) = both(&self.opened, &self.closed, far, room)?;
        Ok(Box::new(RemoteWindow { opened, closed }))
    }
}

fn both(
    opened: &DeltaReading<'_>,
    closed: &DeltaReading<'_>,
    past: &mut DeltaCodec,
    room: &mut Room,
) -> Result<(Reading, Reading), String> {
    Ok((past.opened(opened, room)?, past.closed(closed, room)?))
}

#[cfg(test)]
mod tests;
