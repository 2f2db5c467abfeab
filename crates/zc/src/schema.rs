//! `zc schema`: the JSON Schemas of zc's output for programs, generated from the types.

use std::io;
use std::path::Path;

use clap::Args;

use super::known::known;
use super::tell;
use zc_run::Result;
use zc_run::nearest::unknown_among;

/// A document's name and the function that generates its JSON Schema.
type Schema = (&'static str, fn() -> String);

/// The schemas by name, the default first.
const SCHEMAS: [Schema; 9] = [
    ("run", zc_run::schema),
    ("show", zc_report::json_schema),
    ("compare", zc_report::compare::json_schema),
    ("calibrate", zc_report::compare::calibration::json_schema),
    ("service", zc_report::soak::service_schema),
    ("http", zc_report::http::json_schema),
    ("advise", zc_report::advise::json_schema),
    ("fleet", zc_report::fleet::json_schema),
    ("trend", zc_report::trend::json_schema),
];

/// Arguments of `zc schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// `run`: a saved run; `show`: the output of zc show --json, and of zc report --json for one
    /// run; `compare`, `calibrate`, `http`, `advise`, `fleet`, `trend`: that of zc compare --json, zc
    /// calibrate --json and so on (zc fleet report --json); `service`: that of zc soak --service --json
    /// [default: run]
    #[arg(
        value_name = "NAME",
        value_parser = known(SCHEMAS.iter().map(|(name, _)| *name)),
        hide_possible_values = true,
    )]
    pub(super) name: Option<String>,
}

/// Prints one.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): there is no schema of that name.
pub(super) fn schema(args: &SchemaArgs) -> Result<()> {
    let wanted = args.name.as_deref().unwrap_or(SCHEMAS[0].0);
    match SCHEMAS.iter().find(|(name, _)| *name == wanted) {
        Some((_, text)) => tell::result(&text()),
        None => Err(unknown_among("schema", wanted, &SCHEMAS.map(|(name, _)| name))),
    }
}

/// Writes all of them into `folder`, as `zc-NAME.schema.json`.
///
/// # Errors
/// The folder cannot be written to.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    SCHEMAS.iter().try_for_each(|(name, text)| {
        std::fs::write(folder.join(format!("zc-{name}.schema.json")), text())
    })
}
