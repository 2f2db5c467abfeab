//! Text of a line without a copy where possible.

use std::borrow::Cow;

use serde::Deserialize;

/// Text that is borrowed from the line unless it contains an escape sequence.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);
