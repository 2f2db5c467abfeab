//! Sections that hold for a folder: `<Directory>` of it and of those above it, in the order in
//! which Apache applies them, the shortest path first
//! (<https://httpd.apache.org/docs/2.4/sections.html#merging>).

use super::tree::{Config, Line, all, last};
use crate::glob;
use crate::site::Site;

/// The path of a `<Directory>`, without the slash at its end; `None`: it is a regular expression.
pub(super) fn path(section: &Line) -> Option<String> {
    let words = section.words();
    match &words[..] {
        [path] if section.is("Directory") => Some(path.trim_end_matches('/').to_owned()),
        _ => None,
    }
}

/// Whether a section is `<Directory />`.
fn is_of_all(section: &Line) -> bool {
    path(section).is_some_and(|path| path.is_empty())
}

/// Whether a path, which may have wildcards, is that of a folder or of one above it, but not of
/// the root of all.
pub(super) fn is_over(path: &str, folder: &str) -> bool {
    let is_pattern = glob::is_pattern(path);
    let mut above = Some(folder.trim_end_matches('/'));
    while let Some(at) = above.filter(|at| !at.is_empty()) {
        if at == path || (is_pattern && glob::matches(path, at)) {
            return true;
        }
        above = at.rsplit_once('/').map(|(above, _)| above);
    }
    false
}

impl Config {
    /// The sections that hold for a folder of a host, but those of the root of all folders.
    pub(super) fn sections_over(&self, index: usize, folder: &str) -> Vec<&Line> {
        let mut found: Vec<(usize, &Line)> = Vec::new();
        // Those of the main server come first.
        for block in self.blocks(index).into_iter().rev() {
            for section in all(block, "Directory").filter(|line| line.block.is_some()) {
                let Some(path) = path(section) else { continue };
                if is_over(&path, folder) {
                    found.push((path.matches('/').count(), section));
                }
            }
        }
        found.sort_by_key(|(parts, _)| *parts);
        found.into_iter().map(|(_, section)| section).collect()
    }

    /// The blocks in which a directive for the files of a host is looked for, from the innermost.
    pub(super) fn chain(&self, index: usize) -> Vec<Block<'_>> {
        let mut out = Vec::new();
        for block in self.blocks(index) {
            let of_all = all(block, "Location").filter(|line| line.first() == "/");
            let found: Vec<&Line> = of_all.collect();
            out.extend(found.into_iter().rev().map(Block::Section));
        }
        let over = self.sections_over(index, &self.document_root(index));
        out.extend(over.into_iter().rev().map(Block::Section));
        for block in self.blocks(index) {
            let found: Vec<&Line> =
                all(block, "Directory").filter(|line| is_of_all(line)).collect();
            out.extend(found.into_iter().rev().map(Block::Section));
        }
        out.extend(self.host(index).map(Block::Section));
        out.push(Block::Main(&self.lines));
        out
    }

    /// The lines of this name that are in effect outside of the sections of the files, from the
    /// outermost.
    pub(super) fn around(&self, index: usize, name: &str) -> Vec<&Line> {
        let mut blocks = self.chain(index);
        blocks.retain(|block| match block {
            Block::Section(line) => line.is("VirtualHost") || is_of_all(line),
            Block::Main(_) => true,
        });
        blocks.into_iter().rev().flat_map(|block| all(block.lines(), name)).collect()
    }

    /// The line that is in effect for the files of a host, of directives with one value.
    pub fn in_effect(&self, site: &Site, name: &str) -> Option<&Line> {
        let chain = self.chain(site.index);
        chain.into_iter().find_map(|block| last(block.lines(), name))
    }
}

/// A block of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) enum Block<'a> {
    Section(&'a Line),
    Main(&'a [Line]),
}

impl<'a> Block<'a> {
    pub(super) fn lines(self) -> &'a [Line] {
        match self {
            Self::Section(line) => line.children(),
            Self::Main(lines) => lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_below_its_own_path_and_those_above() {
        for (path, folder) in [
            ("/var/www", "/var/www"),
            ("/var/www", "/var/www/html/"),
            ("/var", "/var/www"),
            ("/var/*", "/var/www/html"),
            ("/var/w?w/html", "/var/www/html"),
        ] {
            assert!(is_over(path, folder), "{path} {folder}");
        }
        for (path, folder) in
            [("", "/var/www"), ("/var/www/html", "/var/www"), ("/va", "/var"), ("/*/x", "/var/www")]
        {
            assert!(!is_over(path, folder), "{path} {folder}");
        }
    }
}
