//! A mix of requests that every state of a server is asked for, whole cycles of it in each window:
//! one length says nothing of a setting that matters for others.

use super::cells;
use zc_load::Targets;
use zc_run::{Cell, ResponseFacts, ServerMix};
use zc_servers::{Replayed, Whole};

/// The least time that the schedule of a window takes. Neighbours on a shared host slow a server
/// for about a second: with windows of 250 ms the CPU time of a response correlated by 0.6 with
/// that of the next trial, and intervals were three times as wide as with windows of 50 ms in the
/// same time.
const LEAST_S: f64 = 0.05;

/// Cycles at top speed: of one alone, its longest response would be most of the time.
const CYCLES_AT_TOP_SPEED: u64 = 8;

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
pub(super) fn asked_for(mix: &Targets, states: &[Cell]) -> Replayed {
    let labels = states.iter().map(|cell| cell.label.clone());
    let positive = states.first().map(cells::positive_label);
    Replayed {
        cells: labels.chain(positive).collect(),
        whole: cycles_of(mix, CYCLES_AT_TOP_SPEED),
        requests_per_s: None,
    }
}

/// The responses of a window at a rate: whole cycles of the mix, whose schedule takes so long that
/// the time of the last responses is little of it.
pub(super) fn at_rate(mix: &Targets, requests_per_s: f64) -> Whole {
    let cycles = (requests_per_s * LEAST_S / mix.turns() as f64).ceil();
    cycles_of(mix, (cycles as u64).max(1))
}

fn cycles_of(mix: &Targets, cycles: u64) -> Whole {
    let ServerMix { requests, body_bytes } = plan(mix);
    Whole {
        responses: requests.saturating_mul(cycles),
        body_bytes: body_bytes.saturating_mul(cycles),
    }
}

/// What a response of the mix is on average. Each was compared with what is expected of it.
pub(super) fn response(mix: &Targets) -> ResponseFacts {
    let ServerMix { requests, body_bytes } = plan(mix);
    ResponseFacts { status: 200, body_bytes: (body_bytes / requests.max(1)).max(1), crc32: 0 }
}
