//! `zc --version --verbose`: which build this is, one `key: value` on each line, as rustc prints it.
//! For reports of errors, and for telling whether two hosts have the same zc.

use std::ffi::OsString;
use std::fmt::Write as _;

use zc_measure::session::PROTOCOL;
use zc_run::{FormatVersion, OLDEST_MAJOR};

/// Facts that build.rs recorded. An empty string is an unknown one.
struct Build {
    commit: &'static str,
    target: &'static str,
    profile: &'static str,
    features: &'static str,
    rustc: &'static str,
}

const BUILD: Build = Build {
    commit: env!("ZC_BUILD_COMMIT"),
    target: env!("ZC_BUILD_TARGET"),
    profile: env!("ZC_BUILD_PROFILE"),
    features: env!("ZC_BUILD_FEATURES"),
    rustc: env!("ZC_BUILD_RUSTC"),
};

/// Whether the arguments of a `zc --version` ask for all of it: clap stops at the first `--version`
/// and does not tell.
pub(super) fn is_verbose(mut words: impl Iterator<Item = OsString>) -> bool {
    words.any(|word| matches!(word.to_str(), Some("--verbose" | "-v" | "-vV" | "-Vv")))
}

/// Version, build, and the formats by which this zc works with others.
pub(super) fn verbose() -> String {
    let format = FormatVersion::current();
    let linked = if cfg!(target_feature = "crt-static") { "statically" } else { "dynamically" };
    let lines = [
        ("commit", known(BUILD.commit)),
        ("target", known(BUILD.target)),
        ("linked", linked),
        ("profile", known(BUILD.profile)),
        ("features", if BUILD.features.is_empty() { "none" } else { BUILD.features }),
        ("compiler", known(BUILD.rustc)),
        (
            "saved runs",
            &format!("writes {}.{}, reads {OLDEST_MAJOR} and later", format.major, format.minor),
        ),
        ("control protocol", &PROTOCOL.to_string()),
    ];
    let mut text = format!("zc {}\n", env!("CARGO_PKG_VERSION"));
    for (key, value) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{key}: {value}");
    }
    text
}

/// A recorded fact, or that it is unknown.
fn known(fact: &'static str) -> &'static str {
    if fact.is_empty() { "unknown" } else { fact }
}
