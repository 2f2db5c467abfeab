//! `zc --version --verbose`: which build this is, one `key: value` on each line, as rustc prints
//! it. For reports of errors, and for telling whether two hosts have the same zc.

use std::ffi::OsString;
use std::fmt::Write as _;

use zc_remote::handshake::PROTOCOL;
use zc_run::{FormatVersion, OLDEST_MAJOR};

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
        ("commit", or(env!("ZC_BUILD_COMMIT"), "unknown")),
        ("target", or(env!("ZC_BUILD_TARGET"), "unknown")),
        ("linked", linked),
        ("profile", or(env!("ZC_BUILD_PROFILE"), "unknown")),
        ("features", or(env!("ZC_BUILD_FEATURES"), "none")),
        ("compiler", or(env!("ZC_BUILD_RUSTC"), "unknown")),
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

/// A fact that build.rs recorded, or this word if it recorded nothing.
fn or(fact: &'static str, nothing: &'static str) -> &'static str {
    if fact.is_empty() { nothing } else { fact }
}
