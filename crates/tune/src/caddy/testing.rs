//! Configurations in memory, for tests.

use std::collections::BTreeMap;

use zc_run::Result;

use super::read::Start;
use super::tree::Config;

pub(super) const MAIN: &str = "/e/Caddyfile";

/// A configuration of one file.
pub(super) fn read(text: &str) -> Result<Config> {
    read_files(&[(MAIN, text)])
}

/// A configuration of several, with [`MAIN`] among them.
pub(super) fn read_files(files: &[(&str, &str)]) -> Result<Config> {
    let start = Start { build: "Caddy 2.6.2".to_owned(), ..Start::default() };
    Config::read(MAIN, start, &mut files.iter().copied().collect::<BTreeMap<_, _>>())
}
