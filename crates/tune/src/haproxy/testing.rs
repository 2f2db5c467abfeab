//! Configurations in memory, for tests.

use std::collections::BTreeMap;

use zc_run::Result;

use super::read::Start;
use super::tree::Config;

const MAIN: &str = "/e/haproxy.cfg";

/// What `haproxy -vv` prints, as far as it matters.
const BUILD: &str = "HAProxy version 2.6.12-1+deb12u4 2026/10/17\nFeature list : +LUA\n";

/// A configuration of one file.
pub(super) fn read(text: &str) -> Result<Config> {
    let start = Start { build: BUILD.to_owned(), ..Start::default() };
    Config::read(MAIN, start, &mut BTreeMap::from([(MAIN, text)]))
}
