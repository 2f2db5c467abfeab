//! The line of a block: its windows, and readings as differences from one another.

use serde::Deserialize;

use super::delta_reading::{Decoder, DeltaReading};
use super::room::Room;
use crate::slot_line::{Readings, SlotLine};
use crate::{Block, BlockSamples, Dropped, FailedTrial, SoftirqCounts};

/// Decodes the line of a block. Names in `known` are shared with it, and `known` has those of this
/// block afterwards.
///
/// # Errors
/// The line is not a block. The error's column is that of the line.
pub(crate) fn read_block(line: &[u8], known: &mut SoftirqCounts) -> serde_json::Result<Block> {
    let line = line.strip_suffix(b",").unwrap_or(line);
    serde_json::from_slice::<BlockLine<'_>>(line)?.block(known, &mut Room::for_text(line.len()))
}

/// A block.
#[derive(Debug, Deserialize)]
pub(super) struct BlockLine<'a> {
    /// Counts from 0.
    index: usize,
    /// The session that it belongs to; since 3.2.
    #[serde(default)]
    session: usize,
    /// When it began: CLOCK_MONOTONIC.
    began_ns: u64,
    /// The speed of a short memcpy of memory that is not in the cache.
    memcpy_bytes_per_s: Option<f64>,
    /// Idle windows and trials in the order of time.
    #[serde(borrow)]
    slots: Vec<SlotLine<DeltaReading<'a>>>,
    /// Trials that failed. The rest of the block counts.
    #[serde(default)]
    failed: Vec<FailedTrial>,
    /// Samples, in runs of `zc profile`.
    #[serde(default)]
    samples: Option<BlockSamples>,
    /// Null if the block counts; otherwise why it does not.
    dropped: Option<Dropped>,
}

impl BlockLine<'_> {
    /// # Errors
    /// A reading contradicts the one before it, or more is restored than there is room for.
    pub(super) fn block(
        self,
        known: &mut SoftirqCounts,
        room: &mut Room,
    ) -> serde_json::Result<Block> {
        let Self { index, session, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped } =
            self;
        let (mut near, mut far) = (Decoder::sharing(known), Decoder::sharing(known));
        // Not collected into a Result, which does not know how many there are: half of the memory
        // of a run would be room for more.
        let mut read = Vec::with_capacity(slots.len());
        let room = std::cell::RefCell::new(room);
        for slot in slots {
            let slot = slot.slot(
                |opened, closed| window(&mut near, &opened, &closed, &mut room.borrow_mut()),
                |opened, closed| window(&mut far, &opened, &closed, &mut room.borrow_mut()),
            );
            read.push(slot.map_err(serde::de::Error::custom)?);
        }
        let slots = read;
        *known = near.softirqs();
        Ok(Block { index, session, began_ns, memcpy_bytes_per_s, slots, failed, samples, dropped })
    }
}

/// Decodes both readings of a window.
fn window(
    decoder: &mut Decoder,
    opened: &DeltaReading<'_>,
    closed: &DeltaReading<'_>,
    room: &mut Room,
) -> Readings {
    Ok((decoder.opened(opened, room)?, decoder.closed(closed, room)?))
}

#[cfg(test)]
mod tests;
