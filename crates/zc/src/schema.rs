//! `zc schema`: the JSON Schemas of zc's output for programs. They are in the folder schema/ as the
//! types generate them, so that a change of an output is seen in review, and a test holds them
//! against the types. The code that generates them would be 0.75 MB of the packed binary.

use std::io::Read as _;

use clap::Args;
use flate2::read::DeflateDecoder;

use super::known::known;
use super::tell;
use zc_run::Result;
use zc_run::nearest::unknown_among;

/// A document's name and its JSON Schema, compressed by build.rs.
type Schema = (&'static str, &'static [u8]);

macro_rules! schemas {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".json.deflate")))),*]
    };
}

/// The schemas by name, the default first.
const SCHEMAS: [Schema; 12] = schemas![
    "run",
    "show",
    "compare",
    "calibrate",
    "service",
    "http",
    "advise",
    "tune",
    "fleet",
    "trend",
    "doctor",
    "kernels"
];

/// Arguments of `zc schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// `run`: a saved run; `show`: the output of zc show --json, and of zc report --json for one
    /// run; `compare`, `calibrate`, `http`, `advise`, `tune`, `fleet`, `trend`, `doctor`: that of zc
    /// compare --json, zc calibrate --json and so on (zc fleet report --json); `service`: that of
    /// zc soak --service --json; `kernels`: that of zc run --kernel --json [default: run]
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
        Some((_, compressed)) => tell::result(&text(compressed)),
        None => Err(unknown_among("schema", wanted, &SCHEMAS.map(|(name, _)| name))),
    }
}

/// All schemas, by the names of their files: `zc-NAME.schema.json`.
pub(super) fn files() -> Vec<(String, Vec<u8>)> {
    let file = |(name, compressed): &Schema| {
        (format!("zc-{name}.schema.json"), text(compressed).into_bytes())
    };
    SCHEMAS.iter().map(file).collect()
}

fn text(compressed: &[u8]) -> String {
    let mut text = String::new();
    DeflateDecoder::new(compressed).read_to_string(&mut text).expect("build.rs compressed text");
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn schemas_are_what_the_types_generate() {
        let generated: [(&str, String); SCHEMAS.len()] = [
            ("run", zc_run::schema()),
            ("show", zc_report::json_schema()),
            ("compare", zc_report::compare::json_schema()),
            ("calibrate", zc_report::compare::calibration::json_schema()),
            ("service", zc_report::soak::service_schema()),
            ("http", zc_report::http::json_schema()),
            ("advise", zc_report::advise::json_schema()),
            ("tune", zc_report::tune::json_schema()),
            ("fleet", zc_report::fleet::json_schema()),
            ("trend", zc_report::trend::json_schema()),
            ("doctor", zc_report::doctor::json_schema()),
            ("kernels", zc_report::kernels::json_schema()),
        ];
        // As snapshots are.
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema");
            for (name, text) in &generated {
                std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
            }
        }
        for ((name, compressed), (type_name, generated)) in SCHEMAS.iter().zip(&generated) {
            assert_eq!(name, type_name);
            assert!(
                text(compressed) == *generated,
                "src/schema/{name}.json is not what its types generate: \
                 INSTA_UPDATE=always cargo test -p zc schemas_are"
            );
        }
    }
}
