//! `zc schema`: the JSON Schemas of what zc writes for programs, made from the types that write it.

use super::args::SchemaArgs;
use super::tell;
use zc_run::Result;
use zc_run::nearest::unknown_among;

/// What there is a schema of, the default first.
pub(super) const NAMES: [&str; 3] = ["run", "show", "compare"];

/// Prints one.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): there is no schema of that name.
pub(super) fn schema(args: &SchemaArgs) -> Result<()> {
    let text = match args.name.as_deref().unwrap_or(NAMES[0]) {
        "run" => zc_run::schema(),
        "show" => zc_report::json_schema(),
        "compare" => zc_report::compare::json_schema(),
        other => return Err(unknown_among("schema", other, &NAMES)),
    };
    tell::result(&text)
}
