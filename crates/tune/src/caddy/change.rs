//! What changes mean for a configuration: which lines are put in, replaced or taken away.
//!
//! What a change sets is a directive of the site (`log`), a global option (`global debug`), or a
//! line in `servers` among these (`servers protocols`). Its words are those of the line, none to
//! take the line away.

use super::tree::{Config, Line};
use crate::Change;
use crate::site::Site;

/// A block or a line by its place in the blocks, in the lines of that block, and so on.
pub(super) type Path = Vec<usize>;

/// What is done to the lines of a configuration.
#[derive(Debug, Clone)]
pub(super) enum Edit {
    /// A line goes, with its block.
    Take(Path),
    /// A line is another one.
    Replace(Path, Line),
    /// A line is the first in a block.
    Insert(Path, Line),
    /// There is a block of global options, with these lines in it.
    NewGlobal(Vec<Line>),
}

/// The blocks of global options that a line of this key is in, or `None` for the site's; and the
/// line's name.
fn home(key: &str) -> (Option<&[&str]>, &str) {
    match key.split_once(' ') {
        Some(("global", name)) => (Some(&[]), name),
        Some(("servers", name)) => (Some(&["servers"]), name),
        _ => (None, key),
    }
}

impl Config {
    /// The block that has the lines of a key, as far as it is there, and the names of the blocks in
    /// it that are not.
    fn block_of<'k>(
        &self,
        site: &Site,
        home: Option<&'k [&'k str]>,
    ) -> (Option<Path>, &'k [&'k str]) {
        let Some(names) = home else { return (Some(vec![site.index]), &[]) };
        let global = self.blocks.iter().position(|block| block.words.is_empty());
        let Some(global) = global else { return (None, names) };
        let servers = self.blocks.get(site.index).and_then(|site| self.servers(site));
        let lines = self.blocks[global].children();
        let at = lines.iter().position(|line| servers.is_some_and(|it| std::ptr::eq(it, line)));
        match at.filter(|_| !names.is_empty()) {
            Some(at) => (Some(vec![global, at]), &[]),
            None => (Some(vec![global]), names),
        }
    }

    /// The line of a path.
    pub(super) fn at(&self, path: &[usize]) -> Option<&Line> {
        let (first, rest) = path.split_first()?;
        let first = self.blocks.get(*first);
        rest.iter().fold(first, |line, at| line?.children().get(*at))
    }

    /// The line that is in effect for the site.
    pub(super) fn in_effect(&self, site: &Site, key: &str) -> Option<&Line> {
        let (home, name) = home(key);
        let (Some(path), []) = self.block_of(site, home) else { return None };
        self.at(&path)?.children().iter().rfind(|line| line.word(0) == name)
    }

    /// The edits of directives. Of two changes that set the same the last counts.
    pub(super) fn edits(&self, site: &Site, changes: &[&Change]) -> Vec<Edit> {
        let mut out = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            let Change::Directive { name: key, args } = change else { continue };
            if changes[number + 1..].iter().any(|later| later.sets() == *key) {
                continue;
            }
            let (home, name) = home(key);
            let (path, missing) = self.block_of(site, home);
            let mut line = (!args.is_empty()).then(|| Line::new(args));
            if let (Some(path), []) = (&path, missing) {
                let lines = self.at(path).map(Line::children).unwrap_or_default();
                let same = lines.iter().enumerate().filter(|(_, line)| line.word(0) == name);
                for (at, _) in same.collect::<Vec<_>>().into_iter().rev() {
                    let path = [path.as_slice(), &[at]].concat();
                    // The last counts.
                    out.push(match line.take() {
                        Some(line) => Edit::Replace(path, line),
                        None => Edit::Take(path),
                    });
                }
            }
            let Some(mut line) = line else { continue };
            for name in missing.iter().rev() {
                line = Line::new(&[name]).with_block(vec![line]);
            }
            insert(&mut out, path, line);
        }
        out
    }
}

/// Inserts a line in a block, or in a new one of global options; what it has in a block goes into
/// that of the same words which is inserted there already.
fn insert(edits: &mut Vec<Edit>, path: Option<Path>, line: Line) {
    let here = edits.iter_mut().flat_map(|edit| match (edit, &path) {
        (Edit::Insert(other, known), Some(path)) if other == path => std::slice::from_mut(known),
        (Edit::NewGlobal(known), None) => known.as_mut_slice(),
        _ => &mut [],
    });
    let mut same = here.filter(|known| known.words == line.words);
    if let Some(block) = same.find_map(|known| known.block.as_mut()) {
        block.extend(line.block.unwrap_or_default());
        return;
    }
    let Some(path) = path else {
        let new = edits.iter_mut().find_map(|edit| match edit {
            Edit::NewGlobal(lines) => Some(lines),
            _ => None,
        });
        match new {
            Some(lines) => lines.push(line),
            None => edits.push(Edit::NewGlobal(vec![line])),
        }
        return;
    };
    edits.push(Edit::Insert(path, line));
}

/// The blocks of a configuration with the edits.
pub(super) fn applied(config: &Config, edits: &[Edit]) -> Vec<Line> {
    let mut blocks = config.blocks.clone();
    for edit in edits {
        let (path, new) = match edit {
            Edit::Take(path) => (path, None),
            Edit::Replace(path, new) => (path, Some(new)),
            Edit::Insert(..) | Edit::NewGlobal(_) => continue,
        };
        if let Some(line) = at_mut(&mut blocks, path) {
            // Without words and a block it is none, and goes below.
            *line = new.cloned().unwrap_or_else(|| Line::new::<&str>(&[]));
        }
    }
    let mut inserted: Vec<(&Path, &Line)> = Vec::new();
    let mut global = Vec::new();
    for edit in edits {
        match edit {
            Edit::Insert(path, line) => inserted.push((path, line)),
            Edit::NewGlobal(lines) => global.extend(lines.iter().cloned()),
            Edit::Take(_) | Edit::Replace(..) => {}
        }
    }
    // What is inserted moves what follows it in its block, so inner blocks are first.
    inserted.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    for (path, line) in inserted {
        if let Some(block) = at_mut(&mut blocks, path).and_then(|block| block.block.as_mut()) {
            block.insert(0, line.clone());
        }
    }
    without_empty(&mut blocks);
    if !global.is_empty() {
        blocks.push(Line::new::<&str>(&[]).with_block(global));
    }
    blocks
}

fn at_mut<'a>(blocks: &'a mut [Line], path: &[usize]) -> Option<&'a mut Line> {
    let (first, rest) = path.split_first()?;
    let first = blocks.get_mut(*first);
    rest.iter().fold(first, |line, at| line?.block.as_mut()?.get_mut(*at))
}

fn without_empty(lines: &mut Vec<Line>) {
    lines.retain(|line| !line.words.is_empty() || line.block.is_some());
    for line in lines {
        line.block.iter_mut().for_each(without_empty);
    }
}
