//! Compares the bytes that the server says it served with those that the client asked for.

use super::super::asked_for::AskedFor;
use super::super::kept::IoBytes;
use zc_run::{Cell, Error, NfsOperation, Result};

/// Checks that the server has read from its file what the client got, or written there what it
/// gave: from `before` to `after`, where that is counted. It may read or write something else now
/// and then, but not as much as a call.
///
/// # Errors
/// It has not.
pub(crate) fn same_bytes(
    cell: &Cell,
    phase: &AskedFor,
    before: IoBytes,
    after: Option<IoBytes>,
) -> Result<()> {
    let operation = cell.transfer.nfs_call().map_or(NfsOperation::Read, |call| call.operation);
    let is_read = operation == NfsOperation::Read;
    let counted = |bytes: IoBytes| if is_read { bytes.read } else { bytes.written };
    let Some(after) = after else { return Ok(()) };
    let served = counted(after).saturating_sub(counted(before));
    let one = cell.levels.message_bytes.unwrap_or_default() as u64;
    if served.abs_diff(phase.body_bytes) < one {
        return Ok(());
    }
    let bytes = phase.body_bytes;
    Err(Error::failed(
        "bytes-lost",
        match is_read {
            true => {
                format!(
                    "the client got {bytes} bytes, and the server has read {served} from its file"
                )
            }
            false => {
                format!(
                    "the client gave {bytes} bytes, and the server has written {served} to its file"
                )
            }
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_load::Latencies;
    use zc_run::{Levels, NfsCall, NfsVersion, Transfer};

    #[test]
    fn what_the_client_got_or_gave_is_what_the_server_read_or_wrote() {
        let phase = AskedFor {
            responses_per_s: None,
            responses: 10,
            body_bytes: 40_960,
            fault: None,
            latency: Latencies::default(),
        };
        let of = |operation| {
            let levels = Levels { message_bytes: Some(4096), ..Levels::default() };
            let call = NfsCall { version: NfsVersion::V3, operation };
            Cell { levels, ..Cell::with_transfer(Transfer::Nfs(call)) }
        };
        let before = IoBytes { read: 1000, written: 2000 };
        for (operation, at) in
            [(NfsOperation::Read, before.read), (NfsOperation::Write, before.written)]
        {
            let checked = |bytes| {
                let after = match operation {
                    NfsOperation::Read => IoBytes { read: bytes, ..before },
                    _ => IoBytes { written: bytes, ..before },
                };
                same_bytes(&of(operation), &phase, before, Some(after))
            };
            checked(at + 40_960).unwrap();
            checked(at + 41_000).unwrap();
            let error = checked(at + 11 * 4096).unwrap_err();
            assert!(error.id == "bytes-lost" && error.message.contains("45056"), "{error:?}");
            assert!(checked(at).is_err(), "nothing was served");
        }
        same_bytes(&of(NfsOperation::Read), &phase, before, None).unwrap();
    }
}
