//! Configurations in memory, for tests.

use std::collections::BTreeMap;

use zc_run::{Error, Result};

use super::read::Start;
use super::tree::Config;
use crate::file::Files;

const MAIN: &str = "/e/haproxy.cfg";

/// What `haproxy -vv` prints, as far as it matters.
const BUILD: &str = "HAProxy version 2.6.12-1+deb12u4 2026/10/17\nFeature list : +LUA\n";

/// Files by their paths.
pub(super) struct Tree(BTreeMap<String, String>);

impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        Self(files.map(|(path, text)| (path.to_owned(), text.to_owned())).into())
    }
}

impl Files for Tree {
    fn read(&mut self, path: &str) -> Result<String> {
        let text = self.0.get(path).cloned();
        text.ok_or_else(|| Error::input("cannot-read-configuration", format!("no \"{path}\"")))
    }

    fn names(&mut self, folder: &str) -> Vec<String> {
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let within = self.0.keys().filter_map(|path| path.strip_prefix(&folder));
        within.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }
}

/// A configuration of one file.
pub(super) fn read(text: &str) -> Result<Config> {
    let start = Start { build: BUILD.to_owned(), ..Start::default() };
    Config::read(MAIN, start, &mut Tree::from([(MAIN, text)]))
}
