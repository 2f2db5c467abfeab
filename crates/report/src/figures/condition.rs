//! The figures of a run as a whole: the conditions in which its costs were taken.

use super::entry::{Entry, Value, bare, metric};
use super::unit::{BYTES_PER_S, RATIO};
use zc_analysis::Estimates;

pub(super) const CONDITION: &[Entry<Estimates>] = &[
    Entry {
        name: "memcpy",
        what: "Speed of a copy of memory that is in no cache: median over blocks.",
        unit: BYTES_PER_S,
        value: Value::One(|run| run.conditions.memcpy_bytes_per_s.map(bare)),
        json: "conditions/memcpy_bytes_per_s",
        columns: &[],
        csv: &[],
        metric: metric("zc_memcpy"),
    },
    Entry {
        name: "steal",
        what: "Share of the CPUs that the hypervisor took.",
        unit: RATIO,
        value: Value::One(|run| run.conditions.steal_share.map(bare)),
        json: "conditions/steal_share",
        columns: &[],
        csv: &[],
        metric: metric("zc_steal"),
    },
    Entry {
        name: "idle drift",
        what: "Relative difference of neighbouring idle windows: median over blocks.",
        unit: RATIO,
        value: Value::One(|run| run.conditions.idle_drift.map(bare)),
        json: "conditions/idle_drift",
        columns: &[],
        csv: &[],
        metric: metric("zc_idle_drift"),
    },
    Entry {
        name: "error of the controls",
        what: "Share up to which no difference is judged, as a control missed by as much; absent \
            where both controls fit.",
        unit: RATIO,
        value: Value::One(|run| run.verdict.control_error.map(bare)),
        json: "verdict/control_error",
        columns: &[],
        csv: &[],
        metric: metric("zc_control_error"),
    },
    Entry {
        name: "resolution of the controls",
        what: "Share up to which no difference is judged, as a control could not have seen it; \
            absent where it could have seen none.",
        unit: RATIO,
        value: Value::One(|run| run.verdict.resolution.map(bare)),
        json: "verdict/resolution",
        columns: &[],
        csv: &[],
        metric: metric("zc_control_resolution"),
    },
];
