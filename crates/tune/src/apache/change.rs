//! What changes mean for a configuration: which lines are replaced, added or taken away.

use super::over::Block;
use super::tree::{Config, Line};
use super::words::{joined, words};
use crate::Change;
use crate::site::Site;

/// One line that is written.
#[derive(Debug, Clone)]
pub(super) struct Edit<'a> {
    /// The line that is there now; `None`: the end of the main file.
    pub(super) at: Option<&'a Line>,
    pub(super) spot: Spot,
    pub(super) name: String,
    /// The arguments.
    pub(super) args: Vec<String>,
    /// A section for this folder is made around it.
    pub(super) folder: Option<String>,
}

/// Where it is written, seen from the line that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    InPlace,
    /// Nowhere: the one that is there is taken away.
    Without,
    /// As the first in its section.
    FirstInside,
    After,
    /// At the end of the main file.
    End,
}

/// Directives that are the whole server's, so that they stand outside of all hosts.
const OF_THE_SERVER: [&str; 33] = [
    "asyncrequestworkerfactor",
    "bufferedlogs",
    "cachelock",
    "enableexceptionhook",
    "extendedstatus",
    "gracefulshutdowntimeout",
    "h2maxworkeridleseconds",
    "h2maxworkers",
    "h2minworkers",
    "httpprotocoloptions",
    "listenbacklog",
    "listencoresbucketsratio",
    "maxclients",
    "maxconnectionsperchild",
    "maxmemfree",
    "maxrequestsperchild",
    "maxrequestworkers",
    "maxspareservers",
    "maxsparethreads",
    "minspareservers",
    "minsparethreads",
    "mutex",
    "receivebuffersize",
    "scoreboardfile",
    "sendbuffersize",
    "serverlimit",
    "servertokens",
    "sslrandomseed",
    "sslsessioncache",
    "startservers",
    "threadlimit",
    "threadsperchild",
    "threadstacksize",
];

/// Where a line goes that is not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    Server,
    Host,
    Folder,
}

fn home(name: &str) -> Home {
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "allowoverride" | "allowoverridelist" => Home::Folder,
        lower if OF_THE_SERVER.contains(&lower) => Home::Server,
        _ => Home::Host,
    }
}

/// Whether a context can have several of a directive that all count, so that another is added
/// unless it is about the same thing, which its first argument says.
fn is_list(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let begins = ["add", "browsermatch", "expiresbytype", "header", "requestheader", "setenv"];
    begins.iter().any(|begin| lower.starts_with(begin))
        || matches!(lower.as_str(), "alias" | "aliasmatch" | "cacheenable" | "sslopensslconfcmd")
}

/// What identifies a line among several: of headers the second word, of others the first.
fn subject(name: &str, args: &[String]) -> Option<String> {
    let at = usize::from(name.to_ascii_lowercase().ends_with("header"));
    args.get(at).cloned()
}

/// The edits of directives.
pub(super) fn of_directives<'a>(
    config: &'a Config,
    site: &Site,
    changes: &[&Change],
) -> Vec<Edit<'a>> {
    let mut out: Vec<Edit<'a>> = Vec::new();
    for change in changes {
        let Change::Directive { name, args } = change else { continue };
        for edit in of_directive(config, site, name, args) {
            let id = |edit: &Edit<'_>| edit.at.map(|line| line.id);
            let is_again = |other: &Edit<'_>| {
                (id(other), other.spot) == (id(&edit), edit.spot)
                    && other.name.eq_ignore_ascii_case(&edit.name)
                    && !is_list(name)
            };
            out.retain(|other| !is_again(other));
            out.push(edit);
        }
    }
    out
}

fn of_directive<'a>(config: &'a Config, site: &Site, name: &str, args: &[String]) -> Vec<Edit<'a>> {
    let edit = |at: Option<&'a Line>, spot: Spot| Edit {
        at,
        spot,
        name: name.to_owned(),
        args: args.to_vec(),
        folder: None,
    };
    let chain = config.chain(site.index);
    let found = |block: Block<'a>| -> Vec<&'a Line> {
        block.lines().iter().filter(|line| line.is(name)).collect()
    };
    let lines = chain.into_iter().map(found).find(|lines| !lines.is_empty());
    if let Some(lines) = lines {
        let is_same =
            |line: &&Line| !is_list(name) || subject(name, &line.words()) == subject(name, args);
        let mut same = lines.iter().copied().filter(is_same).rev();
        return match (same.next(), lines.last()) {
            (Some(last), _) => {
                let others = same.map(|other| edit(Some(other), Spot::Without));
                std::iter::once(edit(Some(last), Spot::InPlace)).chain(others).collect()
            }
            (None, Some(last)) => vec![edit(Some(*last), Spot::After)],
            (None, None) => Vec::new(),
        };
    }
    match (home(name), config.host(site.index)) {
        (Home::Host, Some(host)) => vec![edit(Some(host), Spot::FirstInside)],
        (Home::Folder, _) => {
            let root = config.document_root(site.index);
            match config.sections_over(site.index, &root).last() {
                Some(section) => vec![edit(Some(section), Spot::FirstInside)],
                None => vec![Edit { folder: Some(root), ..edit(None, Spot::End) }],
            }
        }
        _ => vec![edit(None, Spot::End)],
    }
}

impl Edit<'_> {
    /// The line as it is written to a file: what it has of the old one with the variables that were
    /// written there.
    pub(super) fn written(&self) -> String {
        let old = self.at.filter(|_| self.spot == Spot::InPlace);
        let args = match old.map(|line| (words(&line.raw), line.words())) {
            Some((raw, resolved)) if raw.len() == resolved.len() => {
                let arg = |arg: &String| {
                    let at = resolved.iter().position(|old| old == arg)?;
                    raw.get(at).cloned()
                };
                self.args.iter().map(|new| arg(new).unwrap_or_else(|| new.clone())).collect()
            }
            _ => self.args.clone(),
        };
        format!("{} {}", self.name, joined(&args))
    }

    /// The line in a tree.
    pub(super) fn line(&self) -> Line {
        let line = Line::new(&self.name, joined(&self.args));
        match &self.folder {
            Some(folder) => Line::section("Directory", joined(&[folder]), vec![line]),
            None => line,
        }
    }
}

/// The lines of a configuration with the edits.
pub(super) fn applied(config: &Config, edits: &[Edit<'_>]) -> Vec<Line> {
    let mut lines = within(&config.lines, edits);
    lines.extend(edits.iter().filter(|edit| edit.spot == Spot::End).map(Edit::line));
    lines
}

fn within(lines: &[Line], edits: &[Edit<'_>]) -> Vec<Line> {
    let mut out = Vec::with_capacity(lines.len());
    for line in lines {
        let here: Vec<&Edit<'_>> =
            edits.iter().filter(|edit| edit.at.is_some_and(|at| at.id == line.id)).collect();
        let new = |spot: Spot| here.iter().filter(move |edit| edit.spot == spot);
        let replaced = new(Spot::InPlace).next_back();
        if let Some(edit) = replaced {
            out.push(edit.line());
        } else if new(Spot::Without).next().is_none() {
            let block = line.block.as_ref().map(|block| {
                let first = new(Spot::FirstInside).map(|edit| edit.line());
                first.chain(within(block, edits)).collect()
            });
            out.push(Line { block, ..line.without_block() });
        }
        out.extend(new(Spot::After).map(|edit| edit.line()));
    }
    out
}
