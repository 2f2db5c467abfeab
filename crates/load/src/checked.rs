//! Compares a response that was read with the one that its request was to have.

use super::expected::Expected;
use super::phase::Fetched;
use super::targets::Target;
use zc_run::{Error, Result};

/// Checks the response that `target` had. One of which nothing is expected has to be one that a load
/// can be measured with.
///
/// # Errors
/// [`ErrorKind::Remote`](zc_run::ErrorKind): it is another one.
pub(super) fn check(target: &Target, fetched: Fetched) -> Result<()> {
    let Some(expected) = target.expected else { return fetched.usable().map(drop) };
    if let Some(encoding) = &fetched.encoding {
        return Err(fetched.encoded(encoding));
    }
    let came = Expected {
        status: fetched.status,
        body_bytes: fetched.body_bytes,
        // A server may leave it out.
        content_length: expected
            .content_length
            .map(|length| fetched.content_length.unwrap_or(length)),
        crc32: expected.crc32.map(|_| fetched.crc32),
    };
    if came == expected {
        return Ok(());
    }
    let message = format!(
        "the server does not answer {target} as it should: {} is expected, and {} came",
        expected.in_words(),
        came.in_words()
    );
    Err(Error::remote("unexpected-response", message).help(
        "its configuration changes what is sent, or another server listens there: curl -i shows \
         the whole answer",
    ))
}
