//! One call that receives: into a buffer, or discarded in the kernel where the bytes are a body's
//! for certain, and what it means for the response that is waited for.

use std::io;

use super::counts::Counting;
use super::exchange::{Exchange, Purpose};
use super::reply::{Malformed, Reply};
use super::slot::Slot;

/// Room for a head and a short body in one call.
pub(super) const SCRATCH_BYTES: usize = 16 << 10;

/// A body of which more than this is left in a chunk is discarded in the kernel. In less, the next
/// chunk's line is likely to be in the same call.
const WORTH_DISCARDING: u64 = SCRATCH_BYTES as u64;

/// Result of a read call.
#[derive(Debug)]
pub(super) enum Read {
    /// There is nothing to read now.
    Nothing,
    /// There may be something at the next call.
    Again,
    /// Bytes of the response, which is not whole yet.
    Part {
        /// Whether these were all that had arrived.
        is_all: bool,
    },
    /// The response is whole.
    Answered,
    /// The bytes are no response.
    Malformed(&'static str),
    /// Bytes that nobody asked for.
    Unasked,
    /// The server has closed the connection.
    Ended,
    /// The connection is broken.
    Broken(io::Error),
}

/// Receives once on the connection of `slot`.
pub(super) fn read(slot: &mut Slot, scratch: &mut [u8], counting: &Counting) -> Read {
    let (is_busy, is_fetching) = (slot.exchange.is_some(), slot.is_fetching());
    let Some(wire) = &mut slot.wire else { return Read::Nothing };
    let left = slot.reply.discardable();
    // The end of a body of known length is the end of the response. Between chunks there are lines
    // to be read.
    let discards = is_busy
        && !is_fetching
        && wire.is_plain()
        && (left >= WORTH_DISCARDING || (left > 0 && !slot.reply.head().is_chunked));
    let received =
        if discards { wire.discard(left, counting) } else { wire.receive(scratch, counting) };
    let received = match received {
        Ok(received) if received.bytes == 0 => return Read::Ended,
        Ok(received) => received,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::WouldBlock => Read::Nothing,
                io::ErrorKind::Interrupted => Read::Again,
                _ => Read::Broken(error),
            };
        }
    };
    if !is_busy {
        return Read::Unasked;
    }
    let before = slot.reply.body_bytes();
    let fed = if discards {
        slot.reply.discarded(received.bytes as u64);
        Ok(received.bytes)
    } else {
        feed(&mut slot.reply, slot.exchange.as_mut(), &scratch[..received.bytes])
    };
    counting.body_bytes.add(slot.reply.body_bytes() - before);
    match fed {
        Err(Malformed(what)) => Read::Malformed(what),
        Ok(used) if used < received.bytes => Read::Malformed("bytes follow the response"),
        Ok(_) if slot.reply.is_done() => Read::Answered,
        Ok(_) => Read::Part { is_all: received.is_all },
    }
}

/// Takes bytes of a response, hashed if somebody wants to know them.
fn feed(
    reply: &mut Reply,
    exchange: Option<&mut Exchange>,
    bytes: &[u8],
) -> Result<usize, Malformed> {
    match exchange.map(|exchange| &mut exchange.purpose) {
        Some(Purpose::Fetch(fetch)) => reply.feed(bytes, &mut |body| fetch.hasher.update(body)),
        _ => reply.feed(bytes, &mut |_| ()),
    }
}
