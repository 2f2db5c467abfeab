//! Text of a line without a copy where possible.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text that is borrowed from the line unless it contains an escape sequence.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);
