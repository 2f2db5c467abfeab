//! Requests of the load to zc's own server: the bodies of each cell, which are of one length or
//! those of a log.

use std::collections::HashMap;

use super::super::options::LogToReplay;
use super::replay;
use zc_load::Targets;
use zc_run::factor::Head;
use zc_run::{Cell, FixedParams};
use zc_servers::{Answer, OriginOf};

/// Requests of the load to one origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked<'a> {
    pub(super) answer: Answer,
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

/// The way in which a cell is answered; `None` if it has no path. `fixed` is what all cells have in
/// common.
pub(super) fn answer(cell: &Cell, fixed: &FixedParams) -> Option<Answer> {
    let head = Head::of(&fixed.at(&cell.levels));
    cell.transfer.send_path().map(|path| Answer { path, head })
}

/// The requests of all cells: each way to answer and length once.
pub(super) fn asked<'a>(
    cells: &[Cell],
    fixed: &FixedParams,
    replay: Option<&'a LogToReplay>,
) -> Vec<Asked<'a>> {
    let mut all = Vec::new();
    for cell in cells {
        let Some(answer) = answer(cell, fixed) else { continue };
        let asked = Asked { answer, bodies: bodies(cell, replay) };
        if !all.contains(&asked) {
            all.push(asked);
        }
    }
    all
}

/// The ways to answer, and workers for all connections that ask for each: so many for each of `asked`.
pub(super) fn workers(asked: &[Asked<'_>], connections: usize) -> Vec<(Answer, usize)> {
    let mut answers: Vec<(Answer, usize)> = Vec::new();
    for Asked { answer, .. } in asked {
        match answers.iter_mut().find(|(known, _)| known == answer) {
            Some((_, workers)) => *workers += connections,
            None => answers.push((*answer, connections)),
        }
    }
    answers
}

/// The place of a cell in `asked`, by its answer and bodies, as the positive control is added later.
pub(super) fn origin_of(asked: &[Asked<'_>], fixed: &FixedParams) -> OriginOf {
    let place = |(at, Asked { answer, bodies }): (usize, &Asked<'_>)| match bodies {
        Bodies::Of(bytes) => ((*answer, Some(*bytes)), at),
        Bodies::OfLog(_) => ((*answer, None), at),
    };
    let fixed = fixed.clone();
    let places: HashMap<(Answer, Option<usize>), usize> =
        asked.iter().enumerate().map(place).collect();
    Box::new(move |cell| {
        let bytes = (!replay::is_one(cell)).then(|| body_bytes(cell));
        places.get(&(answer(cell, &fixed)?, bytes)).copied()
    })
}

/// The length of a cell's responses.
pub(super) fn body_bytes(cell: &Cell) -> usize {
    cell.levels.message_bytes.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Factor, Level, Levels, RecvPath, SendPath};

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
        let fixed = zc_testkit::synthetic::Synthetic::default().header().plan.fixed;
        let all = asked(&cells, &fixed, Some(&log));
        let firsts: Vec<u64> = all.iter().map(|each| each.bodies.first()).collect();
        assert_eq!(firsts, [4096, 4096, 10]);
        let of = |path| Answer { path, head: Head::More };
        let as_wanted = [(of(SendPath::Sendfile), 8), (of(SendPath::Splice), 4)];
        assert_eq!(workers(&all, 4), as_wanted);
        let place = origin_of(&all, &fixed);
        let places: Vec<_> = cells.iter().map(&place).collect();
        assert_eq!(places, [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!(place(&cell("1m sendfile", SendPath::Sendfile, 1 << 20)), None);
        let mut corked = cell("4k sendfile cork", SendPath::Sendfile, 4096);
        Level::parse(Factor::Head, "cork").unwrap().put(&mut corked);
        assert_eq!(place(&corked), None);
        let both = [corked, cells[0].clone()];
        let two = asked(&both, &fixed, None);
        assert_eq!(both.each_ref().map(origin_of(&two, &fixed)), [Some(0), Some(1)]);
        let targets = all[2].bodies.targets().unwrap();
        let paths: Vec<&str> = targets.each().iter().map(|target| &*target.path).collect();
        assert_eq!(paths, ["/10", "/20"]);
    }
}
