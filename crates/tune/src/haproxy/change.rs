//! What changes mean for a configuration: which lines are replaced, added or taken away.
//!
//! A change of a proxy is written to the proxy itself, not to the `defaults` it inherits, which are
//! other proxies', too. Of lines that it has already the last is replaced.

use std::collections::BTreeMap;

use super::tree::{Config, Line, Section, key};
use crate::Change;
use crate::site::Site;

/// The sections that a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `global`.
    Global,
    /// The proxy that clients come to.
    Front,
    /// The one with the servers.
    Back,
    /// Both: what either of them says is in effect.
    Both,
}

impl Place {
    /// Its name before a line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Front => "frontend",
            Self::Back => "backend",
            Self::Both => "proxy",
        }
    }

    /// The place of a name, with or without its colon.
    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [Self::Global, Self::Front, Self::Back, Self::Both];
        all.into_iter().find(|place| place.name() == name.trim_end_matches(':'))
    }

    /// A change that sets a line there.
    pub(super) fn change(self, words: &[String]) -> Change {
        Change::Directive { name: format!("{} {}", self.name(), key(words)), args: words.to_vec() }
    }
}

/// Where a line is written, by the indices of sections and their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    /// In place of a line.
    At(usize, usize),
    /// As the first of a section; the number keeps several apart.
    FirstIn(usize, usize),
    /// In a global section before all others.
    NewGlobal(usize),
}

/// What is written at spots; `None` takes the line there away.
pub(super) type Edits = BTreeMap<Spot, Option<Vec<String>>>;

/// Keywords of which a section can have several that all count.
const LISTS: [&str; 9] = [
    "acl",
    "cpu-map",
    "default-server",
    "http-after-response",
    "http-request",
    "http-response",
    "option httpchk",
    "stick",
    "tcp-request",
];

/// The edits of directives.
pub(super) fn of_directives(config: &Config, site: &Site, changes: &[&Change]) -> Edits {
    let mut out = Edits::new();
    for (number, change) in changes.iter().enumerate() {
        let Change::Directive { name, args } = change else { continue };
        let Some((place, key)) = name.split_once(' ') else { continue };
        let Some(place) = Place::named(place) else { continue };
        // Of two lines that set the same the last is written.
        let again = |edit: &Option<Vec<String>>| {
            edit.as_ref().is_some_and(|words| super::tree::key(words) == key) && !is_list(key)
        };
        let sections = config.sections_of(site, place);
        let is_new = |spot: &Spot| match spot {
            Spot::FirstIn(section, _) => sections.contains(section),
            Spot::NewGlobal(_) => place == Place::Global,
            Spot::At(..) => false,
        };
        out.retain(|spot, edit| !(is_new(spot) && again(edit)));
        if place == Place::Global {
            let all: Vec<(usize, usize)> =
                sections.iter().flat_map(|at| config.lines_with(*at, key)).collect();
            match (all.is_empty() || is_list(key), sections.first()) {
                (false, _) => replace(&mut out, &all, args),
                (true, Some(first)) => {
                    drop(out.insert(Spot::FirstIn(*first, number), Some(args.clone())));
                }
                (true, None) => drop(out.insert(Spot::NewGlobal(number), Some(args.clone()))),
            }
            continue;
        }
        for at in sections {
            let all: Vec<(usize, usize)> = config.lines_with(at, key).collect();
            match all.is_empty() || is_list(key) {
                true => drop(out.insert(Spot::FirstIn(at, number), Some(args.clone()))),
                false => replace(&mut out, &all, args),
            }
        }
    }
    out
}

fn is_list(key: &str) -> bool {
    LISTS.contains(&key)
}

/// Writes to the last of several lines, and takes the others away.
fn replace(edits: &mut Edits, lines: &[(usize, usize)], words: &[String]) {
    for (number, (section, line)) in lines.iter().enumerate() {
        let is_last = number + 1 == lines.len();
        edits.insert(Spot::At(*section, *line), is_last.then(|| words.to_vec()));
    }
}

impl Config {
    /// The sections of a place.
    pub(super) fn sections_of(&self, site: &Site, place: Place) -> Vec<usize> {
        let behind = || self.behind(site.index).index;
        match place {
            Place::Global => {
                (0..self.sections.len()).filter(|&at| self.sections[at].is("global")).collect()
            }
            Place::Front => vec![site.index],
            Place::Back => vec![behind()],
            Place::Both if behind() == site.index => vec![site.index],
            Place::Both => vec![site.index, behind()],
        }
    }

    /// The lines of a section that set this.
    fn lines_with(&self, at: usize, key: &str) -> impl Iterator<Item = (usize, usize)> {
        let lines = self.sections[at].lines.iter().enumerate();
        lines.filter(move |(_, line)| line.key() == key).map(move |(number, _)| (at, number))
    }

    /// The line that is in effect in a place.
    pub(super) fn in_effect(&self, site: &Site, place: Place, key: &str) -> Option<&Line> {
        let found = |at: usize| self.of_proxy(at, key);
        match place {
            Place::Global => self.global(key),
            _ => {
                let all: Vec<&Line> =
                    self.sections_of(site, place).into_iter().filter_map(found).collect();
                // What one of them switches on is on.
                let on = all.iter().find(|line| !line.is_no());
                on.or_else(|| all.first()).copied()
            }
        }
    }
}

/// The sections of a configuration with the edits, and which of them stands where in it.
pub(super) fn applied(config: &Config, edits: &Edits) -> Vec<(Option<usize>, Section)> {
    let line = |words: &Option<Vec<String>>| words.as_ref().map(Line::new);
    let mut out = Vec::with_capacity(config.sections.len() + 1);
    let new = |spot: &Spot| matches!(spot, Spot::NewGlobal(_));
    let lines: Vec<Line> =
        edits.iter().filter(|(spot, _)| new(spot)).filter_map(|(_, words)| line(words)).collect();
    if !lines.is_empty() {
        out.push((None, Section { header: Line::new(["global"]), lines }));
    }
    for (at, section) in config.sections.iter().enumerate() {
        let first = edits.range(Spot::FirstIn(at, 0)..=Spot::FirstIn(at, usize::MAX));
        let first = first.filter_map(|(_, words)| line(words));
        let rest = section.lines.iter().enumerate().filter_map(|(number, old)| {
            match edits.get(&Spot::At(at, number)) {
                Some(words) => line(words),
                None => Some(old.clone()),
            }
        });
        let lines = first.chain(rest).collect();
        out.push((Some(at), Section { header: section.header.clone(), lines }));
    }
    out
}
