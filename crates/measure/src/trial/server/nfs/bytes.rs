//! What the server says that it served, beside what the client got.

use super::super::asked_for::AskedFor;
use zc_run::{Cell, Error, Result};

/// Checks that the server has read from its file what the client got: from `before` to `after`, in bytes,
/// where they are counted. It may read something else now and then, but not as much as a READ.
///
/// # Errors
/// It has not.
pub(crate) fn same_bytes(
    cell: &Cell,
    phase: &AskedFor,
    before: u64,
    after: Option<u64>,
) -> Result<()> {
    let Some(served) = after.and_then(|after| after.checked_sub(before)) else { return Ok(()) };
    let one = cell.levels.message_bytes.unwrap_or_default() as u64;
    match served.abs_diff(phase.body_bytes) < one {
        true => Ok(()),
        false => Err(Error::failed(format!(
            "the client got {} bytes, and the server has read {served} from its file",
            phase.body_bytes
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Latencies;
    use zc_run::{Levels, RecvPath, SendPath};

    #[test]
    fn what_the_client_got_is_what_the_server_read() {
        let levels = Levels { message_bytes: Some(4096), ..Levels::default() };
        let cell = Cell { levels, ..Cell::of_paths(SendPath::Nfs3, RecvPath::Recv) };
        let phase = AskedFor {
            responses_per_s: None,
            responses: 10,
            body_bytes: 40_960,
            fault: None,
            latency: Latencies::default(),
        };
        let checked = |after| same_bytes(&cell, &phase, 1000, after);
        checked(Some(41_960)).unwrap();
        checked(Some(42_000)).unwrap();
        checked(None).unwrap();
        let error = checked(Some(1000 + 11 * 4096)).unwrap_err();
        assert!(error.message.contains("has read 45056"), "{}", error.message);
        assert!(checked(Some(1000)).is_err(), "nothing was served");
    }
}
