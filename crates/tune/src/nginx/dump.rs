//! The files in what `nginx -T` prints: each after a line `# configuration file PATH:`, with a
//! newline behind it (`main` in <https://github.com/nginx/nginx/blob/master/src/core/nginx.c>).
//!
//! A file may hold such a line itself, as a comment, if it was once made from a dump. nginx dumps
//! every file once and none that is not included, which tells markers from comments.

use std::collections::HashSet;
use std::sync::Arc;

use crate::file::File;

/// What a marker begins with.
pub(super) const MARKER: &str = "# configuration file ";

/// A dump, and its markers.
pub(super) struct Dump<'a> {
    text: &'a str,
    markers: Vec<Marker<'a>>,
}

#[derive(Clone, Copy)]
struct Marker<'a> {
    path: &'a str,
    /// The offset of the marker.
    at: usize,
    /// The offset after its line.
    after: usize,
}

impl<'a> Dump<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut markers = Vec::new();
        let mut seen = HashSet::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let after = at + line.len();
            let path = line.strip_prefix(MARKER).and_then(|rest| rest.trim_end().strip_suffix(':'));
            if let Some(path) = path.filter(|path| seen.insert(*path)) {
                markers.push(Marker { path, at, after });
            }
            at = after;
        }
        Self { text, markers }
    }

    /// The files, in the dump's order: the main one first.
    pub(super) fn files(&self) -> Vec<File> {
        let ends = self.markers.iter().skip(1).map(|marker| marker.at).chain([self.text.len()]);
        let file = |(marker, end): (&Marker<'_>, usize)| {
            let text = self.text.get(marker.after..end).unwrap_or_default();
            let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
            File { path: Arc::from(marker.path), text }
        };
        self.markers.iter().zip(ends).map(file).collect()
    }

    /// The marker of this file was a comment in the file before it.
    pub(super) fn take_for_comment(&mut self, file: usize) {
        if file < self.markers.len() {
            self.markers.remove(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_bytes_that_were_dumped() {
        let text = "nginx: the syntax is ok\n# configuration file /a:\nx;\n\n\
                    # configuration file /b c:\n\n# configuration file /d:\ny;\n";
        let files = Dump::new(text).files();
        let files: Vec<_> = files.iter().map(|file| (&*file.path, file.text.as_str())).collect();
        assert_eq!(files, [("/a", "x;\n"), ("/b c", ""), ("/d", "y;")]);
    }
}
