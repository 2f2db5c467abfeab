//! A mix of requests that every state of a server is asked for, all of it in each window: one length
//! says nothing of a setting that matters for others.

use super::rate;
use zc_load::Targets;
use zc_run::{Cell, ResponseFacts, ServerMix};
use zc_servers::{Replayed, Whole};

/// The least time that the schedule of a mix takes.
const LEAST_S: f64 = 0.2;

/// Requests of the mix and bytes of all bodies.
pub(super) fn plan(mix: &Targets) -> ServerMix {
    let each = mix.each();
    let expected = |turn: usize| {
        each.get(mix.of_turn(turn) as usize).and_then(|target| target.expected.as_ref())
    };
    let bodies = (0..mix.turns()).filter_map(expected).map(|expected| expected.body_bytes);
    ServerMix { requests: mix.turns() as u64, body_bytes: bodies.sum() }
}

/// The mix as the rig needs it, in all cells and in the positive control of the first.
pub(super) fn asked_for(mix: &Targets, cells: &[Cell]) -> Replayed {
    let ServerMix { requests, body_bytes } = plan(mix);
    let labels = cells.iter().map(|cell| cell.label.clone());
    let positive = cells.first().map(|first| super::cells::positive(first, 1.0, 1, 1.0).label);
    Replayed {
        cells: labels.chain(positive).collect(),
        whole: Whole { responses: requests, body_bytes },
        requests_per_s: None,
    }
}

/// The highest rate at which the mix is asked for: at a higher one, the time that its last responses
/// take beyond the schedule would be much of a window.
pub(super) fn highest_rate(mix: &Targets) -> f64 {
    rate::round_below(mix.turns() as f64 / LEAST_S)
}

/// What a response of the mix is on average. Each was compared with what is expected of it.
pub(super) fn response(mix: &Targets) -> ResponseFacts {
    let ServerMix { requests, body_bytes } = plan(mix);
    ResponseFacts { status: 200, body_bytes: (body_bytes / requests.max(1)).max(1), crc32: 0 }
}
