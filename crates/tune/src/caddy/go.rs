//! Variables of the environment that Go's runtime reads (<https://pkg.go.dev/runtime>): what of a
//! server in Go is set beside its configuration.

use super::tree::Config;
use crate::Change;

/// Those that may be tried, and Go's defaults.
pub(super) const VARIABLES: [(&str, &str); 3] =
    [("GOGC", "100"), ("GOMEMLIMIT", "off"), ("GODEBUG", "")];

/// Percents by which the heap may grow until the garbage collector runs, worth a try.
const PERCENTS: [&str; 2] = ["200", "400"];

/// A variable as a line, as it is now.
pub(super) fn present(config: &Config, name: &str) -> String {
    let default = VARIABLES.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
    match config.variables.get(name) {
        Some(value) => format!("env {name}={value}"),
        None if default.is_empty() => format!("no env {name} (default)"),
        None => format!("env {name}={default} (default)"),
    }
}

/// A variable as a change, and as a line.
pub(super) fn variable(name: &str, value: &str) -> (String, Change) {
    let change = Change::Variable { name: name.to_owned(), value: value.to_owned() };
    (format!("env {name}={value}"), change)
}

/// The values of `GOGC` that are tried.
pub(super) fn percents(config: &Config) -> impl Iterator<Item = &'static str> {
    let present = config.variables.get("GOGC").cloned();
    PERCENTS.into_iter().filter(move |value| present.as_deref() != Some(value))
}
