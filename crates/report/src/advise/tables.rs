//! The tables: responses by kind, and whole ones by size; and where half of the bytes are.

use super::share::share;
use crate::digits::{bytes, size};
use crate::terminal::table::{Column, Grid};
use zc_access_log::{Classes, RequestMix, SizeBin, Sizes, Tally};

/// The table of responses by kind.
pub(crate) fn kinds(mix: &RequestMix) -> Grid {
    let Classes { whole, range, not_modified, head, other, unmeasured } = &mix.classes;
    let rows = [
        ("whole (GET, 200)", whole),
        ("range (206)", range),
        ("not modified (304)", not_modified),
        ("HEAD", head),
        ("other", other),
        ("no length logged (-)", unmeasured),
    ];
    let rows = rows.into_iter().filter(|(_, tally)| tally.requests > 0).map(|(name, tally)| {
        vec![
            name.to_owned(),
            tally.requests.to_string(),
            share(tally.requests, mix.all.requests),
            bytes(tally.bytes as f64),
            share(tally.bytes, mix.all.bytes),
        ]
    });
    let columns = vec![
        Column::left("responses", ""),
        Column::right("requests", ""),
        Column::right("share", ""),
        Column::right("bytes", ""),
        Column::right("share", ""),
    ];
    Grid::new(columns, rows.collect())
}

/// A size class of the table: sizes from four to the power of `n`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SizeClass {
    pub(crate) from_bytes: u64,
    pub(crate) tally: Tally,
}

/// The least size that has a class for more than itself.
const SMALL: u64 = 256;

/// Sizes in classes of a factor of four, from the smallest to the largest that there is.
pub(crate) fn size_classes(sizes: &Sizes) -> Vec<SizeClass> {
    let mut classes: Vec<SizeClass> = Vec::new();
    for bin in sizes.bins() {
        let from_bytes = class_of(bin.from_bytes);
        // Empty ones between are rows too.
        while let Some(last) = classes.last().filter(|last| last.from_bytes < from_bytes) {
            classes.push(SizeClass { from_bytes: next(last.from_bytes), tally: Tally::default() });
        }
        if classes.is_empty() {
            classes.push(SizeClass { from_bytes, tally: Tally::default() });
        }
        if let Some(class) = classes.last_mut() {
            class.tally.requests += bin.requests;
            class.tally.bytes = class.tally.bytes.saturating_add(bin.bytes);
        }
    }
    classes
}

/// The least size of the class that a size is in.
fn class_of(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        1..SMALL => 1,
        _ => 1 << (bytes.ilog2() / 2 * 2),
    }
}

/// The least size of the class above.
fn next(from_bytes: u64) -> u64 {
    match from_bytes {
        0 => 1,
        1 => SMALL,
        _ => from_bytes.saturating_mul(4),
    }
}

/// Whole responses by size.
/// The sizes of a class, from its least one.
pub(crate) fn size_range(from_bytes: u64) -> String {
    match from_bytes {
        0 => "0".to_owned(),
        from if next(from) == u64::MAX => format!("{} or more", size(from as usize)),
        from => format!("{} to {}", size(from as usize), size(next(from) as usize)),
    }
}

pub(crate) fn by_size(sizes: &Sizes) -> Grid {
    let all = sizes.total();
    let classes = size_classes(sizes);
    let mut above = all;
    let mut rows = Vec::new();
    for SizeClass { from_bytes, tally } in classes {
        rows.push(vec![
            size_range(from_bytes),
            tally.requests.to_string(),
            share(tally.requests, all.requests),
            share(above.requests, all.requests),
            bytes(tally.bytes as f64),
            share(tally.bytes, all.bytes),
            share(above.bytes, all.bytes),
        ]);
        above.requests -= tally.requests;
        above.bytes = above.bytes.saturating_sub(tally.bytes);
    }
    let columns = vec![
        Column::left("size of", "whole ones"),
        Column::right("requests", ""),
        Column::right("share", ""),
        Column::right("this or", "larger"),
        Column::right("bytes", ""),
        Column::right("share", ""),
        Column::right("this or", "larger"),
    ];
    Grid::new(columns, rows)
}

/// States the size from which on responses have half of the bytes.
pub(crate) fn conclusion(whole: &Sizes) -> String {
    let all = whole.total();
    let bins: Vec<SizeBin> = whole.bins().collect();
    let mut above = Tally::default();
    for bin in bins.iter().rev().filter(|_| all.bytes > 0) {
        above.requests += bin.requests;
        above.bytes = above.bytes.saturating_add(bin.bytes);
        if above.bytes >= all.bytes - all.bytes / 2 {
            return format!(
                "Half of the bytes of whole responses ({}) are in those of at least {}, which are \
                 {} of them.",
                share(above.bytes, all.bytes),
                bytes(bin.from_bytes as f64),
                share(above.requests, all.requests)
            );
        }
    }
    "No byte was sent in a whole response.".to_owned()
}
