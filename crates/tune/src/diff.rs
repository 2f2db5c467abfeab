//! Replaced bytes of files as a unified diff
//! (<https://pubs.opengroup.org/onlinepubs/9799919799/utilities/diff.html>, "Diff -u Output
//! Format").

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::candidate::Change;
use crate::file::File;

/// Lines around a change.
const AROUND: usize = 3;

/// Bytes of a file that are replaced.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

/// Pieces of files, by their indices, as a unified diff for `patch -p0 -d /`; sysctls and
/// variables among the changes follow as comments.
///
/// GNU patch takes absolute paths only in `/`, hence `-d /`, and refuses a path that is a link, as
/// those in `sites-enabled` are. Who can resolve links sets [`File::path`] before.
pub(crate) fn unified(files: &[File], pieces: Vec<(usize, Piece)>, changes: &[&Change]) -> String {
    let mut by_file: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
    for (file, piece) in pieces {
        let Some(path) = files.get(file).map(|file| &file.path) else { continue };
        // Of several links to one file the first.
        let first = files.iter().position(|file| file.path == *path);
        by_file.entry(first.unwrap_or(file)).or_default().push(piece);
    }
    let mut out = String::new();
    for (index, pieces) in by_file {
        if let Some(file) = files.get(index) {
            write_file(&mut out, file, pieces);
        }
    }
    let mut last = "";
    for change in changes {
        let (place, line) = match change {
            Change::Sysctl { name, value } => {
                ("/etc/sysctl.d/90-zc-tune.conf:", format!("{name} = {value}"))
            }
            Change::Variable { name, value } => {
                ("[Service] of its unit, by systemctl edit:", format!("Environment={name}={value}"))
            }
            Change::Directive { .. } | Change::Listen { .. } => continue,
        };
        if place != last {
            let _ = writeln!(out, "# {place}");
            last = place;
        }
        let _ = writeln!(out, "# {line}");
    }
    out
}

/// The newline of the line at `at`: CR LF in files that have it.
pub(crate) fn newline(text: &str, at: usize) -> &'static str {
    match text[at..].split_inclusive('\n').next() {
        Some(line) if line.ends_with("\r\n") => "\r\n",
        _ => "\n",
    }
}

pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The spaces with which the line at `at` begins.
pub(crate) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The indent of a line in a block that is indented by `outer`: that of a line in it, `inner`, if
/// there is one.
pub(crate) fn indent_inside(outer: &str, inner: Option<&str>) -> String {
    match inner {
        Some(inner) => inner.to_owned(),
        None if outer.contains('\t') => format!("{outer}\t"),
        None => format!("{outer}    "),
    }
}

/// Bytes to take away, with their line if nothing else is on it.
pub(crate) fn with_empty_line(text: &str, bytes: Range<usize>) -> Range<usize> {
    let start = line_start(text, bytes.start);
    let end = text[bytes.end..].find('\n').map_or(text.len(), |newline| bytes.end + newline + 1);
    let is_alone =
        text[start..bytes.start].trim().is_empty() && text[bytes.end..end].trim().is_empty();
    if is_alone { start..end } else { bytes }
}

/// Whole lines that are replaced: their numbers from 0, and the new text.
#[derive(Debug)]
struct Block {
    lines: Range<usize>,
    text: String,
}

/// Writes the changes of one file, if there are any.
fn write_file(out: &mut String, file: &File, pieces: Vec<Piece>) {
    // A file that is included twice is edited twice alike.
    let mut once: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        if !once.contains(&piece) {
            once.push(piece);
        }
    }
    once.sort_by_key(|piece| (piece.start, piece.end));
    let lines: Vec<&str> = file.text.split_inclusive('\n').collect();
    let blocks = blocks(&file.text, &lines, &once);
    if blocks.is_empty() {
        return;
    }
    // A tab ends a name that has spaces.
    let end = if file.path.contains(' ') { "\t" } else { "" };
    let _ = writeln!(out, "--- {0}{end}\n+++ {0}{end}", file.path);
    let mut shift: isize = 0;
    let mut rest = blocks.as_slice();
    while let Some(first) = rest.first() {
        let is_far = |pair: &[Block]| pair[1].lines.start > pair[0].lines.end + 2 * AROUND;
        let count = rest.windows(2).position(is_far).map_or(rest.len(), |at| at + 1);
        let (hunk, others) = rest.split_at(count);
        rest = others;
        let start = first.lines.start.saturating_sub(AROUND);
        let last = hunk.last().map_or(start, |block| block.lines.end);
        let end = (last + AROUND).min(lines.len());
        shift = write_hunk(out, &lines, start..end, hunk, shift);
    }
}

/// Lines that are replaced, in order and apart from each other.
fn blocks(text: &str, lines: &[&str], pieces: &[Piece]) -> Vec<Block> {
    // Where each line begins, and the end.
    let mut starts = vec![0];
    starts.extend(lines.iter().scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    // The lines a piece is in; none where it adds whole lines between two.
    let touched = |piece: &Piece| {
        let line_of = |offset: usize| starts.partition_point(|start| *start <= offset) - 1;
        let line = line_of(piece.start);
        let adds_lines =
            piece.start == piece.end && piece.start == starts[line] && piece.text.ends_with('\n');
        if adds_lines {
            return line..line;
        }
        let last = lines.len().saturating_sub(1);
        let end = line_of(piece.end.saturating_sub(1).max(piece.start)).min(last) + 1;
        line.min(last)..end.min(lines.len())
    };
    let mut out: Vec<Block> = Vec::new();
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        let mut range = touched(first);
        let mut count = 1;
        for piece in &rest[1..] {
            let next = touched(piece);
            if next.start > range.end {
                break;
            }
            range.end = range.end.max(next.end);
            count += 1;
        }
        let (pieces, others) = rest.split_at(count);
        rest = others;
        let (start, end) = (starts[range.start], starts[range.end]);
        let mut new = String::new();
        let mut at = start;
        for piece in pieces.iter().filter(|piece| piece.end <= end) {
            if piece.start >= at {
                new.push_str(&text[at..piece.start]);
                new.push_str(&piece.text);
                at = piece.end;
            }
        }
        new.push_str(&text[at..end]);
        if text[start..end] != new {
            out.push(Block { lines: range, text: new });
        }
    }
    out
}

/// Writes one hunk; returns by how many lines the new file is ahead after it.
fn write_hunk(
    out: &mut String,
    lines: &[&str],
    range: Range<usize>,
    blocks: &[Block],
    shift: isize,
) -> isize {
    let mut body = String::new();
    let (mut old, mut new) = (0_usize, 0_usize);
    let mut at = range.start;
    for block in blocks {
        for line in &lines[at..block.lines.start] {
            write_line(&mut body, ' ', line);
            old += 1;
            new += 1;
        }
        for line in &lines[block.lines.clone()] {
            write_line(&mut body, '-', line);
            old += 1;
        }
        for line in block.text.split_inclusive('\n') {
            write_line(&mut body, '+', line);
            new += 1;
        }
        at = block.lines.end;
    }
    for line in &lines[at..range.end] {
        write_line(&mut body, ' ', line);
        old += 1;
        new += 1;
    }
    // An empty range is at the line before it.
    let first = |count: usize, start: usize| if count == 0 { start } else { start + 1 };
    let new_start = range.start.saturating_add_signed(shift);
    let (old_first, new_first) = (first(old, range.start), first(new, new_start));
    let _ = writeln!(out, "@@ -{old_first},{old} +{new_first},{new} @@");
    out.push_str(&body);
    shift + new.cast_signed() - old.cast_signed()
}

fn write_line(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}
