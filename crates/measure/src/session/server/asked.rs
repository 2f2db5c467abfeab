//! Requests of the load to zc's own server: the bodies of each cell, which are of one length or
//! those of a log.

use std::collections::HashMap;

use super::super::options::LogToReplay;
use super::replay;
use zc_load::Targets;
use zc_run::{Cell, SendPath};
use zc_servers::OriginOf;

/// Requests of the load to one origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked<'a> {
    pub(super) path: SendPath,
    pub(super) bodies: Bodies<'a>,
}

/// The bodies of responses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bodies<'a> {
    /// Bodies of one length.
    Of(usize),
    /// Bodies of a log, in turn.
    OfLog(&'a [u64]),
}

impl Bodies<'_> {
    /// The length of the first one.
    pub(super) fn first(self) -> u64 {
        match self {
            Self::Of(bytes) => bytes as u64,
            Self::OfLog(each) => each.first().copied().unwrap_or_default(),
        }
    }

    /// Their names at zc's own server; `None` if there are no bodies.
    pub(super) fn targets(self) -> Option<Targets> {
        let target = |bytes: u64| format!("/{bytes}");
        match self {
            Self::Of(bytes) => Some(Targets::from(target(bytes as u64))),
            Self::OfLog(each) => Targets::in_turn(each.iter().map(|bytes| target(*bytes))),
        }
    }
}

fn bodies<'a>(cell: &Cell, replay: Option<&'a LogToReplay>) -> Bodies<'a> {
    match replay.filter(|_| replay::is_one(cell)) {
        Some(log) => Bodies::OfLog(&log.body_bytes),
        None => Bodies::Of(body_bytes(cell)),
    }
}

/// The requests of all cells: each path and length once.
pub(super) fn asked<'a>(cells: &[Cell], replay: Option<&'a LogToReplay>) -> Vec<Asked<'a>> {
    let mut all = Vec::new();
    for cell in cells {
        let Some(path) = cell.transfer.send_path() else { continue };
        let asked = Asked { path, bodies: bodies(cell, replay) };
        if !all.contains(&asked) {
            all.push(asked);
        }
    }
    all
}

/// The paths, and workers for all connections that ask for each: so many for each of `asked`.
pub(super) fn workers(asked: &[Asked<'_>], connections: usize) -> Vec<(SendPath, usize)> {
    let mut paths: Vec<(SendPath, usize)> = Vec::new();
    for Asked { path, .. } in asked {
        match paths.iter_mut().find(|(known, _)| known == path) {
            Some((_, workers)) => *workers += connections,
            None => paths.push((*path, connections)),
        }
    }
    paths
}

/// The place of a cell in `asked`, by path and bodies, as the positive control is added later.
pub(super) fn origin_of(asked: &[Asked<'_>]) -> OriginOf {
    let place = |(at, Asked { path, bodies }): (usize, &Asked<'_>)| match bodies {
        Bodies::Of(bytes) => ((*path, Some(*bytes)), at),
        Bodies::OfLog(_) => ((*path, None), at),
    };
    let places: HashMap<(SendPath, Option<usize>), usize> =
        asked.iter().enumerate().map(place).collect();
    Box::new(move |cell| {
        let bytes = (!replay::is_one(cell)).then(|| body_bytes(cell));
        places.get(&(cell.transfer.send_path()?, bytes)).copied()
    })
}

/// The length of a cell's responses.
pub(super) fn body_bytes(cell: &Cell) -> usize {
    cell.levels.message_bytes.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Levels, RecvPath};

    fn cell(label: &str, send: SendPath, bytes: usize) -> Cell {
        let levels = Levels { message_bytes: Some(bytes), ..Levels::default() };
        Cell { label: label.to_owned(), levels, ..Cell::of_paths(send, RecvPath::RecvTrunc) }
    }

    #[test]
    fn each_path_and_length_is_asked_for_once_and_controls_share_it() {
        let log = LogToReplay {
            log: "access.log".to_owned(),
            requests: 2,
            bytes: 30,
            requests_per_s: 1.0,
            too_long: 0,
            body_bytes: vec![10, 20],
            speedup: None,
        };
        let cells = [
            cell("4k sendfile", SendPath::Sendfile, 4096),
            cell("4k splice", SendPath::Splice, 4096),
            cell("log sendfile", SendPath::Sendfile, 4096),
            cell("4k sendfile (A/A)", SendPath::Sendfile, 4096),
        ];
        let all = asked(&cells, Some(&log));
        let firsts: Vec<u64> = all.iter().map(|each| each.bodies.first()).collect();
        assert_eq!(firsts, [4096, 4096, 10]);
        assert_eq!(workers(&all, 4), [(SendPath::Sendfile, 8), (SendPath::Splice, 4)]);
        let place = origin_of(&all);
        let places: Vec<_> = cells.iter().map(&place).collect();
        assert_eq!(places, [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!(place(&cell("1m sendfile", SendPath::Sendfile, 1 << 20)), None);
        let targets = all[2].bodies.targets().unwrap();
        assert_eq!(targets.each(), ["/10", "/20"]);
    }
}
