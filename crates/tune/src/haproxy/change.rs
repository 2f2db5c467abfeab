//! What changes mean for a configuration: which lines are replaced, added or taken away.
//!
//! A change of a proxy is written to the proxy itself, not to the `defaults` it inherits, which are
//! other proxies', too.

use super::tree::{Config, Line, Section};
use crate::Change;
use crate::site::Site;

/// The sections that a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// `global`.
    Global,
    /// The proxy that clients come to.
    Front,
    /// The one with the servers.
    Back,
    /// Both: what either of them says is in effect.
    Both,
}

/// Keywords of the global section beside those that begin with one of [`GLOBAL_BEGINS`].
const GLOBAL: [&str; 8] = [
    "busy-polling",
    "maxcomprate",
    "maxpipes",
    "maxsslconn",
    "nbthread",
    "noepoll",
    "noreuseport",
    "nosplice",
];
const GLOBAL_BEGINS: [&str; 5] = ["h1-", "h2-", "profiling.", "ssl-", "tune."];

/// Keywords of the section with the servers.
const BACK: [&str; 9] = [
    "balance",
    "fullconn",
    "hash-type",
    "http-reuse",
    "option prefer-last-server",
    "option tcp-smart-connect",
    "retries",
    "timeout connect",
    "timeout server",
];

/// Keywords that are in effect if either section has them.
const BOTH: [&str; 6] = [
    "option http-keep-alive",
    "option http-no-delay",
    "option http-server-close",
    "option httpclose",
    "option splice-auto",
    "option splice-response",
];

/// The sections that a keyword is for.
pub(super) fn home(key: &str) -> Home {
    if GLOBAL.contains(&key) || GLOBAL_BEGINS.iter().any(|begin| key.starts_with(begin)) {
        Home::Global
    } else if BACK.contains(&key) {
        Home::Back
    } else if BOTH.contains(&key) {
        Home::Both
    } else {
        Home::Front
    }
}

/// Where a line is written, by the indices of sections and their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// In place of a line.
    At(usize, usize),
    /// As the first of a section.
    FirstIn(usize),
    /// In a global section before all others.
    NewGlobal,
}

/// What is written at a spot; `None` takes the line there away.
pub(super) type Edit = (Spot, Option<Vec<String>>);

/// The edits of directives. Of two lines that set the same the last is written.
pub(super) fn edits(config: &Config, site: &Site, changes: &[&Change]) -> Vec<Edit> {
    let mut out = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let Change::Directive { name: key, args } = change else { continue };
        if changes[number + 1..].iter().any(|later| later.sets() == *key) {
            continue;
        }
        for sections in config.homes(site, key) {
            let mut lines = Vec::new();
            for at in &sections {
                let all = config.sections[*at].lines.iter().enumerate();
                let same = all.filter(|(_, line)| line.key() == *key);
                lines.extend(same.map(|(number, _)| Spot::At(*at, number)));
            }
            // The last counts.
            let new = sections.first().map_or(Spot::NewGlobal, |at| Spot::FirstIn(*at));
            out.push((lines.pop().unwrap_or(new), Some(args.clone())));
            out.extend(lines.into_iter().map(|spot| (spot, None)));
        }
    }
    out
}

impl Config {
    /// The sections that a line of this keyword is for. Those that stand together are one.
    fn homes(&self, site: &Site, key: &str) -> Vec<Vec<usize>> {
        let (front, back) = (site.index, self.behind(site.index).index);
        match home(key) {
            Home::Global => {
                let is_global = |at: &usize| self.sections[*at].kind() == "global";
                vec![(0..self.sections.len()).filter(is_global).collect()]
            }
            Home::Back => vec![vec![back]],
            Home::Both if front != back => vec![vec![front], vec![back]],
            Home::Both | Home::Front => vec![vec![front]],
        }
    }

    /// The line that is in effect for the site.
    pub(super) fn in_effect(&self, site: &Site, key: &str) -> Option<&Line> {
        let back = || self.of_proxy(self.behind(site.index).index, key);
        match home(key) {
            Home::Global => self.global(key),
            Home::Back => back(),
            Home::Front => self.of_proxy(site.index, key),
            Home::Both => {
                // What one of them switches on is on.
                let front = self.of_proxy(site.index, key);
                front.filter(|line| !line.is_no()).or_else(back).or(front)
            }
        }
    }
}

/// The sections of a configuration with the edits, and the lines of a new global section.
pub(super) fn applied(config: &Config, edits: &[Edit]) -> (Vec<Line>, Vec<Section>) {
    let mut sections = config.sections.clone();
    for (spot, words) in edits {
        if let Spot::At(section, line) = spot {
            sections[*section].lines[*line].words = words.clone().unwrap_or_default();
        }
    }
    for section in &mut sections {
        section.lines.retain(|line| !line.words.is_empty());
    }
    let mut global = Vec::new();
    for (spot, words) in edits {
        let line = Line::new(words.as_deref().unwrap_or_default());
        match spot {
            Spot::At(..) => {}
            Spot::FirstIn(section) => sections[*section].lines.insert(0, line),
            Spot::NewGlobal => global.push(line),
        }
    }
    (global, sections)
}
