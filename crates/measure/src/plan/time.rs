//! The time that a plan takes, estimated before anything is measured, so that a plan of ten
//! thousand cells is not begun with a budget of a minute.

use std::time::Duration;

use super::spec::Spec;
use zc_run::units::duration_text;
use zc_run::{Cell, Error, Levels, RecvPath, Result, SendPath, Timing, Unsoaked};

/// Time of a trial outside of its warm-up and window: connecting, draining, reading the meters.
const AROUND_NS: u64 = 3_000_000;

/// The time in which a trial settles before an idle window.
const SETTLING_NS: u64 = 4_000_000;

/// Trials share the idle windows around them until so much time has passed since the last one.
/// Between two windows the idle rate is interpolated. In 30 runs over null whose idle windows were
/// 24 ms apart, intervals were as wide with every eighth of them as with all (docs/performance.md).
pub const IDLE_APART_NS: u64 = 150_000_000;

/// Blocks in the budget: with fewer, intervals are too wide to be of use.
pub const BLOCKS: u32 = 20;

/// Budget of a plan that sets none, if that is enough.
const USUAL_NS: u64 = 60_000_000_000;

/// A plan that needs more than this is not begun unless a budget is given.
const UNASKED_NS: u64 = 300_000_000_000;

/// Bytes that a trial waits for until each of its paced clients has been sent them, about: before
/// the window and in it.
const BYTES_OF_A_CLIENT: f64 = 128.0 * 1024.0;

/// Approximate time of a block. Bursts of large messages at low rates, many connections, and cells
/// that are paced in several ways, each with its own paced trial, make it longer.
fn block_ns(cells: usize, timing: &Timing, unsoaked: Unsoaked) -> u64 {
    let cells = cells as u64;
    let trial_ns = timing.warmup_ns + timing.window_ns + AROUND_NS;
    let top_speed = timing.warmup_ns + timing.unsoaked_ns + AROUND_NS;
    // In turn: an unsoaked control and a paced trial beside it, of twice the length, in every third
    // block, and a top speed in the others.
    let unsoaked = if unsoaked == Unsoaked::TopSpeed { cells } else { 2 };
    // The paced trial and the positive control.
    let of_zc = 2;
    let soaked = cells.saturating_add(of_zc).saturating_mul(trial_ns);
    let idle_ns = timing.idle_ns + SETTLING_NS;
    let idle = (2 + soaked / IDLE_APART_NS.max(trial_ns)).saturating_mul(idle_ns);
    soaked.saturating_add(idle).saturating_add(unsoaked.saturating_mul(top_speed))
}

/// What the rates of paced clients add to the time of a block: their trials are as long as these
/// need.
fn of_clients_ns(cells: &[Cell], held: &Levels, unsoaked: Unsoaked) -> u64 {
    let times = |of: &dyn Fn(&Cell) -> bool| -> f64 {
        let clients = cells.iter().filter(|cell| of(cell));
        let clients = clients.filter_map(|cell| cell.levels.clients(held));
        clients.map(|clients| BYTES_OF_A_CLIENT * 1e9 / clients.rate_bytes_per_s).sum()
    };
    let soaked_ns = times(&|_| true);
    let unsoaked_ns = match unsoaked {
        Unsoaked::None => 0.0,
        Unsoaked::InTurn => soaked_ns / cells.len().max(1) as f64,
        Unsoaked::TopSpeed => soaked_ns,
    };
    // The positive control is as long as its twin.
    (soaked_ns + unsoaked_ns + times(&|cell| cell.control)) as u64
}

/// The budget of a plan in a run that holds the levels of `held`: the one asked for, the one in the
/// plan, or what its cells need.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): there are so many cells that a budget has to be given,
/// or the budget is too short for one block.
pub fn budget_ns(
    spec: &Spec,
    held: &Levels,
    timing: &Timing,
    asked_ns: Option<u64>,
) -> Result<u64> {
    let cells = spec.cells(SendPath::ReadSend, RecvPath::Recv)?.cells;
    let block_ns = block_ns(cells.len(), timing, spec.unsoaked).saturating_add(of_clients_ns(
        &cells,
        held,
        spec.unsoaked,
    ));
    let cells = cells.len();
    let needed_ns = block_ns.saturating_mul(u64::from(BLOCKS));
    let needed = rough(Duration::from_nanos(needed_ns));
    let error = |id, what: &str| {
        let message = format!(
            "the plan \"{}\" has {cells} cells, a block of them takes about {}: {what}",
            spec.name,
            rough(Duration::from_nanos(block_ns))
        );
        let help = format!(
            "--budget {needed} has room for {BLOCKS} blocks; or give its factors fewer levels"
        );
        Err(Error::usage(id, message).help(help))
    };
    match asked_ns.or(spec.budget_ns) {
        Some(budget_ns) if budget_ns < block_ns => {
            let what = format!("its budget of {} does not hold one", duration_text(budget_ns));
            error("budget-too-short", &what)
        }
        Some(budget_ns) => Ok(budget_ns),
        None if needed_ns > UNASKED_NS => error("budget-missing", "it needs a budget"),
        None => Ok(USUAL_NS.max(needed_ns)),
    }
}

/// A duration as a budget is typed, rounded up to a usual number.
pub fn rough(duration: Duration) -> String {
    match duration.as_secs_f64() {
        s if s < 1.0 => format!("{}ms", (s * 1e3).ceil()),
        s if s < 120.0 => format!("{}s", s.ceil()),
        s if s < 7200.0 => format!("{}m", (s / 60.0).ceil()),
        s => format!("{}h", (s / 3600.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::parse;
    use zc_run::{Factor, Level};

    const TIMING: Timing = Timing {
        warmup_ns: 8_000_000,
        window_ns: 12_000_000,
        idle_ns: 8_000_000,
        unsoaked_ns: 30_000_000,
    };

    fn plan(sizes: usize) -> Spec {
        let sizes: Vec<String> = (1..=sizes).map(|size| size.to_string()).collect();
        let text = format!(
            "name = \"my\"\n[[factor]]\nname = \"message\"\nlevels = [{}]\n",
            sizes.join(",")
        );
        parse(&text, "my.toml").unwrap()
    }

    #[test]
    fn a_small_plan_gets_a_minute_and_a_larger_one_what_it_needs() {
        assert_eq!(budget_ns(&plan(5), &Levels::default(), &TIMING, None).unwrap(), USUAL_NS);
        let larger = budget_ns(&plan(150), &Levels::default(), &TIMING, None).unwrap();
        assert!((USUAL_NS + 1..UNASKED_NS).contains(&larger), "{larger}");
        assert_eq!(
            budget_ns(&plan(150), &Levels::default(), &TIMING, Some(7_000_000_000)).unwrap(),
            7_000_000_000
        );
    }

    #[test]
    fn a_plan_of_ten_thousand_cells_needs_a_budget() {
        let error = budget_ns(&plan(10_000), &Levels::default(), &TIMING, None).unwrap_err();
        assert_eq!(error.id, "budget-missing");
        assert!(["10001", "5m"].iter().all(|named| error.message.contains(named)), "{error}");
        let help = error.help.unwrap();
        assert!(help.starts_with("--budget 83m has room for 20 blocks"), "{help}");
        let error = budget_ns(&plan(10_000), &Levels::default(), &TIMING, Some(60_000_000_000))
            .unwrap_err();
        assert!(error.id == "budget-too-short" && error.message.contains("60s"), "{error:?}");
    }

    #[test]
    fn slow_clients_take_their_time_also_where_the_run_holds_them() {
        let needed = |held: &Levels| budget_ns(&plan(20), held, &TIMING, None).unwrap();
        let mut held = Levels::default();
        assert_eq!(needed(&held), USUAL_NS);
        let number = Level::parse(Factor::Clients, "1000").unwrap();
        held.more.insert(Factor::Clients.name(), number.value);
        // At 5 Mbit/s some 210 ms for each of 23 trials and a few, 20 times.
        assert!((90_000_000_000..130_000_000_000).contains(&needed(&held)), "{}", needed(&held));
    }
}
